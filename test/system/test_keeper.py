# SPDX-License-Identifier: Apache-2.0
"""Guards of names that do not exist, and the calls that pid 1 makes for others."""
import os
import subprocess
import sys
import tempfile

import pytest

WRITE = ["--write", "."]
NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names.py")
GUARDED = [".envrc", ".vscode", ".idea", ".husky", ".devcontainer",
           ".pre-commit-config.yaml", ".mcp.json", ".dir-locals.el", ".vimrc",
           ".claude/settings.json", ".claude/hooks",
           ".gemini/settings.json", ".github/workflows", ".gitlab-ci.yml",
           "Jenkinsfile", "x.code-workspace", ".bashrc", ".zshenv",
           ".config/autostart", ".local/bin", ".gdbinit", ".cursor", ".codex",
           ".hg/hgrc", ".githooks", "mise.toml", "lefthook.yaml", ".Rprofile",
           ".irbrc", ".forgejo/workflows", ".github/hooks", ".cshrc",
           ".clinerules", ".config/git", ".local/share/systemd"]


def repository(path):
    path.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    subprocess.run(["git", "-C", str(path), "-c", "user.name=a", "-c",
                    "user.email=a@b", "commit", "-q", "--allow-empty", "-m",
                    "first"], check=True)
    return path


def below(path):
    return sorted(os.path.relpath(os.path.join(folder, name), path)
                  for folder, dirs, files in os.walk(path)
                  for name in dirs + files)


@pytest.fixture
def native():
    """A folder outside, for whom permissions mean something."""
    with tempfile.TemporaryDirectory() as folder:
        user = 65534 if os.geteuid() == 0 else None
        if user:
            os.chown(folder, user, user)
        yield folder, user


def test_all_calls_do_what_they_do_without(stockade, native):
    native, user = native
    with open(NAMES) as script:
        expected = subprocess.run([sys.executable, "-"], cwd=native, text=True,
                                  stdin=script, user=user, group=user,
                                  capture_output=True, check=True).stdout
    with open(NAMES) as script:
        result = stockade.run("python3", "-c", script.read(), flags=WRITE,
                              timeout=60).ok()
    assert result.out.splitlines() == expected.splitlines()
    assert below(stockade.cwd) == below(native)


@pytest.mark.parametrize("depth", [".", "a/b"])
def test_a_guarded_name_is_not_made(stockade, depth):
    top = stockade.cwd / depth
    for name in GUARDED:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
    script = f"cd {depth}\n" + "".join(
        f"mkdir -p $(dirname {name}); echo x > {name}; mkdir {name};"
        f"echo x > {name}.other\n" for name in GUARDED)
    shown = {os.path.dirname(name) for name in GUARDED} - {""}
    stockade.sh(script, flags=[*WRITE, *(word for name in shown for word in
                                         ("--show", "**/" + name))])
    for name in GUARDED:
        assert not (top / name).exists(), name
        assert (top / (name + ".other")).read_text() == "x\n"


WAYS = [
    "touch {}", "mkdir {}", "mkfifo {}", "ln -s other {}", "ln other {}",
    "mv other {}", "cp other {}", "mv full {}", "ln -s full {}",
    "python3 -c 'import os; os.mknod(\"{}\")'",
    "python3 -c 'import ctypes; ctypes.CDLL(None)"
    ".renameat2(-100, b\"other\", -100, b\"{}\", 1)'",
    "python3 -c 'import os; os.open(\"{}\", os.O_CREAT | os.O_EXCL)'",
    "python3 -c 'import os; fd = os.open(\".\", os.O_TMPFILE | os.O_RDWR);"
    "import ctypes; ctypes.CDLL(None).linkat(-100,"
    "f\"/proc/self/fd/{{fd}}\".encode(), -100, b\"{}\", 0x400)'",
    "touch ./{}", "touch d/../{}", "touch $PWD/{}", "touch link/{}",
    "touch /proc/self/cwd/{}", "exec 5<.; touch /proc/self/fd/5/{}",
    "python3 -c 'import os; fd = os.open(\".\", 0);"
    "os.open(\"{}\", os.O_CREAT, dir_fd=fd)'",
    "ln -s {} dangling; echo x > dangling",
]


