# SPDX-License-Identifier: Apache-2.0
"""Other processes, kernel objects and services of the host, seen from inside;
and two runs beside each other.  Every attempt is made outside as well."""
import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import IS_ROOT, PROBE, eventually, ours, processes

PYTHON = "/usr/bin/python3"


def python(stockade, script, *arguments, **more):
    return stockade.run(PYTHON, "-c", script, *arguments, **more)


def outside(script, *arguments):
    return subprocess.run([PYTHON, "-c", script, *map(str, arguments)],
                          text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=30).stdout


def finish(child):
    child.kill()
    child.communicate(timeout=10)


# --- /proc ----------------------------------------------------------------------

def test_nothing_in_proc_and_sys_can_be_written(stockade):
    script = """
import os
opened = []
for top in "/proc", "/sys":
    for folder, folders, names in os.walk(top):
        if folder.startswith("/proc/") and "/fd" in folder:
            folders[:] = []
            continue
        if folder.count("/") > 6:
            folders[:] = []
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                continue
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                opened.append(path)
            except OSError:
                pass
print(opened)
"""
    assert python(stockade, script).ok().out == "[]\n"


@pytest.mark.parametrize("name", ["comm", "oom_score_adj", "timerslack_ns",
                                  "coredump_filter", "clear_refs", "mem"])
def test_not_even_what_a_process_may_change_of_itself(stockade, name):
    shutil.copy(PROBE, stockade.cwd / "probe")
    path = f"/proc/self/{name}"
    assert "ALLOWED" in subprocess.run(
        [PROBE, "open-write", path], text=True, stdout=subprocess.PIPE).stdout
    inside = stockade.run("./probe", "open-write", path).ok().out
    assert "BLOCKED" in inside and ("EROFS" in inside or "EACCES" in inside)


# --- other processes ------------------------------------------------------------

def test_signals_to_everybody_reach_nobody_outside(stockade, net, api):
    """kill(-1) stops what the agent started; the network still works."""
    script = """
import fcntl, os, signal, subprocess, sys
one = subprocess.Popen(["sleep", "60"])
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for who in -1, 1, os.getppid():
    for number in signal.SIGSTOP, signal.SIGKILL, signal.SIGHUP:
        if who == -1 and number == signal.SIGKILL:
            continue
        try:
            os.kill(who, number)
        except OSError as e:
            print(e.errno)
one.send_signal(signal.SIGKILL)
r, w = os.pipe()
for pid in map(int, sys.argv[1:]):
    try:
        fcntl.fcntl(r, fcntl.F_SETOWN, pid)
        print("owner", pid)
    except OSError:
        pass
print(subprocess.run(["curl", "-sS", "https://api.test/x"],
                     capture_output=True).returncode)
"""
    with subprocess.Popen(["sleep", "60"]) as victim:
        try:
            result = python(
                stockade, script, victim.pid,
                policy=net + "allow GET api.test/**\n").ok()
            assert result.out.splitlines()[-1] == "0", result
            assert "owner" not in result.out
            assert victim.poll() is None
            with open(f"/proc/{victim.pid}/stat") as text:
                assert text.read().rpartition(") ")[2][0] == "S"
        finally:
            victim.kill()


def test_two_runs_do_not_see_each_other(stockade):
    first = stockade.start("sh", "-c", "echo x > /tmp/one; echo x > ~/one;"
                           "echo x > /run/shm/one; echo up; sleep 60.125")
    try:
        assert first.stdout.readline() == b"up\n"
        pids = [pid for pid in processes("sleep 60.125")]
        result = stockade.sh(
            "ls /tmp/one ~/one /run/shm/one /dev/shm/one;"
            "grep -l 60.12[5] /proc/[0-9]*/cmdline;"
            "kill -9 -1; " + "".join(f"kill -9 {pid};" for pid in pids))
        assert result.out == "", result
        assert first.poll() is None and processes("sleep 60.125")
    finally:
        finish(first)
    left = stockade.sh("ls -A /tmp ~ /run/shm /var/tmp | grep -v :").out.split()
    assert "one" not in left


