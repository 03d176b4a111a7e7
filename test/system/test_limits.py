# SPDX-License-Identifier: Apache-2.0
"""Limits: each has its denial and its allowance, and no group stays.

What a control group says is read outside, in the kernel's own files.  Memory
and processors need a group that this user may divide: without one the
statement is refused, which is tested as well.
"""
import os
import pathlib
import re
import secrets
import signal
import socket
import subprocess
import tempfile
import time
import tty

import pytest

from conftest import (IS_ROOT, PROGRAM, Stockade, as_root, eventually, is_ours,
                      ours, processes)
from test_workspace_limit import needs_attributes

GROUPS = "/sys/fs/cgroup"


def groups():
    found = (os.path.join(folder, name) for folder, names, _ in os.walk(GROUPS)
             for name in names if name.startswith("stockade-"))
    return {path for path in found if is_ours(path)}


def members():
    found = set()
    for group in groups():
        with open(group + "/cgroup.procs") as procs:
            found |= {int(pid) for pid in procs.read().split()}
    return found


def group_file(name):
    """The contents of a file of that name in the one group that has it."""
    found = [os.path.join(group, name) for group in groups()
             if os.path.exists(os.path.join(group, name))]
    assert len(found) == 1, found
    with open(found[0]) as text:
        return text.read()


@pytest.fixture(autouse=True)
def no_group_stays():
    before = groups()
    yield
    assert eventually(lambda: not groups() - before), groups() - before


def can(what):
    out = subprocess.run([PROGRAM, "doctor"], stdout=subprocess.PIPE,
                         text=True, check=False).stdout
    return bool(re.search(rf"^limit {what}\S*( swap)? +ok +control groups", out, re.M))


def divided(what):
    return pytest.mark.skipif(
        not can(what), reason="has no control group that it may divide")


needs_memory, needs_cpu, needs_pids = map(divided, ["memory,", "cpu",
                                                    "processes"])


def limited(stockade, limit, *command, flags=(), **more):
    more_flags = [flag for word in limit.split("\n")
                  for flag in ("--limit", word)]
    return stockade.run(*command, flags=[*more_flags, *flags], **more)


def python(stockade, limit, script, **more):
    return limited(stockade, limit, "/usr/bin/python3", "-c", script, **more)


def reached(result):
    found = re.findall(r"stockade: limit (.*) reached$", result.err, re.M)
    return found[0] if found else None


def recorded(stockade):
    """What the last run's record says."""
    return stockade.log()[-1].get("limit")


HOG = "x = bytearray(%d << 20); print(len(x))"


@needs_memory
def test_memory(stockade):
    (stockade.cwd / "hog.py").write_text(HOG % 200)
    result = limited(stockade, "memory 64M", "/bin/sh", "-c",
                     "/usr/bin/python3 hog.py; sleep 5; touch survived",
                     flags=["--write", "."])
    assert result.status == 137 and result.out == ""
    assert reached(result) == recorded(stockade) == "memory 64M"
    assert not (stockade.cwd / "survived").exists()
    small = python(stockade, "memory 64M", HOG % 16).ok()
    assert reached(small) is None and recorded(stockade) is None


@needs_memory
def test_what_is_in_tmp_counts_as_memory(stockade):
    script = "head -c %dM /dev/zero > /tmp/x"
    result = limited(stockade, "memory 32M", "sh", "-c", script % 64)
    assert result.status == 137 and reached(result) == "memory 32M"
    limited(stockade, "memory 32M", "sh", "-c", script % 4).ok()


@needs_memory
@needs_attributes
def test_what_is_held_in_memory_counts_as_memory(stockade):
    script, flags = "head -c %dM /dev/zero > x", ["--workspace", "overlay"]
    result = limited(stockade, "memory 32M\nworkspace 128M", "sh", "-c",
                     script % 64, flags=flags)
    assert result.status == 137 and reached(result) == "memory 32M"
    assert "holds changes" in result.err        # what there was until then
    stockade.call("discard").ok()
    limited(stockade, "memory 32M\nworkspace 128M", "sh", "-c", script % 4,
            flags=flags).ok()
    assert stockade.call("diff").ok().out == "A  x\n"