@pytest.mark.parametrize("way", WAYS)
def test_by_every_way(stockade, way):
    def prepare(folder):
        folder.mkdir()
        (folder / "other").write_text("x\n")
        (folder / "d").mkdir()
        (folder / "full").mkdir()
        (folder / "full" / "file").write_text("")
        (folder / "link").symlink_to(".")

    for name in ("no", "yes"):
        prepare(stockade.cwd / name)
    stockade.sh(f"(cd no; {way.format('.envrc')}); cd yes;"
                + way.format(".allowed"), flags=WRITE)
    assert not os.path.lexists(stockade.cwd / "no" / ".envrc")
    assert os.path.lexists(stockade.cwd / "yes" / ".allowed"), "the control"


@pytest.mark.parametrize("way", [
    "mv full {}", "ln -s full {}", "mkdir {0}; mv -T full {0}",
    "mkdir swap; python3 -c 'import ctypes; ctypes.CDLL(None)"
    ".renameat2(-100, b\"swap\", -100, b\"full\", 2)'; mv swap {}"])
def test_a_tree_cannot_become_what_a_guarded_name_is_in(stockade, way):
    for name in ("no", "yes"):
        full = stockade.cwd / name / "full"
        full.mkdir(parents=True)
        (full / "settings.json").write_text("evil")
    stockade.sh(f"(cd no; {way.format('.claude')}); cd yes;"
                + way.format(".plain"), flags=WRITE)
    assert not (stockade.cwd / "no" / ".claude" / "settings.json").exists()
    assert (stockade.cwd / "yes" / ".plain" / "settings.json").exists()


@pytest.mark.parametrize("name", [
    ".ENVRC", ".Envrc", ".envrc.", ".envrc ", ".en\u200dvrc", ".envrc\u2060",
    ".vsCode", ".\ufeffidea"])
def test_under_a_name_that_another_system_takes_for_it(stockade, name):
    stockade.run("touch", name, "x" + name, flags=WRITE)
    assert not (stockade.cwd / name).exists()
    assert (stockade.cwd / ("x" + name)).exists()


def test_a_write_of_the_path_itself_lifts_a_default_guard(stockade):
    (stockade.cwd / "d").mkdir()
    stockade.sh("echo x > .envrc; mkdir .vscode; echo x > .vscode/a;"
                "echo x > d/.envrc",
                flags=[*WRITE, "--write?", ".envrc", "--write?", ".vscode"])
    assert (stockade.cwd / ".envrc").exists()
    assert (stockade.cwd / ".vscode" / "a").exists()
    assert not (stockade.cwd / "d" / ".envrc").exists()


def test_what_is_guarded_by_a_statement_and_not_there(stockade):
    (stockade.cwd / "deploy").mkdir()
    stockade.sh(
        "echo x > deploy/run; echo x > deploy/other; mkdir -p a/b;"
        "echo x > a/b/x.sh; echo x > a/b/x.txt; mkdir ci; echo x > ci/step;"
        "mkdir -p new; echo x > new/file; mv new later; mv deploy away",
        flags=[*WRITE, "--guard?", "deploy/run", "--guard", "**/*.sh",
               "--guard?", "later/file", "--write?", "deploy/run"])
    assert below(stockade.cwd) == [
        "a", "a/b", "a/b/x.txt", "ci", "ci/step", "deploy", "deploy/other",
        "new", "new/file"]


@pytest.mark.parametrize("name", ["commondir", "config.worktree",
                                  "info/attributes"])
def test_what_a_repository_of_the_users_has_not(stockade, name):
    (repository(stockade.cwd / "mine") / ".git" / "info").mkdir(exist_ok=True)
    stockade.sh(f"echo x > mine/.git/{name}; echo x > mine/.git/{name}.other;"
                "git init -q own; mkdir -p own/.git/info;"
                f"echo x > own/.git/{name}", flags=WRITE)
    assert not (stockade.cwd / "mine/.git" / name).exists()
    assert (stockade.cwd / "mine/.git" / (name + ".other")).exists()
    assert (stockade.cwd / "own/.git" / name).exists()


def test_hooks_that_are_not_there(stockade):
    mine = repository(stockade.cwd / "mine") / ".git"
    subprocess.run(["rm", "-r", str(mine / "hooks")], check=True)
    stockade.sh("mkdir mine/.git/hooks; mkdir h; echo x > h/post-commit;"
                "mv h mine/.git/hooks; ln -s ../../h mine/.git/hooks;"
                "mv mine/.git moved; mv mine moved", flags=WRITE)
    assert not os.path.lexists(mine / "hooks")
    assert (stockade.cwd / "h" / "post-commit").exists()


