# SPDX-License-Identifier: Apache-2.0
"""What a process inside is allowed to be, as exact values."""
import os
import socket
import subprocess
import sys

import pytest

NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"]


def status_inside(stockade):
    result = stockade.run("cat", "/proc/self/status").ok()
    return dict(line.split(":\t", 1) for line in result.out.splitlines()
                if ":\t" in line)


@pytest.mark.parametrize("field,value", [
    ("CapInh", "0000000000000000"), ("CapPrm", "0000000000000000"),
    ("CapEff", "0000000000000000"), ("CapBnd", "0000000000000000"),
    ("CapAmb", "0000000000000000"), ("NoNewPrivs", "1"), ("Seccomp", "2")])
def test_status(stockade, field, value):
    assert status_inside(stockade)[field].strip() == value


def test_every_namespace_is_its_own(stockade):
    script = "; ".join(f"readlink /proc/self/ns/{n}" for n in NAMESPACES)
    inside = stockade.sh(script).ok().out.split()
    outside = [os.readlink(f"/proc/self/ns/{n}") for n in NAMESPACES]
    assert len(inside) == len(outside)
    for mine, theirs in zip(outside, inside):
        assert mine != theirs


def test_mounts_are_nosuid_and_nodev(stockade):
    mounts = stockade.run("cat", "/proc/self/mounts").ok().out
    assert mounts
    for line in mounts.splitlines():
        _, where, kind, options = line.split()[:4]
        if where.startswith("/dev/") and kind == "devtmpfs":
            continue        # one of the few device files, each by itself
        assert "nosuid" in options.split(","), line
        if not where.startswith("/dev"):
            assert "nodev" in options.split(","), line


def test_only_what_was_granted_is_writable(stockade):
    mounts = stockade.run("cat", "/proc/self/mounts").ok().out
    writable = {line.split()[1] for line in mounts.splitlines()
                if "rw" in line.split()[3].split(",")}
    for where in writable:
        assert where.startswith(("/dev", "/proc", "/tmp", "/run", "/home",
                                 "/var/tmp", str(stockade.home),
                                 "/root")), where
    assert str(stockade.cwd) not in writable


