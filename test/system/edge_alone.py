# SPDX-License-Identifier: Apache-2.0
"""What the tests of stockade-edge alone use: a network of its own, and
stand-ins for the agent, warden, dial and vault.

A child process makes the namespaces and hands out sockets that live there; the
tests themselves stay outside, as edge does.
"""
import array
import datetime
import fcntl
import os
import socket
import ssl
import struct
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import wire

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
IPV6_RECVPKTINFO = 49
V6_PREFIX = "fd53:746f:636b::"


def configure_loopback():
    """lo up, with 198.18.0.0/15, 203.0.113.0/24 and some of the ULA range."""
    def interface(name):
        return name.encode().ljust(16, b"\0")

    def address(text):
        return struct.pack("<HH4s8x", socket.AF_INET, 0,
                           socket.inet_aton(text))

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("<16sh14x", b"lo", 0x1 | 0x40))
        for name, own, mask in (("lo:1", "198.18.0.1", "255.254.0.0"),
                                ("lo:2", "203.0.113.1", "255.255.255.0")):
            fcntl.ioctl(s, 0x8916, interface(name) + address(own))
            fcntl.ioctl(s, 0x891c, interface(name) + address(mask))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        for last in range(1, 9):
            own = socket.inet_pton(socket.AF_INET6, V6_PREFIX + str(last))
            fcntl.ioctl(s, 0x8916, struct.pack("<16sIi", own, 128, 1))


def make_socket(kind, port):
    if kind == b"listen":
        s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.bind(("::", port))
        s.listen(4096)
        s.setblocking(False)
    elif kind == b"dns":
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
        s.bind(("::", 53))
        s.setblocking(False)
    else:
        family = socket.AF_INET6 if kind.endswith(b"6") else socket.AF_INET
        s = socket.socket(family, socket.SOCK_DGRAM if kind.startswith(b"udp")
                          else socket.SOCK_STREAM)
    return s


def serve_sockets(end):
    import ctypes
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)
    if ctypes.CDLL(None, use_errno=True).unshare(flags) < 0:
        end.send(b"no")
        return
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                           ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w") as f:
                f.write(text)
    configure_loopback()
    end.send(b"ok")
    while True:
        asked = end.recv(64)
        if not asked:
            return
        kind, port = asked.split()
        with make_socket(kind, int(port)) as s:
            end.sendmsg([b"s"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                  array.array("i", [s.fileno()]))])


class Place:
    """The sandbox's network."""

    def __init__(self):
        self.end, theirs = socket.socketpair(socket.AF_UNIX,
                                             socket.SOCK_SEQPACKET)
        self.child = os.fork()
        if self.child == 0:
            try:
                self.end.close()
                serve_sockets(theirs)
            finally:
                os._exit(0)
        theirs.close()
        assert self.end.recv(8) == b"ok", "no network namespace"

    def socket(self, kind, port=0):
        self.end.send(f"{kind} {port}".encode())
        _, control, _, _ = self.end.recvmsg(8, socket.CMSG_SPACE(4))
        fd = struct.unpack("i", control[0][2])[0]
        return socket.socket(fileno=fd)

    def close(self):
        self.end.close()
        os.waitpid(self.child, 0)


class Response:
    def __init__(self, status, phrase, fields, body):
        self.status, self.phrase = status, phrase
        self.fields, self.body = fields, body


