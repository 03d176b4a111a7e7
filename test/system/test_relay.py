# SPDX-License-Identifier: Apache-2.0
"""`allow tcp` and `allow tls`: bytes that nobody reads, to hosts and ports that
somebody chose.  What passed is judged by what the origin received."""
import hashlib
import json
import os
import pwd
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading

import pytest

from conftest import IS_ROOT, eventually, git, needs_cell, ours
from listener import Listener, everywhere

pytestmark = needs_cell

MEBIBYTE = 1 << 20


class Peer(Listener):
    """A server at every address of the cell: fn(socket) serves a connection,
    and what that was is in `seen`: the bytes that were received."""

    def __init__(self, fn):
        self.fn, self.seen = fn, []
        super().__init__(everywhere())

    def serve(self, s):
        heard = bytearray()
        self.seen.append(heard)
        try:
            self.fn(s, heard)
        except OSError as e:
            heard += f"<{type(e).__name__}>".encode()


def to_the_end(s, heard):
    while piece := s.recv(65536):
        heard += piece


def greet(s, heard):
    """As SMTP: the server speaks first, then answers lines."""
    s.sendall(b"220 here.test ESMTP\r\n")
    with s.makefile("rb") as lines:
        for line in lines:
            heard += line
            s.sendall(b"250 " + line)
            if line == b"QUIT\r\n":
                break


def answer_at_the_end(s, heard):
    """Only when the client has ended its half."""
    to_the_end(s, heard)
    s.sendall(b"got %d" % len(heard))


@pytest.fixture
def peer():
    peers = []

    def start(fn):
        peers.append(Peer(fn))
        return peers[-1]

    yield start
    for p in peers:
        p.close()


DIAL = """
import hashlib, socket, ssl, sys, time
def dial(host, port, seconds=8):
    return socket.create_connection((host, port), seconds)
def talk(host, port, data=b"", half=True):
    try:
        with dial(host, port) as s:
            if data: s.sendall(data)
            if half: s.shutdown(socket.SHUT_WR)
            got = b""
            while piece := s.recv(65536): got += piece
            return got
    except OSError as e:
        return type(e).__name__.encode()
def say(*what): print(*what, flush=True)
"""


def inside(stockade, script, policy, **more):
    result = stockade.run("python3", "-c", DIAL + script, policy=policy,
                          **more).ok()
    return result.out.splitlines()


def relays(stockade, event="relay"):
    return [r for r in stockade.log() if r["event"] == event]


def test_any_protocol_passes_and_nothing_else_does(stockade, peer):
    """A greeting, an answer that needs the half-close; other ports, other
    hosts, a private address: the origin saw no connection."""
    smtp, last, closed = peer(greet), peer(answer_at_the_end), peer(greet)
    lines = inside(stockade, f"""
with dial("public.test", {smtp.port}) as s:
    f = s.makefile("rwb")
    say(f.readline()); f.write(b"HELO me\\r\\n"); f.flush(); say(f.readline())
    f.write(b"QUIT\\r\\n"); f.flush(); say(f.readline(), f.readline())
say(talk("public.test", {last.port}, b"x" * 100000))
say(talk("public.test", {closed.port}, b"HELO me"))
say(talk("other.test", {smtp.port}, b"HELO me"))
say(talk("private.test", {smtp.port}, b"HELO me"))
say(talk("loopback.test", {smtp.port}, b"HELO me"))
say(talk("93.184.216.34", {smtp.port}, b"HELO me"))
say(talk("public.test", 22, b"SSH-"))
""", f"""
allow tcp public.test:{smtp.port}
allow tcp public.test:{last.port}
allow tcp private.test:{smtp.port}
allow tcp loopback.test:{smtp.port}
""")
    assert lines[:4] == [
        r"b'220 here.test ESMTP\r\n'", r"b'250 HELO me\r\n'",
        r"b'250 QUIT\r\n' b''", "b'got 100000'"]
    assert b"HELO me\r\nQUIT\r\n" == bytes(smtp.seen[0])
    assert len(smtp.seen) == 1 and len(last.seen) == 1 and not closed.seen
    assert not any("220" in line for line in lines[4:]), lines
    # A client may try again at the name's other address.
    assert list(dict.fromkeys(
        (r["protocol"], r["host"], r["port"], r["verdict"], r["rule"])
        for r in relays(stockade))) == [
        ("tcp", "public.test", smtp.port, "allow",
         f"allow tcp public.test:{smtp.port}"),
        ("tcp", "public.test", last.port, "allow",
         f"allow tcp public.test:{last.port}"),
        ("tcp", "private.test", smtp.port, "allow",
         f"allow tcp private.test:{smtp.port}"),
        ("tcp", "loopback.test", smtp.port, "allow",
         f"allow tcp loopback.test:{smtp.port}"),
        ("tcp", "public.test", 22, "deny", None)]
    refused = [r["reason"] for r in stockade.log() if r["event"] == "refused"]
    assert any("allow tcp" in r for r in refused), refused
    # Names that mean no public address are recorded as such.
    connects = relays(stockade, "connect")
    assert [r.get("verdict") for r in connects[:2]] == [None, None]
    assert {r["verdict"] for r in connects[2:]} == {"deny"}
    done = [r for r in relays(stockade, "response") if "error" not in r]
    assert sorted((r["sent_bytes"], r["received_bytes"]) for r in done) == [
        (15, 44), (100000, 10)]
    assert "tcp public.test:22" in stockade.call("log", "--denied").out


