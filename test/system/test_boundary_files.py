# SPDX-License-Identifier: Apache-2.0
"""Ways out of a grant, through a mask and around a guard; judged by the host's
files.  Each way is tried where it is open as well."""
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys

import pytest

from conftest import PROBE, PROGRAM, TREE, as_root

WRITE = ["--write", "."]
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]


def file(path, text="CANARY"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def probe(stockade):
    """Attempts inside: {attempt: (ALLOWED or BLOCKED, errno)}."""
    shutil.copy(PROBE, stockade.home / "probe")

    def attempt(*attempts, flags=(), cwd=None):
        script = "\n".join(f"{stockade.home}/probe {one}" for one in attempts)
        result = stockade.sh(script, cwd=cwd, flags=[
            "--read", f"{stockade.home}/probe", *flags]).ok()
        lines = [line.split("\t") for line in result.out.splitlines()]
        assert len(lines) == len(attempts), result
        return {name: (word, error) for name, word, error in lines}
    return attempt


# --- a mask -------------------------------------------------------------------

WAYS = ["open-read {}", "open-write {}", "append {}", "truncate {}",
        "chmod {}", "unlink {}", "rename {} x1", "exchange {} other",
        "exchange other {}", "rename other {}", "link {} x2", "setxattr {}",
        "open-read /proc/self/root{cwd}/{}", "open-read /proc/self/cwd/{}"]


def test_every_way_through_a_mask(stockade, probe):
    """The names in the way are the same as those beside it, which are open."""
    names = {".env": "masked", "plain": "open"}
    for name in [*names, "other"]:
        file(stockade.cwd / name)
    masked = [way.format(".env", cwd=stockade.cwd) for way in WAYS]
    seen = probe(*masked, flags=WRITE)
    allowed = [way for way, (word, _) in seen.items() if word == "ALLOWED"]
    assert not allowed, allowed
    assert {error for _, error in seen.values()} <= {
        "EACCES", "EROFS", "EBUSY", "EXDEV", "EPERM"}, seen
    env = stockade.cwd / ".env"
    assert env.read_text() == "CANARY" and (stockade.cwd / "other").exists()
    assert stat.S_IMODE(env.stat().st_mode) != 0o777
    for way in WAYS:
        for name in ("plain", "other"):
            file(stockade.cwd / name)
        for name in ("x1", "x2"):
            (stockade.cwd / name).unlink(missing_ok=True)
        way = way.format("plain", cwd=stockade.cwd)
        (outcome,) = probe(way, flags=WRITE).values()
        # Not every file system has attributes.
        assert outcome[0] == "ALLOWED" or "EOPNOTSUPP" in outcome, way


def test_a_mask_is_not_moved_with_what_is_around_it(stockade):
    """The parent may be renamed; the mask goes with it."""
    file(stockade.cwd / "a" / "b" / ".env")
    result = stockade.sh(
        "mv a z; cat z/b/.env; mv z/b c; cat c/.env; mkdir -p a/b;"
        "cat a/b/.env; cp -r c d; cat d/.env; tar cf - c | grep -c CANARY",
        flags=WRITE)
    assert "CANARY" not in result.out and result.out.strip() in ("", "0")
    assert [p.read_text() for p in stockade.cwd.rglob(".env")
            if p.stat().st_size] == ["CANARY"]


def test_a_masked_directory_is_neither_read_nor_written(stockade):
    file(stockade.cwd / ".secrets" / "key")
    file(stockade.cwd / "plain" / "key", "open")
    result = stockade.sh(
        "for d in .secrets plain; do ls $d; cat $d/key; echo x > $d/new;"
        "rm -f $d/key; rmdir $d; mv $d $d.o; chmod 777 $d; done", flags=WRITE)
    assert "CANARY" not in result.out and "open" in result.out
    folder = stockade.cwd / ".secrets"
    assert os.listdir(folder) == ["key"]
    assert (folder / "key").read_text() == "CANARY"
    assert not (stockade.cwd / "plain").exists(), "the control is open"


def test_a_mask_at_any_depth_and_in_what_cannot_be_read(stockade):
    deep = stockade.cwd / "/".join("abcdefghijklmnop")
    file(deep / ".env")
    closed = stockade.cwd / "closed"
    file(closed / ".env")
    file(closed / "notes", "notes")
    closed.chmod(0)
    try:
        result = stockade.sh(
            "chmod 755 closed; ls -a closed; cat closed/.env closed/notes;"
            "mv closed c; chmod 755 c; cat c/.env; find . -name .env | "
            "while read f; do cat $f; done", flags=WRITE)
        assert "CANARY" not in result.out
        assert "notes" not in result.out, "it is covered whole"
    finally:
        next(p for p in (closed, stockade.cwd / "c")
             if p.exists()).chmod(0o755)
    assert (deep / ".env").read_text() == "CANARY"


@as_root
def test_what_another_user_keeps_to_himself(stockade):
    """In a tree that root grants: the agent is not that user."""
    file(stockade.cwd / "his" / ".env")
    file(stockade.cwd / "his" / "plain")
    os.chown(stockade.cwd / "his", 65534, 65534)
    (stockade.cwd / "his").chmod(0o700)
    file(stockade.cwd / "mine", "open")
    result = stockade.sh("cat mine; ls his; cat his/plain his/.env;"
                         "chmod 777 his", flags=WRITE)
    assert result.out == "open" and result.status == 1, result
    assert stat.S_IMODE((stockade.cwd / "his").stat().st_mode) == 0o700


# --- a guard ------------------------------------------------------------------

def default_guards():
    """The list itself, so that what is added to it is tried as well."""
    with open(os.path.join(TREE, "src", "policy", "dotfiles.c")) as text:
        table = text.read().split("dotfile_guards[] = {")[1].split("NULL")[0]
    return [name.replace("*", "x") for name in
            re.findall(r'"([^"]+)"', re.sub(r"/\*.*?\*/", "", table))]


GUARDED = default_guards()
SHOW = [flag for name in sorted({one.split("/")[0] for one in GUARDED
                                 if one.startswith(".")})
        for flag in ("--show", name)]


@pytest.mark.parametrize("where", ["", "sub/deep/"])
def test_every_default_guard_holds_and_is_lifted_by_name(stockade, where):
    for name in GUARDED:
        file(stockade.cwd / where / name, "old\n")
    beside = file(stockade.cwd / where / ".git" / "plain", "old\n")
    script = "cd ./" + where + ";" + ";".join(
        f"echo new > {name}; rm -rf {name} {os.path.dirname(name) or name};"
        f"mv {name} x; mkdir -p {os.path.dirname(name) or 'x'};"
        f"echo new > {name}; ln -sf x {name}; cp /bin/true {name}"
        for name in GUARDED) + "; echo new > .git/plain"
    assert len(GUARDED) > 60
    stockade.sh(script, flags=[*WRITE, *SHOW])
    for name in GUARDED:
        assert (stockade.cwd / where / name).read_text() == "old\n", name
    assert not beside.exists() or beside.read_text() == "new\n", "the control"
    lifted = stockade.sh(
        f"cd ./{where}; echo new > .envrc; echo new > .vscode",
        flags=[*WRITE, "--write", f"{where}.envrc", "--write",
               f"{where}.vscode", "--show", ".envrc"])
    assert lifted.status == 0, lifted
    assert (stockade.cwd / where / ".envrc").read_text() == "new\n"


def test_no_ancestor_of_a_guarded_path_can_be_replaced(stockade, probe):
    guarded = file(stockade.cwd / "a" / "b" / "c" / "f", "old")
    file(stockade.cwd / "p" / "q" / "r" / "f", "old")
    flags = [*WRITE, "--guard", "a/b/c/f"]
    ways = [way.format(*pair) for pair in
            (("a", "p"), ("a/b", "p/q"), ("a/b/c", "p/q/r"),
             ("a/b/c/f", "p/q/r/f"))
            for way in ("exchange {} {}", "exchange {1} {0}", "rename {} n",
                        "rename {1} {0}", "rmdir {0}", "unlink {0}")]
    seen = probe(*ways, flags=flags)
    moved = {way for way, (word, _) in seen.items() if word == "ALLOWED"}
    assert not moved, moved
    assert guarded.read_text() == "old"
    # The control: the same tree beside it, with nothing guarded in it.
    assert probe("rename p n", flags=flags)["rename p n"][0] == "ALLOWED"
    assert (stockade.cwd / "n" / "q" / "r" / "f").exists()


@pytest.fixture
def worktree(stockade):
    main = stockade.home / "main"
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    file(main / "f", "x")
    for words in (["add", "f"], ["commit", "-qm", "one"],
                  ["worktree", "add", "-q", "../wt"]):
        subprocess.run([*GIT, *words], cwd=main, check=True,
                       env=stockade.env)
    return main


ATTACK = (
    "D=$(git rev-parse --git-common-dir); G=$(git rev-parse --git-dir);"
    "echo evil > $D/hooks/post-commit; mv $D/hooks $D/h; mkdir -p $D/hooks;"
    "echo evil > $D/hooks/post-commit; git config core.fsmonitor evil;"
    "echo evil >> $D/config; echo evil > $D/config.worktree;"
    "echo evil > $G/commondir; mv $G $G.o; mkdir -p $G;"
    "echo evil > $G/commondir; echo evil > .git;"
    "echo y > g; git add g && git -c user.name=a -c user.email=a@a "
    "commit -qm two && git log --oneline | wc -l")


@pytest.mark.parametrize("more", [[], ["--hide", "**/*.pem"]],
                         ids=["plain", "hide"])
def test_a_linked_worktree(stockade, worktree, more):
    """Its repository lies elsewhere and is granted by itself."""
    tree = stockade.home / "wt"
    config = (worktree / ".git" / "config").read_bytes()
    result = stockade.sh(ATTACK, cwd=tree, flags=[
        *WRITE, "--write", str(worktree / ".git"), *more])
    assert "2\n" in result.out, result
    assert (worktree / ".git" / "config").read_bytes() == config
    assert not (worktree / ".git" / "hooks" / "post-commit").exists()
    assert (worktree / ".git/worktrees/wt/commondir").read_text() == "../..\n"
    assert "gitdir:" in (tree / ".git").read_text()
    subprocess.run(["git", "status"], cwd=tree, check=True, env=stockade.env,
                   stdout=subprocess.PIPE)


@pytest.mark.parametrize("more", [[], ["--hide", "**/*.pem"],
                                  ["--guard", "**/*.lock"]],
                         ids=["plain", "hide", "guard"])
@pytest.mark.parametrize("grant", [".", ".git", ".git/modules/lib"])
def test_the_repository_of_a_submodule(stockade, grant, more):
    module = stockade.cwd / ".git" / "modules" / "lib"
    for name in ("config", "hooks/h", "info/attributes", "commondir"):
        file(module / name, "old\n")
    file(module / "objects" / "o", "old\n")
    stockade.sh("cd .git/modules/lib; for f in config hooks/h info/attributes "
                "commondir objects/o; do echo new > $f; done; echo x > hooks/x;"
                "mv hooks h", flags=["--write", grant, *more])
    for name in ("config", "hooks/h", "info/attributes", "commondir"):
        assert (module / name).read_text() == "old\n", name
    assert os.listdir(module / "hooks") == ["h"]
    assert (module / "objects" / "o").read_text() == "new\n"


@pytest.mark.parametrize("grant", [".", "sub", "sub/repo"])
def test_a_bare_repository_that_nobody_expects(stockade, grant):
    """It needs no name that says so: git in it obeys its configuration."""
    bare = stockade.cwd / "sub" / "repo"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)],
                   check=True, env=stockade.env)
    shutil.rmtree(bare / "hooks")
    before = (bare / "config").read_bytes()
    script = (
        "cd sub/repo; git config core.fsmonitor evil; echo x >> config;"
        "mkdir hooks; echo x > hooks/post-receive; echo ../x > commondir;"
        "rm -f config; mv config c; echo '[core]' > config;"
        "cd ..; mv repo r; mkdir -p repo; cd /tmp; git init -q -b main w;"
        "cd w; git -c user.name=a -c user.email=a@a commit -q --allow-empty "
        f"-m one; git push -q {bare} main; git -C {bare} log --oneline main")
    result = stockade.sh(script, flags=["--write", grant])
    assert result.out.count("one") == 1, result
    assert (bare / "config").read_bytes() == before
    assert not (bare / "hooks").exists()
    assert not (bare / "commondir").exists()


