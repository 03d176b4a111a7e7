# SPDX-License-Identifier: Apache-2.0
"""What an agent that knows how pid 1 makes names for it might try."""
import os
import subprocess

import pytest

WRITE = ["--write", "."]


def python(stockade, script, *, timeout=30):
    return stockade.run("python3", "-c", script, flags=WRITE, timeout=timeout)


def test_a_link_by_its_descriptor_cannot_become_a_guarded_folder(stockade):
    """linkat() on /proc/self/fd/N links what is open, here a link itself."""
    python(stockade, """
import ctypes, os
os.mkdir("full")
open("full/settings.json", "w").write("x")
os.symlink("full", "way")
fd = os.open("way", os.O_PATH | os.O_NOFOLLOW)
for name in (b".plain", b".claude"):
    ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, name, 0x400)
""").ok()
    assert (stockade.cwd / ".plain" / "settings.json").exists(), "the control"
    assert not os.path.lexists(stockade.cwd / ".claude")


def test_nothing_of_pid_1_is_opened(stockade):
    result = python(stockade, """
import os
os.chdir("/")
fd = os.open("/", os.O_RDONLY)
for name in ("maps", "status", "mountinfo", "mem", "task/1/maps", "fd/0"):
    for at in ("proc/1/", "/proc/1/", "//proc/1/", "dev/../proc/1/",
               "proc/self/root/proc/1/"):
        for way in (None, fd):
            try:
                os.open(at + name, os.O_CREAT | os.O_RDONLY, dir_fd=way)
            except OSError:
                continue
            print("opened", at + name, way)
print(len(os.readlink("proc/self")))""").ok()
    assert len(result.out.split()) == 1


def test_what_pid_1_may_see_of_others_is_not_opened_for_them(stockade):
    """It is everybody's ancestor, which Yama takes for a reason."""
    result = stockade.sh("""
        sleep 20 & for f in mem environ maps; do python3 -c '
import os, sys
path = sys.argv[1]
held = os.open(path, os.O_PATH)
for way in (path, f"/proc/self/fd/{held}"):
    try:
        print("opened", os.open(way, os.O_CREAT | os.O_RDONLY))
    except PermissionError as e:
        print(e.errno)' /proc/$!/$f; done; kill $!""", flags=WRITE).ok()
    assert result.out.split() == ["13"] * 6


def test_a_descriptor_that_changes_under_pid_1(stockade):
    """A file when it is looked at, a pipe that nobody reads when opened."""
    python(stockade, """
import os, signal, threading, time
r, w = os.pipe()
os.close(r)
file = os.open("file", os.O_CREAT | os.O_WRONLY)
spare = os.dup(file)

def swap():
    while True:
        os.dup2(w, spare)
        os.dup2(file, spare)

def ask(path):
    while True:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

threading.Thread(target=swap, daemon=True).start()
children = []
for i in range(40):
    pid = os.fork()
    if pid == 0:
        ask(f"/proc/{os.getppid()}/fd/{spare}")
    children.append(pid)
time.sleep(0.5)
for pid in children:
    os.kill(pid, signal.SIGKILL)
os.mkdir("alive")
os._exit(0)""").ok()
    assert (stockade.cwd / "alive").exists()


def test_a_file_that_others_remove_is_made_again(stockade):
    """open(O_CREAT) never says that there is no such file."""
    result = python(stockade, """
import os, threading, time
end = time.monotonic() + 1

def remove():
    while time.monotonic() < end:
        try:
            os.unlink("lock")
        except FileNotFoundError:
            pass

other = threading.Thread(target=remove)
pid = os.fork()
if pid == 0:
    remove()
    os._exit(0)
n = 0
while time.monotonic() < end:
    os.close(os.open("lock", os.O_CREAT | os.O_WRONLY))
    n += 1
print(n > 10)""").ok()
    assert result.out.split() == ["True"]


def test_a_writer_of_a_fifo_that_follows_no_links(stockade):
    result = python(stockade, """
import os, threading, time
os.mkfifo("f")
threading.Thread(target=lambda: (time.sleep(0.2), os.open("f", 0))).start()
os.open("f", os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW)
print("opened")""").ok()
    assert result.out.split() == ["opened"]


def test_the_terminal_behind_a_descriptor_is_the_callers(stockade):
    """/dev/tty, opened again by its descriptor, in another session."""
    result = python(stockade, """
import os, pty
pid, master = pty.fork()
if pid == 0:
    tty = os.open("/dev/tty", os.O_RDWR)
    again = os.open(f"/proc/self/fd/{tty}", os.O_CREAT | os.O_WRONLY)
    os.write(again, b"here")
    os._exit(0)
print(os.read(master, 4).decode())""").ok()
    assert result.out.split() == ["here"]


@pytest.mark.parametrize("what", [
    "resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))",
    "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
    "os.sched_setaffinity(1, {0})", "os.setpriority(os.PRIO_PROCESS, 1, 19)",
])
def test_pid_1_is_not_starved(stockade, what):
    result = python(stockade, f"""
import os, resource
try:
    {what}
    print("done")
except PermissionError:
    print("refused")
{what.replace("1", "0", 1).replace("(1, 1)", "(500, 500)")}
os.mkdir("after")""").ok()
    assert result.out.split() == ["refused"]
    assert (stockade.cwd / "after").exists()