SWAP = """
import threading
n = 0
def sink(s, ended):
    try:
        while piece := s.recv(1 << 18): ended.append(len(piece))
    except OSError: pass
with dial("public.test", PORT, 30) as s:
    ended = []
    t = threading.Thread(target=sink, args=(s, ended)); t.start()
    block = bytes(range(256)) * 256
    for _ in range(SIZE // len(block)): s.sendall(block)
    s.shutdown(socket.SHUT_WR); t.join()
    say(sum(ended))
"""


def memory(pid):
    """The most that a process ever held, in KiB."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status
                    if line.startswith("VmHWM"))


def test_fifty_megabytes_both_ways_in_constant_memory(stockade, peer):
    size = 50 * MEBIBYTE
    digest, held = hashlib.sha256(), {}

    def both(s, heard):
        block = os.urandom(65536)
        writer = threading.Thread(target=lambda: [
            s.sendall(block) for _ in range(size // len(block))])
        writer.start()
        got = 0
        while piece := s.recv(1 << 18):
            digest.update(piece)
            got += len(piece)
        writer.join()
        held.update((name, memory(pid)) for pid, (name, _) in ours().items())
        heard += b"%d" % got

    origin = peer(both)
    lines = inside(stockade, SWAP.replace("PORT", str(origin.port))
                   .replace("SIZE", str(size)),
                   f"allow tcp public.test:{origin.port}\n")
    assert lines == [str(size)] and bytes(origin.seen[0]) == b"%d" % size
    assert digest.digest() == hashlib.sha256(
        bytes(range(256)) * (size // 256)).digest()
    assert held["stockade-dial"] < 20000 and held["stockade-edge"] < 20000, held


def test_who_does_not_read_stops_the_other_side(stockade, peer):
    """Nothing is read ahead of a peer that waits; the rest still arrives."""
    taken, go = [], threading.Event()

    def slow(s, heard):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        go.wait(20)
        to_the_end(s, heard)

    origin = peer(slow)
    child = stockade.start("python3", "-c", DIAL + f"""
with dial("public.test", {origin.port}) as s:
    s.settimeout(1); n = 0
    try:
        while n < 64 << 20: n += s.send(b"x" * 65536)
    except TimeoutError: pass
    say(n); sys.stdin.readline()
    s.shutdown(socket.SHUT_WR); s.settimeout(10); s.recv(1)
""", policy=f"allow tcp public.test:{origin.port}\n", stdin=subprocess.PIPE)
    taken = int(child.stdout.readline())
    assert taken < 32 << 20
    go.set()
    child.communicate(b"\n", timeout=20)
    assert len(origin.seen[0]) == taken


def test_the_last_bytes_of_who_has_closed_arrive(stockade, peer):
    """The origin ends first, and reads when the client is gone already."""
    gone, whole = threading.Event(), threading.Event()

    def serve(s, heard):
        if len(ends.seen) > 1:
            gone.set()
            whole.wait(10)
            s.sendall(b"k")
            return
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.sendall(b"x")
        s.shutdown(socket.SHUT_WR)
        gone.wait(5)
        to_the_end(s, heard)
        whole.set()

    ends = peer(serve)
    lines = inside(stockade, f"""
with dial("public.test", {ends.port}) as s:
    say(s.recv(10), s.recv(10)); s.sendall(b"y" * (3 << 20))
