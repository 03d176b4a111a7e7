# SPDX-License-Identifier: Apache-2.0
"""Some hundred malformed requests from inside one run, plain to the proxy and
inside a tunnel, with TLS and without, judged by what an origin that records all bytes received."""
import collections
import json
import re
import urllib.parse

import pytest

from conftest import PATIENCE
from listener import Listener, everywhere
from request_vectors import all_vectors

# Inside: each vector on a connection of its own, many at a time.
CLIENT = r"""
import json, os, queue, socket, ssl, sys, threading
vectors, tunnel, tls = json.load(open("vectors.json"))
work, said = queue.Queue(), {}
for one in vectors:
    work.put(one)
context = ssl.create_default_context()

def connect():
    s = socket.create_connection(("proxy.stockade", 3128), 20)
    s.settimeout(20)
    if tunnel:
        s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n"
                  % ((tunnel.encode(),) * 2))
        head = b""
        while b"\r\n\r\n" not in head:
            head += s.recv(1)
        if tls:
            s = context.wrap_socket(s, server_hostname=tunnel.split(":")[0])
    s.settimeout(1.5)
    return s

def try_one(data):
    got = b""
    try:
        s = connect()
    except OSError as e:
        return "no connection: %r" % e
    try:
        s.sendall(data)
        if not tls:
            s.shutdown(socket.SHUT_WR)
        while len(got) < 65536:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
    except OSError:
        pass
    s.close()
    return got.split(b"\r\n")[0].decode("latin-1")

def serve():
    while True:
        try:
            name, data = work.get_nowait()
        except queue.Empty:
            return
        said[name] = try_one(data.encode("latin-1"))

threads = [threading.Thread(target=serve) for _ in range(32)]
for t in threads: t.start()
for t in threads: t.join()
json.dump(said, sys.stdout)
"""


class Recorder(Listener):
    """Keeps every byte of every connection; answers what looks like requests,
    as carelessly as an origin might."""

    def __init__(self, pair=None):
        self.received = []
        super().__init__(everywhere(), pair)

    def serve(self, s):
        data, answered = bytearray(), 0
        self.received.append(data)
        while piece := s.recv(65536):
            data += piece
            while answered < len(read_requests(bytes(data))[0]):
                answered += 1
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def body_end(data, at, fields):
    """Where the body ends that begins at `at`; None: it does not yet."""
    coding = [v for k, v in fields if k == b"transfer-encoding"]
    lengths = [v for k, v in fields if k == b"content-length"]
    assert len(coding) + len(lengths) <= 1, fields
    if lengths:
        end = at + int(lengths[0])
        return end if end <= len(data) else None
    while coding:
        size = re.compile(rb"([0-9a-f]+)\r\n").match(data, at)
        if not size:
            return None
        n, at = int(size[1], 16), size.end()
        if data[at + n:at + n + 2] != b"\r\n":
            return None
        at += n + 2
        if n == 0:
            return at
    return at


def read_requests(data):
    """([(method, target, fields, head)], what follows them); a request whose
    body is not complete is the last."""
    found, at = [], 0
    while (end := data.find(b"\r\n\r\n", at)) >= 0:
        head = data[at:end]
        first, *lines = head.split(b"\r\n")
        fields = [(name.lower(), value.strip()) for name, _, value in
                  (one.partition(b":") for one in lines)]
        method, _, rest = first.partition(b" ")
        found.append((method, rest.rpartition(b" ")[0], fields, head))
        after = body_end(data, end + 4, fields)
        if after is None:
            return found, b""
        at = after
    return found, data[at:]


def check_request(method, target, fields, head, host):
    """What must hold for each that arrives, whatever was tried."""
    assert method in (b"GET", b"POST"), head
    assert [v for k, v in fields if k == b"host"] == [host], head
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]"
                         rb"|\r\n[ \t]", head), head
    names = {k for k, _ in fields}
    assert all(re.fullmatch(rb"[a-z0-9!#$%&'*+.^_`|~-]+", k) for k in names)
    assert {v for k, v in fields if k == b"upgrade"} <= {b"websocket"}, head
    assert not names & {b"proxy-authorization", b"keep-alive",
                        b"http2-settings", b"trailer", b"te",
                        b"x-http-method-override", b"x-http-method",
                        b"x-method-override"}, head
    path = target.partition(b"?")[0].decode()
    for _ in range(4):
        assert path.startswith("/allowed/"), head
        segments = re.split(r"[/\\]", path)
        assert not any(re.sub(r";.*", "", s).strip(" +") in (".", "..")
                       for s in segments), head
        assert "" not in segments[1:-1], head
        path = urllib.parse.unquote(path, encoding="latin-1")


@pytest.mark.parametrize("form", ["plain", "tunnel", "bare tunnel"])
def test_nothing_but_proper_requests_reaches_an_origin(stockade, authority,
                                                       form):
    tls, tunnel = form == "tunnel", form != "plain"
    origin = Recorder(authority.leaf("rec.test") if tls else None)
    host, port = f"rec.test:{origin.port}", str(origin.port)
    words = {"{U}": "" if tunnel else "http://" + host, "{H}": host,
             "{P}": port, "{W}": str(origin.port + 65536)}
    sent = []
    for i, (name, data, _, _) in enumerate(all_vectors()):
        for word, value in {**words, "{V}": f"v{i:03}",
                            "{S}": f"s{i:03}"}.items():
            data = data.replace(word, value)
        sent.append((name, data))
    (stockade.cwd / "vectors.json").write_text(
        json.dumps([sent, host if tunnel else "", tls]))
    result = stockade.run(
        "/usr/bin/python3", "-c", CLIENT, timeout=60 * PATIENCE,
        policy=f"read .\nroots {authority.pem}\n"
               f"allow GET,POST rec.test:{port}/allowed/**\n"
               f"reach rec.test via 127.0.0.1:{port}\n").ok()
    origin.close()
    said = json.loads(result.out)
    seen = collections.Counter()
    for data in origin.received:
        requests, rest = read_requests(bytes(data))
        assert rest == b"", rest
        for one in requests:
            check_request(*one, host.encode())
            (mark,) = re.findall(rb"/([vs]\d{3})\b", one[1])
            seen[mark.decode()] += 1
    wrong = []
    for i, (name, _, first, second) in enumerate(all_vectors()):
        got = seen[f"v{i:03}"], seen[f"s{i:03}"]
        if got[0] > first or got[1] > second or (
                name.startswith("ok") and got != (first, second)):
            wrong.append((name, got, (first, second), said[name]))
    assert not wrong, "\n".join(map(str, wrong))
    assert not [name for name, text in said.items()
                if text.startswith("no connection")]