def test_a_submodules_repository_gets_nothing_new(stockade):
    inner = repository(stockade.cwd.parent / "inner")
    outer = repository(stockade.cwd / "outer")
    subprocess.run(["git", "-C", str(outer), "-c", "protocol.file.allow=always",
                    "submodule", "--quiet", "add", str(inner), "sub"],
                   check=True)
    module = outer / ".git" / "modules" / "sub"
    stockade.sh(f"cd outer/.git/modules/sub; for f in commondir config.worktree;"
                "do echo x > $f; echo x > $f.other; done", flags=WRITE)
    assert not (module / "commondir").exists()
    assert not (module / "config.worktree").exists()
    assert (module / "commondir.other").exists()


def test_git_works(stockade):
    mine = repository(stockade.cwd / "mine")
    result = stockade.sh("""
        set -e
        export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
        export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        cd mine
        echo one > file; git add file; git commit -qm one
        git checkout -qb side; echo two > file; git commit -qam two
        git checkout -q -; echo three > other; git add other
        git commit -qm three; git merge -qm merged side
        echo four > file; git stash -q; git stash pop -q; git checkout -q file
        git worktree add -q ../tree side; (cd ../tree; git status --short)
        git tag v1; git gc -q; git rebase -q side || git rebase --abort
        cd ..; git clone -q mine copy; cd copy; git log --oneline
        git init -q ../fresh; cd ../fresh; echo x > x; git add x
        git commit -qm x; git config user.name me
        git mv x y; git commit -qm moved; git rm -q y""", flags=WRITE).ok()
    assert "three" in result.out
    status = subprocess.run(["git", "-C", str(mine), "status", "--porcelain"],
                            capture_output=True, text=True, check=True)
    assert status.stdout == ""


def test_nothing_is_left_of_a_run_that_was_killed(stockade):
    mine = repository(stockade.cwd / "mine")
    child = stockade.start("sh", "-c", "touch mine/.envrc; echo on; sleep 30",
                           flags=WRITE)
    child.stdout.readline()
    child.kill()
    child.wait()
    assert not (mine / ".envrc").exists()
    assert subprocess.run(["git", "-C", str(mine), "status", "--porcelain"],
                          capture_output=True, check=True).stdout == b""


def test_it_is_on_record(stockade):
    result = stockade.sh("touch .envrc; touch .envrc; touch fine; mkdir .idea",
                         flags=[*WRITE, "--guard?", "x"])
    assert result.status == 1
    denied = [record for record in stockade.log("--denied")
              if record["event"] == "guard"]
    assert [os.path.basename(r["path"]) for r in denied] == [".envrc", ".idea"]
    assert {r["rule"] for r in denied} == {"guarded by default"}
    text = stockade.call("log", "--denied").ok().out
    assert "make " in text and ".envrc" in text and "fine" not in text


def test_pid_1_is_not_there(stockade):
    result = stockade.run("python3", "-c", """
import os
for path in ("/proc/1/fd/0", "/proc/self/../1/fd/3", "/proc/1/cwd/made",
             "/proc/1/root/tmp/made", "/proc/1/mem"):
    try:
        print(os.open(path, os.O_CREAT | os.O_RDWR))
    except OSError as e:
        print(e.strerror)
os.chdir("/proc")
for path in ("1/mem", "./1/environ"):
    try:
        print(os.open(path, os.O_CREAT | os.O_RDONLY))
    except OSError as e:
        print(e.strerror)
fd = os.open("self/../self/cwd/../tmp/made", os.O_CREAT | os.O_RDWR)
print(os.readlink(f"/proc/self/fd/{fd}"))""", flags=WRITE).ok()
    assert result.out.splitlines() == ["No such file or directory"] * 7 + [
        "/tmp/made"]


RACE = """
import ctypes, threading
libc = ctypes.CDLL(None)
path = ctypes.create_string_buffer(b"x.envrc")
stop = False
def flip():
    while not stop:
        path.raw = b".envrc\\0\\0"
        path.raw = b"x.envrc\\0"
threading.Thread(target=flip, daemon=True).start()
made = 0
for i in range(1500):
    made += libc.mkdir(path, 0o755) == 0
    libc.rmdir(b"x.envrc")
stop = True
print(made)
"""


def test_a_path_that_changes_while_it_is_read(stockade):
    result = stockade.run("python3", "-c", RACE, flags=WRITE, timeout=60).ok()
    assert int(result.out) > 0, "the control"
    # Not all of a path changes at once: names of bytes of both are made too.
    assert ".envrc" not in below(stockade.cwd)