# --- what is read-only --------------------------------------------------------

CHANGES = """
import ctypes, fcntl, os, sys
def attempt(what, f, *a, **k):
    try:
        f(*a, **k)
        print(what, "done")
    except OSError as e:
        print(what, os.strerror(e.errno))
name = sys.argv[1]
attempt("write", open, name, "r+")
attempt("truncate", os.truncate, name, 1)
attempt("chmod", os.chmod, name, 0o777)
attempt("chown", os.chown, name, os.getuid(), os.getgid())
attempt("utime", os.utime, name, (1, 1))
attempt("setxattr", os.setxattr, name, "user.x", b"x")
attempt("link", os.link, name, name + ".l")
attempt("symlink", os.symlink, "x", name + ".s")
attempt("rename", os.rename, name, name + ".r")
attempt("mkdir", os.mkdir, name + ".d")
attempt("mkfifo", os.mkfifo, name + ".f")
attempt("unlink", os.unlink, name + (".r" if os.path.exists(name + ".r") else ""))
"""


def state_of(folder):
    return {path.name: (path.lstat()[:8], path.is_file() and path.read_bytes())
            for path in folder.iterdir()}


def test_nothing_of_a_read_grant_changes(stockade):
    for name in ("shut", "open"):
        file(stockade.cwd / name / "f", "old\n")
    before = state_of(stockade.cwd / "shut")
    script = ["/usr/bin/python3", "-c", CHANGES]
    shut = stockade.run(*script, "shut/f", flags=["--write", "open"]).ok()
    assert "done" not in shut.out, shut
    assert shut.out.count("Read-only file system") >= 11
    assert state_of(stockade.cwd / "shut") == before
    opened = stockade.run(*script, "open/f", flags=["--write", "open"]).ok()
    assert opened.out.count("done") >= 11, opened


