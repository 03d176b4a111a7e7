# SPDX-License-Identifier: Apache-2.0
"""A living agent, seen by the host, as exact values: whatever is not expected
here is a change of the boundary.

The process is /usr/bin/sleep, so that what it has is what it was given.  Each
test runs twice: started plainly, and by a caller whose own state is as odd as a
caller's can be (`odd`), which must make no difference but where it says so.
"""
import contextlib
import glob
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys

import pytest

from conftest import IS_ROOT, children, eventually, ours
from test_template import (COPIED_UP_TO, DEV_LINKS, DEVICES, LISTED_SSL,
                           listed_of_the_host)

NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"]
UNION = ["pid_for_children", "time_for_children"]
NO_CAPABILITY = "0000000000000000"
# A caller that ignores signals, blocks others, wants to be told of its
# parent's death, has an odd personality, open files and a real-time timer.
ODD = """
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None)
for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT, signal.SIGHUP,
               signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGUSR2,
                                          signal.SIGWINCH, 40})
libc.personality(0x0040000 | 0x0400000)     # no random addresses, old mmap
libc.prctl(1, signal.SIGUSR2)
libc.prctl(4, 0)                            # not dumpable
os.umask(0o027)
os.nice(3)
os.dup2(os.open("/etc/passwd", os.O_RDONLY), 200)
os.dup2(os.open("/", os.O_RDONLY | os.O_DIRECTORY), 77)
resource.setrlimit(resource.RLIMIT_NOFILE, (512, 1024))
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2) \\
    if os.geteuid() == 0 else None
os.environ.update(LD_PRELOAD="", BASH_ENV="/x", GIT_DIR="/x", IFS="x",
                  NODE_OPTIONS="--inspect", AWS_SECRET_ACCESS_KEY="CANARY",
                  **{"BASH_FUNC_ls%%": "() { echo CANARY; }"})
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])
"""


def program(pid):
    """Empty while it is still pid 1's second self, on its way to exec."""
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


class Agent:
    """What the host sees of it."""

    def __init__(self, pid, init, stockade, odd):
        self.pid, self.init, self.stockade, self.odd = pid, init, stockade, odd

    def text(self, name, pid=None):
        with open(f"/proc/{pid or self.pid}/{name}", "rb") as text:
            return text.read().decode("latin-1")

    def status(self, pid=None, task=None):
        name = f"task/{task}/status" if task else "status"
        lines = self.text(name, pid).splitlines()
        return {key: value.strip() for key, value in
                (line.split(":", 1) for line in lines)}

    def link(self, name, pid=None):
        return os.readlink(f"/proc/{pid or self.pid}/{name}")

    def fds(self, pid=None):
        try:
            return {int(fd): self.link(f"fd/{fd}", pid)
                    for fd in os.listdir(f"/proc/{pid or self.pid}/fd")}
        except FileNotFoundError:
            return {}       # one was just closed


