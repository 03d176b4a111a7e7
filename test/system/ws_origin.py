# SPDX-License-Identifier: Apache-2.0
"""A WebSocket's origin that records what reached it, and says what its path asks
for; the tests judge from here.

/echo and whatever else: messages come back, a close is answered.  /wrong has
another accept value; /protocol and /extension choose what nobody offered; /refuse
is 404; /greet has a frame in the packet of its 101; /count answers at the end of
the other half; /last ends its own half first; /mirror?cut=N sends the credential that it got,
in one frame and N bytes at a time, then a frame that ends as the credential
begins; /spread?cut=N sends it in frames of N bytes, of one
message; /masked sends it in a frame with a mask.
"""
import base64
import hashlib
import os
import socket
import ssl
import struct
import threading
import time

ACCEPT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUED, TEXT, BINARY, CLOSE = 0, 1, 2, 8


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key + ACCEPT).digest())


def frame(data, opcode=BINARY, masked=False):
    n, bit = len(data), 0x80 if masked else 0
    head = bytes([0x80 | opcode])
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += struct.pack(">BH", bit | 126, n)
    else:
        head += struct.pack(">BQ", bit | 127, n)
    if not masked:
        return head + data
    mask = os.urandom(4)
    whole = int.from_bytes(data, "big") ^ int.from_bytes(
        (mask * (n // 4 + 1))[:n], "big")
    return head + mask + whole.to_bytes(n, "big")


class Pipe:
    """Frames and lines of a socket."""

    def __init__(self, sock):
        self.sock, self.got, self.send = sock, b"", sock.sendall

    def exactly(self, n):
        while len(self.got) < n:
            piece = self.sock.recv(1 << 18)
            if not piece:
                raise EOFError
            self.got += piece
        out, self.got = self.got[:n], self.got[n:]
        return out

    def head(self):
        out = b""
        while not out.endswith(b"\r\n\r\n"):
            out += self.exactly(1)
        return out

    def frame(self):
        first, n = self.exactly(2)
        masked, n = n & 0x80, n & 0x7f
        if n >= 126:
            n = int.from_bytes(self.exactly(2 if n == 126 else 8), "big")
        mask = self.exactly(4) if masked else b""
        data = self.exactly(n)
        if masked:
            whole = int.from_bytes(data, "big") ^ int.from_bytes(
                (mask * (n // 4 + 1))[:n], "big")
            data = whole.to_bytes(n, "big")
        return first & 15, data

    def rest(self):
        out, self.got = self.got, b""
        while piece := self.sock.recv(1 << 18):
            out += piece
        return out


class Origin:
    def __init__(self, tls=None, port=0):
        self.heads, self.frames, self.ends, self.rest = [], [], [], []
        self.context = None
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.via = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,),
                             daemon=True).start()

    def serve(self, sock):
        try:
            sock.settimeout(20)
            if self.context:
                sock = self.context.wrap_socket(
                    sock, server_side=True, suppress_ragged_eofs=False)
            with sock:
                self.one(sock)
            self.ends.append("close")
        except (OSError, EOFError) as e:
            self.ends.append(type(e).__name__)

    def one(self, sock):
        pipe = Pipe(sock)
        head = pipe.head()
        self.heads.append(head)
        path = head.split(b" ")[1].decode()
        fields = {}
        for line in head.split(b"\r\n")[1:-2]:
            name, _, value = line.partition(b": ")
            fields[name.decode().lower()] = value
        if path == "/refuse":
            sock.sendall(b"HTTP/1.1 404 No\r\nConnection: close\r\n"
                         b"Content-Length: 3\r\n\r\nno\n")
            self.rest.append(pipe.rest())
            return
        more = {"/protocol": b"Sec-WebSocket-Protocol: b\r\n",
                "/offered": b"Sec-WebSocket-Protocol: two\r\n",
                "/extension": b"Sec-WebSocket-Extensions: x-none\r\n",
                }.get(path, b"")
        key = fields.get("sec-websocket-key", b"")
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket"
                     b"\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                     + accept_of(key if path != "/wrong" else b"x") + b"\r\n"
                     + more + b"\r\n"
                     + (frame(b"hello") if path == "/greet" else b""))
        self.talk(pipe, path, fields)

    def talk(self, pipe, path, fields):
        if path == "/count":
            pipe.send(frame(b"%d" % len(pipe.rest())))
        elif path == "/last":
            pipe.send(frame(b"bye"))
            pipe.sock.shutdown(socket.SHUT_WR)
            self.rest.append(pipe.rest())
        elif path.startswith("/mirror"):
            value = fields["authorization"].removeprefix(b"Bearer ")
            data, cut = frame(b"<" + value + b">"), int(path.split("=")[1])
            for at in range(0, len(data), cut):
                pipe.send(data[at:at + cut])
                time.sleep(0.002)
            pipe.send(frame(b"begins: " + value[:4]))
            pipe.frame()
        elif path.startswith("/spread"):
            value = fields["authorization"].removeprefix(b"Bearer ")
            data, cut = b"<" + value + b">", int(path.split("=")[1])
            for at in range(0, len(data), cut):
                piece = bytearray(frame(data[at:at + cut],
                                        CONTINUED if at else BINARY))
                if at + cut < len(data):
                    piece[0] &= 0x7f
                pipe.send(piece)
            pipe.frame()
        elif path == "/masked":
            pipe.send(frame(fields["authorization"], masked=True))
            pipe.frame()
        else:
            self.echo(pipe)

    def echo(self, pipe):
        while True:
            opcode, data = pipe.frame()
            self.frames.append((opcode, data))
            pipe.send(frame(data, opcode))
            if opcode == CLOSE:
                break