def test_a_link_that_changes_while_it_is_followed(stockade):
    (stockade.cwd / "sub").mkdir()
    repository(stockade.cwd / "mine")
    result = stockade.sh("""
        (while :; do ln -sfn sub way; ln -sfn mine/.git way; done) &
        i=0
        while [ $i -lt 200 ] || ! [ -e sub/commondir ]; do
            i=$((i + 1)); echo x > way/commondir; done 2> /dev/null
        kill $!""", flags=WRITE, timeout=60)
    assert result.status == 0, "the control"
    assert not (stockade.cwd / "mine" / ".git" / "commondir").exists()


def test_whoever_makes_the_names_cannot_be_stopped(stockade):
    stockade.sh("kill -STOP 1; kill -9 1; touch .envrc after", flags=WRITE)
    assert (stockade.cwd / "after").exists()
    assert not (stockade.cwd / ".envrc").exists()


def test_a_writer_that_gives_up_waiting(stockade):
    result = stockade.sh("""
        mkfifo f
        timeout 0.3 sh -c 'echo x > f'; echo $?
        (sleep 0.2; cat f) & echo later > f; wait; touch made""",
                         flags=WRITE).ok()
    assert result.out.splitlines() == ["124", "later"]
    assert (stockade.cwd / "made").exists()


def test_a_process_that_cannot_be_looked_at_makes_nothing(stockade):
    stockade.sh("cp /bin/mkdir seen; cp seen unseen; chmod 0111 unseen;"
                "./seen before; ./unseen after", flags=WRITE)
    assert below(stockade.cwd) == ["before", "seen", "unseen"]


def test_a_process_that_would_hide_is_told_that_it_cannot(stockade):
    """A keeper of keys goes on, and makes its files."""
    result = stockade.run("python3", "-c", """
import ctypes, os
prctl = ctypes.CDLL(None).prctl
print(prctl(4, 0), prctl(3), prctl(4, 1))
os.mkdir("after")""", flags=WRITE).ok()
    assert result.out.split() == ["-1", "1", "0"]
    assert below(stockade.cwd) == ["after"]


def test_without_a_write_grant_nobody_is_asked(stockade):
    plan = stockade.call("run", "--explain", "--", "true").ok().out
    assert "keeper" not in plan
    plan = stockade.call("run", "--explain", *WRITE, "--", "true").ok().out
    assert "keeper" in plan
    stockade.sh("touch /tmp/.envrc && mkdir ~/.vscode").ok()


def test_the_private_home_may_have_such_names(stockade):
    stockade.sh("touch /tmp/.envrc ~/.vimrc && mkdir ~/.vscode",
                flags=WRITE).ok()


def test_a_program_is_told_that_its_own_landlock_would_not_hold(stockade):
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(444, None, 0, 1) > 0, ctypes.get_errno())"""
    inside = stockade.run("python3", "-c", script, flags=WRITE).ok()
    assert inside.out.split() == ["False", "38"]
    inside = stockade.run("python3", "-c", script).ok()
    assert inside.out.split() == ["True", "0"]


def test_what_the_agent_has_made_is_its_own(stockade):
    """A clone brings its workflows and settings; they go nowhere else."""
    theirs = repository(stockade.cwd.parent / "theirs")
    (theirs / ".github" / "workflows").mkdir(parents=True)
    (theirs / ".github" / "workflows" / "ci.yml").write_text("on: push")
    (theirs / ".vscode").mkdir()
    (theirs / ".vscode" / "tasks.json").write_text("{}")
    (theirs / ".envrc").write_text("x")
    git = ["git", "-C", str(theirs), "-c", "user.name=a", "-c", "user.email=a"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    mine = repository(stockade.cwd / "mine")
    (mine / "sub").mkdir()
    stockade.sh("""
        git clone -q ../theirs copy
        mkdir -p new/deep && echo x > new/deep/.envrc && mkdir new/.vscode
        mv copy/.vscode mine; mv copy/.envrc mine; mv new/.vscode mine/sub
        cp -r copy/.github mine; ln copy/.envrc mine/sub; mv copy/.github .
        mv new moved; echo x > moved/.envrc""", flags=[
            *WRITE, "--read", str(theirs)])
    assert (stockade.cwd / "copy/.github/workflows/ci.yml").exists()
    assert (stockade.cwd / "copy/.vscode/tasks.json").exists()
    assert (stockade.cwd / "moved/deep/.envrc").exists()
    assert (stockade.cwd / "moved/.envrc").exists()
    assert sorted(os.listdir(mine)) in ([".git", "sub"],
                                        [".git", ".github", "sub"])
    assert not (mine / ".github" / "workflows").exists()
    assert os.listdir(mine / "sub") == []
    assert not (stockade.cwd / ".github" / "workflows").exists()