@contextlib.contextmanager
def living(stockade, command, odd=False, **more):
    argv = stockade.argv(*command, **more)
    if odd:
        argv = [sys.executable, "-c", ODD, *argv]
    run = subprocess.Popen(argv, cwd=stockade.cwd, env=stockade.env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    try:
        def find():
            inits = [pid for pid, (name, _) in ours().items()
                     if name == "stockade-init"]
            return [(child, pid) for pid in inits for child in children(pid)
                    if program(child) == os.path.basename(command[0])]
        found = eventually(find, 15)
        assert len(found) == 1, (found, run.poll())
        yield Agent(*found[0], stockade, odd)
    finally:
        run.kill()
        run.communicate(timeout=10)


@pytest.fixture(params=[False, True], ids=["plain", "odd"])
def agent(stockade, request):
    with living(stockade, ["/usr/bin/sleep", "60"], request.param) as one:
        yield one


def agent_ids(agent):
    """(inside, outside) of user and group."""
    if not IS_ROOT:
        return os.getuid(), os.getuid(), os.getgid(), os.getgid()
    outside = int(agent.text("uid_map").split()[1])
    assert 2000000000 < outside < 4294967294
    return 1000, outside, 1000, outside


def test_identity(agent):
    uid, outer_uid, gid, outer_gid = agent_ids(agent)
    seen = agent.status()
    assert seen["Uid"].split() == [str(outer_uid)] * 4 and outer_uid != 0
    assert seen["Gid"].split() == [str(outer_gid)] * 4
    # An ordinary user cannot drop his groups; root's are gone.
    mine = set() if IS_ROOT else {str(g) for g in os.getgroups()}
    assert set(seen["Groups"].split()) == mine
    assert agent.text("uid_map").split() == [str(uid), str(outer_uid), "1"]
    assert agent.text("gid_map").split() == [str(gid), str(outer_gid), "1"]
    assert agent.text("setgroups") == ("allow\n" if IS_ROOT else "deny\n")
    levels = seen["NSpid"].split()
    assert levels[0] == str(agent.pid) and int(levels[-1]) <= 3


@pytest.mark.parametrize("who", ["agent", "init"])
def test_capabilities_and_filters(agent, who):
    seen = agent.status(agent.pid if who == "agent" else agent.init)
    assert {key: seen[key] for key in (
        "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
        "Seccomp", "Seccomp_filters", "TracerPid", "Threads")} == {
            **{one: NO_CAPABILITY for one in
               ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")},
            "NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": "1",
            "TracerPid": "0", "Threads": "1"}


def test_every_thread(stockade):
    script = ("import threading, time\n"
              "for _ in range(5):\n"
              "    threading.Thread(target=time.sleep, args=(60,)).start()\n")
    python = os.path.realpath("/usr/bin/python3")
    with living(stockade, [python, "-c", script]) as agent:
        tasks = eventually(lambda: [
            t for t in [os.listdir(f"/proc/{agent.pid}/task")]
            if len(t) == 6])[0]
        for task in tasks:
            seen = agent.status(task=task)
            assert (seen["Seccomp"], seen["NoNewPrivs"], seen["CapBnd"],
                    seen["CapEff"]) == ("2", "1", NO_CAPABILITY,
                                        NO_CAPABILITY), task


def test_signals(agent):
    seen = agent.status()
    assert {key: int(seen[key], 16) for key in
            ("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt")} == {
                "SigPnd": 0, "ShdPnd": 0, "SigBlk": 0, "SigIgn": 0,
                "SigCgt": 0}


def test_namespaces(agent):
    for name in NAMESPACES + UNION:
        inside = agent.link(f"ns/{name}")
        own = name.replace("_for_children", "")
        assert inside != os.readlink(f"/proc/self/ns/{own}"), name
        assert inside == agent.link(f"ns/{own}"), name
        if IS_ROOT:
            assert inside == agent.link(f"ns/{own}", agent.init), name


def mounts_of(text):
    """{target: (type, own flags)}, without what the host decides: atime."""
    seen = {}
    for line in text.splitlines():
        own, rest = line.split(" - ", 1)
        target, flags = own.split()[4:6]
        assert target not in seen, f"two mounts on {target}"
        flags = {flag for flag in flags.split(",")
                 if not flag.endswith("atime")}
        seen[target] = (rest.split()[0], " ".join(sorted(flags)))
    return seen


def host_mounts_below(*tops):
    with open("/proc/self/mountinfo") as text:
        found = [line.split()[4] for line in text]
    return [path for path in found
            if any(path.startswith(top + "/") for top in tops)]


# Where the authority of a run lies, over what the host has there.
BUNDLES = ["/etc/ssl/certs/ca-certificates.crt",
           "/etc/pki/tls/certs/ca-bundle.crt",
           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
           "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"]
JAVAS = ["/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts",
         "/etc/pki/ca-trust/extracted/java/cacerts",
         "/usr/lib/jvm/*/lib/security/cacerts",
         "/usr/lib/jvm/*/jre/lib/security/cacerts"]


def expected_mounts(stockade):
    ro, own = "nodev nosuid ro", "nodev nosuid rw"
    tmpfs = {"/": ro, "/run": own, "/tmp": own, "/var/tmp": own,
             str(stockade.home): own}
    covered = [f"/proc/{name}" for name in (
        "asound", "interrupts", "kallsyms", "key-users", "keys",
        "latency_stats", "scsi") if os.path.exists(f"/proc/{name}")]
    expected = {path: ("tmpfs", flags) for path, flags in tmpfs.items()}
    expected.update({path: ("tmpfs", "nodev noexec nosuid ro")
                     for path in covered})
    expected["/proc"] = ("proc", "nodev noexec nosuid ro")
    expected["/dev/pts"] = ("devpts", "noexec nosuid rw")
    expected.update({f"/dev/{name}": (None, None) for name in DEVICES})
    trees = [path for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32",
                               "/lib64", "/libx32", "/opt", "/nix/store",
                               "/gnu/store")
             if os.path.isdir(path) and not os.path.islink(path)]
    for path in ([f"/etc/{name}" for name in listed_of_the_host()]
                 + [f"/etc/ssl/{name}" for name in LISTED_SSL]):
        if os.path.isdir(path) and not os.path.islink(path) or (
                os.path.isfile(path) and not os.path.islink(path)
                and os.path.getsize(path) > COPIED_UP_TO):
            trees.append(path)
    for path in trees + host_mounts_below(*trees) + ["/etc", "/dev"]:
        expected[path] = (None, ro)
    expected[str(stockade.cwd)] = (None, ("idmapped " if IS_ROOT else "") + ro)
    return expected


def test_the_mount_table(agent):
    seen = mounts_of(agent.text("mountinfo"))
    expected = expected_mounts(agent.stockade)
    assert sorted(seen) == sorted(expected)
    for path, (kind, flags) in expected.items():
        assert kind in (None, seen[path][0]), path
        assert flags is None or seen[path][1] == flags, path
    # Nothing that is mounted out there comes in, and the other way round.
    assert "shared:" not in agent.text("mountinfo")
    assert "master:" not in agent.text("mountinfo")


def test_what_a_policy_adds(stockade, net):
    """A grant, a mask, a guard, an authority: a mount for each, and no more."""
    for name in ("work/.env", "work/.vscode/f", "sdk/f"):
        path = stockade.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    idmapped = "idmapped " if IS_ROOT else ""
    bundle = next(path for path in BUNDLES if os.path.exists(path))
    assert [os.path.realpath(path) for path in BUNDLES
            if os.path.exists(path)] == [os.path.realpath(bundle)]
    more = {"sdk": ("ro", ""), "work": ("rw", ""), "work/.env": (
        "ro", "noexec "), "work/.vscode": ("ro", "")}
    with living(stockade, ["/usr/bin/sleep", "60"], policy=net
                + "write .\nread ~/sdk\nallow GET api.test/**\n") as agent:
        expected = expected_mounts(stockade)
        for name, (access, extra) in more.items():
            of_host = "" if "env" in name else idmapped
            expected[str(stockade.home / name)] = (
                None, f"{of_host}nodev {extra}nosuid {access}")
        javas = {os.path.realpath(path) for where in JAVAS
                 for path in glob.glob(where)}
        if javas:
            javas.add("/etc/stockade/java.p12")
        for path in ("/etc/stockade/ca.pem", "/etc/stockade/bundle.pem",
                     "/etc/stockade/browser.json", os.path.realpath(bundle),
                     *javas):
            expected[path] = ("tmpfs", "nodev nosuid ro")
        seen = mounts_of(agent.text("mountinfo"))
        assert sorted(seen) == sorted(expected)
        for path, (kind, flags) in expected.items():
            assert kind in (None, seen[path][0]), path
            assert flags is None or seen[path][1] == flags, path
        assert sorted(agent.fds()) == [0, 1, 2]
        status = agent.status()
        # The second one stops the calls that make a name.
        assert (status["Seccomp"], status["Seccomp_filters"]) == ("2", "2")
        assert status["CapBnd"] == status["CapEff"] == NO_CAPABILITY
        assert agent.status(agent.init)["Threads"] == "1"


def test_the_root_and_dev(agent):
    root = f"/proc/{agent.pid}/root"
    system = {name for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64",
                                "libx32", "opt") if os.path.lexists("/" + name)
              and (os.path.islink("/" + name) or os.path.isdir("/" + name))}
    system |= {path.split("/")[1] for path in ("/nix/store", "/gnu/store")
               if os.path.isdir(path)}
    top = str(agent.stockade.cwd).split("/")[1]
    assert set(os.listdir(root)) == system | {top, "dev", "etc", "proc", "run",
                                              "tmp", "var"}
    assert sorted(os.listdir(root + "/dev")) == sorted(
        [*DEVICES, *DEV_LINKS, "pts"])
    for name, number in DEVICES.items():
        seen = os.lstat(f"{root}/dev/{name}")
        assert stat.S_ISCHR(seen.st_mode)
        assert (os.major(seen.st_rdev), os.minor(seen.st_rdev)) == number
    assert os.listdir(root + "/dev/pts") == ["ptmx"]
    for empty in ("run/shm", "var/tmp", str(agent.stockade.home)[1:]):
        left = set(os.listdir(f"{root}/{empty}")) - {"work"}
        assert left == set(), empty
    pids = {name for name in os.listdir(root + "/proc") if name.isdigit()}
    assert pids <= {"1", "2", "3"}