def test_the_environment_is_an_allow_list(stockade):
    result = stockade.sh("env", env={
        "AWS_SECRET_ACCESS_KEY": "CANARY", "LD_PRELOAD": "/nonexistent.so",
        "LD_LIBRARY_PATH": "/x", "SSH_AUTH_SOCK": "/run/ssh", "KEEP": "kept",
        "BASH_ENV": "/x", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"},
        policy="env pass KEEP\nenv set CI=1\n").ok()
    names = dict(line.split("=", 1) for line in result.out.splitlines())
    assert names["KEEP"] == "kept" and names["CI"] == "1"
    for name in ("AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "LD_LIBRARY_PATH",
                 "SSH_AUTH_SOCK", "BASH_ENV", "DBUS_SESSION_BUS_ADDRESS"):
        assert name not in names
    assert "CANARY" not in result.out
    assert "PATH" in names and "HOME" in names


def test_inherited_descriptors_are_closed(stockade):
    (stockade.base / "secret").write_text("CANARY")
    opened = os.open(stockade.base / "secret", os.O_RDONLY)
    os.set_inheritable(opened, True)
    os.dup2(opened, 377, inheritable=True)
    try:
        result = subprocess.run(
            stockade.argv("bash", "-c", "ls -l /proc/self/fd; cat <&377"),
            cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, close_fds=False,
            timeout=30)
    finally:
        os.close(opened)
        os.close(377)
    assert b"CANARY" not in result.stdout
    lines = [line for line in result.stdout.splitlines() if b"->" in line]
    assert len(lines) <= 4, result      # 0, 1, 2 and ls's own


def test_the_processors_are_the_callers(stockade):
    """The start spreads its own work; what runs is not bound by that."""
    mine = os.sched_getaffinity(0)

    def inside():
        result = stockade.run("/usr/bin/python3", "-c", "import os; print("
                              "*os.sched_getaffinity(0), *[-1], "
                              "*os.sched_getaffinity(1))").ok()
        command, first = result.out.split("-1")
        return [{int(word) for word in words.split()}
                for words in (command, first)]
    assert inside() == [mine, mine]
    try:
        os.sched_setaffinity(0, {max(mine)})
        assert inside() == [{max(mine)}] * 2
    finally:
        os.sched_setaffinity(0, mine)


@pytest.mark.parametrize("policy", [os.SCHED_OTHER, os.SCHED_BATCH,
                                    os.SCHED_IDLE])
def test_the_scheduling_is_the_callers(stockade, policy):
    """Of the command, and of stockade itself, which gives way for a moment."""
    def choose():
        os.sched_setscheduler(0, policy, os.sched_param(0))

    child = stockade.start("sh", "-c", "echo ready; read x; chrt -p $$",
                           stdin=subprocess.PIPE, preexec_fn=choose)
    assert child.stdout.readline() == b"ready\n"
    assert os.sched_getscheduler(child.pid) == policy
    out, _ = child.communicate(b"\n", timeout=20)
    name = {os.SCHED_OTHER: b"SCHED_OTHER", os.SCHED_BATCH: b"SCHED_BATCH",
            os.SCHED_IDLE: b"SCHED_IDLE"}[policy]
    assert name in out


def test_a_directory_as_standard_input_is_refused(stockade):
    opened = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        result = subprocess.run(
            stockade.argv("sh", "-c", "ls /proc/self/fd/0/etc/shadow"),
            cwd=stockade.cwd, env=stockade.env, stdin=opened,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    finally:
        os.close(opened)
    assert result.returncode == 125, result
    assert result.stderr.startswith(b"stockade:")


def test_a_socket_as_standard_output_does_not_pass(stockade):
    """A socket could carry descriptors: a pipe in its place, or a refusal."""
    ours, theirs = socket.socketpair()
    child = subprocess.Popen(
        stockade.argv("sh", "-c", "readlink /proc/self/fd/1; echo done"),
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        stdout=theirs, stderr=subprocess.PIPE)
    theirs.close()
    ours.settimeout(20)
    got = b""
    while (piece := ours.recv(4096)):
        got += piece
    if child.wait(20) == 125:
        assert got == b"" and b"socket" in child.stderr.read()
    else:
        assert b"socket:" not in got and got.endswith(b"done\n"), got
    child.stderr.close()


def test_a_file_as_standard_input_cannot_be_reopened_for_writing(stockade):
    path = stockade.base / "input"
    path.write_text("old\n")
    with open(path) as opened:
        result = subprocess.run(
            stockade.argv("sh", "-c", "cat; exec 9<>/proc/self/fd/0 && "
                          "echo new >&9"),
            cwd=stockade.cwd, env=stockade.env, stdin=opened,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    assert result.stdout == b"old\n", result
    assert path.read_text() == "old\n"


# Each is refused, and the errno says by whom: EPERM or EAFNOSUPPORT is a
# decision, ENOSYS is for what libraries fall back from.
CALLS = {
    # number on x86-64 and aarch64, errno names that are right
    "io_uring_setup": (425, 425, {"ENOSYS", "EPERM"}),
    "bpf": (321, 280, {"EPERM", "ENOSYS"}),
    "keyctl": (250, 219, {"EPERM", "ENOSYS"}),
    "add_key": (248, 217, {"EPERM", "ENOSYS"}),
    "userfaultfd": (323, 282, {"EPERM", "ENOSYS"}),
    "perf_event_open": (298, 241, {"EPERM", "ENOSYS"}),
    "mount": (165, 40, {"EPERM", "ENOSYS"}),
    "open_tree": (428, 428, {"EPERM", "ENOSYS"}),
    "fsopen": (430, 430, {"EPERM", "ENOSYS"}),
    "pivot_root": (155, 41, {"EPERM", "ENOSYS"}),
    "open_by_handle_at": (304, 265, {"EPERM", "ENOSYS"}),
    "kexec_load": (246, 104, {"EPERM", "ENOSYS"}),
    "init_module": (175, 105, {"EPERM", "ENOSYS"}),
    "reboot": (169, 142, {"EPERM", "ENOSYS"}),
    "unknown": (1999, 1999, {"ENOSYS"}),
}


def errno_of(stockade, number, *arguments):
    script = f"""
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall({number}, {", ".join(arguments) or "0, 0, 0, 0, 0"})
print("done" if r >= 0 else errno.errorcode[ctypes.get_errno()])
"""
    return stockade.run("/usr/bin/python3", "-c", script).ok().out.strip()


@pytest.mark.parametrize("call", CALLS)
def test_a_dangerous_call_is_refused(stockade, call):
    x86, arm, right = CALLS[call]
    number = x86 if os.uname().machine == "x86_64" else arm
    assert errno_of(stockade, number) in right


@pytest.mark.parametrize("flags", [0x10000000, 0x20000, 0x40000000])
def test_no_new_namespaces(stockade, flags):
    number = 272 if os.uname().machine == "x86_64" else 97
    assert errno_of(stockade, number, str(flags)) in ("EPERM", "ENOSYS")


@pytest.mark.parametrize("family,kind,ok", [
    ("AF_INET", "SOCK_STREAM", True), ("AF_INET6", "SOCK_STREAM", True),
    ("AF_UNIX", "SOCK_STREAM", True), ("AF_INET", "SOCK_DGRAM", True),
    ("AF_INET", "SOCK_RAW", False), ("AF_PACKET", "SOCK_RAW", False),
    ("AF_VSOCK", "SOCK_STREAM", False), ("AF_ALG", "SOCK_SEQPACKET", False),
    ("AF_BLUETOOTH", "SOCK_RAW", False), ("AF_CAN", "SOCK_RAW", False)])
def test_socket_families(stockade, family, kind, ok):
    script = f"""
import socket
try:
    socket.socket(socket.{family}, socket.{kind})
    print("made")
except OSError as e:
    print(e.strerror)
"""
    result = stockade.run("/usr/bin/python3", "-c", script).ok()
    assert (result.out == "made\n") == ok, result


def test_others_cannot_be_traced(stockade):
    script = """
import ctypes, os, signal, time
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), libc.ptrace(16, os.getppid(), 0, 0))
try:
    print(len(open("/proc/1/mem", "rb").read(1)))
except OSError as e:
    print(e.strerror)
"""
    result = stockade.run("/usr/bin/python3", "-c", script).ok()
    assert result.out.split("\n")[0] == "-1 -1", result
    assert not result.out.split("\n")[1].isdigit()


def test_terminal_injection_is_refused(stockade):
    """TIOCSTI and TIOCLINUX, also with garbage in the upper half."""
    script = """
import ctypes, os, pty
libc = ctypes.CDLL(None, use_errno=True)
m, s = pty.openpty()
for r in (0x5412, 0x541c, 0x5412 | 1 << 32):
    b = ctypes.create_string_buffer(b"x")
    print(libc.ioctl(s, ctypes.c_ulong(r), b), ctypes.get_errno())
"""
    result = stockade.run("/usr/bin/python3", "-c", script).ok()
    for line in result.out.splitlines():
        assert line.startswith("-1 "), result


def test_no_file_is_leased(stockade):
    """/etc is the same files in every sandbox of a user: a lease on one of
    them would make the others wait."""
    script = """
import fcntl
for name in "/etc/passwd", "/tmp/own":
    with open(name, "a+" if name == "/tmp/own" else "r") as opened:
        for kind in fcntl.F_WRLCK, fcntl.F_RDLCK:
            try:
                fcntl.fcntl(opened, fcntl.F_SETLEASE, kind)
                print(name)
            except OSError as e:
                assert e.errno == 1, e
with open("/tmp/own") as opened:
    fcntl.flock(opened, fcntl.LOCK_EX)
    print("locked", fcntl.fcntl(opened, fcntl.F_GETLEASE) == fcntl.F_UNLCK)
"""
    result = stockade.run("/usr/bin/python3", "-c", script).ok()
    assert result.out == "locked True\n"
    # Outside, where nobody refuses it, one is taken.
    own = stockade.cwd / "own"
    own.write_text("")
    outside = ("import fcntl, sys; opened = open(sys.argv[1]);"
               "fcntl.fcntl(opened, fcntl.F_SETLEASE, fcntl.F_WRLCK);"
               "print('taken')")
    taken = subprocess.run([sys.executable, "-c", outside, str(own)],
                           text=True, stdout=subprocess.PIPE).stdout
    assert taken == "taken\n"


def test_no_signal_is_handled_by_the_first_process(stockade):
    """Of those that have no handler the kernel keeps the agent's from it."""
    from conftest import ours
    child = stockade.start("sh", "-c", "echo ready; sleep 30")
    try:
        assert child.stdout.readline() == b"ready\n"
        (init,) = [pid for pid, (name, _) in ours().items()
                   if name == "stockade-init"]
        with open(f"/proc/{init}/status") as status:
            fields = dict(line.split(":\t", 1) for line in status
                          if ":\t" in line)
        assert int(fields["SigCgt"], 16) == 0
        assert int(fields["SigIgn"], 16) == 0
        assert fields["Threads"].strip() == "1"
    finally:
        child.terminate()
        child.communicate(timeout=10)


def test_nothing_suid_works(stockade):
    result = stockade.sh("cp /bin/sh /tmp/s; chmod 4755 /tmp/s; "
                         "/tmp/s -c 'id -u'; sudo -n id; su -c id </dev/null")
    assert "uid=0" not in result.out


def test_the_host_name_is_not_the_hosts(stockade):
    result = stockade.run("uname", "-n").ok()
    assert result.out.strip() != "" and (
        result.out.strip() != socket.gethostname()
        or socket.gethostname() == "stockade")


def test_only_loopback_exists(stockade):
    result = stockade.run("cat", "/proc/net/dev").ok()
    names = {line.split(":")[0].strip() for line in
             result.out.splitlines()[2:]}
    assert names == {"lo"}


def test_helpers_are_confined(stockade, net, api):
    """Seen from outside while a run with a secret is alive."""
    from conftest import ours
    child = stockade.start(
        "sh", "-c", "curl -sS -o /dev/null -H \"Authorization: Bearer $T\" "
        "https://api.test/x; echo ready; sleep 30",
        policy=net + "allow GET api.test/**\n"
        "secret T from env for api.test as bearer\n", env={"T": "value-of-t"})
    try:
        assert child.stdout.readline() == b"ready\n"
        helpers = {name: pid for pid, (name, _) in ours().items()
                   if name.startswith("stockade-")}
        for name in ("stockade-edge", "stockade-vault", "stockade-dial"):
            assert name in helpers, helpers
            with open(f"/proc/{helpers[name]}/status") as status:
                fields = dict(line.split(":\t", 1) for line in status
                              if ":\t" in line)
            assert fields["Seccomp"].strip() == "2", name
            assert fields["NoNewPrivs"].strip() == "1", name
            assert fields["CapEff"].strip("0\n") == "", name
            try:
                with open(f"/proc/{helpers[name]}/environ", "rb") as text:
                    assert text.read() == b"", name
            except PermissionError:
                pass        # not dumpable: better still
    finally:
        child.terminate()
        child.communicate(timeout=10)
