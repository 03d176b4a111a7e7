# SPDX-License-Identifier: Apache-2.0
"""What the agent sees of the file system, judged from outside."""
import os
import pwd
import signal
import socket
import subprocess
import tempfile

import pytest

from conftest import BUILD, IS_ROOT, as_root, eventually, processes


def test_nothing_of_the_home_is_there(stockade):
    for name in (".ssh/id_ed25519", ".aws/credentials", ".bash_history",
                 "Documents/letter", ".netrc"):
        path = stockade.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("CANARY")
    result = stockade.sh(
        f"ls -a {stockade.home} ~; cat ~/.ssh/id_ed25519 ~/Documents/letter;"
        f"grep -rs CANARY {stockade.home} ~")
    assert "CANARY" not in result.out
    assert "letter\n" not in result.out
    assert "No such file" in result.err


def test_read_grants_exactly_what_it_names(stockade):
    (stockade.home / "sdk").mkdir()
    (stockade.home / "sdk" / "a").write_text("A")
    (stockade.home / "b").write_text("B")
    result = stockade.sh("cat ~/sdk/a; cat ~/b; echo x > ~/sdk/a; true",
                         policy="read ~/sdk\n")
    assert result.out == "A"
    assert "Read-only" in result.err
    assert (stockade.home / "sdk" / "a").read_text() == "A"


def test_the_working_directory_is_read_only_unless_granted(stockade):
    (stockade.cwd / "f").write_text("old")
    denied = stockade.sh("cat f; echo new > f; echo new > g")
    assert denied.out == "old" and denied.status != 0
    assert (stockade.cwd / "f").read_text() == "old"
    stockade.sh("echo new > f; echo new > g", flags=["--write", "."]).ok()
    assert (stockade.cwd / "f").read_text() == "new\n"
    assert (stockade.cwd / "g").read_text() == "new\n"


def test_what_it_makes_belongs_to_the_caller(stockade):
    stockade.sh("echo x > made; mkdir d; echo y > d/deep; chmod 600 made;"
                "mv made moved; cat moved d/deep", flags=["--write", "."]).ok()
    for name in ("moved", "d", "d/deep"):
        seen = (stockade.cwd / name).stat()
        assert (seen.st_uid, seen.st_gid) == (os.geteuid(), os.getegid()), name


def test_what_the_caller_owns_can_be_used(stockade):
    private = stockade.cwd / "private"
    private.write_text("mine")
    os.chmod(private, 0o600)
    result = stockade.sh("cat private; echo more >> private",
                         flags=["--write", "."]).ok()
    assert result.out == "mine"
    assert private.read_text() == "minemore\n"


def test_dot_files_are_masked_inside_a_grant(stockade):
    for name in (".env", ".secret/key", "sub/.env", ".gitignore",
                 "sub/deep/.npmrc"):
        path = stockade.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("CANARY " + name)
    for flags in ([], ["--write", "."]):
        result = stockade.sh(
            "cat .gitignore; grep -rs CANARY .; cat .env .secret/key sub/.env"
            " sub/deep/.npmrc; true", flags=flags)
        assert "CANARY .gitignore" in result.out
        for name in (".env", ".secret/key", "sub/.env", "sub/deep/.npmrc"):
            assert "CANARY " + name not in result.text.replace(
                "CANARY .gitignore", ""), (flags, result)
    assert (stockade.cwd / ".env").read_text() == "CANARY .env"


def test_show_lifts_the_mask_and_hide_does_not_yield(stockade):
    (stockade.cwd / ".env.example").write_text("EXAMPLE")
    (stockade.cwd / ".env").write_text("CANARY")
    (stockade.cwd / "secrets").mkdir()
    (stockade.cwd / "secrets" / "k").write_text("CANARY")
    (stockade.cwd / "a.pem").write_text("CANARY")
    result = stockade.sh(
        "cat .env.example .env secrets/k a.pem",
        policy="show .env.example\nhide secrets/\nhide **/*.pem\n"
        "show secrets\n")
    assert result.out == "EXAMPLE", result


@pytest.mark.parametrize("flags", [
    [], ["--hide", "~/.config/app"], ["--hide", "~/.config/**/token"],
    ["--read", "~/.config/app", "--hide", "~/.config/app/token"],
    ["--show", ".config", "--hide", "~/.config/app"]])