def test_descriptors(agent):
    # It may still be reading its locale.
    eventually(lambda: sorted(agent.fds()) == [0, 1, 2])
    seen = agent.fds()
    assert sorted(seen) == [0, 1, 2], seen
    assert seen[0] == "/dev/null"
    assert seen[1].startswith("pipe:") and seen[2].startswith("pipe:")
    # pid 1 keeps its socket, its signals, and what tells it of mounts.
    if IS_ROOT:
        def kept():
            return [re.sub(r"[:\[]?\d.*|\[", "", target)
                    for target in agent.fds(agent.init).values()]
        assert eventually(lambda: 0 < len(kept()) <= 3), kept()
        assert all(kind.startswith(("socket", "anon_inode:", "/proc"))
                   for kind in kept()), kept()


def test_environment(agent):
    stockade, (uid, *_) = agent.stockade, agent_ids(agent)
    name = "agent" if IS_ROOT else stockade.env["USER"]
    seen = agent.text("environ").rstrip("\0").split("\0")
    assert sorted(seen) == sorted([
        "HOME=" + str(stockade.home), "LANG=C.UTF-8", "LOGNAME=" + name,
        "PATH=" + stockade.env["PATH"], "PWD=" + str(stockade.cwd),
        "SHELL=/bin/sh", "STOCKADE=1", "TERM=dumb", "TMPDIR=/tmp",
        "USER=" + name, f"XDG_RUNTIME_DIR=/run/user/{uid}"])


