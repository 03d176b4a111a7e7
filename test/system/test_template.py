# SPDX-License-Identifier: Apache-2.0
"""The template: what /etc and /dev of all sandboxes of a user have in common.

It is judged by the files in the state directory and by what a run shows.  A
host whose /etc changes is a mount namespace in which a copy lies over /etc, so
that the machine's own is never touched.
"""
import fnmatch
import json
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import IS_ROOT, Result, as_root, as_user

# What may be shown of the host's /etc, and what is written anew.
LISTED = """
    alternatives ld.so.cache ld.so.preload pki localtime timezone os-release
    lsb-release redhat-release fedora-release alpine-release protocols services
    profile profile.d bash.bashrc bashrc zsh zshrc zshenv fish gitconfig npmrc
    fonts ImageMagick-[67] java
    java-8-openjdk java-11-openjdk java-17-openjdk java-21-openjdk
    java-25-openjdk ruby php R julia ghc maven gradle claude-code codex
    gemini-cli opencode chromium.d
""".split()
LISTED_SSL = ["certs", "openssl.cnf", "ca-bundle.pem", "cert.pem"]
WRITTEN = ["group", "hostname", "hosts", "nsswitch.conf", "passwd",
           "resolv.conf"]
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8),
           "urandom": (1, 9), "tty": (5, 0)}
DEV_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
             "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
             "ptmx": "pts/ptmx", "shm": "/run/shm"}
COPIED_UP_TO = 65536


def store_of(stockade):
    return stockade.state() / "templates"


def templates(stockade):
    """Everything in the store, half-made or not."""
    return sorted(os.listdir(store_of(stockade)))


def the_template(stockade):
    names = templates(stockade)
    assert len(names) == 1, names
    return store_of(stockade) / names[0]


def snapshot(top):
    """{path: all that a change would change}, read access left out."""
    seen = {}
    for folder, folders, names in os.walk(top):
        for path in [folder] + [os.path.join(folder, n)
                                for n in names + folders]:
            st = os.lstat(path)
            seen[path] = (st.st_mode, st.st_uid, st.st_gid, st.st_ino,
                          st.st_nlink, st.st_mtime_ns, st.st_ctime_ns,
                          content(path, st))
    return seen


def content(path, st):
    if stat.S_ISLNK(st.st_mode):
        return os.readlink(path)
    if stat.S_ISREG(st.st_mode):
        with open(path, "rb") as text:
            return text.read()
    return None


def is_for_the_agent(path):
    """Small files that it could not read on the host are not copied."""
    st = os.lstat(path)
    if not stat.S_ISREG(st.st_mode) or st.st_size > COPIED_UP_TO:
        return True
    return bool(st.st_mode & stat.S_IROTH) if IS_ROOT \
        else os.access(path, os.R_OK)


def listed_of_the_host():
    return sorted(name for name in os.listdir("/etc")
                  if any(fnmatch.fnmatchcase(name, p) for p in LISTED)
                  and is_for_the_agent("/etc/" + name))


# Prints {path: [mode, link or text or None, names or None, device or None]}.
SURVEY = """
import json, os, stat, sys
seen = {}
for top in sys.argv[1:]:
    for path in [top] + [top + "/" + name for name in os.listdir(top)]:
        st = os.lstat(path)
        text = names = device = None
        if stat.S_ISLNK(st.st_mode):
            text = os.readlink(path)
        elif stat.S_ISREG(st.st_mode):
            text = open(path, encoding="latin-1", newline="").read()
        elif stat.S_ISDIR(st.st_mode):
            names = sorted(os.listdir(path))
        else:
            device = [os.major(st.st_rdev), os.minor(st.st_rdev)]
        seen[path] = [st.st_mode, text, names, device]
print(json.dumps(seen))
"""


def survey(stockade, *tops, **more):
    result = stockade.run("/usr/bin/python3", "-c", SURVEY, *tops, **more)
    return json.loads(result.ok().out)


def copy_present(top, names, target):
    """As far as the caller may read it."""
    present = [path for path in (f"{top}/{name}" for name in names)
               if os.path.lexists(path)]
    subprocess.run(["cp", "-a", *present, target], check=False,
                   stderr=subprocess.DEVNULL)


