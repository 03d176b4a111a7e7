# SPDX-License-Identifier: Apache-2.0
"""stockade-dial among stand-ins for warden, resolve, vault and edge, against
real origins on the loopback that say whatever a test has them say.
"""
import base64
import os
import queue
import socket
import ssl
import threading
import time

import pytest

import wire
from origin import Authority

HOST, OTHER = "api.test", "other.test"
NONE, LENGTH, CHUNKED, CLOSE = range(4)
REPLACE, BASIC, ADD, ADD_BASIC = 1, 2, 3, 4
SECRET = b"sk-live-8f3a/Zq+91=ab%cd"
PLACEHOLDER = "stk-placeholder-0001"
TICKET = bytes(range(16))


class Peer:
    """The origin's end of one connection."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.fill()
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    def exactly(self, n):
        while len(self.buffer) < n:
            self.fill()
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def head(self):
        """(request line, {name: value}) of the next request."""
        line, *rest = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        self.fields = dict(field.split(": ", 1) for field in rest)
        assert len(self.fields) == len(rest), "a field came twice"
        return line, self.fields

    def body(self):
        if self.fields.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.until(b"\r\n"), 16):
                body += self.exactly(size)
                assert self.exactly(2) == b"\r\n"
            assert self.exactly(2) == b"\r\n"
            return body
        return self.exactly(int(self.fields.get("content-length", 0)))

    def send(self, data):
        self.sock.sendall(data)

    def ok(self, body, *fields):
        head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n" % len(body)
        self.send(head + b"".join(f + b"\r\n" for f in fields) + b"\r\n"
                  + body)


class Origin:
    """Runs script(peer) for each connection; keeps what it raised."""

    def __init__(self, script, certificate=None):
        self.script, self.connections, self.errors = script, 0, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk, args=(sock,),
                             daemon=True).start()

    def talk(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True,
                                                suppress_ragged_eofs=True)
            self.script(Peer(sock))
        except (EOFError, OSError):
            pass
        except BaseException as error:  # shown by the test's end
            self.errors.append(error)
        finally:
            try:
                sock.close()
            except OSError:
                pass

    def close(self):
        self.server.close()
        assert not self.errors, self.errors


class Response:
    def __init__(self):
        self.status, self.fields, self.body = None, [], b""
        self.failure, self.whole, self.chunks = None, False, 0

    def get(self, name):
        return dict(self.fields).get(name.encode())


class Stream:
    """edge's end of the stream of one agent connection."""

    def __init__(self, dial, conn, channel):
        self.dial, self.conn, self.channel = dial, conn, channel
        self.id = 0

    def exchange(self, method="GET", path="/", scheme=2, host=HOST, port=443,
                 fields=(), body=NONE, length=0, edits=b"", query=None):
        self.id += 1
        self.dial.warden.send(
            "EXCHANGE", conn=self.conn, id=self.id, scheme=scheme, host=host,
            port=port, method=method, path=path, has_query=query is not None,
            query=query or "", fields=wire.fields(*fields), body=body,
            length=length, edits=edits)
        return self

    def send_body(self, *pieces):
        for piece in pieces:
            self.channel.send("BODY", data=piece)
        self.channel.send("BODY_END")
        return self

    def response(self):
        """Everything up to CHUNK_END, FAILURE or the end."""
        response = Response()
        while message := self.channel.receive():
            if message.kind == "RESPONSE":
                assert message.id == self.id and response.status is None
                response.status = message.status
                response.fields = wire.read_fields(message.fields)
                response.framing = (message.body, message.length)
            elif message.kind == "CHUNK":
                assert response.status
                response.body += message.data
                response.chunks += 1
            elif message.kind == "FAILURE":
                assert message.id == self.id
                response.failure = (message.status, message.reason.decode())
                break
            elif message.kind == "CHUNK_END":
                response.whole = True
                break
        return response

    def get(self, path="/", **more):
        return self.exchange(path=path, **more).send_body().response()

    def close(self):
        self.channel.close()


