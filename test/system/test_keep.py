# SPDX-License-Identifier: Apache-2.0
"""`keep NAME`: runs that continue from each other's held changes.

Judged by the host's files, and by what the next run finds.
"""
import json
import os
import shutil
import subprocess
import time

import pytest

from conftest import needs_overlay
from test_workspace import OVERLAY, STOP, apply, diff, held, run, snapshot, tree  # noqa: F401

pytestmark = needs_overlay
KEEP = ["--keep", "demo"]


def kept(stockade, script, *flags, **more):
    return run(stockade, script, *KEEP, *flags, **more)


def runs(stockade):
    return [json.loads(line) for line in
            stockade.call("runs", "--json").ok().out.splitlines()]


def waiting(stockade, script, *flags):
    child = stockade.start("/bin/sh", "-c", f"{script}; echo up; read _",
                           flags=[*OVERLAY, *KEEP, *flags],
                           stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n", child.stderr.read()
    return child


def test_the_next_run_continues(stockade, tree):
    first = kept(stockade, "echo 1 > new; rm remove; rm -r dir; mkdir dir;"
                 "echo 2 > dir/fresh; echo 3 >> change").ok()
    assert "the kept sandbox demo holds" in first.err
    assert held(stockade) == ["demo"]
    assert (stockade.state() / "held" / "demo").stat().st_mode & 0o777 == 0o700
    found = kept(stockade, "cat new dir/* change; ls; rm new; echo 4 > more;"
                 "echo 5 >> dir/fresh").ok().out
    assert found == "1\n2\nold\n3\nchange\ndir\nkeep\nnew\n"
    third = kept(stockade, "cat dir/fresh more; ls").ok().out
    assert third == "2\n5\n4\nchange\ndir\nkeep\nmore\n"
    assert diff(stockade, "demo") == diff(stockade) == [
        "M  change", "A  dir/fresh", "D  dir/one", "D  dir/sub/", "A  more",
        "D  remove"]
    apply(stockade, "demo")
    assert sorted(os.listdir(tree)) == ["change", "dir", "keep", "more"]
    assert os.listdir(tree / "dir") == ["fresh"]
    assert (tree / "change").read_text() == "old\n3\n"
    assert held(stockade) == []


def test_without_the_word_each_run_is_its_own(stockade, tree):
    run(stockade, "echo 1 > new").ok()
    assert run(stockade, "test ! -e new; echo 1 > other").status == 0
    assert len(held(stockade)) == 2
    assert kept(stockade, "test ! -e new && test ! -e other").status == 0


def test_names_are_apart(stockade, tree):
    kept(stockade, "echo 1 > new").ok()
    run(stockade, "test ! -e new && echo 2 > new", "--keep", "other").ok()
    assert kept(stockade, "cat new").ok().out == "1\n"
    stockade.call("discard", "other").ok()
    assert held(stockade) == ["demo"]


def test_the_word_needs_held_changes(stockade, tree):
    refused = stockade.sh("true", flags=[*KEEP, "--write", "."])
    assert refused.status == 125 and "workspace overlay" in refused.err
    for name in ("../x", "a/b", ".x", "20261130-000000-000000", "a" * 25):
        bad = run(stockade, "true", "--keep", name)
        assert bad.status == 125 and "expected a letter" in bad.err
    assert held(stockade) == []


def test_home_and_tmp_are_not_kept(stockade, tree):
    kept(stockade, "echo > ~/left; echo > /tmp/left; echo > here").ok()
    assert kept(stockade, "ls ~/left; ls /tmp/left; ls here").out == "here\n"


def test_a_discarded_one_is_gone(stockade, tree):
    kept(stockade, "echo 1 > new; rm change").ok()
    stockade.call("discard", "demo").ok()
    assert held(stockade) == []
    assert kept(stockade, "ls new; cat change").out == "old\n"
    assert held(stockade) == []     # ... and has changed nothing


def test_one_run_at_a_time(stockade, tree):
    child = waiting(stockade, "echo 1 > new")
    refused = stockade.sh("echo ran", flags=[*OVERLAY, *KEEP])
    assert refused.status == 125 and "demo is in use" in refused.err
    assert "ran" not in refused.out
    for verb in ("diff", "apply", "discard"):
        assert "in use" in stockade.call(verb, "demo").err
    # Another name, or none, is not concerned.
    assert run(stockade, "ls", "--keep", "other").ok().out.count("new") == 0
    child.communicate(b"\n", timeout=20)
    assert kept(stockade, "cat new").ok().out == "1\n"
    assert diff(stockade, "demo") == ["A  new"]


def test_a_first_run_is_not_disturbed(stockade, tree):
    """It has the name before it holds anything."""
    child = waiting(stockade, "true")
    refused = stockade.sh("true", flags=[*OVERLAY, *KEEP])
    assert refused.status == 125 and "in use" in refused.err
    child.communicate(b"echo\n", timeout=20)
    assert held(stockade) == []


def test_other_directories_are_refused(stockade, tree):
    kept(stockade, "echo 1 > new").ok()
    store = snapshot(stockade.state() / "held")
    other = stockade.base / "other"
    other.mkdir()

    def refused(*flags, cwd=None):
        result = stockade.run("/bin/sh", "-c", "echo ran; echo 2 > new",
                              flags=[*OVERLAY, *KEEP, *flags], cwd=cwd)
        assert result.status == 125 and "ran" not in result.out
        assert "`stockade discard demo`" in result.err
        return result.err
    assert "have not done" in refused("--write", str(other))
    assert "is written to" in refused(cwd=other)
    tree.rename(stockade.base / "moved")
    tree.mkdir()
    assert "another directory" in refused()
    assert os.listdir(tree) == [] and os.listdir(other) == []
    tree.rmdir()
    (stockade.base / "moved").rename(tree)
    now = snapshot(stockade.state() / "held")
    assert {k: v for k, v in now.items() if b"/last" not in k and
            b"/work" not in k} == \
        {k: v for k, v in store.items() if b"/last" not in k}
    assert kept(stockade, "cat new").ok().out == "1\n"


def test_the_trees_are_the_same_in_each_run(stockade, tree):
    other = stockade.base / "other"
    other.mkdir()
    kept(stockade, f"echo 1 > {other}/new", "--write", str(other)).ok()
    kept(stockade, f"cat {other}/new && echo 2 > here", "--write",
         str(other)).ok()
    narrower = stockade.sh("true", flags=[*OVERLAY, *KEEP])
    assert narrower.status == 125 and "not written to" in narrower.err
    apply(stockade, "demo")
    assert (other / "new").exists() and (tree / "here").exists()


def test_what_the_host_changed_since_the_first_run(stockade, tree):
    kept(stockade, "echo 1 >> change; rm -r dir").ok()
    (tree / "change").write_text("the user's\n")
    (tree / "keep").write_text("also the user's\n")
    (tree / "dir" / "one").write_text("and this\n")
    time.sleep(0.02)
    kept(stockade, "echo 2 >> keep; echo 3 > fine; echo 4 >> change").ok()
    lines = apply(stockade, "demo", status=1)
    assert lines[:2] == ["A  fine", "left as it is on the host:"]
    assert [line.split("  ")[1] for line in lines[2:]] == ["change", "dir/",
                                                           "keep"]
    assert all("conflict" in line for line in lines[2:])
    assert (tree / "change").read_text() == "the user's\n"
    assert held(stockade) == ["demo"]


def test_what_was_applied_is_no_conflict(stockade, tree):
    kept(stockade, "echo 1 >> change; mkdir -p made/sub; echo 2 > made/sub/x;"
         "echo 3 > made/y; echo rest > rest; echo 4 > dir/new").ok()
    apply(stockade, "demo", "--", "change", "made", "dir")
    assert diff(stockade, "demo") == ["A  rest"]
    time.sleep(0.02)
    kept(stockade, "echo 5 >> change; echo 6 >> made/sub/x; rm made/y;"
         "echo 7 > made/sub/z; echo 8 >> dir/new; cat rest").ok()
    assert diff(stockade) == ["M  change", "M  dir/new", "M  made/sub/x",
                              "A  made/sub/z", "D  made/y", "A  rest"]
    # ... until the host changes it again.
    (tree / "made" / "sub" / "x").write_text("the user's\n")
    assert [line for line in diff(stockade) if "conflict" in line] == [
        "M  made/sub/x  (conflict: changed on the host meanwhile)"]
    assert apply(stockade, status=1)[-1].startswith("M  made/sub/x")
    assert (tree / "change").read_text() == "old\n1\n5\n"
    assert (tree / "made" / "sub" / "x").read_text() == "the user's\n"
    assert not (tree / "made" / "y").exists()


def test_a_directory_exchanged_between_two_runs(stockade, tree):
    (tree / "other").mkdir()
    (tree / "other" / "one").write_text("other\n")
    time.sleep(0.02)
    kept(stockade, "echo x >> dir/one").ok()
    (tree / "dir").rename(tree / "away")
    (tree / "other").rename(tree / "dir")
    kept(stockade, "echo y > dir/new; echo z > z").ok()
    lines = apply(stockade, status=1)
    assert lines[0] == "A  z"
    assert all("conflict" in line for line in lines[2:]) and lines[2:]
    assert (tree / "dir" / "one").read_text() == "other\n"
    assert os.listdir(tree / "dir") == ["one"]


def test_a_failed_launch_changes_nothing(stockade, tree):
    command = ["no-such-command"]
    result = stockade.run(*command, flags=[*OVERLAY, *KEEP])
    assert result.status == 127 and held(stockade) == []
    kept(stockade, "echo 1 > new").ok()
    assert stockade.run(*command, flags=[*OVERLAY, *KEEP]).status == 127
    assert held(stockade) == ["demo"]
    assert kept(stockade, "cat new").ok().out == "1\n"


def test_a_killed_run_is_continued(stockade, tree):
    child = waiting(stockade, "echo 1 > new; rm change; (while :; do echo >> "
                    "busy; done) & until test -s busy; do :; done")
    child.kill()
    child.wait()
    # The sandbox goes with it; nobody writes when the next one reads.
    next_run = kept(stockade, "a=$(wc -l < busy); sleep 0.2; cat new;"
                    "test $a = $(wc -l < busy); echo $?; ls")
    assert next_run.ok().out == "1\n0\nbusy\ndir\nkeep\nnew\nremove\n"
    assert diff(stockade, "demo")[1:] == ["D  change", "A  new"]
    apply(stockade, "demo")
    assert not (tree / "change").exists()


def test_the_last_run_is_waited_for(stockade, tree):
    """A process that has the place of the killed run's pid 1."""
    kept(stockade, "echo 1 > new").ok()
    last = stockade.state() / "held" / "demo" / "last"
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        with open(f"/proc/{sleeper.pid}/stat") as file:
            start = int(file.read().rsplit(")", 1)[1].split()[19])
        data = last.read_bytes()
        last.write_bytes(data[:-12] + sleeper.pid.to_bytes(4, BYTES) +
                         start.to_bytes(8, BYTES))
        refused = stockade.sh("echo ran", flags=[*OVERLAY, *KEEP])
        assert refused.status == 125 and "not gone yet" in refused.err
        assert str(sleeper.pid) in refused.err and "ran" not in refused.out
    finally:
        sleeper.kill()      # a zombie will do
    assert kept(stockade, "cat new").ok().out == "1\n"
    sleeper.wait()


BYTES = "little"


def test_killed_at_any_moment_it_can_be_used(stockade, tree):
    kept(stockade, "echo 1 > new").ok()
    for n in range(12):
        child = stockade.start("/bin/sh", "-c", f"echo {n} >> lines; read _",
                               flags=[*OVERLAY, *KEEP], stdin=subprocess.PIPE)
        time.sleep(n * 0.008)
        child.kill()
        child.wait()
        child.stdin.close()
        assert kept(stockade, "cat new").ok().out == "1\n"
    assert set(diff(stockade, "demo")) <= {"A  lines", "A  new"}
    assert held(stockade) == ["demo"]


def test_a_killed_first_run_leaves_none_or_one(stockade, tree):
    for n in range(12):
        child = stockade.start("/bin/sh", "-c", "echo 1 > new; read _",
                               flags=[*OVERLAY, *KEEP], stdin=subprocess.PIPE)
        time.sleep(n * 0.008)
        child.kill()
        child.wait()
        child.stdin.close()
        assert kept(stockade, "cat new 2> /dev/null; :").ok().out in ("",
                                                                      "1\n")
        stockade.call("discard")
        assert held(stockade) == []


def test_of_several_at_once_one_gets_it(stockade, tree):
    children = [stockade.start("/bin/sh", "-c", "echo ran; sleep 0.5; echo x >> x",
                               flags=[*OVERLAY, *KEEP]) for _ in range(4)]
    results = [child.communicate(timeout=30) for child in children]
    ran = [out for out, _ in results if b"ran" in out]
    assert len(ran) == 1, results
    assert all(b"in use" in err for out, err in results if b"ran" not in out)
    assert kept(stockade, "cat x").ok().out == "x\n"


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_each_call_that_continues_fails_closed(stockade, tree):
    """Nothing runs, and what was kept is as it was."""
    log = stockade.base / "strace"
    kept(stockade, "echo 1 > new").ok()
    hit = 0
    for call, most in (("fsconfig", 8), ("fsmount", 2), ("mkdirat", 3),
                       ("fsetxattr", 1), ("fchmod", 1), ("flock", 3),
                       ("renameat", 1)):
        for n in range(1, most + 1):
            result = subprocess.run(
                ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}",
                 "-e", f"inject={call}:error=EIO:when={n}",
                 *stockade.argv("/bin/sh", "-c", "echo ran; cat new",
                                flags=[*OVERLAY, *KEEP])],
                cwd=tree, env=stockade.env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=60)
            if "(INJECTED)" in log.read_text(errors="replace"):
                hit += 1
                assert result.returncode == 125, (call, n, result)
                assert "ran" not in result.stdout, (call, n, result)
            assert diff(stockade, "demo") == ["A  new"], (call, n, result)
    assert hit > 10
    assert kept(stockade, "cat new").ok().out == "1\n"