class Host:
    """A mount namespace with an /etc of its own, which the test may change."""

    def __init__(self, stockade):
        self.stockade = stockade
        self.etc = stockade.base / "etc"
        (self.etc / "ssl").mkdir(parents=True)
        copy_present("/etc", listed_of_the_host() + WRITTEN, self.etc)
        copy_present("/etc/ssl", LISTED_SSL, self.etc / "ssl")
        own = [] if IS_ROOT else ["--map-current-user", "--keep-caps"]
        self.shell = subprocess.Popen(
            ["unshare", "-m", *own, "sh"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def do(self, command):
        """In the namespace, with the right to mount; whether it worked."""
        try:
            self.shell.stdin.write(f"if {command}; then echo @ok; "
                                   "else echo @failed; fi\n")
            self.shell.stdin.flush()
        except BrokenPipeError:
            return False
        for line in self.shell.stdout:
            if line.startswith("@"):
                return line == "@ok\n"
        return False

    def argv(self, *command, **more):
        own = [] if IS_ROOT else ["-U", "--preserve-credentials"]
        return ["nsenter", "-t", str(self.shell.pid), "-m", *own, "--",
                "sh", "-c", 'cd "$0" && exec "$@"', str(self.stockade.cwd),
                *self.stockade.argv(*command, **more)]

    def run(self, *command, env=None, **more):
        child = subprocess.run(
            self.argv(*command, **more), env={**self.stockade.env,
                                              **(env or {})},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=40)
        return Result(child.returncode, child.stdout, child.stderr, 0)

    def sh(self, script, **more):
        return self.run("/bin/sh", "-c", script, **more)

    def start(self, script):
        return subprocess.Popen(
            self.argv("/bin/sh", "-c", script), env=self.stockade.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.shell.stdin.close()
        self.shell.wait(10)
        self.shell.stdout.close()


@pytest.fixture
def host(stockade):
    made = Host(stockade)
    try:
        if not made.do(f"mount --bind {made.etc} /etc"):
            pytest.skip("cannot mount another /etc")
        yield made
    finally:
        made.close()


# --- made once --------------------------------------------------------------

def test_the_second_run_makes_nothing_new(stockade):
    stockade.sh("true").ok()
    first = the_template(stockade)
    before = snapshot(store_of(stockade))
    assert (first / "etc" / "passwd").is_file()
    assert (first / "dev" / "null").is_file()
    stockade.sh("cat /etc/passwd; head -c 1 /dev/zero").ok()
    stockade.sh("exit 3", flags=["--write", "."])
    assert snapshot(store_of(stockade)) == before


def test_what_the_policy_adds_is_another_template(stockade):
    (stockade.home / "f").write_text("")
    stockade.sh("true").ok()
    first = the_template(stockade)
    before = snapshot(first)
    stockade.sh("true", policy="read ~/f\n").ok()
    assert len(templates(stockade)) == 1
    stockade.sh("true", policy="read /etc/passwd\nread? /etc/shells\n").ok()
    assert len(templates(stockade)) == 2
    assert snapshot(first) == before


def test_eight_first_runs_at_once(stockade):
    children = [stockade.start("cat", "/etc/passwd") for _ in range(8)]
    results = [child.communicate(timeout=40) for child in children]
    assert [child.returncode for child in children] == [0] * 8, results
    assert len({out for out, _ in results}) == 1, results
    text = (the_template(stockade) / "etc" / "passwd").read_bytes()
    assert text == results[0][0]


@pytest.mark.parametrize("variable", ["HOME", "XDG_STATE_HOME"])
def test_a_state_directory_reached_through_a_link(stockade, variable):
    link = stockade.base / "link"
    link.symlink_to(stockade.home)
    env = {variable: str(link)}
    for _ in range(2):
        assert "root:" in stockade.sh("cat /etc/passwd", env=env).ok().out
    state = (stockade.state() if variable == "HOME"
             else stockade.home / "stockade")
    assert len(os.listdir(state / "templates")) == 1


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_explain_lists_the_entries_and_makes_nothing(stockade, flags):
    result = stockade.sh("true", flags=["--explain", *flags]).ok()
    for path in ["/etc/passwd", "/etc/resolv.conf", "/dev/null", "/dev/shm",
                 *("/etc/" + name for name in listed_of_the_host())]:
        assert path in result.out.replace('"', " ").split(), path
    assert not store_of(stockade).exists()
    stockade.sh("true").ok()
    assert len(templates(stockade)) == 1
    before = snapshot(store_of(stockade))
    stockade.sh("true", flags=["--explain", *flags]).ok()
    assert snapshot(store_of(stockade)) == before


# --- what it shows ----------------------------------------------------------

def test_etc_has_exactly_what_is_listed(stockade):
    seen = survey(stockade, "/etc")
    names = listed_of_the_host()
    assert seen["/etc"][2] == sorted(names + WRITTEN + ["ssl"])
    for name in names:
        path = "/etc/" + name
        mode, text, inside, _ = seen[path]
        st = os.lstat(path)
        assert stat.S_IFMT(mode) == stat.S_IFMT(st.st_mode), path
        if stat.S_ISDIR(mode):
            assert inside == sorted(os.listdir(path)), path
        elif stat.S_ISLNK(mode):
            assert text == os.readlink(path), path
        else:
            with open(path, encoding="latin-1", newline="") as original:
                assert text == original.read(), path


def test_etc_ssl_has_exactly_what_is_listed(stockade):
    seen = survey(stockade, "/etc/ssl")
    names = sorted(name for name in LISTED_SSL
                   if os.path.lexists("/etc/ssl/" + name))
    assert names and seen["/etc/ssl"][2] == names


def test_what_tells_about_the_host_is_written_anew(stockade):
    inside = stockade.sh("id -un; id -u; id -g; echo $HOME").ok()
    user, uid, gid, home = inside.out.split()
    seen = survey(stockade, "/etc")
    text = {name: seen["/etc/" + name][1] for name in WRITTEN}
    assert text["passwd"] == (
        "root:x:0:0:root:/:/usr/sbin/nologin\n"
        "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
        f"{user}:x:{uid}:{gid}::{home}:/bin/sh\n")
    assert text["group"] == f"root:x:0:\nnogroup:x:65534:\n{user}:x:{gid}:\n"
    assert text["hostname"] == "stockade\n"
    assert text["hosts"] == ("127.0.0.1\tlocalhost stockade\n"
                             "::1\tlocalhost ip6-localhost ip6-loopback\n")
    assert text["resolv.conf"] == "nameserver 10.111.0.1\n"
    assert "hosts: files dns\n" in text["nsswitch.conf"]
    for name in WRITTEN:
        assert stat.S_IMODE(seen["/etc/" + name][0]) == 0o644, name


def test_dev_has_exactly_what_is_listed(stockade):
    seen = survey(stockade, "/dev")
    assert seen["/dev"][2] == sorted([*DEVICES, *DEV_LINKS, "pts"])
    for name, number in DEVICES.items():
        assert stat.S_ISCHR(seen["/dev/" + name][0])
        assert tuple(seen["/dev/" + name][3]) == number, name
    for name, text in DEV_LINKS.items():
        assert seen["/dev/" + name][1] == text, name
    result = stockade.sh("echo x > /dev/null; head -c 3 /dev/zero | wc -c;"
                         "echo y > /dev/shm/f; cat /dev/shm/f").ok()
    assert result.out.split() == ["3", "y"]


def test_the_authority_has_its_place_where_it_is_needed(stockade, net):
    seen = survey(stockade, "/etc", "/etc/stockade",
                  policy=net + "allow GET api.test/**\n")
    assert "stockade" in seen["/etc"][2]
    for name in ("ca.pem", "bundle.pem", "browser.json", "java.p12"):
        text = seen["/etc/stockade/" + name][1]
        assert name == "java.p12" or (
            "CACertificates" if name == "browser.json" else
            "BEGIN CERTIFICATE") in text
        # Of this run only: nothing of it is kept.
        kept = the_template(stockade) / "etc" / "stockade" / name
        assert kept.read_bytes() == b""
    assert "/etc/stockade" not in survey(stockade, "/etc")


def test_the_callers_umask_has_no_say(stockade):
    modes = []
    for mask in ("022", "077", "000"):
        if store_of(stockade).exists():
            shutil.rmtree(store_of(stockade))
        argv = stockade.argv("/usr/bin/python3", "-c", SURVEY, "/etc",
                             "/etc/ssl", "/dev")
        result = subprocess.run(
            ["sh", "-c", f'umask {mask}; exec "$@"', "sh", *argv],
            env=stockade.env, cwd=stockade.cwd, stdin=subprocess.DEVNULL,
            capture_output=True, check=True)
        modes.append({path: seen[0] for path, seen
                      in json.loads(result.stdout).items()})
        assert stat.S_IMODE(store_of(stockade).stat().st_mode) == 0o700
        for path, seen in snapshot(the_template(stockade)).items():
            assert stat.S_ISLNK(seen[0]) or not seen[0] & 0o022, path
    assert modes[0] == modes[1] == modes[2]


# --- the host's /etc changes ------------------------------------------------

def replace(path, text):
    other = path.with_name("other")
    other.write_text(text)
    os.replace(other, path)


def write_in_place(path, text):
    path.write_text(text)


def write_and_turn_the_clock_back(path, text):
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [
    replace, write_in_place, write_and_turn_the_clock_back])
def test_a_change_is_seen_by_the_next_run_and_not_by_this_one(
        stockade, host, change):
    path = host.etc / "gitconfig"
    replace(path, "# old\n")
    child = host.start("cat /etc/gitconfig; read line; cat /etc/gitconfig")
    try:
        assert child.stdout.readline() == "# old\n"
        first = the_template(stockade)
        before = snapshot(first)
        change(path, "# new\n")
        assert host.sh("cat /etc/gitconfig").ok().out == "# new\n"
        assert len(templates(stockade)) == 2
        assert child.communicate("\n", timeout=20)[0] == "# old\n"
    finally:
        child.kill()
        child.communicate()
    assert snapshot(first) == before


def test_what_comes_and_goes_comes_and_goes(stockade, host):
    path = host.etc / "npmrc"
    path.unlink(missing_ok=True)
    assert host.sh("cat /etc/npmrc").status != 0
    path.write_text("a=b\n")
    assert host.sh("cat /etc/npmrc").ok().out == "a=b\n"
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert host.sh("cat /etc/npmrc").ok().out == "stockade\n"
    path.unlink()
    path.mkdir()
    (path / "inner").write_text("in a directory\n")
    assert host.sh("cat /etc/npmrc/inner").ok().out == "in a directory\n"
    shutil.rmtree(path)
    path.write_text("x" * (COPIED_UP_TO + 1))
    assert len(host.sh("cat /etc/npmrc").ok().out) == COPIED_UP_TO + 1
    path.unlink()
    assert host.sh("cat /etc/npmrc").status != 0


def test_what_is_not_listed_is_not_there(host):
    (host.etc / "unlisted").write_text("CANARY")
    (host.etc / "gitconfig.d").mkdir()
    (host.etc / "gitconfig.d" / "x").write_text("CANARY")
    (host.etc / "gitconfig").write_text("# listed\n")
    result = host.sh("cat /etc/gitconfig; cat /etc/unlisted; ls /etc;"
                     "grep -rs CANARY /etc; true")
    assert result.out.startswith("# listed\n")
    assert "CANARY" not in result.out and "unlisted\n" not in result.out


@as_root
def test_what_only_root_can_read_is_not_shown(stockade, host):
    path = host.etc / "gitconfig"
    replace(path, "# CANARY\n")
    for mode, shown in [(0o600, False), (0o644, True), (0o640, False)]:
        path.chmod(mode)
        result = host.sh("cat /etc/gitconfig; true")
        assert ("CANARY" in result.out) is shown, oct(mode)
    made = [text for *_, text in snapshot(store_of(stockade)).values()]
    assert made.count(b"# CANARY\n") == 1, "a copy of what is not for it"


@as_user
def test_what_the_caller_cannot_read_is_left_out(host):
    path = host.etc / "gitconfig"
    replace(path, "# CANARY\n")
    for mode, shown in [(0o000, False), (0o600, True), (0o000, False)]:
        path.chmod(mode)
        result = host.sh("cat /etc/gitconfig; cat /etc/hostname").ok()
        assert ("CANARY" in result.out) is shown, oct(mode)
        assert result.out.endswith("stockade\n")


# --- grants in /etc ---------------------------------------------------------

GRANTS = {
    "read /etc/extra": ["extra"],
    "read /etc/extra.d": ["extra.d/a", "extra.d/b/c"],
    "read /etc/extra.d/b/c": ["extra.d/b/c"],
    "read /etc/way": ["way", "extra"],
    "read /etc/extra\nread /etc/extra.d/a\nread /etc/way": [
        "extra", "extra.d/a", "way"],
    "read /etc/ext*": ["extra", "extra.d/a", "extra.d/b/c"],
    "read /etc/large": ["large"],
    # What is on the list as well.
    "read /etc/gitconfig": [],
    "read /etc/profile.d": [],
    "read /etc/ssl": ["ssl/extra"],
    "read /etc/ssl/extra": ["ssl/extra"],
    "read /etc/ssl/openssl.cnf\nread /etc/ssl/certs": [],
    "read /etc/localtime\nread /etc/os-release": [],
}


@pytest.fixture
def furnished(host):
    """A host with files in /etc that are granted, and others."""
    for name in ("extra", "large", "gitconfig", "ssl/extra", "ssl/openssl.cnf",
                 "extra.d/a", "extra.d/b/c", "profile.d/one.sh"):
        path = host.etc / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, f"CANARY {name}\n")
    (host.etc / "large").write_text("CANARY large\n" + "x" * 40000)
    (host.etc / "way").symlink_to("extra")
    return host


@pytest.mark.parametrize("policy", GRANTS)
def test_grants_of_etc_go_with_the_template(furnished, policy):
    names = ["extra", "large", "way", "extra.d/a", "extra.d/b/c", "ssl/extra"]
    result = furnished.sh(
        "cd /etc; for f in " + " ".join(names) + "; do "
        "[ -r $f ] && echo $f; done; head -n 1 gitconfig ssl/openssl.cnf "
        "profile.d/one.sh; cat hostname resolv.conf; ls ssl/certs >/dev/null; "
        "test -c /dev/null; [ ! -L way ] || cat way",
        policy=policy + "\n").ok()
    shown = {name for name in names if name in result.out.splitlines()}
    assert shown == set(GRANTS[policy]), result
    for name in ("gitconfig", "ssl/openssl.cnf", "profile.d/one.sh"):
        assert f"CANARY {name}\n" in result.out, result
    assert "stockade\n" in result.out and "10.111.0.1" in result.out


def test_what_a_grant_shows_is_the_hosts_own(furnished):
    """Not a copy: the template has only the place for it."""
    policy = "read /etc/gitconfig\nread /etc/extra\n"
    furnished.sh("true", policy=policy).ok()
    made = the_template(furnished.stockade) / "etc"
    assert (made / "extra").read_bytes() == b""
    (furnished.etc / "extra").write_text("later\n")
    result = furnished.sh("cat /etc/extra", policy=policy).ok()
    assert result.out == "later\n"


def test_hide_covers_what_the_template_shows(furnished):
    names = ["gitconfig", "ssl/openssl.cnf", "ssl/certs/one",
             "profile.d/one.sh"]
    (furnished.etc / "ssl" / "certs" / "one").write_text("CANARY")
    script = "cd /etc; for f in " + " ".join(names) + "; do cat $f; done"
    assert furnished.sh(script).ok().out.count("CANARY") == len(names)
    for policy in ("hide /etc/gitconfig\nhide /etc/ssl/openssl.cnf\n"
                   "hide /etc/profile.d\nhide /etc/ssl/certs\n",
                   "hide /etc/gitconf*\nhide /etc/ssl\n"
                   "hide /etc/profile.d/one.sh\n", "hide /etc\n"):
        for name in names:
            check = furnished.stockade.call(
                "check", "--policy", furnished.stockade.policy(policy),
                "read /etc/" + name)
            assert check.status != 0, (policy, check)
        hidden = furnished.sh(script, policy=policy)
        assert hidden.status != 0 and "CANARY" not in hidden.out, hidden
        # What is written anew tells nothing of the host's.
        furnished.sh("cat /etc/passwd /etc/hostname", policy=policy).ok()


@pytest.mark.parametrize("where", ["home", "ssl"])
def test_a_home_in_etc_is_the_sandboxs_own(furnished, where):
    home = furnished.etc / where
    home.mkdir(exist_ok=True)
    before = sorted(os.listdir(home))
    result = furnished.sh(
        "echo x > ~/made && cat ~/made; cat ~/extra; cat /etc/hostname",
        env={"HOME": "/etc/" + where, "XDG_STATE_HOME":
             str(furnished.stockade.home / ".local" / "state")}).ok()
    assert result.out == "x\nstockade\n", result
    assert sorted(os.listdir(home)) == before
    assert not list(store_of(furnished.stockade).rglob("made"))


# --- nothing inside can change it -------------------------------------------

# Prints what succeeded, of all that could change something at the given paths.
ATTACK = """
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
work = sys.argv[1]
def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
def write(path, flags):
    if stat.S_ISREG(os.stat(path).st_mode):
        os.write(os.open(path, os.O_WRONLY | flags), b"EVIL")
    else:
        raise OSError
def by_descriptor(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.fchmod(fd, 0o777)
def again(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write(f"/proc/self/fd/{fd}", 0)
def there_and_back(path, other):
    os.rename(path, other)
    os.rename(other, path)
on_file = {
    "write": lambda p: write(p, 0),
    "append": lambda p: write(p, os.O_APPEND),
    "truncate": lambda p: write(p, os.O_TRUNC),
    "chmod": lambda p: os.chmod(p, 0o777),
    "fchmod": by_descriptor,
    "again": again,
    "setxattr": lambda p: os.setxattr(p, "user.x", b"y"),
    "mount": lambda p: call("mount", b"/tmp", p.encode(), None, 4096, None),
    "remount": lambda p: call("mount", None, p.encode(), None, 32 | 4096,
                              None),
    "unmount": lambda p: call("umount2", p.encode(), 2),
}
on_each = {
    "chown": lambda p: os.lchown(p, os.getuid(), os.getgid()),
    "utime": lambda p: os.utime(p, (1, 1), follow_symlinks=False),
    "link": lambda p: os.link(p, work + "/l", follow_symlinks=False),
    "rename": lambda p: there_and_back(p, p + ".old"),
    "move": lambda p: there_and_back(p, work + "/m"),
    "remove": lambda p: (os.rmdir if os.path.isdir(p) and
                         not os.path.islink(p) else os.unlink)(p),
}
def evil(path):
    return path + "/evil"
in_each = {
    "create": lambda p: os.close(os.open(evil(p), os.O_CREAT | os.O_WRONLY)),
    "mkdir": lambda p: os.mkdir(evil(p) + "1"),
    "symlink": lambda p: os.symlink("/tmp", evil(p) + "2"),
    "mkfifo": lambda p: os.mkfifo(evil(p) + "3"),
    "unnamed": lambda p: os.open(p, os.O_TMPFILE | os.O_WRONLY),
    "link in": lambda p: os.link(work + "/mine", evil(p) + "4"),
    "move in": lambda p: os.rename(work + "/mine", evil(p) + "5"),
}
def attempt(name, what, path):
    try:
        what(path)
    except OSError:
        return
    print(name, path)
open(work + "/mine", "w").close()
for top in sys.argv[2:]:
    for path in [top + "/" + name for name in os.listdir(top)] + [top]:
        attempts = dict(on_each)
        # What a link in /dev leads to is the sandbox's own.
        if not os.path.islink(path):
            attempts = {**on_file, **on_each}
            if os.path.isdir(path):
                attempts = {**in_each, **attempts}
        for name, what in attempts.items():
            attempt(name, what, path)
"""


def attack(stockade, work, *tops, **more):
    """What succeeded: lines of an operation and a path."""
    return set(stockade.run("/usr/bin/python3", "-c", ATTACK, work, *tops,
                            **more).ok().out.splitlines())


@pytest.mark.parametrize("flags", [[], ["--write", "."]])
def test_the_agent_changes_nothing(stockade, flags):
    stockade.sh("true").ok()
    before = snapshot(store_of(stockade))
    device = os.stat("/dev/null")
    work = stockade.cwd if flags else "/tmp"
    assert attack(stockade, work, "/etc", "/etc/ssl", "/dev",
                  flags=flags) == set()
    assert snapshot(store_of(stockade)) == before
    after = os.stat("/dev/null")
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) \
        == (device.st_mode, device.st_uid, device.st_mtime_ns)


