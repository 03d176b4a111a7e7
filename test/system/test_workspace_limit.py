# SPDX-License-Identifier: Apache-2.0
"""`limit workspace`: how much a run may hold.

Judged by the host's disk: what of the state directory grows, and when.
"""
import os
import random
import re
import shlex
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import BUILD, IS_ROOT, children, needs_overlay
from test_workspace import (CHANGE, OVERLAY, apply, diff, diff_of_all, held,
                            run, snapshot, tree)  # noqa: F401

LAUNCH_FAULT = os.path.join(BUILD, "test", "probe", "launch-fault")
MIB = 1 << 20


def tmpfs_has_attributes():
    fd = os.memfd_create("probe")
    try:
        os.setxattr(fd, "user.probe", b"")
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


needs_attributes = pytest.mark.skipif(
    not tmpfs_has_attributes(), reason="needs Linux 6.6 for attributes on tmpfs")
pytestmark = [needs_attributes, needs_overlay]


def limited(stockade, script, *flags, size="8M", **more):
    return run(stockade, script, "--limit", f"workspace {size}", *flags, **more)


def python(stockade, script, *flags, **more):
    (stockade.cwd / "script.py").write_text(script)
    time.sleep(0.02)
    return limited(stockade, "python3 script.py", *flags, **more)


def used(stockade):
    """Bytes and names on the disk below the store of held changes."""
    bytes_, names = 0, 0
    for folder, folders, files in os.walk(stockade.state() / "held"):
        for name in folders + files:
            bytes_ += os.lstat(os.path.join(folder, name)).st_blocks * 512
            names += 1
    return bytes_, names