def test_one_that_adopts_its_daemons_ends_with_the_run(stockade):
    script = """
import ctypes, os, subprocess
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)     # a subreaper
shells = [subprocess.Popen("setsid nohup sleep 75.125 &", shell=True)
          for _ in range(20)]
for shell in shells:
    shell.wait()
"""
    python(stockade, script)
    assert eventually(lambda: not processes("sleep 75.125"))


# --- services of the host -------------------------------------------------------

def test_no_socket_of_the_host_has_a_name_inside(stockade, tmp_path):
    own = tmp_path / "control"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(own))
        server.listen()
        with open("/proc/net/unix") as text:
            paths = {line.split(" ", 7)[7].strip() for line in
                     text.read().splitlines()[1:] if line.count(" /")}
        paths = {path for path in paths if path.startswith("/")}
        paths |= {str(own), "/run/docker.sock", "/var/run/docker.sock",
                  "/run/dbus/system_bus_socket", "/run/systemd/private",
                  f"/run/user/{os.getuid()}/bus"}
        script = ("import os, sys\n"
                  "print([p for p in sys.argv[1:] if os.path.lexists(p)])")
        assert str(own) in outside(script, *paths)
        assert python(stockade, script, *sorted(paths)).ok().out == "[]\n"


CONNECT = """
import socket, sys
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for flags in (0, 0x20000000):       # MSG_FASTOPEN
        with socket.socket(family) as s:
            s.settimeout(3)
            try:
                if flags:
                    s.sendto(b"x", flags, (host, int(sys.argv[1])))
                else:
                    s.connect((host, int(sys.argv[1])))
                print("connected")
            except OSError:
                pass
"""


def test_no_service_on_the_hosts_loopback_is_reached(stockade):
    with socket.create_server(("::", 0), family=socket.AF_INET6,
                              dualstack_ipv6=True) as server:
        port = server.getsockname()[1]
        server.settimeout(0.3)
        python(stockade, CONNECT, str(port)).ok()
        with pytest.raises(TimeoutError):
            server.accept()
        assert "connected" in outside(CONNECT, port)
        server.accept()[0].close()


def test_abstract_sockets_by_datagram(stockade):
    script = """
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for send in (lambda: s.sendto(b"x", "\\0" + sys.argv[1]),
             lambda: s.sendmsg([b"x"], [], 0, "\\0" + sys.argv[1])):
    try:
        send()
        print("sent")
    except OSError:
        pass
"""
    name = f"stockade-dgram-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind("\0" + name)
        server.settimeout(0.3)
        assert python(stockade, script, name).ok().out == ""
        with pytest.raises(TimeoutError):
            server.recv(10)
        assert outside(script, name) == "sent\nsent\n"
        assert server.recv(10) == b"x"


def test_shared_memory_and_queues_of_the_host(stockade):
    libc = ctypes.CDLL(None, use_errno=True)
    key = 0x40000000 + secrets.randbits(30)
    segment = libc.shmget(key, 4096, 0o1666)
    queue = libc.msgget(key, 0o1666)
    name = f"/dev/shm/stockade-test.{secrets.token_hex(8)}"
    script = ("import ctypes, os, sys; libc = ctypes.CDLL(None);"
              "k = int(sys.argv[1]);"
              "print(libc.shmget(k, 0, 0) >= 0, libc.msgget(k, 0) >= 0,"
              "os.path.exists(sys.argv[2]),"
              "len(open('/proc/sysvipc/shm').readlines()) > 1)")
    try:
        with open(name, "w") as text:
            text.write("CANARY")
        assert segment >= 0 and queue >= 0
        assert outside(script, key, name) == "True True True True\n"
        seen = python(stockade, script, str(key), name).ok().out
        assert seen == "False False False False\n"
    finally:
        os.unlink(name)
        libc.shmctl(segment, 0, None)
        libc.msgctl(queue, 0, None)


def test_keyrings(stockade):
    """A key of the session that started the run is not to be had."""
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
add, request, control = (248, 249, 250) if x86 else (217, 218, 219)
def call(*a):
    rc = libc.syscall(*a)
    return 0 if rc >= 0 else ctypes.get_errno()
