# SPDX-License-Identifier: Apache-2.0
"""Renaming directories of the host's with `workspace overlay`: as it is without
an overlay, all or nothing, and of the host's only by an apply."""
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import pytest

from conftest import children, eventually, git, needs_overlay, processes

pytestmark = needs_overlay
OVERLAY = ["--workspace", "overlay"]
TOO_MANY, DEEPEST = 2048, 64
RENAME = "import os; os.rename('{}', '{}')"


def snapshot(top, times=False):
    """{path: type, mode, contents, attributes} of everything below."""
    seen = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = times and stat.S_ISDIR(st.st_mode) and st.st_mtime_ns
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    what = file.read()
            seen[os.path.relpath(path, top)] = (
                stat.filemode(st.st_mode), what,
                stat.S_ISLNK(st.st_mode) or attributes(path))
    return seen


def attributes(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path)
            if name.startswith("user.")}


def prepare(top):
    """A tree in `dir`, three directories deep, and others beside it."""
    deep = top / "dir" / "sub" / "deep"
    deep.mkdir(parents=True)
    (top / "dir" / "one").write_text("1\n")
    (deep / "two").write_text("2\n")
    (deep / "run").write_text("#!/bin/sh\n")
    (deep / "run").chmod(0o755)
    (deep / "link").symlink_to("../../one")
    (top / "dir" / "none").mkdir()
    (top / "dir" / "fixed").mkdir()
    (top / "dir" / "fixed" / "file").write_text("3\n")
    os.setxattr(deep, "user.colour", b"blue")
    deep.chmod(0o751)
    for name in ("full", "full2", "full3", "full4"):
        (top / name).mkdir()
        (top / name / "inside").write_text(name)
    (top / "empty").mkdir(mode=0o700)
    (top / "file").write_text("file\n")
    os.utime(deep, (1e9, 1e9))
    (top / "dir" / "fixed").chmod(0o555)


def run(stockade, script, *flags, **more):
    before = snapshot(stockade.cwd, True)
    result = stockade.run("python3", "-c", script, flags=[*OVERLAY, *flags],
                          **more)
    assert snapshot(stockade.cwd, True) == before
    return result


def diff(stockade):
    return stockade.call("diff").ok().out.splitlines()


@pytest.fixture
def tree(stockade):
    prepare(stockade.cwd)
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    yield stockade.cwd
    for folder, _, _ in os.walk(stockade.base):
        os.chmod(folder, 0o700)


def test_a_tree_has_its_new_name_and_all_that_it_had(stockade, tree):
    expected = snapshot(tree / "dir")
    (tree / "dir" / "sub").chmod(0o2755)    # not kept by an apply
    run(stockade, "import os; os.rename('dir', 'full/other');"
        "assert not os.path.lexists('dir');"
        "assert os.stat('full/other/sub/deep').st_mtime == 1e9;"
        "assert os.stat('full/other/sub').st_mode & 0o7777 == 0o2755;"
        "assert os.listdir('full') in (['other', 'inside'],"
        "                              ['inside', 'other'])").ok()
    lines = diff(stockade)
    assert "D  dir/" in lines and "A  full/other/sub/deep/two" in lines
    stockade.call("apply").ok()
    assert not os.path.lexists(tree / "dir")
    assert snapshot(tree / "full" / "other") == expected


# What is as it is without an overlay, errors and order included.
ALIKE = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def tell(what, ok):
    print(what, "->", "done" if ok is None else errno.errorcode[ok])
def rename(a, b):
    try:
        os.rename(a, b)
    except OSError as e:
        return e.errno
def rename2(a, b, flags):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), flags):
        return ctypes.get_errno()
for a, b in [("dir", "full"), ("dir", "file"), ("dir", "dir/sub/x"),
             ("dir/sub", "dir"), ("dir", "dir"), ("dir", "gone/x"),
             ("gone", "x"), ("dir", "file/x"), ("dir", "."), ("file", "dir"),
             ("dir/fixed", "fixed"), ("dir/fixed", "dir/fixed2"),
             ("dir/sub/deep", "deep/"), ("deep/", "dir/sub/deep/"),
             ("dir", "empty"), ("empty/none", "x"), ("x", "empty/sub/x"),
             ("full", "full2/a"), ("full2", "full3/b"), ("full3", "full4/c"),
             ("full4/c/b/a", "a"), ("empty", "a/" + "n" * 255),
             ("a/" + "n" * 255, "dir")]:
    tell(f"{a[:9]} {b[:9]}", rename(a, b))