def waiting(stockade, script, *flags, size="8M"):
    child = stockade.start("/bin/sh", "-c", f"{script}; echo up; read _",
                           flags=[*OVERLAY, "--limit", f"workspace {size}",
                                  *flags], stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n", child.stderr.read()
    return child


def settled(stockade, run_id):
    """Until whoever carries out what a killed run has held is done."""
    for _ in range(200):
        result = stockade.call("diff", run_id)
        if "is not over" not in result.err and "in use" not in result.err:
            return result
        time.sleep(0.05)
    pytest.fail("still not over: " + result.err)


def test_below_it_all_is_as_without(stockade, tree):
    result = limited(stockade, CHANGE + "; cat change; ls").ok()
    assert result.out.startswith("old\nnew\n") and "remove" not in result.out
    assert "holds changes" in result.err
    assert diff(stockade) == diff_of_all() and apply(stockade) == diff_of_all()
    assert (tree / "change").read_text() == "old\nnew\n"
    assert (tree / "made" / "file").read_text() == "x\n"
    assert os.readlink(tree / "made" / "link") == "../keep"
    assert stat.S_IMODE((tree / "dir").stat().st_mode) == 0o750
    assert (tree / "change").stat().st_uid == os.geteuid()
    assert held(stockade) == [] and diff(stockade) == []


def test_past_it_is_a_full_disk_inside(stockade, tree):
    result = python(stockade, """
import errno, os
n = 0
try:
    with open("large", "wb", buffering=0) as f:
        while True:
            n += f.write(b"x" * 65536)
except OSError as e:
    print(errno.errorcode[e.errno], n)
os.unlink("large")
open("small", "w").write("fits again")
""").ok()
    name, n = result.out.split()
    assert name == "ENOSPC" and 7 * MIB < int(n) <= 8 * MIB
    assert diff(stockade) == ["A  small"]
    apply(stockade)
    assert (tree / "small").read_text() == "fits again"


def test_while_it_runs_nothing_is_on_the_disk(stockade, tree):
    child = waiting(stockade, "head -c 6000000 /dev/zero > large")
    assert used(stockade)[0] < MIB
    child.communicate(b"\n", timeout=20)
    assert 6000000 < used(stockade)[0] < 7 * MIB
    stockade.call("discard").ok()
    assert held(stockade) == []


def test_what_is_full_at_the_end_is_held(stockade, tree):
    limited(stockade, "head -c 100M /dev/zero > large; rm keep; echo done").ok()
    assert diff(stockade) == ["A  large", "D  keep"] or \
        diff(stockade) == ["D  keep", "A  large"]
    assert used(stockade)[0] <= 9 * MIB


def test_files_without_contents_end_too(stockade, tree):
    result = python(stockade, """
import errno, os
os.mkdir("d")
def fill(make):
    n = 0
    try:
        while True:
            make(f"d/{make.__name__}{n}")
            n += 1
    except OSError as e:
        return errno.errorcode[e.errno], n
def file(path): os.close(os.open(path, os.O_CREAT))
def link(path): os.link("d/one", path)
def directory(path): os.mkdir(path)
def note(path): file(path); os.setxattr(path, "user.note", b"x" * 1000)
open("d/one", "w").close()
for make in note, file, link, directory:
    print(*fill(make))
    for name in os.listdir("d"):
        if name != "one" and not name.startswith("directory"):
            os.unlink("d/" + name)
""", size="1M").ok()
    ends = [line.split() for line in result.out.splitlines()]
    assert len(ends) == 4
    for name, n in ends:
        assert name == "ENOSPC" and 150 < int(n) < 600, result.out
    assert used(stockade)[1] < 1200


FILES = ["--limit", "workspace-files 100"]


def test_so_many_names_and_no_more(stockade, tree):
    """Exactly; what is the host's cannot be removed then, what is one's own can."""
    result = python(stockade, """
import errno, os
def end(do):
    n = 0
    try:
        while n < 1000:
            do(n)
            n += 1
    except OSError as e:
        return errno.errorcode[e.errno], n
print(*end(lambda n: os.close(os.open(f"f{n}", os.O_CREAT))))
print(*end(lambda n: os.link("f0", "name")), *end(lambda n: os.mkdir("d")))
print(*end(lambda n: os.unlink("keep")), *end(lambda n: open("change", "a")))
os.rename("f1", "moved"); open("f2", "w").write("y" * 5000)
for n in range(3, 9):
    os.unlink(f"f{n}")
os.unlink("keep"); os.unlink("remove"); open("change", "a").write("new\\n"); os.mkdir("d")
print(*end(lambda n: os.link("f0", f"name{n}")))
""", *FILES).ok()
    assert result.out[:-2] == ("ENOSPC 100\nENOSPC 0 ENOSPC 0\n"
                               "ENOSPC 0 ENOSPC 0\nENOSPC ")
    made = {"moved", "f0", "f2", *(f"f{n}" for n in range(9, 100))}
    lines = set(diff(stockade))
    assert {line for line in lines if not line.startswith("A  name")} == {
        "D  remove", "D  keep", "M  change", "A  d/",
        *("A  " + name for name in made)}
    assert set(apply(stockade)) == lines
    assert made < set(os.listdir(tree)) and not (tree / "keep").exists()
    assert (tree / "f2").read_text() == "y" * 5000
    # More than follow from the size, where that is said.
    more = limited(stockade, "mkdir m; cd m; seq 2000 | xargs touch; ls | wc -l",
                   "--limit", "workspace-files 2001", size="1M").ok()
    assert more.out == "2000\n" and more.err.count("No space") == 0


def test_names_that_are_kept_count(stockade, tree):
    keep = ["--keep", "demo"]
    run(stockade, "mkdir m; cd m; seq 89 | xargs touch", *keep).ok()
    full = limited(stockade, "for i in $(seq 12); do touch n$i; done; ls -d n*",
                   *keep, *FILES)
    assert full.out.split() == [f"n{i}" for i in sorted(range(1, 11), key=str)]
    assert "No space left" in full.err
    refused = stockade.sh("echo ran", flags=[
        *OVERLAY, *keep, "--limit", "workspace 8M", "--limit",
        "workspace-files 99"])
    assert refused.status == 125 and refused.out == ""
    assert "more names than `limit workspace-files 99`" in refused.err
    assert len(diff(stockade, "demo")) == 100


def test_a_file_that_is_too_large_to_be_changed(stockade, tree):
    with open(tree / "big", "wb") as file:
        file.write(os.urandom(3 * MIB))
    time.sleep(0.02)
    result = limited(stockade, "cat big > /dev/null && echo read;"
                     "echo x >> big || echo refused; echo y >> change",
                     size="2M").ok()
    assert result.out == "read\nrefused\n"
    assert "No space left" in result.err
    assert diff(stockade) == ["M  change"]


def test_what_is_carried_is_what_was_written(stockade, tree):
    """Between memory and disk: each attribute, twice, by a kept sandbox."""
    script = """
import os, socket
os.umask(0)
with open("sparse", "wb") as f:
    f.write(b"head"); f.truncate(1 << 30); f.seek(512 << 20); f.write(b"mid")
open("tool", "w").write("#!/bin/sh\\n"); os.chmod("tool", 0o750)
os.setxattr("tool", "user.note", b"kept")
os.utime("tool", (1000000000, 1000000001))
open("a", "w").write("linked"); os.link("a", "b"); os.mkdir("in")
os.link("a", "in/c")
open("mine", "w").write("mine"); os.setxattr("mine", "user.note", b"too")
os.chmod("mine", 0)
os.mkdir("shut"); open("shut/in", "w"); os.chmod("shut", 0)
os.symlink("nowhere", "link"); os.mkfifo("pipe", 0o640)
os.utime("link", (5, 6), follow_symlinks=False)
socket.socket(socket.AF_UNIX).bind("socket")
os.unlink("remove"); os.unlink("dir/one")
import shutil; shutil.rmtree("dir/sub"); os.mkdir("dir/sub")
os.mkdir("old"); os.utime("old", (7, 8))
"""
    (tree / "make.py").write_text(script)
    time.sleep(0.02)
    again = """
import os
def show(path):
    st = os.lstat(path)
    size = 0 if os.path.isdir(path) else st.st_size
    print(path, oct(st.st_mode), size, st.st_mtime, st.st_uid == os.getuid())
for path in ("sparse", "tool", "a", "mine", "shut", "link", "pipe", "socket",
             "old", "dir", "dir/sub"):
    show(path)
for path in "a", "b", "in/c":
    print(open(path).read(), os.stat(path).st_ino == os.stat("a").st_ino)
print(os.getxattr("tool", "user.note"), os.listdir("dir"), os.listdir("dir/sub"))
print(os.path.exists("remove"), os.stat("sparse").st_blocks < 99)
os.chmod("mine", 0o600); os.chmod("shut", 0o700)
print(open("mine").read(), os.getxattr("mine", "user.note"), os.listdir("shut"))
os.chmod("mine", 0); os.chmod("shut", 0)
"""
    (tree / "again.py").write_text(again)
    time.sleep(0.02)
    keep = ["--keep", "demo"]
    first = limited(stockade, "python3 make.py; python3 again.py", *keep).ok()
    second = limited(stockade, "python3 again.py; echo x > more", *keep).ok()
    assert second.out == first.out
    # ... and on the disk, as a run without the limit finds it.
    third = run(stockade, "python3 again.py", *keep).ok()
    assert third.out == first.out
    assert first.out.count("linked True") == 3
    assert "mine b'too' ['in']" in first.out and "False True" in first.out
    lines = diff(stockade, "demo")
    for line in ("A  more", "D  remove", "D  dir/one", "D  dir/sub/two"):
        assert line in lines
    stockade.call("discard", "demo").ok()
    assert held(stockade) == []


def test_what_is_kept_has_to_have_room(stockade, tree):
    keep = ["--keep", "demo"]
    run(stockade, "head -c 3000000 /dev/zero > large", *keep).ok()
    refused = stockade.sh("echo ran", flags=[*OVERLAY, *keep, "--limit",
                                             "workspace 2M"])
    assert refused.status == 125 and "ran" not in refused.out
    assert "has to have room in `limit workspace`" in refused.err
    assert diff(stockade, "demo") == ["A  large"]
    grown = limited(stockade, "head -c 3000000 /dev/zero >> large || echo full",
                    *keep, size="4M").ok()
    assert grown.out == "full\n"
    assert 3 * MIB < used(stockade)[0] < 5 * MIB


def test_a_tree_of_any_depth_is_carried(stockade, tree):
    python(stockade, """
import os
for i in range(300):
    os.mkdir("d"); os.chdir("d")
open("end", "w").write("deep")
""").ok()
    assert "lie too deep" in stockade.call("diff").err
    depth = subprocess.run(["find", stockade.state() / "held", "-name", "end",
                            "-printf", "%d"], capture_output=True, check=True)
    assert int(depth.stdout) > 300
    stockade.call("discard").ok()
    assert held(stockade) == []


def test_every_tree_has_a_part_of_it(stockade, tree):
    other = stockade.base / "other"
    other.mkdir()
    result = limited(stockade, f"head -c 5M /dev/zero > {other}/new;"
                     "head -c 5M /dev/zero > here; echo", "--write",
                     str(other)).ok()
    assert "No space left" in result.err and os.listdir(other) == []
    assert sorted(diff(stockade)) == [f"A  {other}/new", "A  here"]
    apply(stockade)
    assert (other / "new").stat().st_size == 5 * MIB
    assert (tree / "here").stat().st_size < 3.1 * MIB


def test_a_single_file_and_names_of_one_file(stockade, tree):
    other = stockade.base / "other"
    other.mkdir()
    (other / "conf").write_text("old\n")
    (other / "secret").write_text("beside it\n")
    time.sleep(0.02)
    limited(stockade, f"echo new >> {other}/conf; ls -a {other};"
            "echo x > a; ln a b", "--write", str(other / "conf")).ok()
    assert (other / "conf").read_text() == "old\n"
    apply(stockade)
    assert (other / "conf").read_text() == "old\nnew\n"
    assert (tree / "a").stat().st_ino == (tree / "b").stat().st_ino
    assert sorted(os.listdir(other)) == ["conf", "secret"]


def test_a_run_that_changes_nothing_holds_nothing(stockade, tree):
    result = limited(stockade, "cat change; touch keep; cp keep x && rm x").ok()
    assert "holds" not in result.err and held(stockade) == []


def test_a_killed_run_is_carried_out(stockade, tree):
    child = waiting(stockade, "echo x > new; rm -r dir")
    run_id = held(stockade)[0]
    assert "not over" in stockade.call("diff", run_id).err
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=20)
    settled(stockade, run_id).ok()
    assert diff(stockade) == ["D  dir/", "A  new"]
    apply(stockade)
    assert (tree / "new").read_text() == "x\n" and not (tree / "dir").exists()
    assert held(stockade) == []