def test_what_is_hidden_below_a_mask(stockade, flags):
    """With the home as the working directory, where everybody starts once: twice,
    as the first run makes its state in there."""
    app = stockade.home / ".config" / "app"
    app.mkdir(parents=True)
    (app / "token").write_text("CANARY\n")
    (app.parent / "other").write_text("other\n")
    (stockade.home / "plain").write_text("plain\n")
    for _ in range(2):
        result = stockade.call(*stockade.argv(
            "/bin/sh", "-c", "cat plain .config/other .config/app/token",
            flags=flags), cwd=stockade.home)
        assert result.out == ("plain\nother\n" if "--show" in flags
                              else "plain\n"), result


def test_a_mask_cannot_be_moved_away(stockade):
    (stockade.cwd / "d").mkdir()
    (stockade.cwd / "d" / ".env").write_text("CANARY")
    result = stockade.sh(
        "mv d/.env x; cat x; rm -f d/.env; mv d e; cat e/.env; ln d/.env y;"
        "umount d/.env; mkdir -p n && mount --bind n d; cat y d/.env",
        flags=["--write", "."])
    assert "CANARY" not in result.out
    found = [p for p in stockade.cwd.rglob(".env")]
    assert len(found) == 1 and found[0].read_text() == "CANARY"


def test_git_hooks_are_guarded(stockade):
    subprocess.run(["git", "init", "-q", str(stockade.cwd)], check=True)
    (stockade.cwd / "code").write_text("x")
    result = stockade.sh(
        "git add code && git -c user.name=a -c user.email=a@a commit -qm one "
        "&& git log --oneline; echo evil > .git/hooks/post-checkout;"
        "git config core.fsmonitor evil; mv .git .git.o;"
        "echo evil >> .git/config; true", flags=["--write", "."])
    assert "one" in result.out, result
    assert not (stockade.cwd / ".git" / "hooks" / "post-checkout").exists()
    assert "evil" not in (stockade.cwd / ".git" / "config").read_text()


def test_a_link_out_of_the_grant_leads_nowhere(stockade):
    (stockade.home / "outside").write_text("CANARY")
    (stockade.cwd / "link").symlink_to(stockade.home / "outside")
    result = stockade.sh("cat link; echo x > link; ln -s /etc/shadow s; cat s",
                         flags=["--write", "."])
    assert "CANARY" not in result.out
    assert (stockade.home / "outside").read_text() == "CANARY"


@pytest.mark.parametrize("path", [
    "/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_rsa_key", "/root",
    "/home/other", "/var/lib", "/var/log", "/run/dbus", "/run/docker.sock",
    "/sys/kernel", "/sys/fs/cgroup", "/boot", "/srv", "/mnt",
    "/proc/kcore", "/proc/sysrq-trigger", "/proc/keys", "/dev/mem",
    "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun"])
def test_of_the_machine_it_sees_nothing(stockade, path):
    result = stockade.sh(
        f"if [ -d {path} ]; then ls -A {path} 2>/dev/null | "
        f"grep -v -x -F {stockade.home.parts[2]};"
        f"else head -c 1 {path}; fi 2>/dev/null; true",
        cwd=stockade.cwd)
    assert result.out == "", result


def test_proc_is_its_own(stockade):
    result = stockade.sh(
        "echo $$; ls -d /proc/[0-9]* | wc -l; cat /proc/1/environ 2>&1;"
        "echo 1 > /proc/sys/vm/drop_caches; echo b > /proc/sysrq-trigger;"
        "echo x > /proc/sys/kernel/core_pattern; ls /proc/1/root/ 2>&1")
    lines = result.out.splitlines()
    assert int(lines[0]) < 10 and int(lines[1]) < 10, result
    assert result.err.count("/proc/sys/") == 2, result


def test_tmp_is_private(stockade):
    with tempfile.NamedTemporaryFile(dir="/tmp") as outside:
        result = stockade.sh(f"ls {outside.name}; echo x > /tmp/inside;"
                             "cat /tmp/inside; ls /dev/shm")
        assert "x\n" in result.out
        assert outside.name not in result.out
    assert not os.path.exists("/tmp/inside")


@pytest.mark.parametrize("top", ["/tmp", "/var/tmp"])
def test_a_working_directory_below_tmp(stockade, top):
    with tempfile.TemporaryDirectory(dir=top) as work:
        result = stockade.sh("pwd; echo x > f", flags=["--write", "."],
                             cwd=work).ok()
        assert result.out.strip() == work
        assert os.path.exists(work + "/f")


def test_a_file_grant(stockade):
    (stockade.home / "one").write_text("1")
    (stockade.home / "two").write_text("2")
    result = stockade.sh("cat ~/one; echo more > ~/one; cat ~/two",
                         policy="write ~/one\n")
    assert result.out == "1", result
    assert (stockade.home / "one").read_text() == "more\n"