tell("not over", rename2("dir/sub", "a", 1))
tell("new", rename2("dir/sub", "new", 1))
tell("back", rename2("new", "dir/sub", 1))
tell("nonsense", rename2("dir", "x", 64))
os.mkdir("dir/made"); open("dir/made/file", "w").write("x")
open("dir/more", "w").write("y"); os.link("dir/more", "dir/sub/same")
tell("with new ones", rename("dir", "last"))
print(os.path.samefile("last/more", "last/sub/same"))
tell("again", rename("last", "dir"))
here = os.open("dir", os.O_RDONLY)
try:
    os.rename("sub", "by", src_dir_fd=here, dst_dir_fd=here)
    print(sorted(os.listdir("dir")))
except OSError as e:
    print(e)
"""


def test_each_rename_does_what_it_does_without(stockade, tree):
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as native:
        os.rmdir(native)
        shutil.copytree(tree, native, symlinks=True)
        for folder, folders, names in os.walk(native):
            for name in [".", *folders, *names] if user else []:
                os.lchown(os.path.join(folder, name), user, user)
        expected = subprocess.run([sys.executable, "-c", ALIKE], cwd=native,
                                  text=True, user=user, group=user,
                                  capture_output=True, check=True).stdout
        result = run(stockade, ALIKE).ok()
        assert result.out.splitlines() == expected.splitlines()
        stockade.call("apply").ok()
        assert snapshot(tree) == snapshot(native)
        for folder, _, _ in os.walk(native):
            os.chmod(folder, 0o700)


def test_git_renames_a_directory(stockade, tree):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    time.sleep(0.02)
    result = run(stockade, "import subprocess as s;"
                 "s.run(['git', 'mv', 'dir', 'other'], check=True);"
                 "s.run(['git', 'mv', 'full', 'other/sub'], check=True)")
    assert result.status == 0, str(result)
    assert (tree / "dir" / "one").exists()
    stockade.call("apply").ok()
    assert (tree / "other" / "sub" / "full" / "inside").exists()
    assert not (tree / "dir").exists() and not (tree / "full").exists()
    status = git(tree, "status", "--porcelain", "--no-renames").split("\n")
    assert "D  dir/one" in status and "A  other/one" in status
    assert not [line for line in status if line[1:2].strip()], status


# What has to be there to be in the way, and the flags that make it so.
MASKED = ("dir/sub/.env", [])
GUARDED = ("dir/sub/.envrc", [])
NAMED = ("dir/sub/kept", ["--guard", "dir/sub/kept"])
HIDDEN = ("dir/sub/deep/hidden", ["--hide", "dir/sub/deep/hidden"])
READ = ("dir/sub/deep/read", ["--read", "dir/sub/deep/read"])


@pytest.mark.parametrize("path, flags", [MASKED, GUARDED, NAMED, HIDDEN, READ])
def test_what_is_masked_or_guarded_stays_and_nothing_moves(stockade, tree,
                                                           path, flags):
    script = RENAME.format("dir", "other")
    (tree / path).write_text("in the way\n")
    result = run(stockade, script, *flags)
    assert "Errno 16" in result.err, str(result)
    assert diff(stockade) == []
    (tree / path).unlink()
    run(stockade, script).ok()
    assert "D  dir/" in diff(stockade)


def test_a_guarded_name_is_not_made_below_the_new_name(stockade, tree):
    """`write` of one path lifts the guard there, and nowhere else."""
    (tree / "dir" / "sub" / ".envrc").write_text("mine\n")
    lifted = ["--write", "dir/sub/.envrc"]
    result = run(stockade, RENAME.format("dir", "other"), *lifted)
    assert "Errno 13" in result.err, str(result)
    assert diff(stockade) == []


def test_what_the_agent_has_made_stays_its_own(stockade, tree):
    """The pair of it: no guard by default holds there, moved or not."""
    run(stockade, "import os; os.mkdir('dir/mine');"
        "open('dir/mine/.envrc', 'w').write('x');"
        "os.rename('dir', 'other')").ok()
    assert "A  other/mine/.envrc  (guarded)" in diff(stockade)


def test_a_tree_does_not_become_what_a_guarded_name_is_in(stockade, tree):
    (tree / "dir" / "settings.json").write_text("evil")
    result = run(stockade, RENAME.format("dir", ".claude"))
    assert "Errno 13" in result.err and diff(stockade) == []
    run(stockade, RENAME.format("dir", ".plain")).ok()
    assert "A  .plain/settings.json" in diff(stockade)


def test_a_guarded_pattern_holds_below_the_new_name(stockade, tree):
    """What was there before the pattern's tree is not one of its names."""
    flags = ["--guard", "kept/**/two"]
    (tree / "kept").mkdir()
    result = run(stockade, RENAME.format("dir", "kept/dir"), *flags)
    assert "Errno 18" in result.err, str(result)
    assert diff(stockade) == []
    stockade.call("run", *OVERLAY, *flags, "--", "mv", "dir", "full", "kept")
    assert "A  kept/full/inside" in diff(stockade)
    assert "A  kept/dir/sub/deep/two" not in diff(stockade)
    stockade.call("discard").ok()
    run(stockade, RENAME.format("dir", "free"), *flags).ok()
    assert "A  free/sub/deep/two" in diff(stockade)