def test_killed_with_its_reapers_nothing_is_held_and_that_is_told(stockade,
                                                                 tree):
    for keep in [], ["--keep", "demo"]:
        if keep:
            run(stockade, "echo 1 > first", *keep).ok()
        child = waiting(stockade, "echo x > new", *keep)
        family_ = children(child.pid)
        os.kill(child.pid, signal.SIGSTOP)
        for pid in family_:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.kill(child.pid, signal.SIGKILL)
        child.communicate(timeout=20)
        result = stockade.call("diff")
        while not result.err or "in use" in result.err:
            time.sleep(0.02)        # a reaper is dying, and has its lock still
            result = stockade.call("diff")
        assert "nothing of it is held" in result.ok().err, result.err
        assert result.out == ("A  first\n" if keep else "")
        assert held(stockade) == (["demo"] if keep else [])
        assert stockade.call("diff").ok().err == ""     # told once


def test_sigkill_at_any_moment(stockade, tree):
    """All of it is held, or nothing: the two files stand for it."""
    rnd = random.Random(7)
    ended = {"held": 0, "not": 0}
    script = ("head -c 2000000 /dev/zero > first; for i in $(seq 150); do"
              " echo $i > f$i; done; echo last > second")
    for _ in range(6):
        child = stockade.start("/bin/sh", "-c", script, flags=[
            *OVERLAY, "--limit", "workspace 8M", "--keep", "demo"],
            stdin=subprocess.DEVNULL)
        time.sleep(rnd.uniform(0.0, 0.25))
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=20)
        for _ in range(200):
            lines = stockade.call("diff", "demo")
            if "in use" not in lines.err and "is not gone" not in lines.err:
                break
            time.sleep(0.05)
        names = {line.split("  ")[1] for line in lines.out.splitlines()}
        assert snapshot(stockade.cwd).keys() == snapshot(tree).keys()
        ended["held" if names else "not"] += 1
        if "second" in names:
            assert len(names) == 152
        store = stockade.state() / "held" / "demo"
        if store.exists():
            assert not (store / "carried").exists()
            assert not (store / "whole").exists()
            assert not (store / "in-memory").exists()
        if names:
            stockade.call("discard", "demo").ok()
    assert not os.path.exists(tree / "first")