@needs_memory
def test_too_little_memory_to_begin_with(stockade):
    """Whether it begins or not: with a reason, and never hanging."""
    result = python(stockade, "memory 4M", HOG % 16)
    assert result.status in (125, 137)
    assert "limit memory 4M reached" in result.err


@needs_memory
@needs_cpu
@needs_pids
def test_what_the_groups_say(stockade):
    child = stockade.start(
        "sh", "-c", "echo ready; exec sleep 75.25", flags=[
            "--limit", "memory 64M", "--limit", "swap 16M", "--limit",
            "processes 20", "--limit", "cpu 1.5"])
    assert child.stdout.readline() == b"ready\n"
    if os.path.exists(GROUPS + "/cgroup.controllers"):
        assert int(group_file("memory.max")) == 64 << 20
        assert int(group_file("memory.swap.max")) == 16 << 20
        assert int(group_file("memory.oom.group")) == 1
        assert group_file("cpu.max").split() == ["150000", "100000"]
    else:
        assert int(group_file("memory.limit_in_bytes")) == 64 << 20
        assert int(group_file("memory.memsw.limit_in_bytes")) == 80 << 20
        assert int(group_file("cpu.cfs_quota_us")) * 2 == 3 * int(
            group_file("cpu.cfs_period_us"))
    assert int(group_file("pids.max")) == 21    # and the sandbox's own
    inside = members()
    assert child.pid not in inside
    # The shell is `sleep` a moment after it has said that it is ready.
    assert eventually(lambda: {processes()[pid][0] for pid in inside} ==
                      {"stockade-init", "sleep"})
    child.terminate()
    child.communicate(timeout=15)


@needs_memory
def test_there_is_no_swap_but_where_it_is_allowed(stockade):
    child = stockade.start("sh", "-c", "echo ready; exec sleep 75.5",
                           flags=["--limit", "memory 64M"])
    assert child.stdout.readline() == b"ready\n"
    if os.path.exists(GROUPS + "/cgroup.controllers"):
        assert int(group_file("memory.swap.max")) == 0
    else:
        assert int(group_file("memory.memsw.limit_in_bytes")) == 64 << 20
    child.terminate()
    child.communicate(timeout=15)


BREED = """
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print(made)
"""


@pytest.mark.skipif(not can("io"),
                    reason="has no control group of version 2 for disks")
def test_what_the_group_says_of_disks(stockade):
    child = stockade.start("sh", "-c", "echo ready; exec sleep 76",
                           flags=["--limit", "io 50M"])
    assert child.stdout.readline() == b"ready\n"
    lines = group_file("io.max").splitlines()
    assert lines and all("rbps=52428800 wbps=52428800" in line
                         for line in lines)
    child.terminate()
    child.communicate(timeout=15)


@pytest.mark.skipif(can("io"), reason="has a control group for disks")
def test_a_limit_of_disks_that_holds_in_part_is_refused(stockade):
    result = limited(stockade, "io 50M", "touch", "ran",
                     flags=["--write", "."])
    assert result.status == 125 and "limit io 50M: " in result.err
    assert "control group" in result.err
    if os.path.isdir(GROUPS + "/blkio"):
        assert "page cache; only version 2 holds that" in result.err
    assert not (stockade.cwd / "ran").exists()
    stockade.run("touch", "ran", flags=[
        "--write", ".", "--limit?", "io 50M"]).ok()
    assert (stockade.cwd / "ran").exists()
    doctor = stockade.call("doctor").ok().out
    assert re.search(r"^limit io +absent +limit io: ", doctor, re.M)


def test_processes(stockade):
    """Of twenty, one is the command itself; others of the user do not count."""
    mine = [subprocess.Popen(["sleep", "30"]) for _ in range(25)]
    result = python(stockade, "processes 20", BREED).ok()
    # Started by a user, without control groups, there may be one more at first.
    assert result.out == "19\n" or (not IS_ROOT and result.out == "20\n")
    subprocess.run(["true"], check=True)    # the host is fine
    assert python(stockade, "processes 210", BREED).ok().out == "200\n"
    for child in mine:
        child.kill()
        child.wait()


@needs_pids
def test_too_many_processes_are_told(stockade):
    result = python(stockade, "processes 20", BREED).ok()
    assert reached(result) == recorded(stockade) == "processes 20"


