# SPDX-License-Identifier: Apache-2.0
"""Trees of one directory share an overlay (`workspace overlay`), where they can.
Each has its own changes then, and nothing beside them is seen or held.  Judged
by the host's files and what is held."""
import os
import shutil
import subprocess
import sys
import time

import pytest

from conftest import as_root, needs_overlay
from test_boundary_files import SWAP
from test_workspace import OVERLAY, apply, diff, held

pytestmark = needs_overlay


@pytest.fixture
def trees(stockade):
    """Two trees, the working directory and what is beside them, in one."""
    for name in ("one", "deep/two", "deep/three"):
        (stockade.base / name).mkdir(parents=True)
        (stockade.base / name / "file").write_text("old\n")
    (stockade.base / "deep" / "beside").write_text("CANARY\n")
    (stockade.cwd / "file").write_text("old\n")
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    return stockade.base


def run(stockade, trees, script, *flags, of=("one", "deep/two")):
    writes = [word for name in of for word in ("--write", str(trees / name))]
    return stockade.sh(f"cd {trees}; {script}",
                       flags=[*OVERLAY, *writes, *flags])


def layers(stockade):
    """Of the newest run: the directories with an upper layer."""
    store = stockade.state() / "held"
    return sorted(p.parent.name for p in store.glob("*/*/upper"))


def test_they_share_one_and_each_has_its_own(stockade, trees):
    result = run(stockade, trees, "echo 1 > one/new; rm deep/two/file; "
                 "echo 2 >> $OLDPWD/file; cat deep/beside; ls deep")
    assert "CANARY" not in result.out and result.out.split() == ["two"]
    assert layers(stockade) == ["0"]
    assert sorted(diff(stockade)) == [
        f"A  {trees}/one/new", f"D  {trees}/deep/two/file", "M  file"]
    assert not (trees / "one" / "new").exists()
    apply(stockade, "--", str(trees / "one"))
    assert (trees / "one" / "new").read_text() == "1\n"
    assert (trees / "deep" / "two" / "file").exists()
    apply(stockade)
    assert not (trees / "deep" / "two" / "file").exists()
    assert (stockade.cwd / "file").read_text() == "old\n2\n"
    assert held(stockade) == []


def test_what_is_between_them_is_not_reached(stockade, trees):
    result = run(stockade, trees, "cd deep/two; echo x > ../beside; "
                 "echo x > ../three/file; ln file ../linked; "
                 "mkdir ../made; cat ../three/file; mv file ../../one/moved; "
                 "cat ../../one/moved")
    assert result.out == "old\n", result
    assert sorted(diff(stockade)) == [f"A  {trees}/one/moved",
                                      f"D  {trees}/deep/two/file"]
    assert (trees / "deep" / "beside").read_text() == "CANARY\n"


def test_one_in_another_has_changes_of_its_own(stockade, trees):
    (trees / "deep" / "two" / "in").mkdir()
    run(stockade, trees, "echo 1 > deep/two/in/new; echo 2 > deep/new; "
        "echo 3 > deep/two/new", "--read", str(trees / "deep" / "two"),
        of=("deep", "deep/two/in"))
    assert sorted(diff(stockade)) == [f"A  {trees}/deep/new",
                                      f"A  {trees}/deep/two/in/new"]
    assert len(layers(stockade)) == 2
    apply(stockade)
    assert sorted(os.listdir(trees / "deep" / "two" / "in")) == ["new"]


def test_files_and_trees_of_one_directory(stockade, trees):
    (trees / "deep" / "kept").write_text("old\n")
    run(stockade, trees, "echo 1 > deep/beside; echo 2 > deep/kept; "
        "echo 3 > deep/two/new", of=("deep/beside", "deep/kept", "deep/two"))
    assert layers(stockade) == ["0"]
    assert sorted(diff(stockade)) == [
        f"A  {trees}/deep/two/new", f"M  {trees}/deep/beside",
        f"M  {trees}/deep/kept"]
    apply(stockade)
    assert (trees / "deep" / "kept").read_text() == "2\n"
    assert sorted(os.listdir(trees / "deep")) == ["beside", "kept", "three",
                                                  "two"]


