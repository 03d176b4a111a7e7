# SPDX-License-Identifier: Apache-2.0
"""Ways out and ways to wear it down that no other file tries, judged from
outside the run."""
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import IS_ROOT, PATIENCE, eventually, needs_cell
from dial_stage import (HOST as ORIGIN, OTHER, Dial, certificate,
                        dial, echo, serve)  # noqa: F401
from edge_alone import Edge, body_of, edge, place, respond  # noqa: F401
from listener import Listener

HOST = "api.example"
GET = f"GET /v1/x HTTP/1.1\r\nHost: {HOST}\r\n\r\n"


def answered(edge, agent, text):
    """What the agent gets for its next request, which is allowed."""
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    respond(stream, request, text, length=len(text))
    return agent.response().body


# Slow, many, and never

@pytest.fixture
def every_descriptor():
    """The hard limit, for this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def hasty(place):
    helper = Edge(place, hasty=True)
    yield helper
    helper.close()


def test_a_head_that_does_not_come_in_time_is_refused(hasty):
    """A byte now and then does not help: what counts is when it began."""
    edge = hasty
    slow, silent, stopped, hello = [edge.connect(HOST) for _ in range(4)]
    hello.socket.send(b"\x16\x03\x01\x02\x00\x01")
    slow.send("GET /v1/x HTTP/1.1\r\n")
    stopped.send("GET /v1/x HTTP/1.1\r\n")
    began = time.monotonic()
    with pytest.raises(OSError):
        while time.monotonic() - began < 20 * PATIENCE:
            time.sleep(0.1)
            slow.socket.send(b"x")
    assert 1 < time.monotonic() - began < 10 * PATIENCE
    refused = edge.refused()
    while b"in time" not in refused.reason:
        refused = edge.refused()
    assert stopped.response().status == 408
    assert silent.is_closed() and hello.is_closed()


def test_many_slow_heads_hold_up_nobody(edge):
    slow = [edge.connect(HOST) for _ in range(150)]
    for i, agent in enumerate(slow):
        agent.send(GET[:1 + i % (len(GET) - 2)])
    agent = edge.connect(HOST)
    for text in (b"a", b"b"):
        assert answered(edge, agent, text) == text
        for other in slow:
            other.socket.send(b"x")


def test_a_connection_that_rests_holds_no_stream(hasty):
    """Its next request is one of a connection that dial has not seen."""
    agent = hasty.connect(HOST)
    numbers = set()
    for text in (b"a", b"b"):
        agent.send(GET)
        request = hasty.request()
        assert request.id == 1
        numbers.add(request.conn)
        stream = hasty.allow(request)
        body_of(stream)
        respond(stream, request, text, length=1)
        assert agent.response().body == text
        assert hasty.warden.expect("HANGUP").conn == request.conn
        assert stream.receive() is None
    assert len(numbers) == 2


def test_ten_thousand_idle_connections(place, every_descriptor):
    """As many as there are descriptors for, and one that is served meanwhile.
    Those that are idle for longest make room for more."""
    edge = Edge(place)
    before = edge.memory()
    address = edge.address(HOST)
    idle = []

    def connect(n):
        for _ in range(n):
            s = place.socket("tcp4")
            s.connect((address, 80))
            idle.append(s)

    most = min(10240, (every_descriptor - 64) // 2)
    connect(most - 1)
    time.sleep(1.1)
    agent = edge.connect(HOST)
    connect(200)
    for text in (b"a", b"b"):
        assert answered(edge, agent, text) == text
    assert edge.memory() - before < 16384
    idle[0].settimeout(5)
    assert idle[0].recv(1) == b""
    for s in idle:
        s.close()
    edge.close()


def test_a_flood_of_large_heads_is_bounded(place, every_descriptor):
    """Whole or not, there may be a thousand of them; small ones pass."""
    edge = Edge(place)
    before, address = edge.memory(), edge.address(HOST)
    small = edge.connect(HOST)
    large = "X-Large: " + "a" * 8000 + "\r\n"
    head = GET[:-2] + large * 4
    agents, asked, refused = [], [], 0
    for i in range(1224):
        agent = edge.connect(address, literal=True)
        agent.send(head if i % 2 else head + "\r\n")
        agents.append(agent)
        if i >= 1024:
            answer = agent.response()
            assert answer.status == 503 and b"too many" in answer.body
            refused += edge.refused().reason.count(b"too many")
        elif i % 2 == 0:
            asked.append(edge.request())
    assert (len(asked), refused) == (512, 200)
    assert edge.memory() - before < 1024 * 96
    small.send(GET)
    edge.deny(edge.request())
    assert small.response().status == 403
    # One that is over makes room for another.
    edge.deny(asked[0])
    assert agents[0].response().status == 403
    again = edge.connect(address, literal=True)
    again.send(head + "\r\n")
    edge.deny(edge.request())
    assert again.response().status == 403
    edge.close()


def test_a_head_that_is_too_large_to_be_asked_is_not_counted(edge):
    agent = edge.connect(HOST)
    fields = "".join(f"x{i}: {'a' * 510}\r\n" for i in range(126))
    agent.send(GET[:-2] + fields + "\r\n")
    assert agent.response().status == 431
    assert b"too large" in edge.refused().reason
    agent.send(GET)
    request = edge.request()
    assert request.id == 1
    edge.deny(request)
    assert agent.response().status == 403


def limit_descriptors(pid, most=None):
    """Of a process that runs; None: no limit but the hard one.  root's helpers
    are somebody else's, who may do that."""
    with open(f"/proc/{pid}/status") as status:
        uid = next(int(line.split()[1]) for line in status
                   if line.startswith("Uid:"))
    other = {} if uid == os.getuid() else {
        "user": uid, "group": uid, "extra_groups": []}
    if most is None:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    subprocess.run(["prlimit", "--pid", str(pid), f"--nofile={most}:"],
                   check=True, **other)