def test_the_attack_would_succeed_where_it_may(stockade):
    """The control: on files that are granted all works but mounting."""
    (stockade.cwd / "etc").mkdir()
    for name in ("a", "b", "c", "d"):
        (stockade.cwd / "etc" / name).write_text("x")
    done = attack(stockade, stockade.cwd, stockade.cwd / "etc",
                  flags=["--write", "."])
    kinds = {line.rsplit(" ", 1)[0] for line in done}
    missing = {"write", "append", "truncate", "chmod", "fchmod", "again",
               "utime", "link", "rename", "move", "remove", "create", "mkdir",
               "symlink", "mkfifo", "link in", "move in"} - kinds
    assert not missing, done
    assert not kinds & {"mount", "remount", "unmount"}


@pytest.mark.parametrize("where", [
    "{state}", "{store}", "{template}", "{template}/etc",
    "{template}/etc/passwd", "{template}/dev", "{link}", "{home}"])
def test_no_grant_makes_it_writable(stockade, where):
    stockade.sh("true").ok()
    link = stockade.base / "link"
    link.symlink_to(store_of(stockade))
    before = snapshot(store_of(stockade))
    where = where.format(state=stockade.state(), store=store_of(stockade),
                         template=the_template(stockade), link=link,
                         home=stockade.home)
    result = stockade.sh("touch ran", policy=f"write .\nwrite {where}\n")
    assert result.status == 125 and "belongs to stockade" in result.err, result
    assert not (stockade.cwd / "ran").exists()
    assert snapshot(store_of(stockade)) == before
    stockade.sh("touch ran", policy="write .\n").ok()
    assert (stockade.cwd / "ran").exists()