def test_special_files_and_rights_of_files(stockade):
    """No device, no whiteout, no file capability; ordinary attributes are."""
    script = """
import ctypes, os, stat
def attempt(what, f, *a):
    try:
        f(*a)
        print(what, "done")
    except OSError as e:
        print(what, e.errno)
open("f", "w").close()
for kind in stat.S_IFCHR, stat.S_IFBLK:
    for number in (0, 0), (1, 3), (8, 0):
        attempt("mknod", os.mknod, "n", kind | 0o666, os.makedev(*number))
libc = ctypes.CDLL(None, use_errno=True)
def whiteout():
    if libc.renameat2(-100, b"f", -100, b"g", 4) < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("whiteout", whiteout)
caps = bytes.fromhex("0100000200200000000000000000000000000000")
attempt("capability", os.setxattr, "f", "security.capability", caps)
attempt("trusted", os.setxattr, "f", "trusted.overlay.opaque", b"y")
attempt("user", os.setxattr, "f", "user.x", b"y")
attempt("immutable", lambda: __import__("fcntl").ioctl(
    os.open("f", os.O_RDONLY), 0x40086602, (0x10).to_bytes(8, "little")))
"""
    result = stockade.run("/usr/bin/python3", "-c", script, flags=WRITE).ok()
    done = [line for line in result.out.splitlines() if line.endswith("done")]
    assert done in (["user done"], []), result
    left = stockade.cwd / "f"
    assert stat.S_ISREG(left.stat().st_mode)
    assert not [name for name in os.listxattr(left)
                if name.startswith(("security.cap", "trusted."))]
    assert sorted(os.listdir(stockade.cwd)) == ["f"]