def test_optional_grants(stockade):
    stockade.sh("true", policy="read? ~/absent\nwrite? ~/gone\n").ok()
    assert not (stockade.home / "absent").exists()
    assert not (stockade.home / "gone").exists()


def test_nothing_is_left_in_the_tree_after_a_kill(stockade):
    (stockade.cwd / ".env").write_text("CANARY")
    before = sorted(str(p) for p in stockade.cwd.rglob("*"))
    child = stockade.start("sh", "-c", "echo ready; sleep 60",
                           flags=["--write", "."])
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert sorted(str(p) for p in stockade.cwd.rglob("*")) == before
    assert (stockade.cwd / ".env").read_text() == "CANARY"
    with open("/proc/self/mountinfo") as mounts:
        assert str(stockade.cwd) not in mounts.read()


def host_pids(marker):
    return [pid for pid, (_, line) in processes(marker).items()
            if line.startswith("sleep")]


def test_the_agents_uid_on_the_host(stockade):
    """Never 0; the caller's own for an ordinary user."""
    child = stockade.start("sh", "-c", "echo ready; sleep 61.5; true")
    try:
        assert child.stdout.readline() == b"ready\n"
        pids = eventually(lambda: host_pids("sleep 61.5"))
        assert pids
        with open(f"/proc/{pids[0]}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        uids = set(map(int, lines["Uid"].split()))
        gids = set(map(int, lines["Gid"].split()))
        if IS_ROOT:
            assert 0 not in uids | gids
            assert 0 not in set(map(int, lines["Groups"].split()))
        else:
            assert uids == {os.geteuid()} and gids == {os.getegid()}
    finally:
        child.terminate()
        child.wait(10)


def test_identity_inside(stockade):
    result = stockade.sh("id -u; id -un; whoami; echo $HOME; cat /etc/passwd")
    lines = result.out.splitlines()
    if IS_ROOT:
        assert lines[0] == "1000"
    else:
        me = pwd.getpwuid(os.geteuid())
        assert lines[:3] == [str(me.pw_uid), me.pw_name, me.pw_name]
    assert lines[3].startswith("/")


@as_root
def test_system_directories_are_not_made_readable(stockade):
    """Root's private system files stay unreadable to the agent."""
    result = stockade.sh("find /etc /usr -maxdepth 3 -not -perm -o+r "
                         "-type f -readable 2>/dev/null | head; true")
    assert result.out == "", result


def test_a_host_socket_in_a_grant_cannot_be_connected_to(stockade):
    path = stockade.cwd / "s"
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(stockade.cwd)
        server.bind("s")
        os.chdir("/")
        server.listen(1)
        os.chmod(path, 0o777)
        script = ("import socket; s = socket.socket(socket.AF_UNIX);"
                  "s.connect('s'); print('connected')")
        result = stockade.run("/usr/bin/python3", "-c", script,
                              flags=["--write", "."])
        assert "connected" not in result.out, result


def test_sockets_of_its_own_work(stockade):
    script = """
import os, socket, threading
os.chdir("/tmp")
a = socket.socket(socket.AF_UNIX); a.bind("own"); a.listen(1)
b = socket.socket(socket.AF_UNIX); b.connect("own")
t = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(t.getsockname())
print("works")
"""
    assert stockade.run("/usr/bin/python3", "-c", script).ok().out == "works\n"


@pytest.mark.parametrize("where", ["/", "{build}", "{home}", "{link}"])
def test_a_grant_over_our_own_state_or_program_is_refused(stockade, where):
    stockade.state().mkdir(parents=True)
    link = stockade.home / "link"
    link.symlink_to(stockade.home)
    where = where.format(build=BUILD, home=stockade.home, link=link)
    result = stockade.sh("touch ran", flags=["--write", where])
    assert result.status == 125, result
    assert len(result.complaints()) == 1
    assert not (stockade.cwd / "ran").exists()


def test_the_policy_file_in_a_write_grant_stays_as_it_is(stockade):
    policy = stockade.cwd / "stockade.rules"
    policy.write_text("write .\n")
    result = stockade.sh(
        "echo allow >> stockade.rules; rm -f stockade.rules; mv stockade.rules"
        " x; echo x > other", flags=["--policy", str(policy)])
    assert policy.read_text() == "write .\n"
    assert result.status == 125 or (stockade.cwd / "other").exists(), result