def injected(stockade, what, call, n, *flags):
    """A run of three changes, in which call n of a process fails or kills it."""
    log = stockade.base / "strace"
    result = subprocess.run(
        ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}",
         "-e", f"inject={call}:{what}:when={n}",
         *stockade.argv("/bin/sh", "-c", "echo x > new; ln new other; rm keep;"
                        "echo ran", flags=[*OVERLAY, "--limit",
                                           "workspace 8M", *flags])],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    text = log.read_text(errors="replace")
    return result, "(INJECTED)" in text or "killed by SIGKILL" in text


THREE = {"new", "other", "keep"}


def names_held(stockade):
    for _ in range(200):
        result = stockade.call("diff")
        if "not over" not in result.err and "in use" not in result.err and \
                "not gone" not in result.err:
            break
        time.sleep(0.05)
    return {line.split("  ")[1] for line in result.ok().out.splitlines()}


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("keep", [False, True])
def test_what_cannot_be_carried_out_is_not_held(stockade, tree, keep):
    """Each call of it fails in turn: all is held, or it says that nothing is."""
    flags = ["--keep", "demo"] if keep else []
    old = {"first"} if keep else set()
    run(stockade, "true").ok()      # the template is made
    before = snapshot(tree)
    said = {"all": 0, "nothing": 0, "later": 0}
    calls = [("renameat", 5)] if keep else [
        ("fsetxattr", 2), ("linkat", 2), ("syncfs", 1), ("renameat", 4),
        ("mknodat", 1), ("pwrite64", 1)]
    for call, most in calls:
        for n in range(1, most + 1):
            if keep:
                run(stockade, "echo 1 > first", *flags).ok()
            result, _ = injected(stockade, "error=EIO", call, n, *flags)
            assert snapshot(tree) == before
            names = names_held(stockade)
            if result.returncode == 0:
                said["all"] += 1
                assert names == old | THREE, (call, n)
            elif "tries again" in result.stderr:
                said["later"] += 1
                assert names == old | THREE, (call, n)
            else:
                assert result.returncode == 125 and names == old, (call, n)
                if "ran" in result.stdout:
                    said["nothing"] += 1
                    assert "nothing that run" in result.stderr, (call, n)
            for name in held(stockade):
                stockade.call("discard", name).ok()
    assert said["nothing"] > (0 if keep else 3) and said["later"] > 0, said


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("keep", [False, True])
def test_killed_at_each_call_that_carries_it_out(stockade, tree, keep):
    """And the reaper with it, at the same: what is held is old or new."""
    flags = ["--keep", "demo"] if keep else []
    ends = {"old": 0, "new": 0}
    for call, most in [("renameat", 5), ("syncfs", 1),
                       *([("unlinkat", 5)] if keep else [])]:
        for n in range(1, most + 1):
            if keep:
                run(stockade, "echo 1 > first", *flags).ok()
            old = {"first"} if keep else set()
            _, hit = injected(stockade, "signal=KILL", call, n, *flags)
            names = names_held(stockade)
            assert names in (old, old | THREE), (call, n, names)
            ends["old" if names == old else "new"] += hit
            for name in held(stockade):
                inside = os.listdir(stockade.state() / "held" / name)
                assert not {"carried", "whole", "in-memory"} & set(inside)
                stockade.call("discard", name).ok()
    assert ends["old"] > 1 and ends["new"] > 1, ends