# --- what is looked up and what is used are one -------------------------------

SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
a, b = (os.fsencode(name) for name in sys.argv[1:])
parent = os.getppid()
print("swapping", flush=True)
while os.getppid() == parent:
    for _ in range(1000):
        libc.renameat2(-100, a, -100, b, 2)
"""


def test_what_was_looked_through_is_what_is_shown(stockade):
    """Two directories change places all the time; one has a dot-file."""
    shown, other = stockade.home / "shown", stockade.home / "other"
    file(shown / "plain", "open")
    file(other / "plain", "open")
    file(other / ".env")
    swapper = subprocess.Popen(
        [sys.executable, "-c", SWAP, str(shown), str(other)],
        stdout=subprocess.PIPE)
    try:
        assert swapper.stdout.readline() == b"swapping\n"
        seen = [stockade.sh(f"cat {shown}/.env; cat {shown}/plain",
                            policy=f"read {shown}\n") for _ in range(30)]
    finally:
        swapper.kill()
        swapper.communicate()
    assert not [one for one in seen if "CANARY" in one.out]
    # Noticed at the start, or by the sentry, which comes somewhat later.
    for one in seen:
        assert one.status in (0, 125, 137), one
        assert one.out == "open" or one.status and not one.out, one
        assert one.status == 0 or "replaced meanwhile" in one.err, one


def test_nothing_is_made_in_shared_directories(stockade):
    """A name that somebody could have prepared is never used."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    log = stockade.base / "strace"
    result = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=%file", "-o", str(log),
         *stockade.argv("true", policy="allow GET api.test/x\n")],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 0, result
    own, made = 0, []
    for line in log.read_text(errors="replace").splitlines():
        if "O_CREAT" not in line and "mkdir" not in line:
            continue
        if str(stockade.base) in line:
            own += 1
        elif any(f'"{top}/' in line for top in
                 ("/tmp", "/var/tmp", "/dev/shm", "/run")) and not (
                     line.split('"')[1] in str(stockade.base)):
            made.append(line)
    assert not made and own, made