with dial("public.test", {ends.port}) as s: say(s.recv(1))
""", f"allow tcp public.test:{ends.port}\n")
    assert lines == ["b'x' b''", "b'k'"]
    assert len(ends.seen[0]) == 3 * MEBIBYTE
    assert not [r for r in relays(stockade, "response") if "error" in r]


@pytest.fixture
def pinned(peer, authority):
    """A TLS server for public.test, and what a client that trusts only that
    authority does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.leaf("public.test"))

    def serve(s, heard):
        with context.wrap_socket(s, server_side=True) as t:
            heard += t.recv(64)
            t.sendall(b"heard")

    return peer(serve)


HELLO = """
import struct
def vector(n, data): return len(data).to_bytes(n, "big") + data
def extension(kind, data): return struct.pack(">H", kind) + vector(2, data)
def sni(name): return extension(0, vector(2, b"\\0" + vector(2, name)))
def hello(*extensions, cut=None):
    body = (b"\\3\\3" + bytes(32) + vector(1, b"") + vector(2, b"\\x13\\1") +
            vector(1, b"\\0") + vector(2, b"".join(extensions)))
    whole = b"\\1" + vector(3, body)
    cut = cut or len(whole)
    return b"".join(b"\\x16\\3\\1" + vector(2, whole[i:i + cut])
                    for i in range(0, len(whole), cut))
"""


def test_tls_is_passed_to_the_name_alone(stockade, pinned, authority):
    """The client sees the origin's own certificate; a server name that is
    another, absent, or beside an encrypted one goes nowhere."""
    shutil.copy(authority.pem, stockade.cwd / "pin.pem")
    port = pinned.port
    lines = inside(stockade, HELLO + f"""
context = ssl.create_default_context(cafile="pin.pem")
def tls(host, name=None):
    try:
        with dial(host, {port}) as s:
            with context.wrap_socket(s, server_hostname=name or host) as t:
                t.sendall(b"secret talk"); t.recv(5)
                say(t.getpeercert()["issuer"][0][0][1], t.version())
    except OSError as e: say(type(e).__name__, e.args[1])
tls("public.test")
with dial("proxy.stockade", 3128) as s:
    s.sendall(b"CONNECT public.test:{port} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
              .replace(b"x", b"public.test:{port}"))
    s.recv(4096)
    with context.wrap_socket(s, server_hostname="public.test") as t:
        say(t.getpeercert()["issuer"][0][0][1])
context.check_hostname = False
tls("public.test", "other.test")
context.verify_mode = ssl.CERT_NONE
tls("public.test", "93.184.216.34")
tls("other.test", "other.test")
good = sni(b"public.test")
for bad in (hello(), hello(good, extension(0xfe0d, b"\\0" * 8)),
            hello(good, good), hello(sni(b"public.test.")),
            hello(sni(b"public.test\\0")),
            b"\\x16\\3\\1" + vector(2, hello(good)[5:] + b"\\2\\0\\0\\0"),
            b"\\x16\\3\\1\\0\\4\\2\\0\\0\\0"):
    say(talk("public.test", {port}, bad))
for fine in (hello(good), hello(sni(b"PUBLIC.test"), cut=3)):
    with dial("public.test", {port}) as s:
        for i in range(len(fine)): s.sendall(fine[i:i + 1])
        say(s.recv(1) in (b"\\x15", b"\\x16"))
say(talk("public.test", {port}, b"GET / HTTP/1.1\\r\\nHost: public.test:{port}\\r\\n\\r\\n")[:12])
""", f"allow tls public.test:{port}\n")
    assert lines[:2] == ["test authority TLSv1.3", "test authority"]
    assert all("ALERT" in line.upper() for line in lines[2:5]), lines
    assert lines[5:10] == [r"b'\x15\x03\x03\x00\x02\x02" + "1'"] * 5
    assert pinned.seen[0] == b"secret talk"
    assert lines[-3:-1] == ["True", "True"]
    assert len(pinned.seen) == 4
    # Without TLS it is a request, which no rule allows.
    assert lines[-1] == "b'HTTP/1.1 403'"
    reasons = [(r["verdict"], r.get("reason")) for r in relays(stockade)]
    assert [v for v, _ in reasons].count("allow") == 4, reasons
    text = " ".join(r for _, r in reasons if r)
    for words in ("another than", "no server name", "ECH", "malformed",
                  "behind the ClientHello"):
        assert words in text, (words, text)


