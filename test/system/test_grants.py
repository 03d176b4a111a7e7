# SPDX-License-Identifier: Apache-2.0
"""Grants by pattern, by link, and of what may be missing."""
import ctypes
import os
import pathlib
import socket
import subprocess
import tempfile

import pytest

from conftest import PROGRAM, Stockade, as_root


@pytest.fixture
def home(stockade):
    """Writes files below the home: home("a/b", "text")."""
    def write(name, text="x"):
        path = stockade.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    return write


def test_a_pattern_grants_what_matches(stockade, home):
    home("x1/y", "1")
    home("x2/y/z", "2")
    home("x1/n", "CANARY")
    home("other/y", "CANARY")
    result = stockade.sh("cat ~/x1/y ~/x2/y/z; cat ~/x1/n ~/other/y;"
                         "echo w > ~/x2/y/z", flags=["--read", "~/x*/y"])
    assert result.out == "12" and "Read-only" in result.err
    stockade.sh("echo w > ~/x2/y/z", flags=["--write", "~/x*/y"]).ok()
    assert (stockade.home / "x2/y/z").read_text() == "w\n"


def test_a_pattern_that_matches_nothing(stockade, home):
    refused = stockade.run("true", flags=["--read", "~/x*/y"])
    assert refused.status == 125 and "nothing matches" in refused.err
    stockade.run("true", flags=["--read?", "~/x*/y"]).ok()
    # What only looks like a match is none.
    home("x1/f")
    (stockade.home / "x1" / "y").symlink_to("gone")
    assert stockade.run("true", flags=["--read", "~/x*/y"]).status == 125
    home("x2/y", "2")
    assert stockade.sh("cat ~/x2/y",
                       flags=["--read", "~/x*/y"]).ok().out == "2"


def test_a_wildcard_takes_no_dot_in_front(stockade, home):
    home(".ssh/id", "CANARY")
    home("p/f", "F")
    home("p/.env", "CANARY")
    for pattern in ("~/*", "~/**/f", "~/?ssh", "~/[.]ssh"):
        result = stockade.sh("cat ~/p/f; cat ~/.ssh/id ~/p/.env; ls -A ~",
                             flags=["--read?", pattern])
        assert "CANARY" not in result.out and ".ssh" not in result.out
        assert result.out.startswith("F") == (pattern in ("~/*", "~/**/f"))
    assert stockade.sh("cat ~/.ssh/id",
                       flags=["--read", "~/.s*"]).ok().out == "CANARY"
    # What takes away has to reach them.
    hidden = stockade.sh("cat ~/.ssh/id ~/p/f", flags=[
        "--read", "~/.ssh", "--read", "~/p", "--hide", "~/*/id"])
    assert hidden.out == "F"


def test_links_are_followed_where_they_lead(stockade, home):
    home("real/y", "R")
    home("real/.env", "CANARY")
    (stockade.home / "x1").symlink_to("real")
    (stockade.home / "loop").symlink_to(".")
    assert stockade.sh("cat ~/x1/y; cat ~/x1/.env",
                       flags=["--read", "~/x*/y"]).out == "R"
    # A pattern of any depth does not go round in circles.
    assert stockade.sh("cat ~/real/y",
                       flags=["--read", "~/**/y"]).ok().out == "R"


def test_an_unreadable_directory_is_no_obstacle(stockade, home):
    home("x1/y", "1")
    shut = stockade.home / "x2"
    shut.mkdir(mode=0o000)
    result = stockade.sh("cat ~/x1/y", flags=["--read", "~/x*/y"])
    shut.chmod(0o755)
    assert result.ok().out == "1"


@pytest.fixture
def dead_mount():
    """A user's tree in which the daemon of a FUSE mount has ended.  Root cannot
    be tested so: such a file system does not map owners."""
    uid, libc = 3211, ctypes.CDLL(None, use_errno=True)
    if not os.path.exists("/dev/fuse") or not all(
            os.stat(folder).st_mode & 1
            for folder in pathlib.Path(PROGRAM).parents):
        pytest.skip("needs /dev/fuse and programs within reach of all")
    with tempfile.TemporaryDirectory(prefix="dead.") as base:
        os.chmod(base, 0o755)
        them = Stockade(pathlib.Path(base))
        them.dead = them.cwd / "a" / "dead"
        them.dead.mkdir(parents=True)
        (them.cwd / "a" / "file").write_text("alive")
        for folder, _, _ in os.walk(base):
            os.chown(folder, uid, uid)
        daemon = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={daemon},rootmode=40000,user_id={uid},group_id={uid}"
        if libc.mount(b"dead", bytes(them.dead), b"fuse.dead", 0,
                      options.encode()):
            pytest.fail(os.strerror(ctypes.get_errno()))
        os.close(daemon)
        them.native = lambda *argv: subprocess.run(
            argv, cwd=them.cwd, env=them.env, user=uid, group=uid,
            extra_groups=[], check=False, stdin=subprocess.DEVNULL,
            capture_output=True, text=True)
        try:
            yield them
        finally:
            libc.umount2(bytes(them.dead), 2)


@as_root
@pytest.mark.parametrize("flags", [[], ["--write", "."]])
def test_a_mount_that_is_dead_is_no_obstacle(dead_mount, flags):
    script = "/bin/sh", "-c", "cat a/file; ls a/dead"
    assert "not connected" in dead_mount.native(*script).stderr
    done = dead_mount.native(*dead_mount.argv(*script, flags=flags))
    assert done.stdout == "alive", done
    assert "Permission denied" in done.stderr