# --- our own program ----------------------------------------------------------

def test_our_own_program_is_not_to_be_had(stockade):
    with open(PROGRAM, "rb") as text:
        before = hashlib.sha256(text.read()).digest()
    file(stockade.cwd / "s", "#!/proc/self/exe\n").chmod(0o755)
    script = ("for f in /proc/1/exe /proc/self/exe /proc/[0-9]*/exe; do "
              "(echo evil >> $f) && echo wrote $f; done;"
              "readlink /proc/[0-9]*/exe; ls /proc/1/fd")
    result = stockade.sh(script)
    assert "wrote" not in result.out and "stockade" not in result.out, result
    for command in ("./s", "/proc/self/exe", "/proc/1/exe"):
        done = stockade.run(command, "--version")
        assert "stockade 0" not in done.out or done.status in (125, 126, 127)
    with open(PROGRAM, "rb") as text:
        assert hashlib.sha256(text.read()).digest() == before


@pytest.mark.parametrize("name", ["/proc/self/root/usr/bin/cat",
                                  "/usr/../usr/bin/cat", "/usr//bin/./cat"])
def test_another_spelling_of_a_path_changes_nothing(stockade, name):
    file(stockade.cwd / ".env")
    file(stockade.cwd / "open", "open")
    cwd = stockade.cwd
    result = stockade.sh(
        f"for f in {cwd}/.env /proc/self/root{cwd}/.env {cwd}/../work/.env "
        f"{cwd}//.env /proc/self/cwd/.env /dev/fd/../cwd/.env; do "
        f"{name} $f; done; {name} /proc/self/root{cwd}/../work//open")
    assert result.out == "open", result
