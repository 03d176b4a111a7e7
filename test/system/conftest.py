# SPDX-License-Identifier: Apache-2.0
"""What every system test uses: a place, origins, and `stockade run` itself.

A test gets its own home and working directory, far from the caller's.  The
fixture `stockade` runs the built program; `api` and `other` are HTTPS origins
called api.test and other.test, `plain` is one without TLS.
"""
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from origin import Authority, Origin  # noqa: E402

TREE = os.environ.get("STOCKADE_TREE") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("STOCKADE_BUILD") or os.path.join(TREE, "build")
PROGRAM = os.path.join(BUILD, "src", "stockade")
PROBE = os.path.join(BUILD, "test", "probe", "probe")
IS_ROOT = os.geteuid() == 0
# Set by test/cell: public and special addresses are here, and names for them.
IN_CELL = os.environ.get("STOCKADE_CELL") == "1"
# How many times slower than usual this machine may be: an emulated one (test/vm).
PATIENCE = float(os.environ.get("STOCKADE_PATIENCE") or 1)

# A shell that starts us in the background lets signals be ignored, and what is
# ignored stays so in everything below.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

needs_cell = pytest.mark.skipif(
    not IN_CELL, reason="needs the names and addresses of test/cell")
as_root = pytest.mark.skipif(not IS_ROOT, reason="speaks of a launch by root")
as_user = pytest.mark.skipif(IS_ROOT, reason="speaks of a launch by a user")
needs_overlay = pytest.mark.skipif(
    IS_ROOT and tuple(map(int, os.uname().release.split(".")[:2])) < (6, 15),
    reason="started by root, an overlay needs Linux 6.15")


def pytest_configure(config):
    config.addinivalue_line("markers", "whoever(is=True): the same whoever "
                            "starts it")


def pytest_collection_modifyitems(config, items):
    """While both halves run, each takes every second test of those that are the
    same in both."""
    share = os.environ.get("STOCKADE_SHARE")
    if not share:
        return
    alike = [item for item in items
             if (marker := item.get_closest_marker("whoever")) and
             marker.args != (False,)]
    others = set(alike[share == "root"::2])
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


class Result:
    """How a run ended: status, out and err as text, seconds."""

    def __init__(self, status, out, err, seconds):
        self.status, self.seconds = status, seconds
        self.out, self.err = out, err

    @property
    def text(self):
        return self.out + self.err

    def complaints(self):
        return [line for line in self.err.splitlines()
                if line.startswith("stockade:")]

    def ok(self):
        """The run itself, with everything it said if it failed."""
        assert self.status == 0, str(self)
        return self

    def __repr__(self):
        return f"status {self.status}\nstdout: {self.out}\nstderr: {self.err}"


def listen_at(path):
    """A listening socket of that name, which may be longer than the 108 bytes
    of an address."""
    listener = socket.socket(socket.AF_UNIX)
    folder = os.open(os.path.dirname(path), os.O_PATH)
    listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    os.close(folder)
    listener.listen()
    return listener