def test_the_step_fails_closed(stockade, tree):
    base = [LAUNCH_FAULT, *OVERLAY, "--limit", "workspace 8M"]
    command = ["--", "/bin/sh", "-c", "echo ran"]
    lines = subprocess.run([*base, "--explain", *command], cwd=tree,
                           env=stockade.env, stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    number = [line.split()[0] for line in lines
              if line.split()[1:2] == ["layers"]]
    failed = subprocess.run([*base, "--fail", number[0], *command], cwd=tree,
                            env=stockade.env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 125 and "made to fail" in failed.stderr
    assert "ran" not in failed.stdout


def test_without_an_overlay_it_is_an_error(stockade, tree):
    for word in "--limit", "--limit?":
        result = stockade.sh("echo ran", flags=[word, "workspace 8M"])
        assert result.status == 125 and "ran" not in result.out
        assert "needed: workspace overlay" in result.err
    result = stockade.sh("echo ran", policy="workspace direct\n"
                         "limit workspace 1G\n")
    assert result.status == 125 and "needed: workspace overlay" in result.err
    assert limited(stockade, "echo ran").out == "ran\n"


def test_optional_is_held_where_it_can_be(stockade, tree):
    script = "head -c 3M /dev/zero > x || echo full; rm x"
    result = stockade.sh(script, flags=[*OVERLAY, "--limit?",
                                        "workspace 2M"]).ok()
    assert result.out == "full\n"
    # No machine has that much memory: there it would not end in time.
    result = stockade.sh(script, flags=[*OVERLAY, "--limit",
                                        "workspace 1024T"])
    assert result.status == 125 and "held in memory, of which" in result.err
    result = stockade.sh(script, flags=[*OVERLAY, "--limit?",
                                        "workspace 1024T"]).ok()
    assert result.out == ""


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_an_older_kernel_is_refused_unless_optional(stockade, tree):
    """One that keeps no user attribute on tmpfs, as strace plays it."""
    def older(word, *more):
        return subprocess.run(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsetxattr",
             "-e", "inject=fsetxattr:error=EOPNOTSUPP:when=1",
             *stockade.argv("/bin/sh", "-c", "head -c 3M /dev/zero > x; echo"
                            " ran", flags=[*OVERLAY, word, "workspace 2M",
                                           *more])],
            cwd=tree, env=stockade.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60)
    result = older("--limit")
    assert result.returncode == 125 and result.stdout == ""
    assert "limit workspace 2M: user attributes on tmpfs need Linux 6.6" in \
        result.stderr
    result = older("--limit?", "--limit", "workspace-files 9")
    assert result.returncode == 125 and result.stdout == ""
    assert "limit workspace-files 9: user attributes" in result.stderr
    result = older("--limit?", "--limit?", "workspace-files 9")
    assert result.returncode == 0 and result.stdout == "ran\n"
    assert used(stockade)[0] >= 3 * MIB


def test_where_it_is_carried_to_has_to_have_room(stockade, tree):
    """Told before the run, not when there is something to be lost."""
    small = stockade.base / "small"
    small.mkdir()
    where = {"XDG_STATE_HOME": str(small)}
    flags = [*OVERLAY, "--limit", "workspace 8M", *FILES]
    for options, told in (("size=4M", "has room for [34]M"),
                          ("size=40M,nr_inodes=99",
                           "has room for [0-9]+ files, and .*workspace-files")):
        script = f"mount -t tmpfs -o {options} none {small} && exec " + \
            " ".join(shlex.quote(word) for word in stockade.argv(
                "/bin/sh", "-c", "echo ran", flags=flags))
        words = ["unshare", *([] if IS_ROOT else ["-Uc", "--keep-caps"]), "-m",
                 "sh", "-c", script]
        result = subprocess.run(words, cwd=tree, env={**stockade.env, **where},
                                stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=60)
        assert result.returncode == 125 and result.stdout == "", result
        assert re.search(told, result.stderr), result
    assert stockade.sh("echo ran", flags=flags).out == "ran\n"


def test_a_failed_launch_leaves_nothing(stockade, tree):
    flags = [*OVERLAY, "--limit", "workspace 2M"]
    assert stockade.run("/no/such/command", flags=flags).status == 127
    assert held(stockade) == []
    run(stockade, "echo 1 > first", "--keep", "demo").ok()
    before = snapshot(stockade.state() / "held")
    assert stockade.run("/no/such/command",
                        flags=[*flags, "--keep", "demo"]).status == 127
    after = snapshot(stockade.state() / "held")
    assert {k for k in after if not k.endswith(b"/last")} == \
        {k for k in before if not k.endswith(b"/last")}


def test_the_plan_says_it(stockade, tree):
    result = stockade.sh("true", flags=["--explain", *OVERLAY, "--limit",
                                        "workspace 64M"]).ok()
    assert "workspace 64M" in result.out


def test_the_mount_says_nothing_of_the_state(stockade, tree):
    result = limited(stockade, "cat /proc/self/mountinfo")
    lines = [line for line in result.out.splitlines() if "overlay" in line]
    assert lines and "/held" not in result.out