class Agent:
    """A client: raw bytes out, responses in."""

    def __init__(self, s):
        self.socket, self.seen = s, bytearray()
        s.settimeout(10)

    def encrypt(self, edge, name, alpn=()):
        context = ssl.create_default_context(cadata=edge.vault.ca())
        context.check_hostname = name is not None
        if alpn:
            context.set_alpn_protocols(alpn)
        self.socket = context.wrap_socket(
            self.socket, server_hostname=name, suppress_ragged_eofs=False)

    def send(self, data):
        self.socket.sendall(data.encode("latin-1")
                            if isinstance(data, str) else data)

    def more(self):
        data = self.socket.recv(1 << 16)
        self.seen += data
        return bool(data)

    def take(self, n):
        data = bytes(self.seen[:n])
        del self.seen[:n]
        return data

    def until(self, mark):
        while mark not in self.seen:
            assert self.more(), f"ended after {self.seen!r}"
        return self.take(self.seen.index(mark) + len(mark))

    def exactly(self, n):
        while len(self.seen) < n:
            assert self.more(), f"ended after {self.seen[:200]!r}"
        return self.take(n)

    def rest(self):
        while self.more():
            pass
        return self.take(len(self.seen))

    def is_closed(self):
        return self.rest() == b""

    def response(self, bodiless=False):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, phrase = lines[0].split(" ", 2)
        assert version == "HTTP/1.1"
        fields = {}
        for line in lines[1:-2]:
            name, value = line.split(": ", 1)
            assert name.lower() not in fields or name == "set-cookie"
            fields[name.lower()] = value
        body = bytearray()
        if bodiless or int(status) in (204, 304) or int(status) < 200:
            pass
        elif fields.get("transfer-encoding") == "chunked":
            while True:
                n = int(self.until(b"\r\n"), 16)
                body += self.exactly(n)
                assert self.exactly(2) == b"\r\n"
                if n == 0:
                    break
        elif "content-length" in fields:
            body = self.exactly(int(fields["content-length"]))
        else:
            body = self.rest()
        return Response(int(status), phrase, fields, bytes(body))

    def close(self):
        self.socket.close()


class Vault:
    """Signs what edge asks for, except names in `refused`."""

    def __init__(self, channel):
        self.channel, self.asked, self.refused = channel, [], set()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "t")])
        self.leaf_key = None
        channel.end.settimeout(None)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def build(self, key, ca, name=None):
        now = datetime.datetime.utcnow()
        day = datetime.timedelta(days=1)
        builder = (x509.CertificateBuilder().issuer_name(self.name)
                   .subject_name(self.name if ca else x509.Name([]))
                   .public_key(key).serial_number(x509.random_serial_number())
                   .not_valid_before(now - day).not_valid_after(now + day)
                   .add_extension(x509.BasicConstraints(ca, None), True))
        if name:
            builder = builder.add_extension(x509.SubjectAlternativeName(
                [x509.DNSName(name)]), True)
        return builder.sign(self.key, hashes.SHA256())

    def ca(self):
        return self.build(self.key.public_key(), True).public_bytes(
            serialization.Encoding.PEM).decode()

    def serve(self):
        self.leaf_key = serialization.load_der_public_key(
            self.channel.expect("LEAF_KEY").spki)
        while (message := self.channel.receive()) is not None:
            name = message.name.decode()
            self.asked.append(name)
            der = b"" if name in self.refused else self.build(
                self.leaf_key, False, name).public_bytes(
                    serialization.Encoding.DER)
            self.channel.send("CERTIFICATE", name=name, der=der)

    def close(self):
        self.channel.end.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.channel.close()