class Stockade:
    """`stockade` as a person would start it, in a home of its own."""

    def __init__(self, base):
        self.base = base
        self.home = base / "home"
        self.cwd = self.home / "work"
        self.cwd.mkdir(parents=True)
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home), "LANG": "C.UTF-8",
            "USER": os.environ.get("USER", "root"), "TERM": "dumb",
        }
        self.policies = 0

    def policy(self, text):
        self.policies += 1
        path = self.base / f"policy{self.policies}"
        path.write_text(text)
        return str(path)

    def argv(self, *command, policy=None, flags=()):
        argv = [PROGRAM, "run", *flags]
        if policy is not None:
            argv += ["--policy", self.policy(policy)]
        return argv + ["--", *map(str, command)]

    def call(self, *argv, env=None, cwd=None, stdin=None, timeout=40):
        began = time.monotonic()
        child = subprocess.Popen(
            [PROGRAM, *map(str, argv)] if argv[0] != PROGRAM else argv,
            cwd=cwd or self.cwd, env={**self.env, **(env or {})},
            stdin=subprocess.PIPE if stdin is not None
            else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = child.communicate(stdin, timeout=timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            pytest.fail(f"still running after {timeout * PATIENCE} s\n"
                        f"{out.decode('latin-1')}\n{err.decode('latin-1')}")
        return Result(child.returncode, out.decode("utf-8", "replace"),
                      err.decode("utf-8", "replace"),
                      time.monotonic() - began)

    def run(self, *command, policy=None, flags=(), **more):
        return self.call(*self.argv(*command, policy=policy, flags=flags),
                         **more)

    def sh(self, script, **more):
        return self.run("/bin/sh", "-c", script, **more)

    def start(self, *command, policy=None, flags=(), env=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            self.argv(*command, policy=policy, flags=flags), cwd=self.cwd,
            env={**self.env, **(env or {})}, **more)

    def log(self, *arguments):
        """Records of the newest run."""
        import json
        result = self.call("log", "--json", *arguments).ok()
        return [json.loads(line) for line in result.out.splitlines()]

    def state(self):
        return self.home / ".local" / "state" / "stockade"


def processes(marker=None):
    """{pid: (name, command line)} of the living, zombies left out."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                text = stat.read()
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                command = line.read().replace(b"\0", b" ").decode("latin-1")
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        if text[text.rindex(")") + 2] == "Z":
            continue
        if marker is None or marker in command:
            found[int(pid)] = (name, command)
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as text:
        return [int(child) for child in text.read().split()]


def ours():
    """Processes of stockade, wherever they are."""
    return {pid: seen for pid, seen in processes().items()
            if seen[0].startswith("stockade")}


def is_ours(path):
    """Who is not this user may run the other half of the tests."""
    try:
        return os.stat(path).st_uid == os.geteuid()
    except FileNotFoundError:
        return False


def read_terminal(master):
    """All that was written to the other side, which is closed; closes this one."""
    seen = b""
    try:
        while piece := os.read(master, 65536):
            seen += piece
    except OSError:
        pass
    os.close(master)
    return seen


def eventually(condition, seconds=5.0):
    """Waits until condition() is true; its last value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)


@pytest.fixture
def stockade(tmp_path):
    return Stockade(tmp_path)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("authority")))


@pytest.fixture(scope="session")
def git_root(tmp_path_factory):
    """A bare repository with one commit, at /git/project.git."""
    root = tmp_path_factory.mktemp("git")
    script = """
        git init -q -b main --bare project.git
        git init -q -b main seed && cd seed
        echo hello > README && git add README
        git -c user.name=t -c user.email=t@t commit -q -m first
        git push -q ../project.git main
    """
    subprocess.run(["sh", "-ec", script], cwd=root, check=True,
                   env={**os.environ, "HOME": str(root)})
    return str(root)


def origin_fixture(name, *names, tls=True):
    @pytest.fixture(scope="session", name=name + "_session")
    def session(authority, git_root):
        pair = authority.leaf(*names) if tls else None
        server = Origin(name, pair, git_root)
        yield server
        server.close()

    def fixture(request):
        server = request.getfixturevalue(name + "_session")
        server.clear()
        return server

    return session, pytest.fixture(name=name)(fixture)


_api, api = origin_fixture("api", "api.test", "public.test", "wide.test",
                            "*.wide.test")
_other, other = origin_fixture("other", "other.test", "twice.test",
                               "loopback.test", "private.test",
                               "metadata.test", "shared.test", "mixed.test")
_plain, plain = origin_fixture("plain", "plain.test", tls=False)


@pytest.fixture
def net(authority, api, other, plain):
    """Policy lines that make the three origins reachable, allowing nothing."""
    return (f"roots {authority.pem}\n"
            f"reach api.test via {api.via}\n"
            f"reach one.wide.test via {api.via}\n"
            f"reach two.wide.test via {api.via}\n"
            f"reach other.test via {other.via}\n"
            f"reach plain.test via {plain.via}\n")


def git(top, *words):
    """Outside, by a name that no configuration gives."""
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c",
         "safe.directory=*", *words], cwd=top, check=True,
        capture_output=True, text=True).stdout


def mounts():
    with open("/proc/self/mountinfo") as lines:
        return {line.split()[4] for line in lines}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """No test may leave one of our processes running, or a mount."""
    before, mounted = set(ours()), mounts()
    yield
    assert eventually(lambda: mounts() <= mounted), \
        f"left mounted: {mounts() - mounted}"
    assert eventually(lambda: not set(ours()) - before), \
        f"left running: {ours()}"
