# SPDX-License-Identifier: Apache-2.0
"""Name servers that lie, change their mind or say nothing, and what they hear.

A recorder listens at every address of the cell, so that one which must not be
dialled would have answered; the name server is the only one that there is.
"""
import json
import os
import socket
import time

import pytest

import wire
from conftest import needs_cell
from listener import Listener, everywhere
from name_server import AAAA, A, SERVFAIL, SILENCE, NameServer

pytestmark = [needs_cell, pytest.mark.whoever]

PUBLIC, ALSO = "93.184.216.34", "93.184.216.35"


class Recorder(Listener):
    """HTTP at every address: where connections came in, and for whom."""

    in_turn = True

    def __init__(self):
        self.at, self.hosts = [], []
        super().__init__(everywhere())

    def serve(self, s):
        self.at.append(s.getsockname()[0].removeprefix("::ffff:"))
        head = s.recv(65536).decode("latin-1")
        self.hosts += [line.split(": ")[1] for line in
                       head.lower().split("\r\n")
                       if line.startswith("host: ")]
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                  b"Content-Length: 8\r\n\r\nrecorder")


@pytest.fixture
def recorder():
    r = Recorder()
    yield r
    r.close()


MIXED = {
    "second": ["127.0.0.1", PUBLIC],
    "first": [PUBLIC, "10.0.0.7", "169.254.169.254"],
    "six": ["fd00::7", PUBLIC],
    "loopback6": ["::1", PUBLIC],
    "mapped": ["::ffff:10.0.0.7", PUBLIC],
    "alias": ["other.example.org", PUBLIC],
    "both": ["2606:4700::1111", PUBLIC],	# of which one is out of reach
}
NONE = {
    "private": ["10.0.0.7"], "private6": ["fd00::7"], "v4in6": ["64:ff9b::a00:7"],
    "far": ["inside.example.org", "10.0.0.7"],
    "chain": ["a.example.org", "localhost", "127.0.0.1", "::1"],
    "metadata": ["169.254.169.254"], "unspecified": ["0.0.0.0", "::"],
    "nothing": [], "failing": SERVFAIL,
}


@pytest.fixture(scope="module")
def the_server():
    server = NameServer(**{name + ".example.net": value for name, value in {
        "flip": lambda times: ["127.0.0.1" if times % 2 else PUBLIC],
        "good": [PUBLIC], "silent": SILENCE,
        "three": ["127.0.0.1", PUBLIC, ALSO],
        **{f"n{i}": SILENCE for i in range(8)}, **MIXED, **NONE}.items()})
    yield server
    server.close()


@pytest.fixture
def server(the_server, waiting):
    the_server.asked.clear()
    return the_server


class Waiting:
    """resolve, with lookups under way that nobody will answer."""

    def __init__(self):
        self.helper, self.warden, self.dial = wire.start_resolve()
        self.listener = socket.create_server((PUBLIC, 0))
        self.began = time.monotonic()
        for i, name in enumerate(["silent", *(f"n{i}" for i in range(8))]):
            self.connect(name, i)
        # Others are answered meanwhile.
        for i in range(5):
            self.connect("good", 100 + i)
            told = self.warden.expect("CONNECTED")
            assert (told.conn, told.error) == (100 + i, b"")
            os.close(self.dial.expect("SOCKET").fds[0])
        self.took = time.monotonic() - self.began

    def connect(self, name, number):
        self.warden.send("CONNECT", conn=number, id=1,
                         host=name + ".example.net",
                         port=self.listener.getsockname()[1])


@pytest.fixture(scope="module")
def waiting(the_server):
    one = Waiting()
    yield one
    one.warden.close()
    one.helper.wait(5)
    one.listener.close()


def fetch(stockade, recorder, *names, policy=None, script=""):
    """One connection for each name; what came back for each."""
    port = recorder.port
    result = stockade.sh(script + "\n" + "\n".join(
        f"curl -sS -m 20 -w '\\n' http://{name}.example.net:{port}/ 2>&1"
        for name in names),
        policy=policy or f"allow GET *.example.net:{port}/**\n")
    return [line for line in result.out.splitlines() if line]