def test_of_pid_1_nothing_can_be_read_inside(agent):
    """It is not dumpable: its files are not its user's, who is the agent's."""
    assert os.stat(f"/proc/{agent.init}/environ").st_uid in (0, 65534)
    if IS_ROOT:
        text = agent.text("environ", agent.init)
        assert text.strip("\0") == "", "the caller's environment was wiped"
    else:
        for name in ("environ", "maps", "mem"):
            with pytest.raises(PermissionError):
                agent.text(name, agent.init)


def test_memory_and_personality(agent):
    def mapped():
        return {line.split(None, 5)[5] for line in
                agent.text("maps").splitlines() if len(line.split()) > 5}
    # It reads /etc/ld.so.cache while it starts.
    assert eventually(lambda: all(
        name.startswith(("[", "/usr/", "/lib")) for name in mapped())), mapped()
    files = mapped()
    assert not [name for name in files if "stockade" in name]
    assert int(agent.text("personality"), 16) == 0
    assert agent.link("exe") == "/usr/bin/sleep"
    assert agent.link("cwd") == str(agent.stockade.cwd)
    # Dumpable, so that it can look at itself; no core is ever written.
    _, outside, *_ = agent_ids(agent)
    assert os.stat(f"/proc/{agent.pid}/environ").st_uid == outside