def test_runs_and_records_say_which(stockade, tree):
    kept(stockade, "echo 1 > new").ok()
    kept(stockade, "echo 2 > other").ok()
    run(stockade, "echo 3 > plain").ok()
    plain, *both = runs(stockade)
    assert plain["held"] and "kept" not in plain
    assert [r.get("kept") for r in both].count("demo") == 1
    last = next(r["run"] for r in both if r.get("kept"))
    assert "[kept demo]" in stockade.call("runs").out
    # The newest is meant, whatever its name is; and a run is as good as a name.
    assert diff(stockade) == ["A  plain"]
    assert diff(stockade, last) == diff(stockade, "demo")
    answer = json.loads(stockade.call("diff", "demo", "--json").ok().out)
    assert answer["run"] == last and answer["kept"] == "demo"
    apply(stockade, "demo", "--", "new")
    stockade.call("discard", "demo").ok()
    trail = [json.loads(line) for line in stockade.call(
        "log", last, "--json").ok().out.splitlines()]
    assert [(r["event"], r["kept"]) for r in trail[-2:]] == [
        ("apply", "demo"), ("discard", "demo")]
    assert trail[0]["event"] == "run" and trail[0]["kept"] == "demo"
    assert "complete" in stockade.call("log", "verify", last).ok().out