@pytest.mark.parametrize("rules, is_made", [
    ("allow tls public.test\nallow tcp public.test:1\n", False),
    ("allow GET public.test/\n", True),
])
def test_no_authority_is_made_for_relays(stockade, rules, is_made):
    child = stockade.start("sh", "-c", "env | grep -c SSL_CERT; read end",
                           policy=rules, stdin=subprocess.PIPE)
    assert (int(child.stdout.readline()) > 0) == is_made
    names = [name for name, _ in ours().values()]
    assert ("stockade-vault" in names) == is_made, names
    child.communicate(b"\n", timeout=20)


def test_connect_through_the_proxy(stockade, peer):
    """To an allowed port only, and a refusal is a page."""
    smtp = peer(greet)
    lines = inside(stockade, f"""
def connect(where):
    with dial("proxy.stockade", 3128) as s:
        f = s.makefile("rwb")
        f.write(b"CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (where, where)); f.flush()
        say(f.readline().decode().strip())
        if where == b"public.test:{smtp.port}":
            f.readline(); say(f.readline())
        elif b":22" in where: say(*f.read().decode().split())
connect(b"public.test:{smtp.port}")
connect(b"public.test:22")
connect(b"other.test:{smtp.port + 1 if smtp.port < 65535 else 1}")
connect(b"private.test:{smtp.port}")
for where in b"93.184.216.34:22", b"[::1]:22", b"-x.test:22", b"a.123:22":
    connect(where)
for host in "-y.test", "b.0x7", "_x.y.test", "x" * 63 + ".test":
    try: dial(host, 22, 2).recv(1)
    except OSError: pass
connect(b"public.test:{smtp.port}")
""", f"allow tcp public.test:{smtp.port}\nallow tcp private.test:{smtp.port}\n")
    assert lines[:2] == ["HTTP/1.1 200 Connection established",
                         r"b'220 here.test ESMTP\r\n'"], lines
    assert lines[2].startswith("HTTP/1.1 403"), lines
    assert '"allow_with": "allow tcp public.test:22"' in lines[3], lines
    assert [line[9:12] for line in lines[4:] if line.startswith("HTTP")] == [
        "200", "502", "403", "403", "403", "403", "200"], lines
    assert len(smtp.seen) == 2


def test_a_killed_dial_ends_it(stockade, peer):
    """The origin sees the end, the agent a reset; nothing goes on directly."""
    ready, ended = threading.Event(), []

    def hold(s, heard):
        s.sendall(b"hello")
        ready.set()
        try:
            ended.append(s.recv(1))
        except OSError as e:
            ended.append(e)

    origin = peer(hold)
    child = stockade.start("python3", "-c", DIAL + f"""
with dial("public.test", {origin.port}) as s:
    say(s.recv(5))
    try: say("end", s.recv(1))
    except OSError as e: say(type(e).__name__)
""", policy=f"allow tcp public.test:{origin.port}\n")
    assert ready.wait(10)
    child.stdout.readline()
    dials = [pid for pid, (name, _) in ours().items() if name ==
             "stockade-dial"]
    os.kill(dials[-1], signal.SIGKILL)
    child.communicate(timeout=20)
    assert eventually(lambda: ended)
    assert any(r["event"] == "fault" for r in stockade.log())


def postgresql(s, heard):
    """As much of version 3 of its protocol as a first SELECT needs."""
    def message(kind, body):
        return kind + struct.pack(">I", 4 + len(body)) + body

    def exactly(n):
        piece = s.recv(n, socket.MSG_WAITALL)
        heard.extend(piece)
        return piece

    exactly(struct.unpack(">I", exactly(4))[0] - 4)
    s.sendall(message(b"R", bytes(4)) + message(b"Z", b"I"))
    while (head := exactly(5))[:1] == b"Q":
        exactly(struct.unpack(">I", head[1:])[0] - 4)
        column = b"n\0" + struct.pack(">IHIhIh", 0, 0, 25, -1, 0, 0)
        s.sendall(message(b"T", struct.pack(">H", 1) + column)
                  + message(b"D", struct.pack(">HI", 1, 5) + b"hello")
                  + message(b"C", b"SELECT 1\0") + message(b"Z", b"I"))


def redis(s, heard):
    while piece := s.recv(4096):
        heard += piece
        s.sendall(b"+PONG\r\n")