def test_a_read_grant_of_it_shows_and_does_not_open_it(stockade):
    stockade.sh("true").ok()
    before = snapshot(store_of(stockade))
    passwd = the_template(stockade) / "etc" / "passwd"
    result = stockade.sh(
        f"head -n 1 {passwd}; echo EVIL >> {passwd}; chmod 777 {passwd};"
        f"mv {passwd} {passwd}.old; ln {passwd} {stockade.cwd}/l; true",
        policy="write .\nread ~/.local\nshow ~/.local\n").ok()
    assert "EVIL" not in result.out
    # Where the store is part of a grant, that is what it is: to be read.
    assert result.out in ("", "root:x:0:0:root:/:/usr/sbin/nologin\n")
    assert snapshot(store_of(stockade)) == before


# --- what is not ours is not trusted ----------------------------------------

@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
@pytest.mark.parametrize("what", ["state", "store", "template"])
def test_what_others_can_write_is_refused(stockade, what, mode):
    stockade.sh("true").ok()
    path = {"state": stockade.state(), "store": store_of(stockade),
            "template": the_template(stockade)}[what]
    refused_until_mended(stockade, path, lambda: path.chmod(mode),
                         lambda: path.chmod(0o700 if what != "template"
                                            else 0o755))


@as_root
@pytest.mark.parametrize("what", ["state", "store", "template"])
def test_what_belongs_to_another_user_is_refused(stockade, what):
    stockade.sh("true").ok()
    path = {"state": stockade.state(), "store": store_of(stockade),
            "template": the_template(stockade)}[what]
    refused_until_mended(stockade, path, lambda: os.chown(path, 65534, -1),
                         lambda: os.chown(path, 0, -1))