def test_masks_hold_in_each(stockade, trees):
    (trees / "one" / ".env").write_text("CANARY\n")
    (trees / "deep" / "two" / "x.pem").write_text("CANARY\n")
    result = run(stockade, trees, "cat one/.env deep/two/x.pem; "
                 "echo x > one/.env; rm deep/two/x.pem; cat one/file",
                 "--hide", f"{trees}/**/*.pem")
    assert result.out == "old\n" and diff(stockade) == []
    assert held(stockade) == []


def test_what_was_looked_through_is_what_is_shown(stockade, trees):
    """Two directories change places all the time; one has a dot-file."""
    one, other = trees / "one", trees / "other"
    other.mkdir()
    (other / "file").write_text("old\n")
    (other / ".env").write_text("CANARY\n")
    swapper = subprocess.Popen(
        [sys.executable, "-c", SWAP, str(one), str(other)],
        stdout=subprocess.PIPE)
    try:
        assert swapper.stdout.readline() == b"swapping\n"
        seen = [run(stockade, trees, "cat one/.env; cat one/file")
                for _ in range(20)]
    finally:
        swapper.kill()
        swapper.communicate()
    assert not [each for each in seen if "CANARY" in each.out]
    # Noticed at the start, or by the sentry, which comes somewhat later.
    for each in seen:
        assert each.status in (0, 125, 137), each
        assert each.out == "old\n" or each.status and not each.out, each
        assert each.status == 0 or "replaced meanwhile" in each.err or \
            "no longer the directory" in each.err, each


@as_root
def test_another_owner_has_an_overlay_of_its_own(stockade, trees):
    """What is copied up gets its owner, which two mappings would be."""
    shutil.chown(trees / "deep" / "two", 54321, 54321)
    result = run(stockade, trees, "echo 1 > one/new; echo 2 > deep/two/new; "
                 "cat one/new deep/two/new")
    assert result.out == "1\n2\n" and layers(stockade) == ["0", "1"]
    apply(stockade)
    assert (trees / "deep" / "two" / "new").stat().st_uid == 54321


@as_root
def test_what_is_kept_stays_with_its_layer(stockade, trees):
    keep = ["--keep", "demo"]
    run(stockade, trees, "echo 1 > one/new; echo 2 > deep/two/new", *keep).ok()
    shutil.chown(trees / "deep", 54321, 54321)
    result = run(stockade, trees, "echo ran", *keep)
    assert result.status == 125 and "another owner" in result.err
    assert "ran" not in result.out
    shutil.chown(trees / "deep", 0, 0)
    again = run(stockade, trees, "cat one/new deep/two/new", *keep).ok()
    assert again.out == "1\n2\n"
    apply(stockade, "demo")
    assert (trees / "deep" / "two" / "new").exists()


@as_root
def test_with_a_mount_beside_them_they_share_none(stockade, trees):
    argv = stockade.argv("/bin/sh", "-c", f"echo 1 > {trees}/one/new",
                         flags=[*OVERLAY, "--write", str(trees / "one"),
                                "--write", str(trees / "deep" / "two")])
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", "mount -t tmpfs none \"$0\" && \"$@\"",
         str(trees / "deep" / "three"), *argv], cwd=stockade.cwd,
        env=stockade.env, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 0, result.stderr
    assert layers(stockade) == ["0", "1", "2"]
    apply(stockade)
    assert (trees / "one" / "new").exists()


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_each_call_that_takes_a_part_fails_closed(stockade, trees):
    log = stockade.base / "strace"
    run(stockade, trees, "true").ok()
    for call, most in (("open_tree", 6), ("fsmount", 1), ("move_mount", 3)):
        for n in range(1, most + 1):
            result = subprocess.run(
                ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}",
                 "-e", f"inject={call}:error=EIO:when={n}",
                 *stockade.argv("/bin/sh", "-c", "echo ran", flags=[
                     *OVERLAY, "--write", str(trees / "one"),
                     "--write", str(trees / "deep" / "two")])],
                cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=60)
            if "(INJECTED)" not in log.read_text(errors="replace"):
                break
            assert result.returncode == 125, (call, n, result)
            assert "ran" not in result.stdout and held(stockade) == []
        assert n > 1 or call == "fsmount"