def test_a_fork_bomb_ends_with_the_command(stockade):
    result = limited(stockade, "processes 30", "sh", "-c",
                     "bomb() { bomb | bomb & }; bomb; sleep 1; exit 6")
    assert result.status in (2, 6)      # dash itself may be unable to fork
    assert not processes("bomb()")


@needs_cpu
@pytest.mark.parametrize("cpu,throttled", [("0.05", True), ("64", False)])
def test_cpu(stockade, cpu, throttled):
    child = stockade.start("sh", "-c", "while :; do :; done; : #76.25",
                           flags=["--limit", f"cpu {cpu}"])

    def count():
        return groups() and int(re.search(r"nr_throttled (\d+)", group_file(
            "cpu.stat"))[1])

    seen = eventually(lambda: count(), 10.0 if throttled else 1.0)
    child.kill()
    child.communicate()
    assert bool(seen) == throttled


OPEN = """
import os
n = 0
try:
    while n < 300:
        os.dup(0)
        n += 1
except OSError as error:
    print(error.errno)
print(n)
"""


def test_files(stockade):
    denied = python(stockade, "files 64", OPEN).ok().out.split()
    assert denied[0] == "24" and 40 < int(denied[1]) < 64
    assert python(stockade, "files 400", OPEN).ok().out == "300\n"


def test_limits_go_with_guards_and_fewer_calls(stockade):
    """The command's process has more to do then before it executes."""
    (stockade.cwd / ".git").mkdir()
    result = limited(stockade, "files 32\nfile-size 1M\nprocesses 30",
                     "sh", "-c", "echo x > made; ulimit -n; ulimit -f",
                     flags=["--write", ".", "--syscalls", "strict"]).ok()
    assert result.out == "32\n2048\n"
    assert (stockade.cwd / "made").read_text() == "x\n"


def test_file_size(stockade):
    script = "head -c %d /dev/zero > made"
    result = limited(stockade, "file-size 1M", "sh", "-c",
                     "exec " + script % 3000000, flags=["--write", "."])
    assert result.status in (1, 128 + signal.SIGXFSZ)
    assert os.path.getsize(stockade.cwd / "made") == 1 << 20
    limited(stockade, "file-size 1M", "sh", "-c", script % 1000000,
            flags=["--write", "."]).ok()
    assert os.path.getsize(stockade.cwd / "made") == 1000000
    result = python(stockade, "file-size 1M", "import os, signal\n"
                    "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
                    "open('/tmp/x', 'wb').write(bytes(2 << 20))")
    assert result.status == 128 + signal.SIGXFSZ
    assert reached(result) == recorded(stockade) == "file-size 1M"


FILL = """
import errno, os, sys
room = 0
for place in ["/tmp", os.environ["HOME"], "/var/tmp", "/run/shm"]:
    try:
        with open(place + "/x", "wb", buffering=0) as file:
            while room < 64 << 20:
                room += file.write(bytes(1 << 16))
    except OSError as error:
        print(place, errno.errorcode[error.errno])
print(room >> 20)
"""


def test_disk(stockade):
    """One size for all of the sandbox's own places together."""
    lines = python(stockade, "disk 16M", FILL).ok().out.splitlines()
    assert lines[-1] in ("15", "16")
    assert lines[0] == "/tmp ENOSPC" and len(lines) == 5
    assert all(line.endswith(" ENOSPC") for line in lines[:4])
    assert python(stockade, "disk 100M", FILL).ok().out == "64\n"


def test_disk_counts_empty_files_too(stockade):
    result = limited(stockade, "disk 1M", "sh", "-c",
                     "i=0; while : > /tmp/$i; do i=$((i+1)); done; echo $i")
    assert "No space left" in result.err
    assert 900 < int(result.out or 1000) < 1300


TALK = "head -c %d /dev/zero; head -c %d /dev/zero >&2; exit %d"


def test_output(stockade):
    result = limited(stockade, "output 10K", "sh", "-c", TALK % (6000, 0, 3))
    assert result.status == 3 and len(result.out) == 6000
    assert reached(result) is None
    result = limited(stockade, "output 10K", "sh", "-c",
                     TALK % (6000, 6000, 3) + "; sleep 5")
    assert result.status == 137
    assert reached(result) == recorded(stockade) == "output 10K"
    passed = len(result.out) + result.err.count("\0")
    assert passed == 10240, passed
    exact = limited(stockade, "output 10K", "head", "-c", "10240", "/dev/zero")
    assert exact.status == 0 and len(exact.out) == 10240


