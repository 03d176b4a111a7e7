# SPDX-License-Identifier: Apache-2.0
"""An origin that records what reached it, byte by byte.

The tests judge from here: not from what a client inside believes, but from the
requests that arrived.  Each is kept with its head as it was on the wire.  The
server is small and literal on purpose; a library's would repair what we must
see.

Paths: /echo and /headers answer with the request as JSON; /mirror?form=F&cut=N
answers with the credential it received, encoded as F (raw base64 hex url), in
chunks of N bytes; /recall answers with the credential of an earlier request;
/slow is an event stream; /chunked, /bytes?n=N, /status/N,
/redirect?to=URL, /close, /hang, /part (of ten digits, tagged), and /v1/messages is
a model's API.
Anything else is 200 and `origin NAME`.
"""
import base64
import datetime
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import time
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from listener import Listener, everywhere


class Authority:
    """A certificate authority, and leaves from it, below one folder."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([
            x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        certificate = self._builder(self.name, self.key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), True).add_extension(
            x509.KeyUsage(True, False, False, False, False, True, True, False,
                          False), True).sign(self.key, hashes.SHA256())
        self.pem = os.path.join(folder, "ca.pem")
        self._write(self.pem, certificate)

    def _builder(self, subject, key, days=30):
        now = datetime.datetime.utcnow()
        return (x509.CertificateBuilder().subject_name(subject)
                .issuer_name(self.name).public_key(key.public_key())
                .serial_number(x509.random_serial_number())
                .not_valid_before(now - datetime.timedelta(days=60))
                .not_valid_after(now + datetime.timedelta(days=days))
                .add_extension(x509.SubjectKeyIdentifier.from_public_key(
                    key.public_key()), False)
                .add_extension(
                    x509.AuthorityKeyIdentifier.from_issuer_public_key(
                        self.key.public_key()), False))

    @staticmethod
    def _write(path, thing):
        with open(path, "wb") as out:
            out.write(thing.public_bytes(serialization.Encoding.PEM))

    def write_both(self, path):
        """The certificate and the key, for a program that mints."""
        with open(self.pem, "rb") as certificate, open(path, "wb") as out:
            out.write(self.key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption()))
            out.write(certificate.read())

    def leaf(self, *names, days=30):
        """(certificate, key): paths.  Negative days: it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([
            x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        alternatives = []
        for name in names:
            try:
                alternatives.append(
                    x509.IPAddress(ipaddress.ip_address(name)))
            except ValueError:
                alternatives.append(x509.DNSName(name))
        certificate = self._builder(subject, key, days).add_extension(
            x509.SubjectAlternativeName(alternatives), False).sign(
            self.key, hashes.SHA256())
        stem = os.path.join(self.folder, f"{names[0]}{days}".replace("*", "_"))
        self._write(stem + ".pem", certificate)
        with open(stem + ".key", "wb") as out:
            out.write(key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption()))
        return stem + ".pem", stem + ".key"


class Request:
    """One request as it arrived."""

    def __init__(self, raw, origin):
        self.raw, self.origin = raw, origin
        lines = raw.decode("latin-1").split("\r\n")
        self.method, self.target, self.version = (
            lines[0].split(" ") + ["", ""])[:3]
        self.fields = [(name.lower(), value.strip()) for name, _, value in
                       (line.partition(":") for line in lines[1:] if line)]
        self.path, _, self.query = self.target.partition("?")
        self.body = b""

    def get(self, name):
        values = [v for n, v in self.fields if n == name.lower()]
        return ", ".join(values) if values else None

    def as_json(self):
        return json.dumps({
            "method": self.method, "target": self.target,
            "headers": dict(self.fields), "body": self.body.decode("latin-1"),
            "origin": self.origin.name}).encode()

    def __repr__(self):
        return f"<{self.origin.name}: {self.method} {self.target}>"


class Closed(Exception):
    pass


class Connection:
    def __init__(self, sock):
        self.sock, self.buffer = sock, bytearray()

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise Closed
        self.buffer += data

    def until(self, mark):
        while mark not in self.buffer:
            self.fill()
        end = self.buffer.index(mark)
        head = bytes(self.buffer[:end])
        del self.buffer[:end + len(mark)]
        return head

    def exactly(self, n):
        while len(self.buffer) < n:
            self.fill()
        data = bytes(self.buffer[:n])
        del self.buffer[:n]
        return data

    def request(self, origin):
        request = Request(self.until(b"\r\n\r\n"), origin)
        # On record as soon as the head is here, whatever becomes of the body.
        origin.requests.append(request)
        if (request.get("expect") or "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in (request.get("transfer-encoding") or ""):
            body = bytearray()
            while True:
                size = int(self.until(b"\r\n").split(b";")[0], 16)
                body += self.exactly(size)
                self.until(b"\r\n")
                if size == 0:
                    break
            request.body = bytes(body)
        else:
            request.body = self.exactly(
                int(request.get("content-length") or 0))
        return request

    def send(self, data):
        self.sock.sendall(data)

    def answer(self, body, status=200, fields=(), head_only=False):
        lines = [f"HTTP/1.1 {status} Status",
                 f"Content-Length: {len(body)}", *fields]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n"
                  + (b"" if head_only else body))

    def chunks(self, pieces, fields=()):
        lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *fields]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        for piece in pieces:
            if piece:
                self.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.send(b"0\r\n\r\n")


