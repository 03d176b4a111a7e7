# SPDX-License-Identifier: Apache-2.0
"""`publish PORT`: the agent's server, called from the host's loopback."""
import contextlib
import hashlib
import json
import os
import socket
import threading

import pytest

# Serves at HOST:PORT: what a caller says up to its end comes back as its hash,
# "big" as eight megabytes, "hold" as nothing, until the caller has gone.
SERVER = r"""
import hashlib, os, socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((sys.argv[1], int(sys.argv[2])))
listener.listen(100)
print("ready", flush=True)

def serve(s, peer):
    said = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            said += piece
        if said == b"big":
            s.sendall(bytes(8 << 20))
        elif said == b"peer":
            s.sendall(repr(peer).encode())
        else:
            s.sendall(hashlib.sha256(said).hexdigest().encode())
    except OSError as error:
        print("error", error.errno, flush=True)
    s.close()

while True:
    threading.Thread(target=serve, args=listener.accept()).start()
"""


@pytest.fixture
def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def serving(stockade, port, at="127.0.0.1", flags=None):
    child = stockade.start("/usr/bin/python3", "-c", SERVER, at, port,
                           flags=["--publish", str(port)]
                           if flags is None else flags)
    try:
        assert child.stdout.readline() == b"ready\n", child.stderr.read()
        yield child
    finally:
        child.kill()
        child.communicate()


def ask(port, said, host="127.0.0.1"):
    with socket.create_connection((host, port), timeout=20) as s:
        s.sendall(said)
        s.shutdown(socket.SHUT_WR)
        heard = b""
        while piece := s.recv(1 << 20):
            heard += piece
        return heard


def sha(said):
    return hashlib.sha256(said).hexdigest().encode()


def test_a_published_server_answers_both_loopbacks(stockade, port):
    with serving(stockade, port):
        for host in ("127.0.0.1", "::1"):
            assert ask(port, b"hello", host) == sha(b"hello")
        # All that it learns is that somebody has called.
        assert b"'127.0.0.1'" in ask(port, b"peer")
        records = [r for r in stockade.log() if r["event"] == "publish"]
        assert len(records) == 3 and {r["port"] for r in records} == {port}
        assert records[0]["address"].startswith("127.0.0.1:")
        assert records[1]["address"].startswith("[::1]:")
        text = stockade.call("log").ok().out
        assert f"to port {port}" in text
    assert stockade.call("log", "verify").status == 0
    with pytest.raises(ConnectionRefusedError):
        ask(port, b"gone")


def test_what_is_not_published_is_not_there(stockade, port):
    with serving(stockade, port, flags=[]):
        with pytest.raises(ConnectionRefusedError):
            ask(port, b"hello")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        with serving(stockade, port,
                     flags=["--publish", str(port)]):
            assert ask(port, b"hello") == sha(b"hello")
            with pytest.raises(OSError):
                ask(other.getsockname()[1], b"hello")


@pytest.mark.parametrize("at", ["::1", "0.0.0.0", "::"])
def test_it_may_listen_anywhere_inside(stockade, port, at):
    with serving(stockade, port, at):
        assert ask(port, b"hello") == sha(b"hello")
        assert ask(port, b"hello", "::1") == sha(b"hello")


def test_every_byte_arrives_both_ways(stockade, port):
    said = os.urandom(5 << 20)
    with serving(stockade, port) as child:
        assert ask(port, said) == sha(said)
        assert len(ask(port, b"big")) == 8 << 20
        # One that reads nothing for a while holds nobody else up.
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(b"big")
            slow.shutdown(socket.SHUT_WR)
            assert ask(port, b"x") == sha(b"x")
            n = 0
            while piece := slow.recv(1 << 20):
                n += len(piece)
            assert n == 8 << 20
        status = open(f"/proc/{child.pid}/status").read()
        peak = int(status.split("VmHWM:")[1].split()[0])
        assert peak < 16384, "what is passed on is not collected"


def test_many_at_once(stockade, port):
    """More than may be under way: the others wait their turn."""
    heard = []
    with serving(stockade, port):
        held = [socket.create_connection(("127.0.0.1", port))
                for _ in range(100)]

        def one(i):
            said = b"%d" % i
            heard.append(ask(port, said) == sha(said))
        threads = [threading.Thread(target=one, args=(i,)) for i in range(60)]
        for thread in threads:
            thread.start()
        for i, s in enumerate(held):
            said = b"held %d" % i
            s.sendall(said)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(100) == sha(said)
            s.close()
        for thread in threads:
            thread.join(20)
    assert heard == [True] * 60


def test_nobody_listens(stockade, port):
    child = stockade.start("/bin/sh", "-c", "echo ready; sleep 100",
                           flags=["--publish", str(port)])
    try:
        assert child.stdout.readline() == b"ready\n"
        # ... and after that somebody may.
        for _ in range(2):
            # The reset may come before connect() has returned.
            with pytest.raises(ConnectionResetError):
                with socket.create_connection(("127.0.0.1", port), 20) as s:
                    s.recv(1)
    finally:
        child.kill()
        child.communicate()


def test_a_caller_that_goes_is_told(stockade, port):
    with serving(stockade, port) as child:
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"x")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         b"\1\0\0\0\0\0\0\0")
        assert child.stdout.readline().startswith(b"error 104")
        assert ask(port, b"still") == sha(b"still")


def test_a_port_that_is_in_use_is_an_error(stockade, port):
    for host, family in (("127.0.0.1", socket.AF_INET),
                         ("::1", socket.AF_INET6)):
        with socket.socket(family) as taken:
            taken.bind((host, port))
            taken.listen()
            refused = stockade.sh("touch ran", flags=[
                "--publish", str(port), "--write", "."])
        assert refused.status == 125, refused
        assert f"publish {port}" in refused.err and "in use" in refused.err
        assert not (stockade.cwd / "ran").exists()
    stockade.sh("touch ran", flags=["--publish", str(port), "--write", "."]).ok()
    assert (stockade.cwd / "ran").exists()


SELF = r"""
import socket, sys, threading

def serve():
    s, peer = listener.accept()
    s.sendall(s.recv(100).upper())
    s.close()

def call(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
            s.sendall(b"self")
            return s.recv(100).decode()
    except OSError as error:
        return error.errno

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
threading.Thread(target=serve).start()
print(call(int(sys.argv[1])), call(int(sys.argv[2])))
"""


def test_the_sandboxs_own_port_is_not_published(stockade):
    refused = stockade.run("touch", "ran", flags=["--write", "."],
                           policy="publish 61111\n")
    assert refused.status == 125 and "choose another" in refused.err, refused
    assert not (stockade.cwd / "ran").exists()


def test_the_loopback_inside_is_the_agents_own(stockade, port):
    """It can talk to its own server, with nobody between, and to no other."""
    with socket.create_server(("127.0.0.1", 0)) as host:
        for flags in (["--publish", str(port)], []):
            result = stockade.run("/usr/bin/python3", "-c", SELF, port,
                                  host.getsockname()[1], flags=flags).ok()
            assert result.out == "SELF 111\n"
        host.settimeout(0)
        with pytest.raises(BlockingIOError):
            host.accept()
    assert {r["event"] for r in stockade.log()} == {"run", "end"}


def test_it_is_told_in_every_form(stockade):
    flags = ["--publish", "3000 8080"]
    text = stockade.call("policy", "--json", *flags).ok().out
    assert [p["port"] for p in json.loads(text)["publish"]] == [3000, 8080]
    again = stockade.call("policy", "--policy", stockade.policy(text)).ok()
    assert again.out.startswith("publish 3000")
