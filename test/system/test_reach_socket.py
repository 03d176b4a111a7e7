# SPDX-License-Identifier: Apache-2.0
"""`reach NAME via unix:PATH`: requests to a name go to a socket of the host."""
import os
import socket
import struct

import pytest

from conftest import listen_at, needs_cell
from listener import Listener

pytestmark = needs_cell


class Server(Listener):
    """HTTP at a named socket: one answer for each connection."""

    in_turn = True

    def __init__(self, path, says="hello", tls=None):
        self.path, self.says, self.heard = str(path), says, []
        self.peers, self.before_answer = [], None
        super().__init__(listen_at(self.path), tls)

    def handle(self, s):
        self.peers.append(struct.unpack("iII", s.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1])
        super().handle(s)

    def serve(self, s):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = s.recv(4096)
            if not piece:
                return
            head += piece
        self.heard.append(head.decode())
        if self.before_answer:
            self.before_answer()
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                  b"Content-Length: %d\r\n\r\n%s"
                  % (len(self.says), self.says.encode()))
        if self.context:
            s.unwrap()


@pytest.fixture
def serve(stockade):
    """Starts one in a directory that only the caller may enter."""
    folder = stockade.home / "run"
    folder.mkdir(mode=0o700)
    servers = []

    def start(name="db", **more):
        servers.append(Server(folder / name, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def policy(path, allow="GET db.test/open/**"):
    return f"reach db.test via unix:{path}\nallow {allow}\n"


def get(stockade, where, rules, **more):
    return stockade.run("curl", "-sS", "-m", "10", where, policy=rules, **more)


def test_requests_go_there(stockade, serve):
    db = serve()
    result = get(stockade, "http://db.test/open/a", policy(db.path))
    assert result.out == "hello", result
    assert db.heard[0].startswith("GET /open/a HTTP/1.1\r\nhost: db.test\r\n") \
        or "ost: db.test" in db.heard[0]
    # With the rights of the person, whatever the helpers gave up.
    assert db.peers == [os.geteuid()]
    assert f"unix:{db.path}" in stockade.call("log").ok().out


def test_rules_decide_as_ever(stockade, serve):
    db = serve()
    for where, rules in (
            ("http://db.test/closed", policy(db.path)),
            ("http://db.test/open/a", policy(db.path, "POST db.test/**")),
            ("http://other.test/open/a", policy(db.path)),
            ("http://db.test:8080/open/a", policy(db.path)),
            ("http://db.test/open/a", f"reach db.test via unix:{db.path}\n")):
        assert get(stockade, where, rules).out != "hello"
    assert db.peers == []


def test_the_socket_itself_is_not_inside(stockade, serve):
    db = serve()
    flags = ["--read", "~/run"]
    for more in ([], flags):
        result = stockade.run(
            "curl", "-sS", "-m", "5", "--unix-socket", db.path,
            "http://db.test/closed", policy=policy(db.path), flags=more)
        assert result.status != 0
    assert db.peers == []


def test_tls_is_verified_and_credentials_are_given(stockade, serve, authority):
    db = serve(tls=authority.leaf("db.test"))
    rules = (policy(db.path) + f"roots {authority.pem}\n"
             "secret TOKEN from env for db.test as bearer\n")
    result = stockade.sh(
        'curl -sS -m 10 -H "Authorization: Bearer $TOKEN" '
        'https://db.test/open/a', policy=rules,
        env={"TOKEN": "a-very-secret-value"})
    assert result.out == "hello", result
    assert "a-very-secret-value" in db.heard[0]
    wrong = serve("wrong", tls=authority.leaf("else.test"))
    result = get(stockade, "https://db.test/open/a",
                 policy(wrong.path) + f"roots {authority.pem}\n")
    assert result.out != "hello" and wrong.heard == []


def test_it_may_begin_later(stockade, serve):
    rules = policy(stockade.home / "run" / "db")
    result = get(stockade, "http://db.test/open/a", rules)
    assert "no such socket" in result.out, result
    serve()
    assert get(stockade, "http://db.test/open/a", rules).out == "hello"


def test_nobody_listens(stockade, serve):
    db = serve()
    db.close()
    db.close = lambda: None
    result = get(stockade, "http://db.test/open/a", policy(db.path))
    assert "connection refused" in result.out, result


def test_a_link_that_comes_later_is_not_followed(stockade, serve):
    db, other = serve(), serve("other", says="other")

    def swap():
        os.rename(db.path, db.path + "-")
        os.symlink(other.path, db.path)

    db.before_answer = swap
    result = stockade.sh("curl -sS -m 10 http://db.test/open/a; echo; "
                         "curl -sS -m 10 http://db.test/open/b",
                         policy=policy(db.path))
    assert result.out.startswith("hello\n"), result
    assert "a link is in the way" in result.out
    assert len(db.heard) == 1 and other.peers == []


def refused(stockade, path, words, flags=()):
    result = stockade.sh("touch ran", policy=policy(path), flags=flags)
    assert result.status == 125 and words in result.err, result
    assert not (stockade.cwd / "ran").exists()


@pytest.mark.parametrize("name", [
    "docker.sock", "podman/podman.sock", "containerd/containerd.sock",
    "libvirt-sock", "snapd.socket", "dbus-Xy", "tmux-1000/default"])
def test_what_equals_the_host_is_refused(stockade, name):
    path = stockade.home / name
    path.parent.mkdir(exist_ok=True)
    refused(stockade, path, "equals access to the host")
    server = Server(path)
    try:
        refused(stockade, path, "equals access to the host")
    finally:
        server.close()
    assert server.peers == []


def test_the_path_is_a_place_of_the_hosts_own(stockade, serve):
    db = serve()
    link = stockade.home / "link"
    link.symlink_to(db.path)
    refused(stockade, link, "a link in this path")
    folder = stockade.home / "folder"
    folder.symlink_to(stockade.home / "run")
    refused(stockade, folder / "db", "a link in this path")
    (stockade.home / "file").write_text("x")
    refused(stockade, stockade.home / "file", "no socket")
    refused(stockade, db.path, "can write there", ["--write", "~/run"])
    refused(stockade, db.path, "can write there",
            ["--write", "~", "--read", "~/run"])
    inside = Server(stockade.cwd / "db")
    try:
        refused(stockade, inside.path, "can write there",
                ["--workspace", "overlay"])
        assert get(stockade, "http://db.test/open/a",
                   policy(inside.path)).out == "hello"
    finally:
        inside.close()