class Origin(Listener):
    """A server on every address of this namespace, at one port."""

    def __init__(self, name, tls=None, git_root=None, port=0):
        self.name, self.requests, self.git_root = name, [], git_root
        self.handshake_errors = []
        super().__init__(everywhere(port), tls)

    def clear(self):
        self.requests.clear()
        self.connections = 0

    @property
    def targets(self):
        return [f"{r.method} {r.target}" for r in self.requests]

    def saw(self, text):
        """Did these bytes arrive anywhere in a request?"""
        needle = text.encode() if isinstance(text, str) else text
        return any(needle in r.raw or needle in r.body for r in self.requests)

    def handle(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with sock:
                if self.context:
                    sock = self.context.wrap_socket(sock, server_side=True)
                connection = Connection(sock)
                while self._one(connection):
                    pass
                # An end without close_notify could be a cut.
                if self.context:
                    sock = sock.unwrap()
                sock.close()
        except ssl.SSLError as error:
            self.handshake_errors.append(str(error))
        except (Closed, OSError, ValueError):
            pass

    def _one(self, connection):
        request = connection.request(self)
        query = dict(urllib.parse.parse_qsl(request.query))
        path = request.path
        if path.startswith("/locked/"):
            if not request.get("authorization"):
                connection.answer(b"", 401, [
                    'WWW-Authenticate: Basic realm="locked"'])
                return True
            path = request.path = path[7:]
        if path in ("/echo", "/headers"):
            connection.answer(request.as_json(), fields=[
                "Content-Type: application/json"])
        elif path == "/mirror":
            self._mirror(connection, request, query)
        elif path == "/recall":
            kept = [r.get("authorization") for r in self.requests]
            connection.answer(("kept: " + str(kept[0])).encode())
        elif path == "/slow":
            self._events(connection, [f"data: {i}\n\n" for i in range(5)], .2)
        elif path == "/chunked":
            connection.chunks([b"one ", b"two ", b"three\n"])
        elif path == "/bytes":
            self._bytes(connection, int(query["n"]))
        elif path == "/part":
            self._part(connection, request)
        elif path.startswith("/status/"):
            connection.answer(b"status\n", int(path[8:]))
        elif path == "/redirect":
            connection.answer(b"", 302, ["Location: " + query["to"]])
        elif path == "/close":
            connection.send(b"HTTP/1.1 200 OK\r\n\r\nuntil the end\n")
            return False
        elif path == "/hang":
            time.sleep(30)
        elif path == "/v1/messages":
            self._events(connection, MESSAGES, .02)
        elif self.git_root and path.startswith("/git/"):
            self._git(connection, request)
        else:
            connection.answer(f"origin {self.name}\n".encode(),
                              head_only=request.method == "HEAD")
        return True

    @staticmethod
    def _mirror(connection, request, query):
        name = query.get("field", "authorization")
        value = (request.get(name) or "").encode()
        if value.startswith(b"Bearer "):
            value = value[7:]
        form = query.get("form", "raw")
        if form == "base64":
            value = base64.b64encode(value)
        elif form == "hex":
            value = value.hex().upper().encode()
        elif form == "url":
            value = urllib.parse.quote(value, safe="").encode()
        elif form == "header":
            connection.answer(b"see the field\n", fields=[
                b"X-Mirror: ".decode() + value.decode()])
            return
        text = b"<<" + value + b">>"
        cut = int(query.get("cut", "0"))
        if cut:
            connection.chunks([text[i:i + cut]
                               for i in range(0, len(text), cut)])
        else:
            connection.answer(text)

    @staticmethod
    def _part(connection, request):
        digits, wanted = b"0123456789", request.get("range")
        if request.get("if-none-match") == '"ten"':
            connection.answer(digits, 304, ['ETag: "ten"'], head_only=True)
        elif not wanted or request.get("if-range") not in (None, '"ten"'):
            connection.answer(digits, fields=['ETag: "ten"'])
        else:
            first, last = map(int, wanted[6:].split("-"))
            connection.answer(digits[first:last + 1], 206, [
                f"Content-Range: bytes {first}-{last}/10", 'ETag: "ten"'])

    @staticmethod
    def _events(connection, events, delay):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                        b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in events:
            data = event.encode()
            connection.send(b"%x\r\n%s\r\n" % (len(data), data))
            time.sleep(delay)
        connection.send(b"0\r\n\r\n")

    @staticmethod
    def _bytes(connection, n):
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n"
                        .encode())
        block = bytes(range(256)) * 256
        while n:
            piece = block[:min(n, len(block))]
            connection.send(piece)
            n -= len(piece)

    def _git(self, connection, request):
        """git's own server side, as the CGI program that it is."""
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.git_root,
            "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": request.method,
            "PATH_INFO": urllib.parse.unquote(request.path[4:]),
            "QUERY_STRING": request.query, "REMOTE_USER": "tester",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": request.get("content-type") or "",
            "CONTENT_LENGTH": str(len(request.body)),
            "HTTP_CONTENT_ENCODING": request.get("content-encoding") or "",
            "GIT_PROTOCOL": request.get("git-protocol") or "",
            "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*", "GIT_CONFIG_KEY_1": "http.receivepack",
            "GIT_CONFIG_VALUE_1": "true",
        }
        out = subprocess.run(["git", "http-backend"], input=request.body,
                             env=environment, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        status, fields = 200, []
        for line in head.decode().split("\r\n"):
            if line.lower().startswith("status:"):
                status = int(line.split()[1])
            elif line:
                fields.append(line)
        connection.answer(body, status, fields)


MESSAGES = [
    'event: message_start\ndata: {"type":"message_start"}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta",'
    '"delta":{"type":"text_delta","text":"hello from the model"}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
]