@pytest.mark.parametrize("step", range(3, 24, 4))
def test_a_killed_apply_of_a_kept_one(stockade, tree, step):
    """All of it or nothing; either is on record, and the next run goes on."""
    kept(stockade, "echo 1 > new; echo 2 >> change; rm remove").ok()
    last = next(r["run"] for r in runs(stockade) if r.get("kept"))
    before = snapshot(tree)
    subprocess.run([STOP, str(stockade.state() / "held"), "demo", "kill",
                    str(step)], stderr=subprocess.DEVNULL)
    time.sleep(0.02)
    found = stockade.sh("cat new; echo 3 >> change; tail -n 2 change",
                        flags=[*OVERLAY, *KEEP]).ok()
    assert found.out == "1\n2\n3\n"
    events = [json.loads(line)["event"] for line in stockade.call(
        "log", last, "--json").ok().out.splitlines()]
    assert ("undone" in events) == (snapshot(tree) == before)
    lines = apply(stockade, "demo")
    assert "M  change" in lines
    assert (tree / "change").read_text() == "old\n2\n3\n"
    assert not (tree / "remove").exists()


def test_it_cannot_be_reached_from_inside(stockade, tree):
    kept(stockade, "echo CANARY > new").ok()
    store = stockade.state() / "held"
    result = kept(stockade, f"ls -R {store}; cat {store}/demo/0/upper/new;"
                  "grep -c demo/ /proc/self/mountinfo;"
                  "ls -l /proc/1/fd /proc/self/fd")
    assert "CANARY" not in result.out and str(store) not in result.out
    assert "0" in result.out.split()


