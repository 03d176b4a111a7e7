# SPDX-License-Identifier: Apache-2.0
"""A stage for stockade-dial: stand-ins for warden, resolve, vault and edge, and
origins on the loopback that say whatever a test has them say.
"""
import queue
import socket
import threading

import pytest

import wire
from listener import Listener
from origin import Authority

HOST, OTHER = "api.test", "other.test"
NONE, LENGTH, CHUNKED, CLOSE = range(4)
REPLACE, BASIC, ADD, ADD_BASIC, MASK = 1, 2, 3, 4, 5
SECRET = b"sk-live-8f3a/Zq+91=ab%cd"
PLACEHOLDER = "stk-placeholder-0001"
NUMBER = 7	# of that secret
MIB = 1 << 20
GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"


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


class Origin(Listener):
    """Runs script(peer) for each connection; keeps what it raised."""

    def __init__(self, script, certificate=None):
        self.script, self.errors = script, []
        super().__init__(socket.create_server(("127.0.0.1", 0)), certificate)

    def handle(self, sock):
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
        super().close()
        assert not self.errors, self.errors


class Response:
    def __init__(self):
        self.status, self.fields, self.body = None, [], b""
        self.failure, self.whole, self.chunks = None, False, 0
        self.trailers, self.interims = [], []

    def get(self, name):
        return dict(self.fields).get(name.encode())


class Stream:
    """edge's end of the stream of one agent connection."""

    def __init__(self, dial, conn, channel):
        self.dial, self.conn, self.channel = dial, conn, channel
        self.id = 0
        self.is_bare = False

    def exchange(self, method="GET", path="/", scheme=2, host=HOST, port=443,
                 fields=(), body=NONE, length=0, edits=b"", query=None,
                 allowance=2**64 - 1, limit="", secrets=b"", h2=0, trailers=0):
        self.id += 1
        self.is_bare = body == NONE
        self.dial.carried[self.conn, self.id] = wire.secrets_of(edits)
        self.dial.warden.send(
            "EXCHANGE", conn=self.conn, id=self.id, scheme=scheme, host=host,
            port=port, method=method, path=path, has_query=query is not None,
            query=query or "", fields=wire.fields(*fields), body=body,
            length=length, edits=edits, allowance=allowance, limit=limit,
            secrets=secrets, h2=h2, trailers=trailers)
        return self

    def send_body(self, *pieces):
        """Nothing is said of a body where there is none."""
        for piece in pieces:
            self.channel.send("BODY", data=piece)
        if pieces or not self.is_bare:
            self.channel.send("BODY_END")
        return self

    def pour(self):
        """A body, until nobody takes more of it; how much that was."""
        self.channel.end.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 64 * MIB:
                self.channel.send("BODY", data=bytes(32768))
                sent += 32768
        self.channel.end.settimeout(10)
        return sent

    def response(self):
        """Everything up to CHUNK_END, FAILURE or the end."""
        response = Response()
        while message := self.channel.receive():
            if message.kind == "RESPONSE":
                assert message.id == self.id and response.status is None
                if message.status < 200:
                    response.interims.append(
                        (message.status, wire.read_fields(message.fields)))
                    continue
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
                response.trailers = wire.read_fields(message.fields)
                break
        return response

    def get(self, path="/", **more):
        return self.exchange(path=path, **more).send_body().response()

    def close(self):
        self.channel.close()


class Dial:
    """The process; warden, resolve and vault are played by one thread.  With a proxy,
    its name, each origin of a test is that, and is asked for the real one."""

    def __init__(self, roots=None, vault=True, proxy="", user="",
                 hasty=False):
        self.process, self.warden = wire.start_helper("dial", hasty=hasty)
        self.proxy = proxy
        self.origins, self.refusals, self.values = {}, {}, {}
        self.carried, self.withheld = {}, None
        self.others, self.rejected = {}, []
        self.done, self.claimed, self.faults = queue.Queue(), [], []
        self.draws = queue.Queue()
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
        self.warden.send("DIAL_START", fds, has_vault=int(vault), proxy=proxy,
                         proxy_port=3128 if proxy else 0, user=user)
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
            elif message.kind == "DRAW":
                self.draws.put((message.conn, message.id))
            elif message.kind == "NEED":
                self.needs += 1
                self.connect(message)
            elif message.kind == "REJECTED":
                self.rejected.append((message.conn, message.id))
            elif message.kind == "CLAIM":
                self.claimed.append((message.conn, message.id))
                if self.withheld is None:
                    self.lease(message)
                else:
                    self.withheld.append(message)

    def allow(self, stream, n):
        self.warden.send("ALLOWANCE", conn=stream.conn, id=stream.id, bytes=n)

    def lease(self, message):
        """vault: what the exchange carries, by the numbers of its secrets."""
        for secret in self.carried[message.conn, message.id]:
            value = self.values.get(secret)
            self.vault.send("LEASE", conn=message.conn, id=message.id,
                            secret=secret, ok=int(value is not None),
                            value=value or b"",
                            others=self.others.get(secret, b""))

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
                              id=message.id, proxied=int(bool(self.proxy)))

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
         prefix="", secret=NUMBER):
    return wire.edit(form, field, placeholder, prefix, secret)