def test_limits_and_umask(agent):
    """The caller's, which may be tighter for a reason; no core."""
    lines = agent.text("limits").splitlines()[1:]
    seen = {line[:26].strip(): line[26:68].split() for line in lines}
    core = seen.pop("Max core file size")
    assert core in (["1", "1"], ["0", "0"])
    names = {"Max cpu time": resource.RLIMIT_CPU,
             "Max file size": resource.RLIMIT_FSIZE,
             "Max data size": resource.RLIMIT_DATA,
             "Max stack size": resource.RLIMIT_STACK,
             "Max resident set": resource.RLIMIT_RSS,
             "Max processes": resource.RLIMIT_NPROC,
             "Max open files": resource.RLIMIT_NOFILE,
             "Max locked memory": resource.RLIMIT_MEMLOCK,
             "Max address space": resource.RLIMIT_AS,
             "Max file locks": None,
             "Max pending signals": resource.RLIMIT_SIGPENDING,
             "Max msgqueue size": resource.RLIMIT_MSGQUEUE,
             "Max nice priority": resource.RLIMIT_NICE,
             "Max realtime priority": resource.RLIMIT_RTPRIO,
             "Max realtime timeout": resource.RLIMIT_RTTIME}
    assert sorted(seen) == sorted(names)
    for name, number in names.items():
        want = (-1, -1) if number is None else resource.getrlimit(number)
        if agent.odd and number == resource.RLIMIT_NOFILE:
            want = (512, 1024)
        assert seen[name][:2] == ["unlimited" if one == -1 else str(one)
                                  for one in want], name
    mask = os.umask(0)
    os.umask(mask)
    assert int(agent.status()["Umask"], 8) == (0o027 if agent.odd else mask)
    assert os.getpriority(os.PRIO_PROCESS, agent.pid) == \
        os.getpriority(os.PRIO_PROCESS, 0) + (3 if agent.odd else 0)


def test_the_session_is_its_own(agent):
    fields = agent.text("stat").rsplit(")", 1)[1].split()
    group, session, terminal = int(fields[2]), int(fields[3]), int(fields[4])
    assert group == agent.pid and session == agent.init and terminal == 0
    assert session != os.getsid(0)


def test_the_control_sees_what_the_host_is(stockade):
    """Without a sandbox the same process has the caller's everything."""
    with subprocess.Popen(["/usr/bin/sleep", "60"], env={"CANARY": "1"}) as one:
        try:
            seen = Agent(one.pid, one.pid, stockade, False)
            assert seen.status()["Seccomp"] in ("0", "2")
            assert seen.link("ns/mnt") == os.readlink("/proc/self/ns/mnt")
            assert eventually(lambda: seen.text("environ") == "CANARY=1\0")
            assert program(one.pid) == "sleep"
            assert seen.status()["NoNewPrivs"] == "0" or not IS_ROOT
        finally:
            one.send_signal(signal.SIGKILL)


def test_the_host_name_and_time_are_its_own(stockade):
    result = stockade.sh("uname -n; cat /proc/sys/kernel/domainname;"
                         "grep -v ':/$' /proc/self/cgroup")
    assert result.out.count("\n") == 2, "its own cgroup is the root of all"
    assert result.out.splitlines()[0] == "stockade" != socket.gethostname() \
        or socket.gethostname() == "stockade"