print(call(add, b"user", b"stockade-test", b"x", 1, -1),
      call(request, b"user", b"stockade-test", None, 0) in (0, 126),
      call(control, 0, -3, 1), call(control, 18))
"""
    first, second, third, _ = python(stockade, script).ok().out.split()
    assert (first, second, third) == ("1", "False", "1")
    # A container's own filter may have taken them away already.
    assert outside(script).split()[:3] in (["0", "True", "0"],
                                           ["1", "False", "1"])


def test_the_clock_and_watching_the_file_system(stockade):
    shutil.copy(PROBE, stockade.cwd / "probe")
    script = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
now = (ctypes.c_long * 2)(int(time.time()), 0)
for number, args in (((227 if x86 else 112), (0, now)),
                     ((159 if x86 else 171), (None,)),
                     ((300 if x86 else 262), (0x200, 0)),
                     ((164 if x86 else 170), (now, None)),
                     ((170 if x86 else 161), (b"x", 1))):
    print(libc.syscall(number, *args), ctypes.get_errno())
"""
    lines = python(stockade, script).ok().out.splitlines()
    assert lines == ["-1 1"] * 5, lines


# --- names of programs decide nothing -------------------------------------------

def test_the_network_does_not_ask_which_program_it_is(stockade, net, api):
    """A copy, another path, the loader: all get the same verdicts."""
    script = """
cp /usr/bin/curl /tmp/other
for c in curl /proc/self/root/usr/bin/curl /tmp/other \\
        "$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 \\
        2>/dev/null | head -1) /usr/bin/curl"; do
    $c -sS -o /dev/null -w '%{http_code} ' https://api.test/yes
    $c -sS -o /dev/null -w '%{http_code}\\n' https://api.test/no
done
"""
    result = stockade.sh(script, policy=net + "allow GET api.test/yes\n").ok()
    assert result.out == "200 403\n" * 4, result
    assert {request.path for request in api.requests} == {"/yes"}


# --- what the host sees of it ---------------------------------------------------

def test_a_run_ends_with_its_first_process(stockade):
    """Whoever kills pid 1 of it on the host ends all, and is told."""
    child = stockade.start("sh", "-c", "echo up; setsid sleep 76.25 & wait")
    try:
        assert child.stdout.readline() == b"up\n"
        (init,) = [pid for pid, (name, _) in ours().items()
                   if name == "stockade-init"]
        os.kill(init, signal.SIGKILL)
        child.communicate(timeout=10)
        assert child.returncode not in (0, None)
        assert eventually(lambda: not processes("sleep 76.25"))
    finally:
        if child.poll() is None:
            finish(child)


def test_no_mount_travels(stockade):
    """Neither in nor out; the host here is a mount namespace of the test's,
    shared as systemd has it.  The sandbox covers a file of the granted tree."""
    own = ["unshare", "-m"] + ([] if IS_ROOT else ["-c", "--keep-caps"])
    (stockade.cwd / "m").mkdir()
    (stockade.cwd / ".env").write_text("seen\n")
    argv = stockade.argv(
        "sh", "-c", "echo up; until [ -e go ]; do sleep 0.02; done; ls m;"
        "grep -c work/m /proc/self/mounts; grep -c work/.env /proc/self/mounts",
        policy="write .\n")
    script = ("mount --make-rshared / 2>/dev/null;"
              "sort /proc/self/mountinfo > ../before;"
              "\"$@\" > ../out & until grep -q up ../out; do sleep 0.02; done;"
              "sort /proc/self/mountinfo | cmp - ../before && echo same;"
              "mount -t tmpfs none m && touch m/late; touch go; wait;"
              "cat ../out; ls m; grep -c work/m /proc/self/mounts; umount m;"
              "sort /proc/self/mountinfo | cmp - ../before && echo same;"
              "cat .env")
    done = subprocess.run([*own, "sh", "-c", script, "sh", *argv], text=True,
                          cwd=stockade.cwd, env=stockade.env, timeout=30,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    assert done.stdout.split() == [
        "same", "up", "0", "1", "late", "1", "same", "seen"], done