def test_what_is_hidden_stays_hidden(stockade, tree):
    """Also where the agent has put something else in its way."""
    kept(stockade, "rm -r dir; mkdir dir; rm keep; mkdir keep").ok()
    (tree / "dir" / ".env").write_text("CANARY")
    (tree / "secret.pem").write_text("CANARY")
    hide = ["--hide", "**/*.pem"]
    result = kept(stockade, "ls -A; cat dir/.env secret.pem; find .", *hide)
    assert "CANARY" not in result.text
    result.ok()


@pytest.mark.parametrize("made, status", [
    ("ln -s /etc dir", 125), ("echo > dir", 0), ("true", 0)])
def test_another_kind_in_the_way_of_a_mask(stockade, tree, made, status):
    kept(stockade, f"rm -r dir; {made}; echo x > x").ok()
    (tree / "dir" / ".env").write_text("CANARY")
    result = kept(stockade, "cat dir/.env; echo y > y")
    assert result.status == status, str(result)
    assert status == 0 or "the kept sandbox demo" in result.err
    assert "CANARY" not in result.text
    assert (tree / "dir" / ".env").read_text() == "CANARY"
    stockade.call("discard", "demo").ok()


def test_a_policy_says_it(stockade, tree):
    policy = stockade.base / "policy"
    policy.write_text("workspace overlay\nkeep demo\n")
    flags = ["--policy", str(policy)]
    stockade.call("run", *flags, "--", "sh", "-c", "echo 1 > new").ok()
    out = stockade.call("run", *flags, "--", "cat", "new").ok().out
    assert out == "1\n"
    form = json.loads(stockade.call("policy", "--json", *flags).ok().out)
    assert form["keep"][0]["name"] == "demo"
    policy.write_text(json.dumps(form))
    assert stockade.call("run", *flags, "--", "cat", "new").ok().out == "1\n"
    assert "keep demo" in stockade.call("policy", *flags).ok().out


def test_what_was_discarded_in_part_is_the_hosts_again(stockade, tree):
    """Also in a directory that the agent has made anew."""
    kept(stockade, "rm -r dir; mkdir dir; echo 3 > dir/three; rm change;"
         "echo 4 > new").ok()
    stockade.call("discard", "demo", "--", "dir/sub", "change").ok()
    again = kept(stockade, "cat change dir/sub/two; ls dir; echo 5 >> change;"
                 "echo 6 >> dir/sub/two; rm -r dir; mkdir dir; echo 7 > dir/x")
    assert again.ok().out == "old\n2\nsub\nthree\n"
    assert apply(stockade, "demo") == ["M  change", "D  dir/one", "D  dir/sub/",
                                       "A  dir/x", "A  new"]
    assert os.listdir(tree / "dir") == ["x"]
    assert (tree / "change").read_text() == "old\n5\n"


def test_the_plan_can_be_looked_at(stockade, tree):
    kept(stockade, "echo 1 > new").ok()
    store = snapshot(stockade.state() / "held")
    kept(stockade, "true", "--explain").ok()
    assert snapshot(stockade.state() / "held") == store