class Dial:
    """The process; warden, resolve and vault are played by threads."""

    def __init__(self, roots=None, vault=True):
        self.process, self.warden = wire.start_helper("dial")
        self.origins, self.refusals, self.values = {}, {}, {}
        self.done, self.redeemed, self.faults = queue.Queue(), [], []
        self.needs, self.conn, self.closing = 0, 0, False
        if roots:
            with open(roots, "rb") as bundle:
                self.warden.send("ROOTS", [bundle.fileno()], required=1)
        resolve, theirs = wire.pair()
        fds, ends = [theirs.fileno()], [theirs]
        self.resolve, self.vault = wire.Channel(resolve, None), None
        if vault:
            ours, theirs = wire.pair()
            fds.append(theirs.fileno())
            ends.append(theirs)
            self.vault = wire.Channel(ours, None)
            threading.Thread(target=self.play_vault, daemon=True).start()
        self.warden.send("DIAL_START", fds, has_vault=int(vault))
        for end in ends:
            end.close()
        self.hosts = {}
        self.warden.end.settimeout(None)
        threading.Thread(target=self.play_warden, daemon=True).start()

    def play_warden(self):
        while message := self.hear(self.warden):
            if message.kind == "DONE":
                self.done.put(message)
            elif message.kind == "FAULT":
                self.faults.append(message.text)
            elif message.kind == "NEED":
                self.needs += 1
                self.connect(message)

    def play_vault(self):
        while message := self.hear(self.vault):
            self.redeemed.append((message.ticket, message.host, message.port))
            value = self.values.get(message.ticket)
            self.vault.send("LEASE", ticket=message.ticket,
                            ok=int(value is not None), value=value or b"")

    @staticmethod
    def hear(channel):
        try:
            return channel.receive()
        except OSError:
            return None

    def connect(self, message):
        """resolve: the origin that the test has put behind that stream."""
        origin = self.origins[message.conn]
        if isinstance(origin, str):
            self.resolve.send("SOCKET", conn=message.conn, id=message.id,
                              error=origin)
            return
        with socket.create_connection(("127.0.0.1", origin.port)) as sock:
            sock.setblocking(False)
            self.resolve.send("SOCKET", [sock.fileno()], conn=message.conn,
                              id=message.id)

    def stream(self, origin):
        self.conn += 1
        self.origins[self.conn] = origin
        ours, theirs = wire.pair()
        self.warden.send("STREAM", [theirs.fileno()], conn=self.conn)
        theirs.close()
        return Stream(self, self.conn, wire.Channel(ours))

    def outcome(self):
        return self.done.get(timeout=20)

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS"):
                    return int(line.split()[1])

    def stop(self):
        # shutdown, since a thread of ours still sits in a receive.
        self.warden.end.shutdown(socket.SHUT_RDWR)
        self.warden.close()
        return self.process.wait(5)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(str(tmp_path_factory.mktemp("authority")))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.leaf(HOST, OTHER)


@pytest.fixture
def dial(authority):
    helper = Dial(authority.pem)
    yield helper
    assert helper.process.poll() is None, helper.faults
    assert helper.stop() == 0


@pytest.fixture
def serve(certificate):
    origins = []

    def start(script, tls=True, own_certificate=None):
        origin = Origin(script, (own_certificate or certificate)
                        if tls else None)
        origins.append(origin)
        return origin

    yield start
    for origin in origins:
        origin.close()


def echo(peer):
    """Answers with the request line and the body, for ever."""
    while True:
        line, _ = peer.head()
        body = peer.body()
        peer.ok(line.encode() + b"\n" + body)


def swap(field="authorization", placeholder=PLACEHOLDER, form=REPLACE,
         prefix="", ticket=TICKET):
    return wire.edit(form, field, placeholder, prefix, ticket)


# One request.

@pytest.mark.parametrize("tls", [False, True])
def test_a_request_and_its_response(dial, serve, tls):
    seen = []

    def script(peer):
        seen.append(peer.head())
        peer.ok(b"hello", b"x-one: 1", b"alt-svc: h3=\":443\"")

    stream = dial.stream(serve(script, tls))
    port = 443 if tls else 80
    response = stream.get("/a/b", scheme=2 if tls else 1, port=port,
                          query="q=1", fields=[("x-a", "b")])
    assert (response.status, response.body, response.whole) == \
        (200, b"hello", True)
    assert response.framing == (LENGTH, 5)
    assert response.fields == [(b"x-one", b"1")]
    assert seen[0][0] == "GET /a/b?q=1 HTTP/1.1"
    assert seen[0][1] == {"host": HOST, "x-a": "b",
                          "connection": "keep-alive"}
    done = dial.outcome()
    assert (done.id, done.status, done.sent, done.received, done.error) == \
        (1, 200, 0, 5, b"")