def limit_for_one_more(pid):
    used = set(map(int, os.listdir(f"/proc/{pid}/fd")))
    free = [n for n in range(len(used) + 2) if n not in used]
    return free[1]


def test_edge_without_descriptors_refuses_and_goes_on(edge):
    """It believed that there are more, so nothing was held back."""
    working, late = [edge.connect(HOST) for _ in range(2)]
    for agent in working, late:
        agent.send(GET)
        request = edge.request()
        if agent is working:
            at_work, stream = request, edge.allow(request)
            body_of(stream)
    limit_descriptors(edge.process.pid, 0)
    edge.allow(request)
    answer = late.response()
    assert answer.status == 502 and b"no descriptor left" in answer.body
    assert b"no descriptor left" in edge.refused().reason
    # What waits to be accepted costs no time, and gets its turn.
    waits = [edge.connect(HOST, literal=False) for _ in range(3)]
    for agent in waits:
        agent.send(GET)
    before = edge.cpu()
    time.sleep(0.5)
    assert edge.cpu() - before < 0.2
    respond(stream, at_work, b"served", length=6)
    assert working.response().body == b"served"
    limit_descriptors(edge.process.pid)
    seen = 0
    while seen < len(waits):
        message = edge.warden.receive()
        if message.kind == "REQUEST":
            edge.deny(message)
            seen += 1
    assert [agent.response().status for agent in waits] == [403] * 3


def test_edge_without_descriptors_closes_what_is_idle(edge):
    idle, *_ = [edge.connect(HOST) for _ in range(20)]
    time.sleep(1.1)
    address = edge.address(HOST)
    limit_descriptors(edge.process.pid, 18)
    agent = edge.connect(address, literal=True)
    assert idle.is_closed()
    agent.send(GET)
    edge.deny(edge.request())
    assert agent.response().status == 403