HOSTILE = [b"new\nline", b"\x1b[2Jclear", b"not\xffutf8", b'quo"te\\',
           b"\xe2\x80\xaereversed", b"x" * 240]


def test_a_name_forges_no_line_of_the_record(stockade):
    for name in HOSTILE:  # what the agent makes itself is its own
        os.mkdir(os.path.join(os.fsencode(stockade.cwd), name))
    script = "import os\n" + "".join(f"""
try:
    os.mkdir({name + b"/.idea"!r})
except PermissionError:
    pass
""" for name in HOSTILE)
    python(stockade, script).ok()
    denied = [record for record in stockade.log("--denied")
              if record["event"] == "guard"]
    assert len(denied) == len(HOSTILE)
    shown = stockade.call("log", "--denied").ok().out
    assert "\x1b" not in shown and "\u202e" not in shown
    assert not any(line.startswith("line") for line in shown.splitlines())


def test_ordinary_names_beside_hostile_ones(stockade):
    subprocess.run(["mkdir", "sub"], cwd=stockade.cwd, check=True)
    stockade.sh("cd sub; echo x > 'a b'; mv 'a b' -- -c; ln -- -c \"$(printf "
                "'d\\nd')\"", flags=WRITE).ok()
    assert sorted(os.listdir(stockade.cwd / "sub")) == ["-c", "d\nd"]


def test_what_an_installer_unpacks_stays_where_it_is(stockade):
    """There all names are free, and a folder full of them is not renamed."""
    stockade.sh("""
        mkdir -p node_modules/.a/.vscode node_modules/.a/src
        echo x > node_modules/.a/.travis.yml
        echo x > node_modules/.a/.vscode/tasks.json
        mv node_modules/.a node_modules/a
        mkdir exchanged; python3 -c 'import ctypes; ctypes.CDLL(None)
renameat2 = ctypes.CDLL(None).renameat2
renameat2(-100, b"exchanged", -100, b"node_modules/a", 2)
renameat2(-100, b"node_modules", -100, b"exchanged", 2)'
        mv -T node_modules/a/.vscode .vscode
        ln node_modules/a/.travis.yml .travis.yml
        cp -r node_modules/a copied""", flags=WRITE)
    assert not os.path.lexists(stockade.cwd / ".vscode")
    assert not os.path.lexists(stockade.cwd / ".travis.yml")
    assert (stockade.cwd / "copied" / "src").exists(), "the control"
    assert (stockade.cwd / "node_modules/a/.travis.yml").exists()


def test_npm_installs_what_is_guarded_elsewhere(stockade):
    result = stockade.sh("""
        mkdir -p /tmp/p/package
        echo '{"name":"dep","version":"1.0.0"}' > /tmp/p/package/package.json
        echo x > /tmp/p/package/.travis.yml
        tar -C /tmp/p -czf dep.tgz package
        echo '{"name":"app","version":"1.0.0"}' > package.json
        npm install --silent --no-audit --no-fund ./dep.tgz
        ls -A node_modules/dep""", flags=WRITE, timeout=60)
    assert ".travis.yml" in result.out, result


def test_a_number_that_was_the_agents_is_nobodys(stockade):
    """The user's new directory may get the inode of one that is gone."""
    run = stockade.start("python3", "-c", """
import os, time
numbers = set()
for i in range(64):
    os.mkdir(f"d{i}")
    numbers.add(os.stat(f"d{i}").st_ino)
for i in range(64):
    os.rmdir(f"d{i}")
print("gone", flush=True)
while not os.path.exists("theirs7"):
    time.sleep(0.01)
for i in range(8):
    for name in (".envrc", "fine"):
        try:
            open(f"theirs{i}/{name}", "x")
        except PermissionError:
            pass
print(any(os.stat(f"theirs{i}").st_ino in numbers for i in range(8)))""",
                         flags=WRITE)
    run.stdout.readline()
    for i in range(8):
        (stockade.cwd / f"theirs{i}").mkdir()
    assert run.communicate(timeout=20)[0] in (b"True\n", b"False\n")
    for i in range(8):
        assert os.listdir(stockade.cwd / f"theirs{i}") == ["fine"]


def test_a_name_that_only_a_file_may_get(stockade):
    """While it is looked at, its name is nobody's to give or take."""
    stockade.sh("""
        mkdir d; echo x > d/settings.json; echo x > a; echo x > b; ln a linked
        mv a .claude; mv -T d .stockade-plain-0; mkdir .stockade-plain-1
        ln -s d .STOCKADE-plain-2; mkdir node_modules; mv b node_modules
        mv node_modules/b c; mv c .stockade-plain-3""", flags=WRITE)
    assert (stockade.cwd / ".claude").read_text() == "x\n"
    assert sorted(os.listdir(stockade.cwd)) == [
        ".claude", "c", "d", "linked", "node_modules"]