def test_a_port_of_its_own_is_named(dial, serve):
    seen = []

    def script(peer):
        seen.append(peer.head()[1]["host"])
        peer.ok(b"")

    dial.stream(serve(script)).get(port=8443)
    assert seen == [HOST + ":8443"]


def test_requests_share_a_connection(dial, serve):
    origin = serve(echo)
    stream = dial.stream(origin)
    for i in range(50):
        assert stream.get(f"/{i}").body == b"GET /%d HTTP/1.1\n" % i
        assert dial.outcome().id == i + 1
    assert (origin.connections, dial.needs) == (1, 1)


def test_another_origin_gets_a_connection_of_its_own(dial, serve):
    origin = serve(echo)
    stream = dial.stream(origin)
    for host, port in [(HOST, 443), (OTHER, 443), (HOST, 443), (HOST, 8443)]:
        assert stream.get(host=host, port=port).status == 200
    assert origin.connections == 4


def test_streams_never_share_a_connection(dial, serve):
    origin = serve(echo)
    for _ in range(5):
        assert dial.stream(origin).get().status == 200
    assert origin.connections == 5


def test_a_body_sent_before_the_exchange_waits(dial, serve):
    stream = dial.stream(serve(echo)).send_body(b"early")
    time.sleep(0.1)
    stream.exchange("POST", body=LENGTH, length=5)
    assert stream.response().body == b"POST / HTTP/1.1\nearly"


# Bodies.

@pytest.mark.parametrize("body, length", [(LENGTH, 300000), (CHUNKED, 0)])
def test_a_body_is_framed_anew(dial, serve, body, length):
    data = os.urandom(300000)
    stream = dial.stream(serve(echo))
    for _ in range(2):
        stream.exchange("POST", body=body, length=length)
        stream.send_body(*(data[i:i + 30000]
                           for i in range(0, len(data), 30000)))
        assert stream.response().body == b"POST / HTTP/1.1\n" + data
        assert dial.outcome().sent == len(data)


@pytest.mark.parametrize("pieces", [[b"toolong"], [b"abc", b"def"], [b"abc"],
                                    []])
def test_a_body_of_another_length_ends_it(dial, serve, pieces):
    got = []

    def script(peer):
        peer.head()
        got.append(peer.sock.recv(100))
        got.append(peer.sock.recv(100))

    stream = dial.stream(serve(script))
    stream.exchange("POST", body=LENGTH, length=4).send_body(*pieces)
    assert stream.response().failure[0] == 502
    assert b"body" in dial.outcome().error


