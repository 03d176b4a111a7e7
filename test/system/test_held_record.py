# SPDX-License-Identifier: Apache-2.0
"""What became of held changes is in the trail of the run that made them."""
import json
import os
import subprocess
import time

import pytest

from conftest import BUILD, needs_overlay

pytestmark = needs_overlay
OVERLAY = ["--workspace", "overlay"]
STOP = os.path.join(BUILD, "test", "probe", "apply-stop")
AFTERWARDS = ("apply", "undone", "discard")


@pytest.fixture
def run_id(stockade):
    """A run that holds four changes, of which one is guarded."""
    (stockade.cwd / "change").write_text("old\n")
    (stockade.cwd / "other").write_text("old\n")
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    stockade.sh("echo 1 > change; echo 2 > other; echo 3 > fresh; echo > .envrc",
                flags=[*OVERLAY, "--write?", ".envrc"]).ok()
    return os.listdir(stockade.state() / "held")[0]


def records(stockade, run_id):
    """Those of the trail behind the run's end, which is sound and complete."""
    verified = stockade.call("log", "verify", run_id).ok().out
    assert "intact, complete" in verified, verified
    lines = [json.loads(line) for line in
             stockade.call("log", run_id, "--json").ok().out.splitlines()]
    after = [r for r in lines if r["event"] in AFTERWARDS]
    assert lines[-1 - len(after)]["event"] == "end"
    return after


def test_an_apply_is_on_record(stockade, run_id):
    assert records(stockade, run_id) == []
    (stockade.cwd / "other").write_text("the user's\n")
    assert stockade.call("apply").status == 1
    record, = records(stockade, run_id)
    assert record["event"] == "apply" and record["run"] == run_id
    assert (record["changes"], record["guarded"], record["conflicts"]) == \
        (2, 0, 0)
    assert record["paths"] == [f"M {stockade.cwd}/change",
                               f"A {stockade.cwd}/fresh"]
    assert (record["left"], record["left_guarded"],
            record["left_conflicts"]) == (2, 1, 1)
    assert sorted(record["left_paths"]) == [f"A {stockade.cwd}/.envrc",
                                            f"M {stockade.cwd}/other"]
    shown = stockade.call("log", run_id).ok().out
    assert "2 changes" in shown and f"left: M {stockade.cwd}/other" in shown
    # ... and the next one follows from it.
    stockade.call("apply", "--guarded", "--", ".envrc").ok()
    assert [r["guarded"] for r in records(stockade, run_id)] == [0, 1]


def test_what_is_not_chosen_is_not_left(stockade, run_id):
    stockade.call("apply", "--", "fresh").ok()
    record, = records(stockade, run_id)
    assert record["changes"] == 1 and record["left"] == 0


def test_a_discard_is_on_record(stockade, run_id):
    stockade.call("discard", "--", "fresh").ok()
    stockade.call("discard").ok()
    first, second = records(stockade, run_id)
    assert first["event"] == second["event"] == "discard"
    assert first["paths"] == [f"A {stockade.cwd}/fresh"]
    assert (second["changes"], second["guarded"]) == (3, 1)
    assert stockade.call("log", run_id, "--follow").ok().out.count(
        "  discard  ") == 2
    status = json.loads(stockade.call("runs", "--json").ok().out)
    assert status["ended"] and status["status"] == 0


def test_names_are_bounded_and_visible(stockade):
    stockade.sh("for i in $(seq 100); do echo > f$i; done;"
                "echo > \"$(printf 'a\\033[2Jb')\"", flags=OVERLAY).ok()
    run_id = os.listdir(stockade.state() / "held")[0]
    stockade.call("apply").ok()
    record, = records(stockade, run_id)
    assert record["changes"] == 101 and len(record["paths"]) == 32
    assert "\x1b" not in stockade.call("log", run_id).out


def test_what_cannot_be_recorded_is_not_done(stockade, run_id):
    trail = stockade.state() / "runs" / (run_id + ".jsonl")
    text = trail.read_text()
    trail.write_text(text.replace('"status":0', '"status":1'))
    for verb in ("apply", "discard"):
        refused = stockade.call(verb, run_id)
        assert refused.status == 125 and "not intact" in refused.err
    assert (stockade.cwd / "change").read_text() == "old\n"
    assert not [n for n in os.listdir(stockade.cwd)
                if n.startswith(".stockade")]
    assert os.listdir(stockade.state() / "held") == [run_id]
    trail.write_text(text)
    stockade.call("apply", "--", "change").ok()
    assert (stockade.cwd / "change").read_text() == "1\n"
    # A trail that was moved away is begun anew.
    trail.rename(stockade.base / "old")
    stockade.call("apply", "--", "fresh").ok()
    begun = [json.loads(line) for line in trail.read_text().splitlines()]
    assert [r["event"] for r in begun] == ["apply"] and begun[0]["seq"] == 1
    assert (trail.stat().st_mode & 0o777) == 0o600


def test_a_killed_apply_that_is_undone_is_on_record(stockade, run_id):
    store = stockade.state() / "held"
    killed = subprocess.run([STOP, str(store), run_id, "kill", "5"],
                            stderr=subprocess.DEVNULL)
    assert killed.returncode < 0
    stockade.call("runs").ok()
    record, = records(stockade, run_id)
    assert record["event"] == "undone" and "interrupted" in record["reason"]
    assert (stockade.cwd / "change").read_text() == "old\n"


def test_a_killed_run_has_its_record_continued(stockade):
    child = stockade.start("/bin/sh", "-c", "echo x > new; echo up; read _",
                           flags=OVERLAY, stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    child.kill()
    child.wait()
    run_id = os.listdir(stockade.state() / "held")[0]
    stockade.call("apply", run_id).ok()
    verified = stockade.call("log", "verify", run_id).ok().out
    assert "intact, without an end" in verified
    assert (stockade.cwd / "new").read_text() == "x\n"