@pytest.mark.parametrize("what", ["store", "template"])
def test_a_link_in_its_place_is_refused(stockade, what):
    stockade.sh("true").ok()
    path = {"store": store_of(stockade),
            "template": the_template(stockade)}[what]
    aside = stockade.base / "aside"

    def spoil():
        shutil.move(path, aside)
        path.symlink_to(aside)

    def mend():
        path.unlink()
        shutil.move(aside, path)

    refused_until_mended(stockade, path, spoil, mend)


def test_a_file_in_its_place_is_refused(stockade):
    stockade.sh("true").ok()
    path = the_template(stockade)

    def spoil():
        shutil.rmtree(path)
        path.write_text("")

    refused_until_mended(stockade, path, spoil, path.unlink)


def refused_until_mended(stockade, path, spoil, mend):
    spoil()
    result = stockade.sh("touch ran", flags=["--write", "."])
    assert result.status == 125, result
    assert len(result.complaints()) == 1 and path.name in result.err, result
    assert not (stockade.cwd / "ran").exists()
    mend()
    stockade.sh("touch ran", flags=["--write", "."]).ok()
    assert (stockade.cwd / "ran").exists()


# --- what goes wrong while it is made ---------------------------------------

@pytest.mark.parametrize("bad,good", [
    ("size=16k", "size=4m"), ("nr_inodes=12", "nr_inodes=1000"),
    ("ro", "rw")])
