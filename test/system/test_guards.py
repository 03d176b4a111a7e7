# SPDX-License-Identifier: Apache-2.0
"""What stays as it is inside a write grant, and ways to get around it."""
import socket
import subprocess

import pytest

WRITE = ["--write", "."]


def repository(path):
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    return path


def test_a_grant_inside_a_grant_pins_as_if_there_were_one(stockade):
    repository(stockade.cwd / "sub")
    (stockade.cwd / "sub" / "plain").mkdir()
    result = stockade.sh(
        "mv sub/plain sub/moved && mv sub away;"
        "mkdir -p sub/.git/hooks && echo evil > sub/.git/hooks/post-checkout",
        flags=[*WRITE, "--write", "sub"])
    assert result.status != 0
    assert (stockade.cwd / "sub" / "moved").is_dir()
    assert not (stockade.cwd / "away").exists()
    assert not (stockade.cwd / "sub/.git/hooks/post-checkout").exists()


def test_a_program_in_a_writable_tree_lifts_neither_mask_nor_guard(stockade):
    tools = repository(stockade.cwd / "tools")
    (tools / ".env").write_text("CANARY")
    (tools / "bin").mkdir()
    program = tools / "bin" / "program"
    program.write_text(
        "#!/bin/sh\ncat tools/.env\necho evil > tools/.git/hooks/x\n"
        "mv tools away\necho fine > tools/made\n")
    program.chmod(0o755)
    result = stockade.run("./tools/bin/program", flags=WRITE)
    assert "CANARY" not in result.out
    assert not (tools / ".git" / "hooks" / "x").exists()
    assert tools.is_dir()
    assert (tools / "made").read_text() == "fine\n"


def test_a_read_grant_beside_a_program_is_read_only(stockade):
    data = stockade.cwd / "tools" / "data"
    data.mkdir(parents=True)
    (stockade.cwd / "tools" / "bin").mkdir()
    program = stockade.cwd / "tools" / "bin" / "program"
    program.write_text("#!/bin/sh\necho x > tools/made\necho x > tools/data/f\n")
    program.chmod(0o755)
    stockade.run("./tools/bin/program",
                 flags=[*WRITE, "--read", "tools/data"])
    assert (stockade.cwd / "tools" / "made").exists()
    assert not (data / "f").exists()


@pytest.mark.parametrize("made", [False, True])
def test_the_folder_of_the_users_policy_is_never_writable(stockade, made):
    config = stockade.home / ".config"
    other = config / "other"
    other.mkdir(parents=True)
    if made:
        (config / "stockade" / "policies").mkdir(parents=True)
    refused = stockade.sh("true", flags=["--write", "~/.config"])
    assert refused.status == 125
    assert "belongs to stockade itself" in refused.err
    stockade.sh(f"echo x > {other}/f", flags=["--write", "~/.config/other"])
    assert (other / "f").exists()


def test_a_folder_that_is_not_there_is_sealed_through_links(stockade):
    (stockade.home / "dot" / "config").mkdir(parents=True)
    (stockade.home / ".config").symlink_to(stockade.home / "dot" / "config")
    refused = stockade.sh("true", flags=["--write", "~/dot"])
    assert refused.status == 125
    assert "belongs to stockade itself" in refused.err


@pytest.mark.parametrize("where", [".git/daemon.ipc", "node_modules/s"])
def test_a_socket_in_a_tree_that_is_not_searched(stockade, where):
    path = stockade.cwd / where
    path.parent.mkdir()
    (path.parent / "plain").write_text("seen")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        result = stockade.sh(
            f"cat {path.parent}/plain; python3 -c 'import socket;"
            f"socket.socket(socket.AF_UNIX).connect(\"{where}\")'")
    assert result.out == "seen"
    assert result.status != 0 and "PermissionError" in result.err


def test_the_repository_of_a_submodule_is_guarded(stockade):
    git = repository(stockade.cwd) / ".git"
    for name in ("modules/lib", "modules/deep/er", "worktrees/wt"):
        (git / name / "hooks").mkdir(parents=True)
        (git / name / "objects").mkdir()
        (git / name / "config").write_text("[core]\n")
        (git / name / "commondir").write_text("../..\n")
        script = (f"cd .git/{name}; echo x > config; echo x > hooks/h;"
                  "echo x > commondir; mv hooks h; mv config c;"
                  "echo x > objects/o; echo x > HEAD")
        stockade.sh(script, flags=WRITE)
        assert (git / name / "config").read_text() == "[core]\n"
        assert (git / name / "commondir").read_text() == "../..\n"
        assert not list((git / name / "hooks").iterdir())
        assert (git / name / "objects" / "o").exists()
        assert (git / name / "HEAD").exists()


