# SPDX-License-Identifier: Apache-2.0
"""`reach unix:PATH`: one socket of the host, and no other."""
import json
import os

import pytest

from conftest import listen_at
from listener import Listener

TALK = """
import socket, sys
for name in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(5)
        s.connect(name)
        s.sendall(b"hello")
        print(s.recv(100).decode())
    except OSError as error:
        print("refused")
"""


class Server(Listener):
    """Answers in upper case, and keeps what it was told."""

    in_turn = True

    def __init__(self, path):
        self.path, self.heard = str(path), []
        super().__init__(listen_at(self.path))

    def serve(self, s):
        self.heard.append(s.recv(100))
        s.sendall(self.heard[-1].upper())


@pytest.fixture
def servers(stockade):
    """db and other, in a directory of the home."""
    run = stockade.home / "run"
    run.mkdir()
    pair = Server(run / "db"), Server(run / "other")
    yield pair
    for server in pair:
        server.close()


def talk(stockade, *names, flags=()):
    return stockade.run("/usr/bin/python3", "-c", TALK, *names,
                        flags=flags).ok().out.splitlines()


def test_what_is_named_can_be_reached(stockade, servers):
    db, other = servers
    names = [db.path, other.path]
    for flags in ([], ["--read", "~/run"], ["--write", "~/run"],
                  ["--read", "~/run", "--show", "~/run/db"]):
        assert talk(stockade, *names, flags=flags) == ["refused", "refused"]
    reach = ["--reach", f"unix:{db.path}"]
    for flags in ([], ["--read", "~/run"], ["--write", "~/run"]):
        assert talk(stockade, *names,
                    flags=[*flags, *reach]) == ["HELLO", "refused"]
    assert db.heard == [b"hello"] * 3 and other.heard == []


def test_the_socket_stays_the_hosts(stockade, servers):
    db, _ = servers
    before = os.stat(db.path)
    stockade.sh(f"rm -f {db.path}; mv {db.path} x; chmod 777 {db.path};"
                f"ln -sf /dev/null {db.path}",
                flags=["--reach", f"unix:{db.path}"])
    after = os.stat(db.path)
    assert (before.st_ino, before.st_mode, before.st_uid) == \
        (after.st_ino, after.st_mode, after.st_uid)
    assert talk(stockade, db.path,
                flags=["--reach", f"unix:{db.path}"]) == ["HELLO"]


def test_a_link_leads_to_it(stockade, servers):
    db, _ = servers
    link = stockade.home / "link"
    link.symlink_to(db.path)
    assert talk(stockade, link, db.path,
                flags=["--reach", "unix:~/link"]) == ["HELLO", "HELLO"]


def test_hide_wins(stockade, servers):
    db, _ = servers
    assert talk(stockade, db.path, flags=[
        "--reach", f"unix:{db.path}", "--hide", db.path]) == ["refused"]


@pytest.mark.parametrize("name", [
    "docker.sock", "podman/podman.sock", "containerd/containerd.sock",
    "crio.sock", "libvirt-sock", "libvirt/virtqemud-sock", "dbus-Xy",
    ".X11-unix/X0", "wayland-0", "tmux-1000/default", "nvim.1.0",
    "vscode-ipc-1.sock", "emacs1000/server", "snapd.socket",
])
def test_what_equals_the_host_is_refused(stockade, name):
    path = stockade.home / name
    path.parent.mkdir(exist_ok=True)
    innocent = stockade.home / "innocent"
    innocent.symlink_to(path)
    server = Server(path)
    try:
        for given in (path, innocent):
            refused = stockade.sh("touch ran", flags=[
                "--write", ".", "--reach", f"unix:{given}"])
            assert refused.status == 125, refused
            assert "equals access to the host" in refused.err
    finally:
        server.close()
    assert not server.heard and not (stockade.cwd / "ran").exists()


def test_what_is_no_socket_is_an_error(stockade):
    (stockade.home / "file").write_text("x")
    for name, words in (("~/file", "is no socket"), ("~", "is no socket"),
                        ("~/gone", "no such socket"),
                        ("/dev/null", "no socket")):
        refused = stockade.run("true", flags=["--reach", f"unix:{name}"])
        assert refused.status == 125 and words in refused.err, refused


def test_it_is_told_in_every_form(stockade):
    flags = ["--reach", "unix:/run/a/s"]
    text = stockade.call("policy", "--json", *flags).ok().out
    assert json.loads(text)["grants"] == [
        {"word": "socket", "path": "/run/a/s", "origin": "--reach"}]
    again = stockade.call("policy", "--policy", stockade.policy(text)).ok()
    assert again.out.startswith("reach unix:/run/a/s")