@pytest.mark.parametrize("word", ["read", "write"])
def test_what_may_be_missing(stockade, home, word):
    (stockade.home / "dangling").symlink_to("gone")
    home("file")
    for name in ("~/gone", "~/gone/deeper", "~/dangling", "~/file/below"):
        refused = stockade.run("true", flags=[f"--{word}", name])
        assert refused.status == 125 and "optional" in refused.err, name
        stockade.run("true", flags=[f"--{word}?", name]).ok()
    # What is there is granted all the same.
    assert stockade.sh("cat ~/file",
                       flags=[f"--{word}?", "~/file"]).ok().out == "x"


def test_dot_files_that_are_links_into_a_granted_directory(stockade, home):
    """As chezmoi and stow leave them."""
    home("dotfiles/.zshrc", "Z")
    home("dotfiles/nvim/init.lua", "N")
    home("dotfiles/.netrc", "CANARY")
    (stockade.home / ".zshrc").symlink_to("dotfiles/.zshrc")
    (stockade.home / ".netrc").symlink_to("dotfiles/.netrc")
    (stockade.home / ".config").mkdir()
    (stockade.home / ".config/nvim").symlink_to("../dotfiles/nvim")
    script = "cat ~/.zshrc ~/.config/nvim/init.lua; cat ~/.netrc"
    for flags in (["--read", "~/.zshrc ~/.config/nvim"],
                  ["--read", "~/.zshrc ~/.config/nvim ~/dotfiles"],
                  ["--read", "~/.z* ~/.config/*/init.lua"],
                  ["--write", "~/dotfiles", "--read", "~/.zshrc ~/.config"]):
        result = stockade.sh(script, flags=flags)
        assert result.out == "ZN", (flags, result)


def test_a_granted_link_can_be_written_through(stockade, home):
    home("dotfiles/rc", "old\n")
    (stockade.home / ".rc").symlink_to("dotfiles/rc")
    stockade.sh("echo new >> ~/.rc", flags=["--write", "~/.rc"]).ok()
    assert (stockade.home / "dotfiles/rc").read_text() == "old\nnew\n"
    assert (stockade.home / ".rc").is_symlink()
    # The link itself is the sandbox's: replacing it is nothing to the host.
    stockade.sh("rm ~/.rc; echo mine > ~/.rc", flags=["--write", "~/.rc"])
    assert (stockade.home / "dotfiles/rc").read_text() == "old\nnew\n"
    assert os.readlink(stockade.home / ".rc") == "dotfiles/rc"


def test_statements_hold_when_the_home_is_a_link(stockade):
    link = stockade.base / "link"
    link.symlink_to(stockade.home)
    for name, text in (("k.pem", "CANARY"), ("f", "F"), (".ok", "OK"),
                       ("sub/.env", "CANARY")):
        (stockade.cwd / name).parent.mkdir(exist_ok=True)
        (stockade.cwd / name).write_text(text)
    for hide in ("~/work/**/*.pem", "~/work/k.pem", "~/*/k.pem"):
        result = stockade.sh(
            "cat f .ok; cat k.pem sub/.env; echo x > f", env={"HOME": str(link)},
            flags=["--hide", hide, "--show", "~/work/.ok", "--write", "~/work",
                   "--guard", "~/work/[f]"])
        assert result.out == "FOK", (hide, result)
    assert (stockade.cwd / "f").read_text() == "F"
    stockade.sh("echo x > f", env={"HOME": str(link)},
                flags=["--write", "~/work"]).ok()
    assert (stockade.cwd / "f").read_text() == "x\n"


def test_the_agent_does_not_choose_what_is_shown(stockade):
    """`show` follows no link that an earlier run may have left."""
    (stockade.cwd / ".env").write_text("CANARY")
    (stockade.cwd / ".env.example").write_text("EXAMPLE")
    (stockade.cwd / "conf").mkdir()
    (stockade.cwd / "conf" / ".a").write_text("A")
    (stockade.cwd / "keep").mkdir()
    (stockade.cwd / "keep" / ".a").write_text("CANARY")
    flags = ["--write", ".", "--show", ".env.example conf/.a"]
    seen = stockade.sh("cat .env.example conf/.a; rm -r .env.example conf;"
                       "ln -s .env .env.example; ln -s keep conf", flags=flags)
    assert seen.out == "EXAMPLEA", seen
    result = stockade.sh("cat .env.example .env conf/.a keep/.a", flags=flags)
    assert result.out == "" and (stockade.cwd / "conf").is_symlink()


CONNECT = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
print("CONNECTED")
"""


def test_no_grant_opens_a_socket(stockade, home):
    home("run/f", "F")
    path = str(stockade.home / "run" / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        (stockade.home / "link").symlink_to(path)
        for word in ("read", "write"):
            for name in ("~/run/s", "~/link"):
                refused = stockade.run("true", flags=[f"--{word}", name])
                assert refused.status == 125, (word, name)
                assert "it is a socket" in refused.err
            result = stockade.sh(
                f"cat ~/run/f; /usr/bin/python3 -c '{CONNECT}' {path}",
                flags=[f"--{word}", "~/run/*"])
            assert result.out == "F", result
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_no_grant_opens_a_device(stockade, home):
    for name in ("/dev/null", "/dev/zero"):
        refused = stockade.run("true", flags=["--read", name])
        assert refused.status == 125, refused
    link = stockade.home / "node"
    link.symlink_to("/dev/zero")
    refused = stockade.run("true", flags=["--write", "~/node"])
    assert refused.status == 125 and "device" in refused.err
    home("nod", "F")
    assert stockade.sh("cat ~/nod; cat ~/node",
                       flags=["--read", "~/nod*"]).out == "F"