def test_what_was_judged_is_what_is_dialled(stockade, recorder, server):
    """An answer that changes with each question: each connection asks once."""
    lines = fetch(stockade, recorder, *["flip"] * 4)
    assert recorder.at == [PUBLIC, PUBLIC], lines
    assert server.asked.count(("flip.example.net", A)) == 4
    assert server.asked.count(("flip.example.net", AAAA)) == 4
    assert [line == "recorder" for line in lines
            if "recorder" in line or "forbidden" in line] == [
        True, False, True, False], lines


def test_every_answer_is_judged(stockade, recorder, server):
    """A public address beside others, and aliases of any length to none."""
    lines = fetch(stockade, recorder, *MIXED, *NONE)
    assert recorder.at == [PUBLIC] * len(MIXED), lines
    assert lines.count("recorder") == len(MIXED)
    connects = [r for r in stockade.log() if r["event"] == "connect"]
    assert len(connects) == len(MIXED) + len(NONE)
    assert all(r["verdict"] == "deny" for r in connects[len(MIXED):])


def test_what_the_agent_believes_does_not_count(stockade, recorder, server):
    """Its own idea of where a name is: by a client's option, by the proxy."""
    port = recorder.port
    lines = fetch(stockade, recorder, script=f"""
for at in 127.0.0.1 10.0.0.7 169.254.169.254 {ALSO} '[fd00::7]'; do
    curl -sS -m 20 -w '\\n' --resolve good.example.net:{port}:$at \
        http://good.example.net:{port}/
    curl -sS -m 20 -w '\\n' --connect-to ::$at:{port} \
        http://good.example.net:{port}/
done
echo '127.0.0.1 good.example.net' > /etc/hosts
curl -sS -m 20 -w '\\n' http://good.example.net:{port}/
curl -sS -m 20 -w '\\n' -x http://proxy.stockade:3128 \
    http://good.example.net:{port}/
""")
    assert recorder.at == [PUBLIC, PUBLIC], lines
    assert lines.count("recorder") == 2, lines
    assert server.names_asked() == {"good.example.net"}


ASKS = """
import socket, struct
def ask(kind, where, name):
    q = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(
        bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\\0\\0\\1\\0\\1"
    try:
        with socket.socket(socket.AF_INET, kind) as s:
            s.settimeout(2)
            s.connect((where, 53))
            s.sendall(struct.pack(">H", len(q)) + q
                      if kind == socket.SOCK_STREAM else q)
            s.recv(4096)
    except OSError:
        pass
for where in "127.0.0.1", "93.184.216.34", "8.8.8.8":
    for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
        ask(kind, where, "secret-by-dns.denied.example.org")
for name in "secret-by-lookup.denied.example.org", "x.wide.example.net":
    try: socket.getaddrinfo(name, 80)
    except OSError: pass
"""


@pytest.mark.parametrize("way", ["", "via proxy http://127.0.0.1:1\n"])
def test_no_name_is_asked_for_before_a_rule_allows_it(stockade, recorder, server,
                                                      way):
    """By DNS of any kind, by requests that are denied, asked about, malformed, by
    the proxy: the name server hears of nothing but the one that is allowed."""
    port = recorder.port
    (stockade.cwd / "asks.py").write_text(ASKS)
    fetch(stockade, recorder, "good", policy=f"""
{way}allow GET good.example.net:{port}/**
ask GET asked.example.net:{port}/**
allow POST posted.example.net:{port}/**
allow GET below.example.net:{port}/only
deny * denied.example.net
allow tcp tcp.example.net:22
allow GET *.wide.example.net:{port}/**
""", script=f"""
python3 asks.py
for name in asked posted below denied other; do
    curl -sS -m 5 http://$name.example.net:{port}/secret
    curl -sSk -m 5 https://$name.example.net:{port}/secret
    curl -sSk -m 5 -x http://proxy.stockade:3128 -p \
        https://$name.example.net:{port}/secret
done
curl -sS -m 1 telnet://tcp.example.net:23 < /dev/null
curl -sS -m 5 -H 'Host: other.example.net' http://good.example.net:{port}/
curl -sS -m 5 -H 'Transfer-Encoding: x' http://good.example.net:{port}/
""")
    assert server.names_asked() == {"good.example.net"}
    assert recorder.at == ([] if way else [PUBLIC])


