# SPDX-License-Identifier: Apache-2.0
"""What appears on the host while the command runs is hidden, or read-only, as if
it had been there at the start."""
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import as_root, as_user, eventually, listen_at, needs_overlay, ours

HIDE = ["--write", ".", "--hide", "**/*.pem", "--hide", "secrets"]

# Does what it is told, and says how it went.
AGENT = r"""
import os, socket, sys
def read(path):
    return open(path).read()
def write(path):
    open(path, "w").write("agent")
    return "written"
def see(path):
    return sorted(os.listdir(path))
def add(path):
    open(path, "a").close()
    return "opened"
def connect(path):
    socket.socket(socket.AF_UNIX).connect(path)
    return "connected"
kept = {}
print("up", flush=True)
for line in sys.stdin:
    try:
        print(repr(eval(line)), flush=True)
    except OSError as error:
        print(repr("E " + error.strerror), flush=True)
"""
DENIED = "E Permission denied"
READ_ONLY = "E Read-only file system"


class Inside:
    """A command that goes on."""

    def __init__(self, stockade, flags, argv=()):
        self.process = subprocess.Popen(
            [*argv, *stockade.argv(sys.executable, "-c", AGENT, flags=flags)],
            cwd=stockade.cwd, env=stockade.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "up\n"

    def __call__(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return eval(self.process.stdout.readline() or "'the run has ended'")

    def becomes(self, text, what):
        """... within two seconds."""
        eventually(lambda: self(text) == what, 2)
        assert self(text) == what

    def stands(self):
        """Has the sentry come?  What follows is then met by it at once."""
        return eventually(lambda: sentries(), 2)

    def end(self):
        out, err = self.process.communicate(timeout=10)
        return self.process.returncode, err

    def is_ended(self):
        """... not by us."""
        self.process.wait(timeout=10)
        return self.end()

    def kill(self):
        self.process.kill()
        self.process.communicate()


def sentries():
    return [pid for pid, seen in ours().items() if seen[0] == "stockade-sentry"]


@pytest.fixture
def inside(stockade):
    started = []

    def start(*flags, argv=()):
        started.append(Inside(stockade, flags, argv))
        return started[-1]
    yield start
    for one in started:
        one.kill()


@pytest.mark.parametrize("wait", [True, False])
def test_what_is_hidden_and_appears(stockade, inside, wait):
    (stockade.cwd / "sub").mkdir()
    (stockade.cwd / "old.pem").write_text("x")
    elsewhere = stockade.base / "tree"
    (elsewhere / "a" / "secrets").mkdir(parents=True)
    (elsewhere / "a" / "deep.pem").write_text("secret")
    agent = inside(*HIDE)
    assert agent("read('old.pem')") == DENIED
    if wait:
        assert agent.stands()
    odd = b"sub/\xff \n\x1b.pem"
    with open(os.fsencode(str(stockade.cwd)) + b"/" + odd, "w") as file:
        file.write("secret")
    (stockade.cwd / "sub" / "new.pem").write_text("secret")
    (stockade.cwd / "sub" / "new.txt").write_text("plain")
    (stockade.cwd / "made" / "deeper").mkdir(parents=True)
    (stockade.cwd / "made" / "deeper" / "new.pem").write_text("secret")
    (stockade.cwd / "secrets").mkdir()
    (stockade.cwd / "secrets" / "key").write_text("secret")
    os.link(elsewhere / "a" / "deep.pem", stockade.cwd / "link.pem")
    elsewhere.rename(stockade.cwd / "moved")
    for path in ("sub/new.pem", "made/deeper/new.pem", "secrets/key",
                 "moved/a/deep.pem", "link.pem"):
        agent.becomes(f"read('{path}')", DENIED)
    agent.becomes(f"read({odd!r})", DENIED)
    agent.becomes("see('secrets')", DENIED)
    assert agent("read('sub/new.txt')") == "plain"
    assert agent("see('moved/a/secrets')") == []
    # Also under another name, and when it is written anew.
    assert agent("os.rename('made', 'other')") is None
    assert agent("read('other/deeper/new.pem')") == DENIED
    (stockade.cwd / "new").write_text("secret")
    (stockade.cwd / "new").rename(stockade.cwd / "sub" / "new.pem")
    agent.becomes("read('sub/new.pem')", DENIED)
    (stockade.cwd / "sub" / "new.pem").unlink()
    (stockade.cwd / "sub" / "new.pem").write_text("secret")
    agent.becomes("read('sub/new.pem')", DENIED)
    assert agent("read('sub/new.txt')") == "plain"
    assert agent.end() == (0, "")
    assert (stockade.cwd / "sub" / "new.pem").read_text() == "secret"
    seen = [record for record in stockade.log()
            if record["event"] == "appeared"]
    assert {"hidden"} == {record["now"] for record in seen}
    for name in ("sub/new.pem", "made/deeper/new.pem", "secrets"):
        assert str(stockade.cwd / name) in [record["path"] for record in seen]


def test_what_is_guarded_and_appears(stockade, inside):
    (stockade.cwd / "sub").mkdir()
    (stockade.cwd / ".vimrc").write_text("old")
    agent = inside("--write", ".", "--guard", "**/*.lock")
    assert agent("write('.vimrc')") == READ_ONLY and agent.stands()
    for name in (".envrc", "sub/.envrc", "sub/b.lock", "sub/plain"):
        (stockade.cwd / name).write_text("host's")
    (stockade.cwd / "sub" / ".vscode").mkdir()
    (stockade.cwd / "sub" / ".vscode" / "tasks.json").write_text("host's")
    (stockade.cwd / ".github" / "workflows").mkdir(parents=True)
    (stockade.cwd / ".github" / "workflows" / "ci.yml").write_text("host's")
    (stockade.cwd / "node_modules" / "p").mkdir(parents=True)
    (stockade.cwd / "node_modules" / "p" / ".envrc").write_text("host's")
    (stockade.cwd / "target").write_text("host's")
    os.symlink("target", stockade.cwd / ".mcp.json")
    for name in (".envrc", "sub/.envrc", "sub/b.lock",
                 "sub/.vscode/tasks.json", ".github/workflows/ci.yml",
                 "target"):
        agent.becomes(f"add('{name}')", READ_ONLY)
        assert agent(f"read('{name}')") == "host's"
    for name in ("sub/.vscode", ".github/workflows"):
        assert agent(f"os.mkdir('{name}/new')") == READ_ONLY
        assert agent(f"os.rename('{name}', 'other')").startswith("E ")
    assert agent("os.unlink('.envrc')").startswith("E ")
    # Nor is a directory renamed that has it below.
    assert agent("os.rename('sub', 'other')") == "E Device or resource busy"
    assert agent("os.mkdir('mine') or os.rename('mine', 'other')") is None
    for name in ("sub/plain", "node_modules/p/.envrc", ".github/other"):
        assert agent(f"write('{name}')") == "written"
    # As an editor saves.
    (stockade.cwd / "new").write_text("host's")
    (stockade.cwd / "new").rename(stockade.cwd / ".envrc")
    agent.becomes("add('.envrc')", READ_ONLY)
    assert agent.end() == (0, "")
    seen = [record for record in stockade.log()
            if record["event"] == "appeared"]
    assert {"read-only"} == {record["now"] for record in seen}
    assert (str(stockade.cwd / "sub/b.lock"), f"guard {stockade.cwd}/**/*.lock"
            ) in [(record["path"], record["rule"]) for record in seen]


def test_what_a_hidden_or_guarded_link_leads_to_later(stockade, inside):
    (stockade.cwd / "sub").mkdir()
    os.symlink("sub/early", stockade.cwd / "early.pem")
    agent = inside(*HIDE, "--guard", "*.lock")
    assert agent.stands()
    (stockade.cwd / "sub" / "saved").write_text("secret")
    for name, to in (("late.pem", "late"), ("saved.pem", "saved"),
                     ("late.lock", "locked")):
        os.symlink(f"sub/{to}", stockade.cwd / name)
    agent.becomes("read('saved.pem')", DENIED)
    for name in ("early", "late", "locked"):
        (stockade.cwd / "sub" / name).write_text("secret")
    (stockade.cwd / "new").write_text("secret")
    (stockade.cwd / "new").rename(stockade.cwd / "sub" / "saved")
    for name in ("early", "late", "saved"):
        agent.becomes(f"read('sub/{name}')", DENIED)
        assert agent(f"read('{name}.pem')") == DENIED
    agent.becomes("add('sub/locked')", READ_ONLY)
    assert agent("read('late.lock')") == "secret"
    # Until it is gone.
    assert agent("os.unlink('early.pem') or write('sub/own')") == "written"
    (stockade.cwd / "sub" / "early").unlink()
    (stockade.cwd / "sub" / "early").write_text("plain")
    assert agent("read('sub/early')") == "plain"
    assert agent.end() == (0, "")


@as_root
def test_what_appears_in_a_directory_that_is_mounted_twice(stockade, inside):
    (stockade.cwd / "one" / "sub").mkdir(parents=True)
    (stockade.cwd / "two").mkdir()
    subprocess.run(["mount", "--bind", "one", "two"], cwd=stockade.cwd,
                   check=True)
    try:
        agent = inside(*HIDE)
        assert agent.stands() and agent("see('two')") == ["sub"]
        (stockade.cwd / "one" / "sub" / "x.pem").write_text("secret")
        for name in ("one", "two"):
            agent.becomes(f"read('{name}/sub/x.pem')", DENIED)
        assert agent("os.rename('two/sub', 'two/other')") is None
        (stockade.cwd / "one" / "other" / "y.pem").write_text("secret")
        for name in ("one", "two"):
            agent.becomes(f"read('{name}/other/y.pem')", DENIED)
        assert agent.end() == (0, "")
    finally:
        subprocess.run(["umount", "two"], cwd=stockade.cwd, check=True)


def test_a_repository_of_the_hosts_and_the_agents(stockade, inside):
    agent = inside("--write", ".")
    assert agent.stands()
    (stockade.cwd / "his").mkdir()
    git = ["git", "init", "-q", "--template="]
    subprocess.run([*git, str(stockade.cwd / "his")], check=True)
    (stockade.cwd / "tree").mkdir()
    (stockade.cwd / "tree" / ".git").write_text("gitdir: ../his/.git\n")
    (stockade.cwd / "tree" / "sub").mkdir()
    assert agent(f"__import__('subprocess').call({git + ['own']})") == 0
    assert agent(f"__import__('subprocess').call({git + ['tree/sub']})") == 0
    assert agent("os.mkdir('own/.vscode')") is None
    for name in ("his/.git/config", "tree/.git"):
        agent.becomes(f"add('{name}')", READ_ONLY)
    # Neither what is there, nor what is not.
    for name in ("hooks", "commondir", "info/attributes"):
        assert agent(f"write('his/.git/{name}')").startswith("E ")
    assert agent("os.rename('own/.git', 'his/.git/hooks')").startswith("E ")
    assert agent("write('his/.git/description')") == "written"
    for name in ("own/.git/config", "own/.git/commondir", "tree/sub/.git/config",
                 "own/.vscode/x", "his/.git/x"):
        assert agent(f"write('{name}')") == "written"
    assert agent("write('sub.git')") == "written"
    (stockade.cwd / "last.envrc").write_text("")
    (stockade.cwd / ".envrc").write_text("")
    agent.becomes("add('.envrc')", READ_ONLY)
    # The sentry has seen all of it by now, and the agent's is still its own.
    for name in ("own/.git/config", "own/.vscode/x", "tree/sub/.git/config"):
        assert agent(f"write('{name}')") == "written"
    assert agent("os.mkdir('wt') or write('wt/.git')") == "written"
    (stockade.cwd / ".vimrc").write_text("")
    agent.becomes("add('.vimrc')", READ_ONLY)
    assert agent("write('wt/.git')") == "written"
    assert agent.end() == (0, "")


@pytest.mark.parametrize("flags", [["--write", "."], []])
def test_sockets_of_the_hosts_and_the_agents(stockade, inside, flags):
    (stockade.cwd / "sub").mkdir()
    old = listen_at(str(stockade.cwd / "old"))
    agent = inside(*flags)
    assert agent("connect('old')") == DENIED and agent.stands()
    if flags:
        assert agent("""kept.update({n: socket.socket(socket.AF_UNIX) for n in
                     ("own", "sub/own", "gone")}) or [(s.bind(n), s.listen())
                     for n, s in kept.items()] and None""".replace(
                         "\n", " ")) is None
    new = [listen_at(str(stockade.cwd / name)) for name in ("new", "sub/new")]
    for name in ("new", "sub/new"):
        agent.becomes(f"connect('{name}')", DENIED)
    for name in ("own", "sub/own"):
        if flags:
            assert agent(f"connect('{name}')") == "connected"
    if flags:
        assert agent("kept.pop('gone').close()") is None
        assert agent("os.unlink('gone')") is None
    assert agent.end() == (0, "")
    for one in (old, *new):
        one.close()


@needs_overlay
def test_what_appears_below_an_overlay(stockade, inside):
    (stockade.cwd / "sub").mkdir()
    agent = inside(*HIDE, "--policy", stockade.policy("workspace overlay"))
    assert agent.stands()
    # An overlay remembers that there was nothing.
    for name in ("asked.pem", "secrets/key", "asked"):
        assert agent(f"read('{name}')") == "E No such file or directory"
    assert agent("write('own.pem')") == "written"
    for name in ("asked.pem", "new.pem", "sub/new.pem", "asked", "new",
                 "sub/.envrc"):
        (stockade.cwd / name).write_text("host's")
    (stockade.cwd / "secrets").mkdir()
    (stockade.cwd / "secrets" / "key").write_text("host's")
    for name in ("new.pem", "sub/new.pem", "asked.pem", "secrets/key"):
        agent.becomes(f"read('{name}')", DENIED)
    agent.becomes("add('sub/.envrc')", READ_ONLY)
    assert agent("read('sub/.envrc')") == "host's"
    assert agent("read('new')") == "host's"
    assert agent("read('own.pem')") == "agent"
    assert agent.end()[0] == 0


RENAMES = r"""
import os, sys, time
print("up", flush=True)
end, denied, seen = time.monotonic() + 8, 0, 0
a, b = "d", "e"
while time.monotonic() < end and denied < 50:
    os.rename(a, b)
    a, b = b, a
    try:
        seen += open(a + "/x.pem").read() == "secret"
        denied = 0
    except FileNotFoundError:
        pass
    except PermissionError:
        denied += 1
print(denied, flush=True)
"""


def test_what_appears_where_the_agent_renames_all_the_time(stockade):
    (stockade.cwd / "d").mkdir()
    folder = os.open(stockade.cwd / "d", os.O_RDONLY)
    run = stockade.start("/usr/bin/python3", "-c", RENAMES, flags=HIDE)
    assert run.stdout.readline() == b"up\n"
    eventually(sentries, 2)
    os.mkdir("new", dir_fd=folder)
    file = os.open("x.pem", os.O_CREAT | os.O_WRONLY, dir_fd=folder)
    os.write(file, b"secret")
    os.close(file)
    os.close(folder)
    out, err = run.communicate(timeout=20)
    assert (run.returncode, out, err) == (0, b"50\n", b"")


# Who asks whose a socket is gets a list of all that the agent has.
SOCKETS = r"""
import os, resource, socket, sys, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
kept = [socket.socketpair() for _ in range(min(2000, most // 2 - 20))]
own = socket.socket(socket.AF_UNIX)
own.bind("a")
own.listen()
print("up", flush=True)
begin, denied, a, b = time.monotonic(), 0, "a", "b"
while time.monotonic() < begin + 6 and denied < 50:
    os.rename(a, b)
    a, b = b, a
    try:
        open("d/x.pem").read()
    except FileNotFoundError:
        pass
    except PermissionError:
        denied += 1
socket.socket(socket.AF_UNIX).connect(a)
print(denied, flush=True)
"""


def test_what_appears_where_the_agent_renames_one_of_many_sockets(stockade):
    (stockade.cwd / "d").mkdir()
    run = stockade.start("/usr/bin/python3", "-c", SOCKETS, flags=HIDE)
    assert run.stdout.readline() == b"up\n"
    time.sleep(2)
    (stockade.cwd / "d" / "x.pem").write_text("secret")
    out, err = run.communicate(timeout=20)
    assert (run.returncode, out, err) == (0, b"50\n", b"")


def test_when_events_were_lost_all_is_looked_through(stockade, inside):
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        most = int(file.read())
    (stockade.cwd / "sub").mkdir()
    agent = inside(*HIDE)
    assert agent.stands() and agent("see('.')") == ["sub"]
    pid, = sentries()
    os.kill(pid, signal.SIGSTOP)
    names = [str(stockade.cwd / "sub" / name) for name in "ab"]
    open(names[0], "w").close()
    for i in range(most + 10):      # the same twice in a row is one
        os.rename(names[i % 2], names[1 - i % 2])
    (stockade.cwd / "sub" / "new.pem").write_text("secret")
    assert agent("read('sub/new.pem')") == "secret"
    os.kill(pid, signal.SIGCONT)
    agent.becomes("read('sub/new.pem')", DENIED)
    assert agent.end() == (0, "")


# May say how much may be watched, and has no more rights when it starts.
FEW_WATCHES = ["unshare", "-U", "-c", "--keep-caps", "sh", "-c",
               "echo 4 > /proc/sys/user/max_inotify_watches && exec setpriv "
               "--ambient-caps -all --inh-caps -all -- \"$@\"", "sh"]


@as_user
@pytest.mark.parametrize("flags", [["--hide", "**/*.pem"],
                                   ["--guard", "**/*.pem"], []])
def test_more_directories_than_can_be_watched(stockade, inside, flags):
    for i in range(8):
        (stockade.cwd / f"d{i}").mkdir()
    why = "more directories than can be watched"
    if flags:
        done = subprocess.run(
            [*FEW_WATCHES, *stockade.argv("sleep", "8", flags=[
                "--write", ".", *flags])], cwd=stockade.cwd, text=True,
            env=stockade.env, stderr=subprocess.PIPE, timeout=20)
        assert done.returncode == 128 + 9 and why in done.stderr
    else:
        agent = inside("--write", ".", argv=FEW_WATCHES)
        agent.stands()
        (stockade.cwd / ".envrc").write_text("")
        agent.becomes("add('.envrc')", READ_ONLY)
        assert agent.end() == (0, "")
    assert [why in record["reason"] for record in stockade.log()
            if record["event"] == "fault"] == [True]


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("call", ["setns", "inotify_init1",
                                  "inotify_add_watch:error=ENOMEM"])
def test_it_fails_closed(stockade, call):
    name, _, how = call.partition(":")
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e",
         f"inject={name}:{how or 'error=EMFILE'}", *stockade.argv(
             "sh", "-c", "sleep 5; echo late > late", flags=HIDE)],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 128 + 9, done
    assert "can no longer be hidden" in done.stderr
    assert not (stockade.cwd / "late").exists()


def test_when_the_sentry_is_gone_the_run_ends(stockade, inside):
    agent = inside(*HIDE)
    assert agent.stands()
    for pid in sentries():
        os.kill(pid, signal.SIGKILL)
    status, err = agent.is_ended()
    assert status == 128 + 9 and "stockade-sentry) has ended" in err
    assert any(record["event"] == "fault" and record["process"] == "sentry"
               for record in stockade.log())


def test_nothing_is_left_of_it(stockade, inside):
    agent = inside(*HIDE)
    assert agent.stands()
    agent.process.send_signal(signal.SIGKILL)
    assert eventually(lambda: not ours(), 5)
    # A command that has ended before it would have come.
    assert stockade.run("true", flags=HIDE).ok()
    assert eventually(lambda: not ours())