def test_dial_without_descriptors_refuses_and_goes_on(dial, serve):
    told = threading.Event()

    def script(peer):
        while True:
            line, _ = peer.head()
            if "slow" in line:
                told.wait(20)
            peer.ok(line.encode())

    origin = serve(script)
    working = dial.stream(origin).exchange(path="/slow").send_body()
    waiting = dial.stream(origin)
    assert waiting.get().whole
    dial.outcome()
    # Not even a stream gets there, or only one and no connection.
    for spare in (0, 1) if IS_ROOT else (0,):    # who may see what is used
        limit_descriptors(dial.process.pid, spare and limit_for_one_more(
            dial.process.pid))
        lost = dial.stream(origin).exchange()
        response = lost.response()
        assert response.status is None
        assert bool(response.failure) == bool(spare)
        assert dial.outcome().error.endswith(b"dial has no descriptor left")
        lost.close()
    told.set()
    assert working.response().body == b"GET /slow HTTP/1.1"
    assert dial.outcome().status == 200
    limit_descriptors(dial.process.pid)
    assert dial.stream(origin).get("/more").body == b"GET /more HTTP/1.1"


class Deaf(Listener):
    """Accepts, and no more."""

    def serve(self, s):
        while s.recv(4096):
            pass


@pytest.fixture
def hasty_dial(authority):
    helper = Dial(authority.pem, hasty=True)
    yield helper
    assert helper.stop() == 0


def test_an_origin_that_says_nothing_is_given_up(hasty_dial, serve):
    """In TLS after half a minute.  After it an answer may take any time, and
    holds up nobody."""
    dial, deaf = hasty_dial, Deaf(socket.create_server(("127.0.0.1", 0)))
    go = threading.Event()
    silent = dial.stream(serve(lambda peer: (peer.head(), go.wait(20),
                                             peer.ok(b"at last"))))
    silent.exchange().send_body()
    mute = dial.stream(deaf).exchange().send_body()
    other = dial.stream(serve(echo))
    assert other.get(host=OTHER).whole
    assert dial.outcome().status == 200
    assert mute.response().failure == (504, f"TLS to {ORIGIN} timed out")
    assert dial.outcome().error == f"TLS to {ORIGIN} timed out".encode()
    assert other.get(host=OTHER).whole
    assert dial.outcome().status == 200
    go.set()
    assert silent.response().body == b"at last"
    deaf.close()


def test_who_waits_for_an_answer_is_not_given_up(hasty):
    """As long polling does, and who sends while it receives: no time that a client
    is given is meant for it."""
    post = GET.replace("GET", "POST").replace(
        "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n")
    poll, both, upload = [hasty.connect(HOST) for _ in range(3)]
    streams = []
    for agent, text in (poll, GET), (both, post), (upload, post):
        agent.send(text)
        request = hasty.request()
        streams.append((hasty.allow(request), request))
    streams[1][0].send("RESPONSE", id=1, status=200, body=2)
    both.until(b"\r\n\r\n")
    # This one has had its time.
    upload.socket.settimeout(40)
    with pytest.raises(ConnectionResetError):
        upload.rest()
    body_of(streams[0][0])
    respond(*streams[0], b"at last", length=7)
    assert poll.response().body == b"at last"
    streams[1][0].send("CHUNK", data=b"at last")
    assert both.until(b"at last")


def test_resets_hurt_nobody(edge):
    """Each in another state: connected, in a head, in a body, answered."""
    post = GET.replace("GET", "POST").replace(
        "\r\n\r\n", "\r\nContent-Length: 9\r\n\r\nbody")
    reset = b"\1\0\0\0\0\0\0\0"
    for i in range(240):
        if i == 40:
            before = edge.memory()
        agent = edge.connect(HOST)
        agent.send(("", "GET /", GET, post)[i % 4] or b"")
        if i % 4 > 1:
            request = edge.request()
            edge.allow(request) if i % 8 > 3 else edge.deny(request)
        agent.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        agent.close()
        if i % 4 > 1:
            assert edge.warden.expect("HANGUP").conn == request.conn
    agent = edge.connect(HOST)
    agent.send(GET)
    edge.deny(edge.request())
    assert agent.response().status == 403
    assert edge.memory() - before < 1024