CLIENTS = {
    "psql": (postgresql, "psql -wAt 'host=public.test port=PORT user=me "
             "dbname=d sslmode=disable' -c 'SELECT n'", "hello", b"SELECT n"),
    "redis-cli": (redis, "redis-cli -h public.test -p PORT PING", "PONG",
                  b"PING"),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients(stockade, peer, client):
    if not shutil.which(client):
        pytest.skip("needs a client of that protocol")
    serve, command, says, asks = CLIENTS[client]
    origin, closed = peer(serve), peer(serve)
    rules = f"allow tcp public.test:{origin.port}\n"
    first, second = (command.replace("PORT", str(server.port))
                     for server in (origin, closed))
    result = stockade.sh(f"{first} && echo and then; {second}", policy=rules)
    assert result.out.splitlines() == [says, "and then"], result
    assert asks in bytes(origin.seen[0])
    assert result.status != 0 and not closed.seen
    # Their protocols have no way to say why: the record has.
    assert any(f"`allow tcp public.test:{closed.port}`" in r.get("reason", "")
               for r in stockade.log()), stockade.log()


@pytest.fixture
def sshd(peer, git_root, tmp_path):
    """One process for each connection, and what a client needs: a key, and the
    host's in a file of known ones."""
    program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        pytest.skip("needs sshd")
    # Started by root it wants a directory that only its service makes.
    start = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && "
             "mkdir /run/sshd && exec \"$@\"", "sh"] if IS_ROOT else []
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f",
                        tmp_path / name], check=True)
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {tmp_path}/host\nStrictModes no\n"
                      f"AuthorizedKeysFile {tmp_path}/id.pub\nUsePAM no\n")

    def serve(s, heard):
        subprocess.run([*start, program, "-i", "-f", config], stdin=s, stdout=s,
                       stderr=subprocess.DEVNULL, check=False)

    server = peer(serve)
    server.host = (tmp_path / "host.pub").read_text()
    return server


def test_git_over_ssh(stockade, sshd, git_root, tmp_path):
    where = f"[public.test]:{sshd.port}"
    (stockade.cwd / "known").write_text(f"{where} {sshd.host}")
    shutil.copy(tmp_path / "id", stockade.cwd / "id")
    user = pwd.getpwuid(os.geteuid()).pw_name
    script = ("export GIT_SSH_COMMAND=\"ssh -F none -i $PWD/id -o BatchMode=yes "
              "-o UserKnownHostsFile=$PWD/known\"; git VERB "
              f"ssh://{user}@public.test:PORT{git_root}/project.git")
    made = "git -c user.name=a -c user.email=a@a commit -q --allow-empty -m more"
    result = stockade.sh(script.replace("PORT", str(sshd.port))
                         .replace("VERB", "clone -q") + " p && cat p/README;"
                         f"(cd p; {made}; git push -q origin HEAD:by-ssh);"
                         + script.replace("PORT", "22")
                         .replace("VERB", "ls-remote"),
                         flags=["--write", "."],
                         policy=f"allow tcp public.test:{sshd.port}\n")
    assert result.out == "hello\n", result
    assert result.status != 0 and "Connection " in result.err, result
    assert git(f"{git_root}/project.git", "log", "--format=%s",
               "by-ssh").split() == ["more", "first"]
    assert {(r["verdict"], r["port"]) for r in relays(stockade)} == {
        ("allow", sshd.port), ("deny", 22)}


def test_check_answers_for_relays(stockade):
    rules = ("allow tcp git.example.com:22\nallow tls pin.example.com\n"
             "deny * no.example.com/**\nallow tcp no.example.com:22\n"
             "ask tcp db.example.com:5432\nallow GET api.example.com/**\n")
    result = stockade.call(
        "check", "--json", "--policy", stockade.policy(rules),
        "tcp git.example.com:22", "tcp git.example.com:23",
        "tls pin.example.com", "tls pin.example.com:443",
        "tcp pin.example.com:443", "tcp no.example.com:22",
        "tcp db.example.com:5432", "tls api.example.com", "tcp git.example.com",
        "tcp 192.0.2.1:22")
    answers = json.loads(result.out)
    assert [a["allowed"] for a in answers] == [
        True, False, True, True, False, False, False, False, False, False]
    assert answers[1]["allow_with"] == "allow tcp git.example.com:23"
    assert "deny * no.example.com/**" in answers[5]["reason"]
    assert "approval" in answers[6]["reason"]
    assert "one by one" in answers[7]["reason"]
    assert "allow_with" not in answers[7] and "allow_with" not in answers[9]