def test_nobody_elses_umask_matters(stockade, tree):
    script = """
import os
if os.fork() == 0:
    os.umask(0o777)
    os.mkdir("closed")
    os._exit(0)
os.wait()
""" + RENAME.format("dir", "moved")
    mode = oct((tree / "dir").stat().st_mode)
    result = run(stockade, script + "\nprint(oct(os.stat('moved').st_mode))")
    assert result.ok().out.strip() == mode


def test_what_installers_unpack_is_not_taken_out(stockade, tree):
    """As without an overlay it is another file system's."""
    (tree / "node_modules" / "a").mkdir(parents=True)
    (tree / "node_modules" / "a" / "index.js").write_text("1\n")
    time.sleep(0.02)
    result = run(stockade, RENAME.format("node_modules/a", "a"))
    assert "Errno 18" in result.err and diff(stockade) == []
    run(stockade, RENAME.format("node_modules/a", "node_modules/b")).ok()
    assert "A  node_modules/b/index.js" in diff(stockade)


def test_directories_are_not_exchanged(stockade, tree):
    result = run(stockade, "import ctypes;"
                 "l = ctypes.CDLL(None, use_errno=True);"
                 "print(l.renameat2(-100, b'dir', -100, b'full', 2),"
                 "      ctypes.get_errno())").ok()
    assert result.out.split() == ["-1", "18"] and diff(stockade) == []


def entries(top):
    for i in range(TOO_MANY - 1):
        (top / str(i)).mkdir()
    return top / "last"


def depth(top):
    for _ in range(DEEPEST - 1):
        top = top / "d"
        top.mkdir()
    return top / "last"


def size(top):
    with open(top / "large", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, 257 << 20)
    (top / "last").mkdir()
    return top / "large"


@pytest.mark.parametrize("kind", [entries, depth, size])
def test_too_much_is_left_to_whoever_asks(stockade, tree, kind):
    (tree / "many").mkdir()
    last = kind(tree / "many")
    if not last.exists():
        last.mkdir()
    result = run(stockade, RENAME.format("many", "other"), timeout=60)
    assert "Errno 18" in result.err and diff(stockade) == []
    if last.is_dir():
        last.rmdir()
    else:
        last.unlink()
    run(stockade, RENAME.format("many", "other"), timeout=60).ok()
    assert {"D  many/", "A  other/"} < set(diff(stockade))