def test_a_body_where_none_was_announced_ends_it(dial, serve):
    stream = dial.stream(serve(echo))
    stream.exchange("GET").send_body(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n")
    response = stream.response()
    assert response.failure or response.body == b"GET / HTTP/1.1\n"


RESPONSES = {
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
               b"3\r\nabc\r\n3;x=y\r\ndef\r\n0\r\nx: y\r\n\r\n",
    "length": b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\n"
               b"\r\nHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
}


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("cut", [1, 7, 10000])
def test_a_response_in_pieces(dial, serve, name, cut):
    data = RESPONSES[name]

    def script(peer):
        while True:
            peer.head()
            for i in range(0, len(data), cut):
                peer.send(data[i:i + cut])
                if cut > 1:
                    time.sleep(0.001)

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(3):
        response = stream.get()
        assert (response.body, response.whole) == (b"abcdef", True)
    assert origin.connections == 1


def test_a_response_until_the_end_of_the_connection(dial, serve):
    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nall of ")
        time.sleep(0.05)
        peer.send(b"it")
        if isinstance(peer.sock, ssl.SSLSocket):
            peer.sock.unwrap()

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get()
        assert (response.body, response.whole) == (b"all of it", True)
        assert response.framing[0] == CLOSE
    assert origin.connections == 2


def test_head_has_no_body(dial, serve):
    def script(peer):
        for _ in range(2):
            peer.head()
            peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get(method="HEAD")
        assert (response.body, response.whole) == (b"", True)
    assert origin.connections == 1


def test_events_are_forwarded_as_they_come(dial, serve):
    go = threading.Event()

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for i in range(3):
            peer.send(b"7\r\nevent %d\r\n" % i)
            go.wait(5)
            go.clear()
        peer.send(b"0\r\n\r\n")

    stream = dial.stream(serve(script))
    stream.exchange().send_body()
    stream.channel.expect("RESPONSE")
    for i in range(3):
        assert stream.channel.expect("CHUNK").data == b"event %d" % i
        go.set()
    stream.channel.expect("CHUNK_END")


MIB = 1 << 20


def test_big_bodies_need_no_memory(dial, serve):
    piece = bytes(MIB)

    def script(peer):
        peer.head()
        peer.ok(b"warm")
        peer.head()
        size = 0
        while size < 64 * MIB:
            size += len(peer.sock.recv(MIB))
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
                  % (64 * MIB))
        for _ in range(64):
            peer.send(piece)

    stream = dial.stream(serve(script))
    assert stream.get().body == b"warm"
    stream.exchange("PUT", body=LENGTH, length=64 * MIB)
    small = bytes(32768)
    before = dial.rss_kib()
    for _ in range(2048):
        stream.channel.send("BODY", data=small)
    stream.channel.send("BODY_END")
    middle = dial.rss_kib()
    received = 0
    stream.channel.expect("RESPONSE")
    while (message := stream.channel.receive()).kind == "CHUNK":
        received += len(message.data)
    assert message.kind == "CHUNK_END" and received == 64 * MIB
    assert middle - before < 2048 and dial.rss_kib() - before < 2048


def test_an_agent_that_does_not_read_stops_the_origin(dial, serve):
    sent = [0]

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n")
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        while True:
            peer.send(bytes(65536))
            sent[0] += 65536

    stream = dial.stream(serve(script))
    stream.exchange().send_body()
    stream.channel.expect("RESPONSE")
    time.sleep(0.5)
    stopped = sent[0]
    time.sleep(0.3)
    assert sent[0] == stopped < 16 * MIB
    assert stream.dial.rss_kib() < 32768
    stream.close()
    assert dial.outcome().error == b"the agent hung up"


def test_an_origin_that_does_not_read_stops_the_agent(dial, serve):
    release = threading.Event()

    def script(peer):
        peer.head()
        release.wait(10)
        peer.body()
        peer.ok(b"thanks")

    stream = dial.stream(serve(script))
    stream.exchange("POST", body=CHUNKED)
    stream.channel.end.settimeout(0.5)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 64 * MIB:
            stream.channel.send("BODY", data=bytes(32768))
            sent += 32768
    assert dial.rss_kib() < 32768
    release.set()
    stream.channel.end.settimeout(10)
    stream.channel.send("BODY_END")
    assert stream.response().body == b"thanks"


# What an origin should not do.

GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"
MALFORMED = {
    "empty": b"",
    "garbage": b"\x00\x01\x02\x03 garbage\r\n\r\n",
    "http/0.9": b"<html>hello</html>",
    "version": b"HTTP/2.0 200 OK\r\ncontent-length: 4\r\n\r\ngood",
    "status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "status word": b"HTTP/1.1 OK\r\n\r\n",
    "status 99": b"HTTP/1.1 099 OK\r\n\r\n",
    "101": b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n" + GOOD,
    "1xx flood": b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + GOOD,
    "1xx for ever": b"HTTP/1.1 103 Early\r\n\r\n" * 1000,
    "102": b"HTTP/1.1 102 Processing\r\n\r\n" + GOOD,
    "length and chunked": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                          b"transfer-encoding: chunked\r\n\r\n"
                          b"4\r\ngood\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                   b"content-length: 5\r\n\r\ngood!",
    "same length twice": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                         b"content-length: 4\r\n\r\ngood",
    "negative length": b"HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\ngood",
    "signed length": b"HTTP/1.1 200 OK\r\ncontent-length: +4\r\n\r\ngood",
    "length list": b"HTTP/1.1 200 OK\r\ncontent-length: 4, 4\r\n\r\ngood",
    "huge length": b"HTTP/1.1 200 OK\r\ncontent-length: "
                   b"99999999999999999999\r\n\r\ngood",
    "gzip chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n"
                    b"\r\n4\r\ngood\r\n0\r\n\r\n",
    "bare lf": b"HTTP/1.1 200 OK\ncontent-length: 4\n\ngood",
    "bare cr": b"HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n",
    "fold": b"HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 4\r\n\r\ngood",
    "nul": b"HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 4\r\n\r\ngood",
    "no colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "space colon": b"HTTP/1.1 200 OK\r\ncontent-length : 4\r\n\r\ngood",
    "huge head": b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70000 + b"\r\n\r\n",
    "many fields": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 5000 + b"\r\n",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"x-filler: y\r\n" * 20000,
    "cut head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "cut body": b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\ngood",
    "cut chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                  b"4\r\ngood\r\n",
    "bad chunk size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                      b"0x4\r\ngood\r\n0\r\n\r\n",
    "chunk overflow": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                      b"10000000000000004\r\ngood\r\n0\r\n\r\n",
    "chunk spill": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                   b"3\r\ngood\r\n0\r\n\r\n",
    "chunk bare lf": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                     b"4\ngood\n0\n\n",
}
# The right body, but the connection is not to be trusted any more.
TAINTED = {
    "two responses": GOOD + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    "bytes behind": GOOD + b"x",
    "close": b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
             b"content-length: 4\r\n\r\ngood",
    "http/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\ngood",
    "behind chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                     b"4\r\ngood\r\n0\r\n\r\nHTTP/1.1 200 evil\r\n\r\n",
}


def once_then_good(data):
    """The first connection says data, the others what is right."""
    state = []

    def script(peer):
        peer.head()
        if state:
            peer.send(GOOD)
            return
        state.append(1)
        peer.send(data)
        if data in TAINTED.values():
            # It stays open: nothing but our judgement ends it.
            peer.sock.settimeout(5)
            assert peer.sock.recv(100) == b"", "it was used again"

    return script


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_response_is_502(dial, serve, name, tls):
    origin = serve(once_then_good(MALFORMED[name]), tls)
    more = {} if tls else {"scheme": 1, "port": 80}
    stream = dial.stream(origin)
    response = stream.get(**more)
    assert response.failure and response.failure[0] == 502
    assert not response.whole
    assert response.body in (b"", b"good", b"goo")
    assert "garbage" not in response.failure[1]
    assert dial.outcome().error == response.failure[1].encode()
    # The stream is over; the next one is not affected.
    other = dial.stream(origin).get(**more)
    assert (other.status, other.body, other.whole) == (200, b"good", True)


@pytest.mark.parametrize("name", TAINTED)
def test_a_tainted_connection_is_not_used_again(dial, serve, name):
    origin = serve(once_then_good(TAINTED[name]))
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get()
        assert (response.body, response.whole) == (b"good", True)
        time.sleep(0.05)
    assert origin.connections == 2


def test_what_comes_unasked_ends_the_connection(dial, serve):
    def script(peer):
        peer.head()
        peer.send(GOOD)
        time.sleep(0.05)
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(3):
        assert stream.get().body == b"good"
        time.sleep(0.15)
    assert origin.connections == 3


def test_a_response_before_the_request_is_none(dial, serve):
    def script(peer):
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood")

    stream = dial.stream(serve(script))
    response = stream.get()
    assert response.failure or response.body == b"evil"
    # Whatever the first one got, the second gets a connection of its own.
    if not response.failure:
        stream.get()
        assert dial.needs == 2