def test_a_store_without_room(stockade, host, bad, good):
    store = store_of(stockade)
    store.mkdir(parents=True)
    stockade.state().chmod(0o700)
    assert host.do(f"mount -t tmpfs -o mode=700 none {store}")
    assert host.do(f"mount -o remount,{bad} {store}")
    result = host.sh("touch ran", flags=["--write", "."])
    assert result.status == 125, result
    assert len(result.complaints()) == 1 and str(store) in result.err, result
    assert not (stockade.cwd / "ran").exists()
    assert host.do(f'test -z "$(ls -A {store})"'), "a half of one is left"
    assert host.do(f"mount -o remount,{good} {store}")
    host.sh("touch ran", flags=["--write", "."]).ok()
    assert (stockade.cwd / "ran").exists()
    assert host.do(f'test "$(ls -A {store} | wc -l)" = 1')


# Of the launcher alone, which makes it; the others are test_failclosed.py's.
CALLS = ["mkdirat", "fsync", "symlinkat", "sendfile", "renameat"]


def traced(stockade, *flags):
    log = stockade.base / "strace"
    child = subprocess.run(
        ["strace", "-qq", "-o", str(log), *flags, *stockade.argv(
            "touch", "ran", flags=["--write", "."])], cwd=stockade.cwd,
        env=stockade.env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60)
    return (Result(child.returncode, child.stdout, child.stderr, 0),
            log.read_text(errors="replace"))