def test_what_is_no_plain_file_goes_as_well(stockade, tree):
    os.mkfifo(tree / "dir" / "fifo")
    os.link(tree / "dir" / "one", tree / "dir" / "hard")
    with open(tree / "dir" / "holes", "wb") as file:
        file.truncate(8 << 20)
        file.write(b"begin")
    (tree / "dir" / "dangling").symlink_to("nowhere")
    time.sleep(0.02)
    run(stockade, "import os, stat; os.rename('dir', 'other');"
        "assert stat.S_ISFIFO(os.stat('other/fifo').st_mode);"
        "assert os.readlink('other/dangling') == 'nowhere';"
        "assert os.stat('other/holes').st_size == 8 << 20;"
        "assert os.stat('other/holes').st_blocks < 4096;"
        "print(open('other/one').read() + open('other/hard').read())").ok()
    lines = diff(stockade)
    assert {"A  other/hard", "A  other/one", "A  other/holes"} < set(lines)
    assert [line for line in lines if line.startswith("A  other/fifo  (never")]


def test_others_wait_and_find_what_there_is_then(stockade, tree):
    """One renames there and back, one makes files in it by either name."""
    run(stockade, """
import os, threading
begun, end = threading.Event(), threading.Event()
def make():
    n = 0
    while not end.is_set():
        for name in "dir", "other":
            try:
                open(f"{name}/sub/{n}", "x").close()
                n += 1
                begun.set()
            except FileNotFoundError:
                pass
    print(n)
maker = threading.Thread(target=make)
maker.start()
begun.wait()
for i in range(10):
    os.rename("dir", "other"); os.rename("other", "dir")
end.set(); maker.join()
print(len(os.listdir("dir/sub")) - 1)
assert not os.path.lexists("other")
""").ok()
    stockade.call("apply").ok()
    assert not [n for n in os.listdir(tree) if n.startswith(".stockade")]


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("call, number", [
    ("renameat2", 3), ("renameat2", 6), ("renameat2", 9), ("renameat2", 11),
    ("utimensat", 1), ("utimensat", 4), ("unlinkat", 5)])
def test_what_fails_half_way_is_taken_back(stockade, tree, call, number):
    log = stockade.base / "strace"
    script = ("import os\n"
              "try:\n    os.rename('dir', 'full/other')\n"
              "except OSError as e:\n    print(e.errno)\n")
    before = snapshot(tree, True)
    result = subprocess.run(
        ["strace", "-f", "-qq", "-o", str(log), "-e", "trace=" + call, "-e",
         f"inject={call}:error=ENOSPC:when={number}",
         *stockade.argv("python3", "-c", script, flags=OVERLAY)],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60)
    assert result.stdout == "28\n", str(result) + log.read_text()
    assert snapshot(tree, True) == before
    assert diff(stockade) == []


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_a_kill_half_way_loses_nothing(stockade, tree):
    """Half-way is where strace stops the process that renames."""
    names = {str(i) for i in range(300)}
    (tree / "many").mkdir()
    for name in names:
        (tree / "many" / name).write_text(name)
    time.sleep(0.02)
    before = snapshot(tree, True)
    child = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", str(stockade.base / "strace"),
         "-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGSTOP:when=100",
         *stockade.argv("python3", "-c", RENAME.format("many", "full/x"),
                        flags=OVERLAY)],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL)
    pattern = "held/*/0/upper/full/.stockade-rename-0/*"
    assert eventually(lambda: len(list(
        stockade.state().glob(pattern))) > 20, 20)
    os.kill(children(child.pid)[0], signal.SIGKILL)
    child.wait()
    assert snapshot(tree, True) == before
    eventually(lambda: not processes(str(stockade.base)))
    moved = {line.split("/")[-1] for line in diff(stockade)
             if line.startswith("A  full/.stockade-rename-0/")} - {""}
    gone = {line.split("/")[-1] for line in diff(stockade)
            if line.startswith("D  many/")} - {""}
    assert 20 < len(moved) <= 100 and moved == gone
    stockade.call("apply").ok()
    for name in names:
        folder = "full/.stockade-rename-0" if name in moved else "many"
        assert (tree / folder / name).read_text() == name