def test_an_early_response_is_forwarded(dial, serve):
    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        time.sleep(1)

    origin = serve(script)
    stream = dial.stream(origin)
    stream.exchange("POST", body=LENGTH, length=10 * MIB)
    stream.channel.send("BODY", data=bytes(30000))
    response = stream.response()
    assert (response.status, response.body, response.whole) == \
        (413, b"big", True)
    # What edge still sends is dropped; it closes.
    for _ in range(20):
        stream.channel.send("BODY", data=bytes(30000))
    stream.close()
    assert dial.outcome().error == b""


# Connections that end between two requests.

def closes_after_one(peer):
    line, _ = peer.head()
    peer.ok(line.encode())


def test_a_connection_closed_between_requests_is_replaced(dial, serve):
    origin = serve(closes_after_one)
    stream = dial.stream(origin)
    for i in range(3):
        assert stream.get(f"/{i}").body == b"GET /%d HTTP/1.1" % i
        time.sleep(0.05)
    assert origin.connections == 3


def closes_on_second(peer):
    """Takes the second request and closes: as a race would look."""
    line, _ = peer.head()
    peer.ok(line.encode())
    peer.sock.recv(4)
    peer.sock.shutdown(socket.SHUT_RDWR)


def test_a_stale_connection_is_tried_once_more(dial, serve):
    origin = serve(closes_on_second)
    stream = dial.stream(origin)
    assert stream.get("/1").status == 200
    assert stream.get("/2").body == b"GET /2 HTTP/1.1"
    assert origin.connections == 2


def test_a_stale_connection_is_no_reason_to_act_twice(dial, serve):
    origin = serve(closes_on_second)
    stream = dial.stream(origin)
    assert stream.get("/1").status == 200
    assert stream.get("/2", method="POST").failure[0] == 502
    assert origin.connections == 1


def test_a_stale_connection_with_a_credential(dial, serve):
    """The value is not leased twice, and verified before it is sent again."""
    seen = []

    def script(peer):
        seen.append(peer.head()[1]["authorization"])
        peer.ok(b"")
        seen.append(peer.head()[1]["authorization"])

    dial.values[TICKET] = SECRET
    stream = dial.stream(serve(script))
    for _ in range(2):
        response = stream.get(
            fields=[("authorization", "Bearer " + PLACEHOLDER)],
            edits=swap())
        assert response.status == 200
    value = "Bearer " + SECRET.decode()
    assert seen[:3] == [value, value, value]
    assert len(dial.redeemed) == 2


# Verification.

def wrong_certificates(authority, folder):
    stranger = Authority(str(folder))
    return {
        "another name": authority.leaf("wrong.test"),
        "expired": authority.leaf(HOST, days=-1),
        "wildcard inside": authority.leaf("a*.test"),
        "unknown authority": stranger.leaf(HOST),
        "address": authority.leaf("127.0.0.1"),
    }


@pytest.mark.parametrize("name", ["another name", "expired",
                                  "wildcard inside", "unknown authority",
                                  "address"])