SEND_UNTIL_REFUSED = """
import http.client, os, socket, time
address = socket.gethostbyname("plain.test")
print("ready", flush=True)
while not os.path.exists("full"):
    time.sleep(.02)
for i in range(40):
    try:
        c = http.client.HTTPConnection(address, timeout=10)
        c.request("GET", f"/{i}", headers={"Host": "plain.test"})
        print("passed" if c.getresponse().status == 200 else "refused", i)
    except (OSError, http.client.HTTPException):
        print("refused", i)
"""


def test_a_record_that_cannot_be_written_ends_the_network(stockade, net, plain):
    """The disk is full while it runs: what is not on record is not sent."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    child = stockade.start(
        "/usr/bin/python3", "-u", "-c", SEND_UNTIL_REFUSED,
        policy=net + "read .\nallow GET plain.test/**\n",
        restore_signals=False)
    assert child.stdout.readline() == b"ready\n"
    (record,) = (stockade.state() / "runs").glob("2*.jsonl")
    most = record.stat().st_size + 3000
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most, most))
    (stockade.cwd / "full").touch()
    out, err = child.communicate(timeout=30 * PATIENCE)
    assert b"the network of this run has ended" in err, err
    assert out.count(b"passed") >= 1 and out.count(b"refused") >= 20, out
    # What arrived is on record, each of it, and before it arrived.
    allowed = [line for line in map(json.loads, record.read_text().split(
        "\n")[:-1]) if line["event"] == "request"]
    assert 1 <= len(plain.requests) <= len(allowed)


# Other ways out

def listening():
    """What listens, or is bound, in this namespace."""
    found = set()
    for name in "tcp", "tcp6", "udp", "udp6":
        with open(f"/proc/net/{name}") as lines:
            for line in list(lines)[1:]:
                words = line.split()
                if words[3] in ("0A", "07"):
                    found.add((name, words[1]))
    return found


@needs_cell
def test_no_port_of_the_host_is_opened(stockade, net, api):
    before = listening()
    child = stockade.start(
        "/bin/sh", "-c", "curl -sS https://api.test/x; python3 -m http.server"
        " 8123 2>/dev/null & until [ -e end ]; do sleep .02; done; kill $!",
        policy=net + "read .\nallow GET api.test/**\n")
    assert eventually(lambda: api.requests, 20 * PATIENCE)
    during = listening()
    (stockade.cwd / "end").touch()
    out, _ = child.communicate(timeout=20 * PATIENCE)
    assert b"origin api" in out
    assert during <= before and listening() <= before


ECHO = """
import socket, struct
def sum_of(data):
    n = sum(struct.unpack(f">{len(data) // 2}H", data))
    n = (n >> 16) + (n & 0xffff)
    return ~(n + (n >> 16)) & 0xffff
for family, kind, protocol, where in (
        (socket.AF_INET, socket.SOCK_DGRAM, 1, "93.184.216.34"),
        (socket.AF_INET6, socket.SOCK_DGRAM, 58, "fd00::7"),
        (socket.AF_INET, socket.SOCK_RAW, 1, "93.184.216.34"),
        (socket.AF_INET6, socket.SOCK_RAW, 58, "fd00::7")):
    asks, told = (8, 0) if family == socket.AF_INET else (128, 129)
    try:
        s = socket.socket(family, kind, protocol)
        s.settimeout(1)
        body = struct.pack(">HH", 1, 1) + b"data"
        head = struct.pack(">BBH", asks, 0, sum_of(
            struct.pack(">BBH", asks, 0, 0) + body))
        s.sendto(head + body, (where, 0))
        while True:
            got = s.recv(100)
            if family == socket.AF_INET and kind == socket.SOCK_RAW:
                got = got[20:]
            if got[0] == told: break
        print("answered")
    except OSError as e:
        print(type(e).__name__)