ANSWERS = """
import json, socket, struct, sys
def ask(family, kind, where, name, type):
    q = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(
        bytes([len(l)]) + l.encode() for l in name.split(".")) + struct.pack(
        ">BHH", 0, type, 1)
    with socket.socket(family, kind) as s:
        s.settimeout(10)
        s.connect((where, 53))
        if kind == socket.SOCK_DGRAM:
            s.send(q)
            got = s.recv(4096)
        else:
            s.sendall(struct.pack(">H", len(q)) + q)
            f = s.makefile("rb")
            got = f.read(int.from_bytes(f.read(2), "big"))
    code, _, n = struct.unpack(">xBHH", got[2:8])
    data = got[len(q) + 12:]		# of a record with a compressed name
    if n and type == 12:
        data = b".".join(data[i + 1:i + 1 + data[i]] for i in label_starts(data))
        return data.decode()
    if n:
        return socket.inet_ntop(socket.AF_INET if len(data) == 4 else
                                socket.AF_INET6, data)
    return "nothing" if code & 15 == 0 else code & 15
def label_starts(data, at=0):
    while data[at]:
        yield at
        at += data[at] + 1
V4, V6 = socket.AF_INET, socket.AF_INET6
for family, where in ((V4, "198.18.0.53"), (V4, "8.8.8.8"),
                      (V6, "fd53:746f:636b::35"), (V6, "2001:4860:4860::8888")):
    for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
        four = ask(family, kind, where, "one.example", 1)
        six = ask(family, kind, where, "one.example", 28)
        back = [ask(family, kind, where, name, 12) for name in (
            ".".join(reversed(four.split("."))) + ".in-addr.arpa",
            ".".join(reversed(socket.inet_pton(V6, six).hex())) + ".ip6.arpa",
            "9.9.9.9.in-addr.arpa")]
        # MX, TXT, SRV, NAPTR, SVCB, HTTPS, ANY, CAA
        none = [ask(family, kind, where, "one.example", type) for type in (
            15, 16, 33, 35, 64, 65, 255, 257)]
        print(json.dumps([four, six, back, none]))
"""


def test_the_sandbox_answers_by_itself(stockade, recorder, server):
    """Over UDP and TCP, at any name server of either family; what would name another
    port, protocol or key of an origin is not there."""
    (stockade.cwd / "answers.py").write_text(ANSWERS)
    lines = fetch(stockade, recorder, "good", script="python3 answers.py", policy=(
        f"read .\nallow GET good.example.net:{recorder.port}/**\n"))
    assert lines.pop() == "recorder" and len(lines) == 8, lines
    four, six, back, none = json.loads(lines[0])
    assert four.startswith("198.18.") and six.startswith("fd53:746f:636b::")
    assert back == ["one.example", "one.example", 3] and none == ["nothing"] * 8
    assert set(lines) == {lines[0]}
    assert server.names_asked() == {"good.example.net"}


class Full:
    """A server that takes no more: what connects there waits."""

    def __init__(self, where, port):
        self.held = [socket.create_server((where, port), backlog=0)]
        while True:
            s = socket.socket()
            self.held.append(s)
            s.settimeout(0.2)
            try:
                s.connect((where, port))
            except TimeoutError:
                return

    def close(self):
        for s in self.held:
            s.close()


@pytest.mark.parametrize("first, second", [(PUBLIC, ALSO), (ALSO, PUBLIC)])
def test_an_address_that_says_nothing_is_not_waited_for(server, first, second):
    """The next is tried, if it was judged: the third would have answered."""
    with (socket.create_server((second, 0)) as listener,
          socket.create_server(("127.0.0.1", listener.getsockname()[1])) as third):
        port = listener.getsockname()[1]
        full = Full(first, port)
        helper, warden, dial = wire.start_resolve()
        began = time.monotonic()
        warden.send("CONNECT", conn=1, id=1, host="three.example.net", port=port)
        told = warden.expect("CONNECTED")
        assert (told.error, told.address) == (b"", f"{second}:{port}".encode())
        assert time.monotonic() - began < 8	# as long as all may take
        os.close(dial.expect("SOCKET").fds[0])
        third.settimeout(0.2)
        with pytest.raises(TimeoutError):
            third.accept()
        warden.close()
        helper.wait(5)
        full.close()


def test_a_server_that_says_nothing_costs_its_own_names(waiting):
    """It has said nothing since the first of these tests began."""
    # Sooner than resolve gives up on any name.
    assert waiting.took < 9
    errors = {waiting.warden.expect("CONNECTED").error for _ in range(9)}
    assert errors <= {b"the name server does not answer",
                      b"the name lookup timed out"}
