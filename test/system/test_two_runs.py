# SPDX-License-Identifier: Apache-2.0
"""Two sandboxes with the same tree: what one's pid 1 has looked at, the other's
agent exchanges before it acts.  Races, each won within a second before there was
something against it."""
import os

import pytest

WRITE = ["--write", "."]
SECONDS = 2

EXCHANGES = f"""
import ctypes, os, sys, time
exchange = ctypes.CDLL(None).renameat2
while not os.path.exists("ready"):
    time.sleep(0.01)
end, n = time.monotonic() + {SECONDS}, 0
while time.monotonic() < end:
    n += exchange(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) == 0
print(n)
"""
BEGIN = f"""
import os, time
def tried(call, *arguments):
    try:
        return call(*arguments) or True
    except OSError:
        return False
def create(name):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
end, n = time.monotonic() + {SECONDS}, 0
"""


def race(stockade, one, *names):
    runs = [stockade.start("python3", "-c", BEGIN + one, flags=WRITE),
            stockade.start("python3", "-c", EXCHANGES, *names, flags=WRITE)]
    for run in runs:
        out, err = run.communicate(timeout=30)
        assert run.returncode == 0, err
        assert int(out) > 0, "the control"


def test_a_directory_of_the_users_does_not_pass_for_the_agents(stockade):
    (stockade.cwd / "theirs").mkdir()
    (stockade.cwd / "theirs" / "here").write_text("")
    race(stockade, """
os.mkdir("own")
os.mkdir("ready")
while time.monotonic() < end:
    n += tried(create, "own/.envrc")
    for name in ("own", "theirs"):
        if not os.path.exists(name + "/here"):
            tried(os.unlink, name + "/.envrc")
print(n)""", "own", "theirs")
    for name in ("own", "theirs"):
        assert sorted(os.listdir(stockade.cwd / name)) != [".envrc", "here"]


@pytest.mark.parametrize("call", ["os.rename", "os.link"])
def test_a_tree_does_not_pass_for_a_file(stockade, call):
    """What is linked is a link that leads to the tree."""
    kind = "os.mkdir" if call == "os.rename" else "lambda way: os.symlink('t', way)"
    race(stockade, f"""
os.mkdir("t")
create("t/settings.json")
({kind})("full")
tried(create, "full/settings.json")
os.mkdir("ready")
while time.monotonic() < end:
    tried(create, "file")
    n += tried({call}, "file", ".claude")
    if os.path.exists(".claude/settings.json"):
        break
    tried(os.unlink, ".claude")
print(n)""", "file", "full")
    assert not (stockade.cwd / ".claude" / "settings.json").exists()