def test_a_wrong_certificate_gets_nothing(dial, serve, authority, tmp_path,
                                          name):
    wrong = wrong_certificates(authority, tmp_path)[name]
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    dial.values[TICKET] = SECRET
    response = dial.stream(serve(script, True, wrong)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure[0] == 502
    assert response.failure[1].startswith(f"TLS to {HOST} failed: ")
    assert dial.redeemed == [] and b"".join(got) == b""
    assert dial.outcome().error == response.failure[1].encode()


def test_without_roots_no_host_verifies(serve, authority):
    helper = Dial(None)
    assert helper.stream(serve(echo)).get().failure[0] == 502
    helper.stop()


def test_an_origin_without_tls_gets_nothing(dial, serve):
    got = []

    def script(peer):
        got.append(peer.sock.recv(1000))
        peer.send(GOOD)

    assert dial.stream(serve(script, False)).get().failure[0] == 502
    assert b"HTTP" not in got[0]


# Credentials.

def reflect(peer):
    """Sends back what it got, as the path says."""
    while True:
        line, fields = peer.head()
        value = fields.get("authorization", "").encode()
        form, cut = line.split(" ")[1].strip("/").split("-")
        if form == "base64":
            value = base64.b64encode(b"x" + value)
        if form == "field":
            peer.ok(b"body", b"x-reflected: " + value,
                    b"location: https://x/?t=" + value)
            continue
        cut = int(cut) or 10000
        data = b"before " + value + b" after"
        peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for i in range(0, len(data), cut):
            part = data[i:i + cut]
            peer.send(b"%x\r\n%s\r\n" % (len(part), part))
        peer.send(b"0\r\n\r\n")


@pytest.mark.parametrize("path", ["/raw-0", "/raw-1", "/raw-5", "/raw-7",
                                  "/base64-0", "/base64-3", "/field-0"])
def test_a_credential_is_put_in_and_masked(dial, serve, path):
    dial.values[TICKET] = SECRET
    stream = dial.stream(serve(reflect))
    response = stream.get(path, fields=[
        ("authorization", "Bearer " + PLACEHOLDER),
        ("accept-encoding", "gzip, br"), ("range", "bytes=0-3")],
        edits=swap())
    assert response.whole and response.status == 200
    everything = response.body + b"".join(n + v for n, v in response.fields)
    assert SECRET not in everything
    assert b"*" * len(SECRET) in everything
    for shift in range(3):
        inner = base64.b64encode(b"x" * shift + SECRET)[4:-4]
        assert inner not in everything
    if path.startswith("/raw"):
        assert response.body == b"before Bearer " + b"*" * len(SECRET) + \
            b" after"
    assert dial.redeemed == [(TICKET, HOST.encode(), 443)]
    done = dial.outcome()
    assert done.scrubbed >= 1 and done.error == b""


def test_what_the_origin_sees_of_a_credential(dial, serve):
    seen = []

    def script(peer):
        while True:
            seen.append(peer.head()[1])
            peer.ok(b"")

    dial.values[TICKET] = SECRET
    stream = dial.stream(serve(script))
    stream.get(fields=[("x-key", PLACEHOLDER), ("accept-encoding", "gzip")],
               edits=swap("x-key"))
    stream.get(edits=swap("authorization", "", ADD, "Bearer "))
    stream.get(fields=[("x-key", PLACEHOLDER), ("accept-encoding", "gzip")])
    assert seen[0]["x-key"] == SECRET.decode()
    assert seen[0]["accept-encoding"] == "identity"
    assert seen[1]["authorization"] == "Bearer " + SECRET.decode()
    assert seen[2]["x-key"] == PLACEHOLDER
    assert seen[2]["accept-encoding"] == "gzip"


def test_a_refused_lease_sends_nothing(dial, serve):
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    response = dial.stream(serve(script)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure == (502, "the credential is not available")
    time.sleep(0.1)
    assert b"".join(got) == b""


@pytest.mark.parametrize("fields", [
    [], [("authorization", "other")], [("x-key", PLACEHOLDER)],
    [("authorization", PLACEHOLDER + " " + PLACEHOLDER)],
    [("authorization", PLACEHOLDER), ("authorization", PLACEHOLDER)]])
def test_a_credential_without_its_place_sends_nothing(dial, serve, fields):
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    dial.values[TICKET] = SECRET
    response = dial.stream(serve(script)).get(fields=fields, edits=swap())
    assert response.failure[0] == 502
    assert SECRET.decode() not in response.failure[1]
    time.sleep(0.1)
    assert b"".join(got) == b""


def test_a_credential_is_never_sent_without_tls(dial, serve):
    origin = serve(echo, False)
    dial.values[TICKET] = SECRET
    response = dial.stream(origin).get(
        scheme=1, port=80, fields=[("authorization", PLACEHOLDER)],
        edits=swap())
    assert response.failure[0] == 502
    assert (dial.redeemed, origin.connections, dial.needs) == ([], 0, 0)


@pytest.mark.parametrize("fields", [b"content-encoding: gzip",
                                    b"content-encoding: br"])
def test_an_encoded_response_to_a_credential_is_refused(dial, serve, fields):
    def script(peer):
        peer.head()
        peer.ok(b"\x1f\x8b....", fields)

    dial.values[TICKET] = SECRET
    stream = dial.stream(serve(script))
    assert stream.get(fields=[("authorization", PLACEHOLDER)],
                      edits=swap()).failure[0] == 502
    # Without one it is nobody's business.
    assert dial.stream(serve(script)).get().status == 200


def test_a_secret_is_not_in_the_error_of_anything(dial, serve):
    def script(peer):
        peer.send(b"HTTP/1.1 " + peer.head()[1]["authorization"].encode()
                  + b"\r\n\r\n")

    dial.values[TICKET] = SECRET
    response = dial.stream(serve(script)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure[0] == 502
    assert SECRET.decode() not in response.failure[1]
    assert SECRET not in dial.outcome().error


def test_many_exchanges_each_with_its_own_credential(dial, serve):
    """64 at a time, 8 credentials: nobody gets another's."""
    def script(peer):
        while True:
            line, fields = peer.head()
            peer.ok(fields["x-key"].encode()[::-1])

    origin = serve(script)
    streams = []
    for i in range(64):
        ticket = bytes([i]) * 16
        dial.values[ticket] = b"value-%02d-of-eight" % (i % 8)
        stream = dial.stream(origin)
        stream.exchange(fields=[("x-key", PLACEHOLDER)],
                        edits=swap("x-key", ticket=ticket)).send_body()
        streams.append(stream)
    for i, stream in enumerate(streams):
        assert stream.response().body[::-1] == b"value-%02d-of-eight" % (i % 8)


# Ends.

@pytest.mark.parametrize("error, status", [
    ("connection refused", 502), ("timed out", 504), ("no such name", 502),
    ("the name lookup timed out", 504),
    ("resolves only to forbidden addresses (10.0.0.5: private)", 502)])
def test_what_cannot_be_reached(dial, error, status):
    response = dial.stream(error).get()
    assert response.failure == (status, f"cannot reach {HOST}: {error}")
    assert dial.outcome().status == status


@pytest.mark.parametrize("when", ["connecting", "handshake", "waiting",
                                  "streaming"])
def test_an_agent_that_hangs_up(dial, serve, when):
    closed, begun = threading.Event(), threading.Event()

    def script(peer):
        peer.head()
        if when == "streaming":
            peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n123")
        begun.set()
        peer.sock.settimeout(5)
        try:
            assert peer.sock.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            pass
        closed.set()

    origin = serve(script)
    if when == "handshake":
        origin.context, origin.script = None, \
            lambda peer: (begun.set(), time.sleep(1))
    stream = dial.stream(origin)
    if when == "connecting":
        dial.origins[stream.conn] = Silent()
        begun.set()
    stream.exchange().send_body()
    assert begun.wait(5)
    if when == "streaming":
        stream.channel.expect("RESPONSE")
    stream.close()
    assert dial.outcome().error == b"the agent hung up"
    if when in ("waiting", "streaming"):
        assert closed.wait(5)
    assert dial.stream(serve(echo)).get().status == 200


class Silent:
    """An origin that accepts only in the backlog."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]


def test_an_exchange_after_the_hangup_is_accounted_for(dial, serve):
    stream = dial.stream(serve(echo))
    stream.close()
    time.sleep(0.1)
    stream.exchange()
    assert dial.outcome().error == b"the agent hung up"


def test_an_end_of_the_stream_is_one_for_the_origin(dial, serve):
    ended = queue.Queue()

    def script(peer):
        try:
            echo(peer)
        finally:
            ended.put(1)

    origin = serve(script)
    for _ in range(100):
        stream = dial.stream(origin)
        assert stream.get().status == 200
        stream.close()
    for _ in range(100):
        ended.get(timeout=5)


def test_it_ends_with_its_neighbours(authority):
    for end in ("warden", "resolve", "vault"):
        helper = Dial(authority.pem)
        getattr(helper, end).end.shutdown(socket.SHUT_RDWR)
        assert helper.process.wait(5) == (0 if end == "warden" else 1)


def test_a_message_outside_the_table_ends_it(authority):
    helper = Dial(authority.pem)
    helper.warden.end.send(b"\xff")
    assert helper.process.wait(5) == 1


def test_two_exchanges_at_once_end_it(authority, serve):
    helper = Dial(authority.pem)
    stream = helper.stream(serve(lambda peer: time.sleep(3)))
    stream.exchange()
    stream.exchange()
    assert helper.process.wait(5) == 1