"""


@needs_cell
def test_no_echo_request_leaves(stockade):
    """To addresses that answer whoever may ask: outside, root."""
    if IS_ROOT:
        outside = subprocess.run(["/usr/bin/python3", "-c", ECHO], check=True,
                                 stdout=subprocess.PIPE)
        assert outside.stdout.split()[2:] == [b"answered"] * 2
    result = stockade.run("/usr/bin/python3", "-c", ECHO,
                          policy="allow GET api.test/**\n").ok()
    assert len(result.out.split()) == 4 and "answered" not in result.out


RELAY = """
import socket, subprocess, sys, threading
def pump(a, b):
    # One that has ended is no fault, and said while python ends it aborts.
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def serve(listener):
    while True:
        s, _ = listener.accept()
        up = socket.create_connection(("proxy.stockade", 3128))
        for pair in (s, up), (up, s):
            threading.Thread(target=pump, args=pair, daemon=True).start()
listener = socket.create_server(("127.0.0.1", 9191))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
for url in sys.argv[1:]:
    subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}\\n",
                    "-x", "http://127.0.0.1:9191", url])
"""


def test_a_relay_inside_changes_no_verdict(stockade, net, api, plain):
    """Who connects, and who connected first, is nothing to a decision."""
    result = stockade.run(
        "/usr/bin/python3", "-c", RELAY, "https://api.test/a",
        "https://api.test/b", "http://plain.test/a", "http://plain.test/b",
        "https://api.test/a",
        policy=net + "allow GET api.test/a\nallow GET plain.test/a\n").ok()
    assert result.out.split() == ["200", "403", "200", "403", "200"]
    assert api.targets == ["GET /a"] * 2 and plain.targets == ["GET /a"]


@pytest.mark.parametrize("where", [
    "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/",
    "http://metadata.google.internal/", "http://10.0.0.7/"])
def test_a_redirect_leads_to_no_metadata(stockade, net, api, where):
    result = stockade.run(
        "curl", "-sS", "-L", "-g", "--max-redirs", "3", "-w", "%{http_code}",
        f"https://api.test/redirect?to={where}",
        policy=net + "allow GET *\n")
    assert result.out[-3:] in ("403", "502"), result
    assert [r.path for r in api.requests] == ["/redirect"]
    last = [line for line in stockade.log()
            if line["event"] in ("request", "connect", "refused")][-1]
    assert last["verdict"] == "deny" and last["reason"]


DATAGRAMS = """
import socket, sys
for where in "93.184.216.34", "fd00::7", "10.0.0.7", "127.0.0.1", "::1":
    family = socket.AF_INET6 if ":" in where else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect((where, int(sys.argv[1])))
    try:
        s.send(b"hello")
        print(s.recv(100).decode())
    except OSError as e:
        print(type(e).__name__)
"""


@needs_cell
def test_udp_goes_nowhere(stockade):
    """Of either family, judged by one that listens at each address; whoever
    tries, as a client of QUIC does, hears at once that it is no use."""
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))
        command = ["/usr/bin/python3", "-c", DATAGRAMS,
                   str(server.getsockname()[1])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as outside:
            for _ in range(5):
                asked, client = server.recvfrom(100)
                server.sendto(b"heard " + asked, client)
            assert outside.stdout.read() == b"heard hello\n" * 5
        result = stockade.run(*command, policy="allow GET api.test/**\n").ok()
        assert result.out == "ConnectionRefusedError\n" * 5
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.recv(100)


def test_no_key_is_inside(stockade):
    """The authority's certificate is there, and no key of anything."""
    result = stockade.sh(
        "grep -rls 'PRIVATE KEY' /etc /run /tmp /var/tmp $HOME /dev/shm; env |"
        " grep 'PRIVATE KEY'; grep -c 'BEGIN CERT' /etc/stockade/ca.pem",
        policy="allow GET api.test/**\n")
    assert result.out.split() == ["1"], result