class Edge:
    """stockade-edge with a listener on one port, and its neighbours."""

    def __init__(self, place, port=80, vault=None, descriptors=None,
                 hasty=False):
        self.place, self.port = place, port
        self.streams, self.agents = {}, []
        self.process, self.warden = wire.start_helper(
            "edge", descriptors, hasty)
        listener = place.socket("listen", port)
        dns = place.socket("dns")
        fds = [listener.fileno(), dns.fileno()]
        self.vault = None
        if vault:
            ours, theirs = wire.pair()
            fds.append(theirs.fileno())
        self.warden.send("EDGE_START", fds, intercept=1 if vault else 0)
        listener.close()
        dns.close()
        if vault:
            theirs.close()
            self.vault = vault(wire.Channel(ours))

    def ask(self, question, server="198.18.0.53", kind="udp4"):
        """One DNS question over UDP, its answer, from the address asked."""
        with self.place.socket(kind) as s:
            s.settimeout(2)
            for _ in range(3):
                s.sendto(question, (server, 53))
                try:
                    answer, sender = s.recvfrom(4096)
                except TimeoutError:
                    continue
                assert sender[0] == server and sender[1] == 53
                return answer
        raise AssertionError("no answer")

    def address(self, name, kind=1):
        answer = self.ask(question(name, kind))
        size = 4 if kind == 1 else 16
        assert answer[3] & 15 == 0 and answer[7] == 1, answer
        data = answer[12 + len(name) + 2 + 4 + 12:][:size]
        return socket.inet_ntop(
            socket.AF_INET if kind == 1 else socket.AF_INET6, data)

    def connect(self, host, literal=False):
        """An agent connected to a name, or to an address as it is."""
        where = host if literal else self.address(host)
        s = self.place.socket("tcp6" if ":" in where else "tcp4")
        s.settimeout(10)
        s.connect((where, self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        agent = Agent(s)
        self.agents.append(agent)
        return agent

    def connect_tls(self, host, name="", literal=False, alpn=()):
        """Through TLS; name is the server name, by default the host's."""
        agent = self.connect(host, literal)
        agent.encrypt(self, host if name == "" else name, alpn)
        return agent

    def request(self):
        """The next REQUEST that reaches warden."""
        return self.warden.expect("REQUEST")

    def refused(self):
        return self.warden.expect("REFUSED")

    def allow(self, request):
        """Allows it; dial's end of its stream."""
        fds = []
        if request.conn not in self.streams:
            ours, theirs = wire.pair()
            self.streams[request.conn] = wire.Channel(ours)
            fds = [theirs.fileno()]
        self.warden.send("VERDICT", fds, conn=request.conn, id=request.id)
        if fds:
            theirs.close()
        stream = self.streams[request.conn]
        stream.is_bare = (request.kind == "REQUEST" and request.body == 0
                          and not request.upgrade)
        return stream

    def deny(self, request, reason="no rule allows it", **more):
        self.warden.send("VERDICT", conn=request.conn, id=request.id,
                         status=403, reason=reason, **more)

    def is_quiet(self, seconds=0.1):
        """Nothing more reaches warden."""
        self.warden.end.settimeout(seconds)
        try:
            got = self.warden.receive()
        except (TimeoutError, BlockingIOError):
            return True
        finally:
            self.warden.end.settimeout(20)
        raise AssertionError(f"unexpected {got}")

    def memory(self):
        """Resident kilobytes; 0 under a sanitizer, which needs its own."""
        with open(os.path.join(wire.BUILD, "src/stockade-edge"), "rb") as f:
            if b"__asan_init" in f.read():
                return 0
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def cpu(self):
        """Seconds of processor time."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            used = stat.read().rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    def close(self):
        alive = self.process.poll() is None
        for agent in self.agents:
            agent.close()
        for stream in self.streams.values():
            stream.close()
        self.warden.close()
        if self.vault:
            self.vault.close()
        status = self.process.wait(5)
        assert alive, "edge has died"
        assert status == 0, f"edge ended with {status}"


def question(name, kind):
    labels = b"".join(bytes([len(part)]) + part.encode()
                      for part in name.split(".")) + b"\0"
    return (b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0" + labels
            + struct.pack(">HH", kind, 1))


def body_of(stream):
    """One request's body, up to BODY_END; nothing comes where there is none."""
    body = bytearray()
    while not stream.is_bare:
        message = stream.receive()
        assert message is not None, f"cut off after {len(body)} bytes"
        if message.kind == "BODY_END":
            return bytes(body)
        assert message.kind == "BODY", message
        body += message.data
    return b""


def respond(stream, request, *pieces, status=200, fields=(), length=None):
    """A response with its body in these pieces; chunked without a length."""
    stream.send("RESPONSE", id=request.id, status=status,
                fields=wire.fields(*fields),
                body=2 if length is None else 1 if length else 0,
                length=length or 0)
    for piece in pieces:
        stream.send("CHUNK", data=piece)
    stream.send("CHUNK_END")


@pytest.fixture(scope="module")
def place():
    network = Place()
    yield network
    network.close()


@pytest.fixture
def edge(place):
    helper = Edge(place)
    yield helper
    helper.close()