def replace(path, text):
    """As editors and git do: the kernel takes away what is mounted on it."""
    path.with_name("new").write_text(text)
    path.with_name("new").rename(path)


@pytest.mark.parametrize("name,why", [(".env", "no longer hidden"),
                                      (".git/config", "no longer read-only")])
def test_the_run_ends_when_the_host_lifts_a_mask(stockade, name, why):
    repository(stockade.cwd)
    path = stockade.cwd / name
    path.write_text("[core]\n")
    run = stockade.start("sh", "-c", "echo up; sleep 20; echo late > late",
                         flags=WRITE)
    assert run.stdout.readline() == b"up\n"
    replace(path, "[user]\n")
    out, err = run.communicate(timeout=10)
    assert run.returncode == 128 + 9
    assert out == b"" and why in err.decode()
    assert not (stockade.cwd / "late").exists()
    assert any(record["event"] == "fault" and why in record["reason"]
               for record in stockade.log())


def test_the_run_goes_on_when_what_was_masked_is_gone(stockade):
    swap, plain = stockade.cwd / ".f.swp", stockade.cwd / "plain"
    for path in (swap, plain):
        path.write_text("x")
    run = stockade.start("sh", "-c", "echo up; sleep 0.5; cat plain; echo on")
    assert run.stdout.readline() == b"up\n"
    swap.unlink()
    replace(plain, "new\n")
    out, err = run.communicate(timeout=10)
    assert (run.returncode, out, err) == (0, b"new\non\n", b"")


def test_no_setuid_file_is_left_on_the_host(stockade):
    stockade.run("/usr/bin/python3", "-c", """
import ctypes, os, struct
def attempt(f, *a):
    try:
        f(*a)
    except OSError:
        pass
os.umask(0)
open("a", "w")
attempt(os.chmod, "a", 0o6755)
attempt(os.chmod, "a", 0o4755)
attempt(os.open, "b", os.O_CREAT | os.O_WRONLY, 0o6755)
attempt(os.mknod, "c", 0o104755)
how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
ctypes.CDLL(None).syscall(437, -100, b"d", how, 24)
open("plain", "w")
os.chmod("plain", 0o755)
os.mkdir("shared")
os.chmod("shared", 0o2775)
""", flags=WRITE).ok()
    modes = {p.name: p.stat().st_mode & 0o7777
             for p in stockade.cwd.iterdir()}
    assert not [name for name, mode in modes.items() if mode & 0o4000], modes
    assert modes["plain"] == 0o755 and modes["shared"] == 0o2775


def test_a_name_does_not_speak_to_the_terminal(stockade):
    name = "x\x1b]52;c;ZXZpbA==\x07\nstockade: fine\u202e"
    (stockade.cwd / name).mkdir()
    (stockade.cwd / name / ".vscode").symlink_to("/x")
    refused = stockade.run("true", flags=WRITE)
    assert refused.status == 125
    assert "is a symbolic link" in refused.err
    assert "x\\x1b]52" in refused.err and "\\x0astockade" in refused.err
    assert not set("\x1b\x07\u202e") & set(refused.err)
    assert len(refused.complaints()) == 1
    quoted = stockade.run("true", flags=["--limit", "fog 3"])
    assert quoted.err.count("\n") > 1, "a policy's line is quoted below"


def test_a_policy_that_is_a_link_in_a_write_grant_is_refused(stockade):
    real = stockade.home / "real.policy"
    real.write_text("write .\n")
    link = stockade.cwd / "link.policy"
    link.symlink_to(real)
    replaced = stockade.call(
        "run", "--policy", "link.policy", "--", "sh", "-c",
        "rm link.policy; echo 'read /' > link.policy")
    assert replaced.status == 125 and "symbolic link" in replaced.err
    assert link.is_symlink()
    outside = stockade.home / "link.policy"
    outside.symlink_to(real)
    for name in (outside, "../link.policy", "./../real.policy"):
        stockade.call("run", "--policy", name, "--", "true").ok()
    plain = stockade.cwd / "plain.policy"
    plain.write_text("write .\n")
    for name in ("plain.policy", "./plain.policy", plain):
        stockade.call("run", "--policy", name, "--", "sh", "-c",
                      "rm -f plain.policy; echo x > made").ok()
    assert plain.read_text() == "write .\n"