def some_moments(stockade):
    """(call, how often it was made until then): the first, the last, ..."""
    stockade.sh("true").ok()
    shutil.rmtree(store_of(stockade))
    _, text = traced(stockade, "-e", "trace=" + ",".join(CALLS))
    shutil.rmtree(store_of(stockade))
    made = [line.split("(", 1)[0] for line in text.splitlines()]
    made = made[:made.index("renameat") + 1]
    for call in CALLS:
        n = made.count(call)
        for when in sorted({1, (n + 1) // 2, n} - {0}):
            yield call, when


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed")


@needs_strace
def test_any_failure_while_it_is_made_leaves_nothing(stockade):
    cases = 0
    for call, when in some_moments(stockade):
        shutil.rmtree(store_of(stockade), ignore_errors=True)
        (stockade.cwd / "ran").unlink(missing_ok=True)
        result, _ = traced(stockade, "-e", f"trace={call}", "-e",
                           f"inject={call}:error=EIO:when={when}")
        assert result.status == 125, (call, when, result)
        assert "Input/output error" in result.err, (call, when, result)
        assert not (stockade.cwd / "ran").exists(), (call, when)
        if store_of(stockade).exists():
            assert templates(stockade) == [], (call, when)
        cases += 1
    assert cases > len(CALLS)
    stockade.sh("cat /etc/passwd").ok()
    assert len(templates(stockade)) == 1


@needs_strace
def test_killed_at_any_step_the_next_run_works(stockade):
    stockade.sh("true").ok()
    whole = contents(the_template(stockade))
    for call, when in some_moments(stockade):
        traced(stockade, "-e", f"trace={call}", "-e",
               f"inject={call}:signal=KILL:when={when}")
        killed_is_mended(stockade, whole)


def test_killed_at_any_moment_the_next_run_works(stockade):
    seconds = stockade.sh("true").ok().seconds
    whole = contents(the_template(stockade))
    for i in range(8):
        shutil.rmtree(store_of(stockade))
        child = stockade.start("true")
        time.sleep(seconds * i / 8)
        child.send_signal(signal.SIGKILL)
        child.communicate()
        killed_is_mended(stockade, whole)


def contents(template):
    return {path[len(str(template)):]: (seen[0], seen[-1])
            for path, seen in snapshot(template).items()}


def killed_is_mended(stockade, whole):
    """Another run works, and what it has made is whole."""
    stockade.sh("cat /etc/passwd; test -c /dev/null").ok()
    made = [name for name in templates(stockade) if name[0] != "."]
    assert len(made) == 1
    assert contents(store_of(stockade) / made[0]) == whole
    shutil.rmtree(store_of(stockade) / made[0])