def test_output_into_a_file(stockade):
    path = stockade.base / "out"
    for mode, size in (("wb", 10240), ("ab", 20480)):
        with open(path, mode) as out:
            child = stockade.start("yes", flags=["--limit", "output 10K"],
                                   stdout=out, stderr=subprocess.DEVNULL)
            assert child.wait(timeout=20) == 137
        assert os.path.getsize(path) == size
    with open(path, "wb") as out:
        child = stockade.start("sh", "-c", "echo a; echo b >&2; echo c",
                               flags=["--limit", "output 10K"],
                               stdout=out, stderr=out)
        assert child.wait(timeout=20) == 0
    assert path.read_text() == "a\nb\nc\n"


def test_output_into_a_socket(stockade):
    ours_, theirs = socket.socketpair()
    child = stockade.start("yes", flags=["--limit", "output 10K"],
                           stdout=theirs, stderr=subprocess.DEVNULL)
    theirs.close()
    got = b""
    while chunk := ours_.recv(65536):
        got += chunk
    ours_.close()
    assert child.wait(timeout=20) == 137 and len(got) == 10240


def test_output_on_a_terminal(stockade):
    master, slave = os.openpty()
    tty.setraw(slave)
    child = stockade.start("yes", flags=["--limit", "output 10K"],
                           stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    got = b""
    while True:
        try:
            got += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert child.wait(timeout=20) == 137
    text, _, rest = got.partition(b"stockade:")
    assert len(text) == 10240 and b"limit output 10K reached" in rest


def test_a_reader_that_goes_away_ends_the_writer(stockade):
    child = stockade.start("yes", flags=["--limit", "output 100M"],
                           stderr=subprocess.DEVNULL)
    assert child.stdout.read(4) == b"y\ny\n"
    child.stdout.close()
    assert child.wait(timeout=20) == 128 + signal.SIGPIPE


def test_time_is_told(stockade):
    result = limited(stockade, "time 300ms", "sleep", "30")
    assert result.status == 124
    assert reached(result) == recorded(stockade) == "time 300ms"


def test_nothing_of_the_groups_is_seen_inside(stockade):
    limit = "processes 50" + ("\nmemory 64M" if can("memory,") else "")
    result = limited(stockade, limit, "sh", "-c",
                     "cat /proc/self/cgroup; echo =; grep cgroup /proc/mounts;"
                     "echo =; ls -d /sys/fs/cgroup /sys/fs")
    own, mounted, names = result.out.split("=\n")
    assert {line.split(":", 2)[2] for line in own.splitlines()} == {"/"}
    assert mounted == "" and names == ""


@pytest.mark.parametrize("limit,words", [
    ("upload 50", ["at least 1K", "upload"]),
    ("io 50M/s", ["expected a size"]),
    ("io 4K", ["at least 64K"]),
    ("memory 4", ["expected a size"]),
    ("memori 4G", ["did you mean `memory`"]),
])
def test_refused(stockade, limit, words):
    result = limited(stockade, limit, "touch", "ran", flags=["--write", "."])
    assert result.status == 125
    assert all(word in result.err for word in words), result
    assert not (stockade.cwd / "ran").exists()


@pytest.mark.skipif(can("memory,"), reason="has a control group for memory")
def test_without_a_group_it_is_refused_unless_optional(stockade):
    for limit in ("memory 64M", "cpu 1"):
        result = limited(stockade, limit, "touch", "ran",
                         flags=["--write", "."])
        assert result.status == 125 and f"limit {limit}: " in result.err
        assert "control group" in result.err
        assert not (stockade.cwd / "ran").exists()
    stockade.run("touch", "ran", flags=[
        "--write", ".", "--limit?", "memory 64M"]).ok()
    assert (stockade.cwd / "ran").exists()


@needs_memory
def test_swap_needs_memory(stockade):
    result = limited(stockade, "swap 1G", "true")
    assert result.status == 125 and "needs `limit memory`" in result.err


def test_the_plan_says_what_limits(stockade):
    out = limited(stockade, "files 64\nfile-size 1M\ndisk 8M\nprocesses 9",
                  "true", flags=["--explain"]).ok().out
    assert re.search(r"rlimits +# files 64, file-size 1M", out)
    assert re.search(r"root +/ = disk 8M", out)
    assert re.search(r"cgroup +# processes 9 below /", out) or (
        re.search(r"rlimits +# .*processes 9", out))
    assert not groups()


LIMITS = ["--limit", "memory 64M", "--limit", "processes 50"]


@needs_memory
def test_sigkill_of_stockade_leaves_no_group(stockade):
    child = stockade.start("sh", "-c", "echo ready; sleep 77.25", flags=LIMITS)
    assert child.stdout.readline() == b"ready\n"
    assert groups()
    child.kill()
    child.communicate()
    assert eventually(lambda: not groups())
    assert eventually(lambda: not processes("sleep 77.25"))


@needs_memory
def test_sigkill_while_it_starts_leaves_no_group(stockade):
    before = set(ours())
    for delay in range(0, 20, 2):
        child = stockade.start("sleep", "77.5", flags=LIMITS)
        time.sleep(delay / 1000)
        child.kill()
        child.communicate()
    assert eventually(lambda: not groups())
    assert eventually(lambda: not set(ours()) - before)


@needs_memory
def test_the_next_run_sweeps_what_even_the_reaper_left(stockade):
    child = stockade.start("sh", "-c", "echo ready; sleep 77.75", flags=LIMITS)
    assert child.stdout.readline() == b"ready\n"
    for pid, (name, _) in ours().items():
        if name == "stockade-reaper":
            os.kill(pid, signal.SIGKILL)
    child.kill()
    child.communicate()
    # A group is swept when nobody is in it, not even pid 1 on its way out.
    assert eventually(lambda: not members())
    assert groups() and not processes("sleep 77.75")
    other = stockade.start("sh", "-c", "echo ready; sleep 78", flags=LIMITS)
    assert other.stdout.readline() == b"ready\n"
    assert len({os.path.basename(group) for group in groups()}) == 1
    # ... and not what somebody still has.
    stockade.run("true", flags=LIMITS).ok()
    assert groups()
    other.terminate()
    other.communicate(timeout=15)


DELEGATE = """
import os, sys
uid, path, program = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.mkdir(path)
try:
    for name in [".", *os.listdir(path)]:
        os.chown(os.path.join(path, name), uid, uid)
    child = os.fork()
    if child == 0:
        with open(path + "/cgroup.procs", "w") as procs:
            procs.write("0")
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        os.execv(program[0], program)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
finally:
    os.rmdir(path)
sys.exit(status)
"""


@pytest.fixture
def another_user():
    """A home that is another user's, who has no account."""
    uid = 3210
    if not all(os.stat(folder).st_mode & 1
               for folder in pathlib.Path(PROGRAM).parents):
        pytest.skip("the programs are out of reach for another user")
    with tempfile.TemporaryDirectory(prefix="limits-test.") as base:
        os.chmod(base, 0o755)
        them = Stockade(pathlib.Path(base))
        for folder in (them.base, them.home, them.cwd):
            os.chown(folder, uid, uid)
        them.uid = uid
        yield them


@as_root
@needs_memory
def test_a_group_that_was_given_to_a_user_is_enough(another_user):
    """The memory controller alone: processes are then limited without."""
    if not os.path.exists(GROUPS + "/memory/cgroup.procs"):
        pytest.skip("has no control group that it may divide")
    stockade, uid = another_user, another_user.uid
    path = f"{GROUPS}/memory/delegated-{secrets.token_hex(8)}"
    for size, status in ((200, 137), (10, 0)):
        argv = stockade.argv("/usr/bin/python3", "-c", HOG % size,
                             flags=LIMITS)
        done = subprocess.run(
            ["/usr/bin/python3", "-c", DELEGATE, str(uid), path, *argv],
            env=stockade.env, cwd=stockade.cwd, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        assert done.returncode == status, done
        assert ("limit memory 64M reached" in done.stderr) == (status == 137)
    assert not os.path.exists(path)
