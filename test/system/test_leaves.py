# SPDX-License-Identifier: Apache-2.0
"""What the agent makes that runs commands when it is used outside is told."""
import os
import pty
import re

import pytest

from conftest import PATIENCE, read_terminal

WRITE = ["--write", "."]


def on_terminal(stockade, script, flags=()):
    """What a person reads on standard error."""
    master, slave = pty.openpty()
    child = stockade.start("sh", "-c", script, flags=[*WRITE, *flags],
                           stderr=slave)
    os.close(slave)
    child.communicate(timeout=40 * PATIENCE)
    return read_terminal(master).decode().replace("\r", "")


def told(text):
    """(how many, the paths that are shown)"""
    lines = re.findall(r"^stockade: the agent made (\d+) .* has all: (.*)$",
                       text, re.M)
    assert len(lines) < 2
    return (int(lines[0][0]), lines[0][1].split(", ")) if lines else None


def records(stockade, event):
    return [r for r in stockade.log() if r["event"] == event]


def test_a_repository_is_told(stockade):
    text = on_terminal(stockade, "git init -q new; git clone -q new copy;"
                       "echo done > file")
    paths = [str(stockade.cwd / name / ".git") for name in ("new", "copy")]
    assert told(text) == (2, paths)
    assert [r["path"] for r in records(stockade, "made")] == paths
    assert [r["paths"] for r in records(stockade, "left")] == [paths]
    log = stockade.call("log").ok().out
    assert "2 that run commands" in log and all(p in log for p in paths)
    assert (stockade.cwd / "copy" / ".git" / "HEAD").exists()


@pytest.mark.parametrize("script", [
    "mkdir d; touch d/file d/HEAD; echo x > x",
    # Denied is not made.
    "touch .envrc; mkdir .vscode; mkdir .git/hooks",
    # Nobody's outside.
    "git init -q /tmp/new; mkdir ~/d; touch ~/d/.envrc; cp ~/d/.envrc /tmp",
    # Gone again.
    "git init -q new; rm -rf new",
])
def test_nothing_is_said_of_what_is_nothing(stockade, script):
    assert told(on_terminal(stockade, script)) is None
    left = records(stockade, "left")
    assert [r["paths"] for r in left] == ([[]] if "rm -rf" in script else [])


def test_where_it_is_now(stockade):
    text = on_terminal(stockade, "mkdir a; touch a/.envrc; mkdir a/.claude;"
                       "touch a/.claude/settings.json; mv a b; mkdir c;"
                       "touch c/.envrc; mv c/.envrc c/fine; mv b c/d")
    assert told(text) == (2, [str(stockade.cwd / "c/d/.envrc"), str(
        stockade.cwd / "c/d/.claude/settings.json")])


def test_repositories_that_do_not_look_like_one(stockade):
    (stockade.cwd / "users").mkdir()
    text = on_terminal(stockade, "git init -q --bare x; git init -q y;"
                       "echo gitdir: ../x > users/.git; cd y;"
                       "ln -s ../x/hooks .husky; ln -s ../x z")
    assert told(text) == (4, [str(stockade.cwd / name) for name in (
        "x", "y/.git", "users/.git", "y/.husky")])


def test_many_are_bounded_and_printable(stockade):
    text = on_terminal(stockade, "i=0; while [ $i -lt 80 ]; do mkdir $i;"
                       r"touch $i/.envrc; i=$((i+1)); done")
    count, shown = told(text)
    assert count == 65 and len(shown) == 5 and shown[-1] == "..."
    text = on_terminal(stockade, r"""d=$(printf 'a\033[2J\nb'); mkdir "$d";
                       touch "$d/.envrc" """)
    assert told(text)[0] == 1 and "\033" not in text


def test_a_run_that_is_ended_tells_it_as_well(stockade):
    text = on_terminal(stockade, "mkdir k; touch k/.envrc; echo; sleep 30",
                       flags=["--limit", f"time {PATIENCE:.0f}s"])
    assert told(text) == (1, [str(stockade.cwd / "k/.envrc")])


def test_only_a_terminal_is_told(stockade):
    result = stockade.sh("git init -q new", flags=WRITE).ok()
    assert told(result.err) is None
    assert records(stockade, "left")[0]["count"] == 1


def test_what_is_held_is_named_by_apply(stockade):
    text = on_terminal(stockade, "git init -q new",
                       flags=["--workspace", "overlay"])
    assert told(text) is None
    assert not (stockade.cwd / "new").exists()
