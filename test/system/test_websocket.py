# SPDX-License-Identifier: Apache-2.0
"""WebSockets: an upgrade that a rule for GET allows, bytes both ways, each end
told to the other; judged by what the origin received and the client saw."""
import json
import os

import pytest

from conftest import eventually
from ws_origin import CLOSE, Origin

pytestmark = pytest.mark.whoever

HERE = os.path.dirname(os.path.abspath(__file__))
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
SECRET = "sk-live-8f3a/Zq+91=ab%cd"

# What a client says, by hand.  It is told the module of the origin by its text.
CLIENT = """
import json, socket, ssl, sys
def dial(host, port):
    s = socket.create_connection((host, port), 10)
    if port != 80:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        s = context.wrap_socket(s, server_hostname=host,
                                suppress_ragged_eofs=False)
    return s
def open(path, *fields, host="ws.test", port=443, behind=b"", drop=(),
         method="GET", key="dGhlIHNhbXBsZSBub25jZQ=="):
    head = {"Host": host, "Connection": "keep-alive, Upgrade",
            "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key}
    lines = [f"{n}: {v}" for n, v in head.items() if n not in drop]
    pipe = Pipe(dial(host, port))
    pipe.send("\\r\\n".join([f"{method} {path} HTTP/1.1", *lines, *fields, "", ""])
              .encode() + behind)
    answer = pipe.head().decode().split("\\r\\n")
    return pipe, answer[0], dict(line.lower().split(": ", 1)
                                 for line in answer[1:-2])
def status(*a, **k):
    pipe, first, fields = open(*a, **k)
    pipe.sock.close()
    return first.split(" ")[1]
def shut(pipe):
    # The wrapper of python would take the end of both halves for one.
    pipe.sock.shutdown(socket.SHUT_WR)
def to_the_end(pipe):
    try: return pipe.rest().decode()
    except OSError as e: return type(e).__name__
def say(*what): print(json.dumps(what), flush=True)
"""


@pytest.fixture(scope="module")
def ws(authority):
    origin = Origin(authority.leaf("ws.test"))
    yield origin
    origin.close()


@pytest.fixture(scope="module")
def plain():
    origin = Origin()
    yield origin
    origin.close()


@pytest.fixture
def inside(stockade, authority, ws, plain):
    """Runs a client; the lines that it says, decoded."""
    for origin in ws, plain:
        for kept in origin.heads, origin.frames, origin.ends, origin.rest:
            kept.clear()
    with open(os.path.join(HERE, "ws_origin.py"), encoding="utf-8") as text:
        module = text.read()

    def run(script, policy="allow GET ws.test/**\n", **more):
        result = stockade.run(
            "/usr/bin/python3", "-c", module + CLIENT + script,
            policy=f"roots {authority.pem}\nreach ws.test via {ws.via}\n"
                   f"reach plain.test via {plain.via}\n" + policy, **more)
        assert result.status == 0, result
        return [json.loads(line) for line in result.out.splitlines()]

    return run


def events(stockade, event):
    return [r for r in stockade.log() if r["event"] == event]


def test_an_allowed_upgrade_carries_messages_both_ways(stockade, inside, ws):
    got = inside("""
pipe, first, fields = open("/echo?x=1", "Sec-WebSocket-Extensions: permessage-deflate")
say(first, fields["sec-websocket-accept"], fields["upgrade"], fields["connection"])
pipe.send(frame(b"one", TEXT, True))
say(pipe.frame()[1].decode())
pipe.send(frame(b"\\3\\xe8", CLOSE, True))
say(pipe.frame()[0], to_the_end(pipe))
pipe.sock.close()
say(status("/refuse"))
say(open("/offered", "Sec-WebSocket-Protocol: one, two")[2]["sec-websocket-protocol"])
""")
    assert got[0] == ["HTTP/1.1 101 Switching Protocols", ACCEPT.lower(),
                      "websocket", "upgrade"]
    assert got[1:3] == [["one"], [CLOSE, ""]]
    assert got[3:] == [["404"], ["two"]]
    assert ws.frames == [(1, b"one"), (CLOSE, b"\3\xe8")]
    head = ws.heads[0].lower()
    assert head.startswith(b"get /echo?x=1 http/1.1\r\nhost: ws.test\r\n")
    assert b"\r\nconnection: upgrade\r\nupgrade: websocket\r\n" in head
    assert b"\r\nsec-websocket-version: 13\r\n" in head
    assert b"\r\nsec-websocket-extensions: permessage-deflate\r\n" in head
    # The key is dial's own, a new one each time.
    keys = {line for h in ws.heads for line in h.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key")}
    assert len(keys) == len(ws.heads) == 3 and KEY.encode() not in b"".join(keys)
    requests = events(stockade, "request")
    assert [(r["method"], r["verdict"], r["upgrade"]) for r in requests] == [
        ("GET", "allow", "websocket")] * 3
    assert {(r["status"], r["sent_bytes"], r["received_bytes"]) for r in
            events(stockade, "response") if "error" not in r} == {
        (101, 9 + 8, 5 + 4), (404, 0, 3)}


def test_a_denied_upgrade_reaches_nobody(stockade, inside, ws):
    """Nor one that is malformed, nor bytes behind one that was refused."""
    got = inside("""
pipe, first, fields = open("/secret", behind=b"GET /ok HTTP/1.1\\r\\nHost: ws.test\\r\\n\\r\\n")
say(first[:12], fields["connection"], to_the_end(pipe).count("HTTP/1.1"))
for more in ({"method": "POST"}, {"drop": ["Sec-WebSocket-Key"]}, {"key": "AAAA"},
             {"drop": ["Sec-WebSocket-Version"]}):
    say(status("/ok", **more))
say(status("/ok", "Content-Length: 3", behind=b"abc"))
say(status("/ok", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
say(status("/ok", host="plain.test", port=80))
""", "allow GET ws.test/ok\nallow POST ws.test/**\n")
    assert got[0] == ["HTTP/1.1 403", "close", 0]
    assert [s for [s] in got[1:]] == ["400"] * 6 + ["403"]
    assert ws.heads == []
    assert [r["verdict"] for r in events(stockade, "request")] == ["deny"] * 2


def test_an_answer_that_is_no_switch_is_none(stockade, inside, ws):
    """Another accept value, a protocol or an extension that was not offered, a 101
    that was not asked for: 502, and nothing of what follows."""
    got = inside("""
for path in "/wrong", "/protocol", "/extension":
    say(status(path, "Sec-WebSocket-Protocol: a, B"))
for drop in ["Upgrade"], ["Connection"], ["Upgrade", "Connection"]:
    say(status("/echo", drop=drop))
say(status("/echo", "Upgrade: h2c", drop=["Upgrade"]))
""")
    assert got == [["502"]] * 7
    errors = [r["error"] for r in events(stockade, "response")]
    assert "another key" in errors[0]
    assert "was not offered" in errors[1] and "was not offered" in errors[2]
    assert all("not asked for" in e for e in errors[3:])
    # What is no WebSocket's went out as the GET that it is.
    assert all(b"upgrade" not in h.lower() for h in ws.heads[3:])
    assert ws.frames == []


def test_bytes_behind_a_head_are_the_other_sides(inside, ws):
    got = inside("""
pipe, first, fields = open("/greet", behind=frame(b"early", BINARY, True))
say(pipe.frame()[1].decode(), pipe.frame()[1].decode())
pipe, first, fields = open("/refuse", behind=b"GET /next HTTP/1.1\\r\\nHost: ws.test\\r\\n\\r\\n")
say(first[:12], to_the_end(pipe))
""")
    assert got == [["hello", "early"], ["HTTP/1.1 404", "no\n"]]
    assert len(ws.heads) == 2 and eventually(lambda: ws.rest == [b""])


# In one thread: a TLS socket of python's is not for two at once.
BIG = """
import select
WAITS = BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError
pipe, first, fields = open("/echo", host=HOST, port=PORT)
block = bytes(range(256)) * 4096
want, sock = frame(block) * 8, pipe.sock
out, got = memoryview(frame(block, BINARY, True) * 8), bytearray(pipe.got)
sock.setblocking(False)
while len(got) < len(want):
    select.select([sock], [sock] if out else [], [], 20)
    try:
        if out: out = out[sock.send(out[:65536]):]
    except WAITS: pass
    try:
        while piece := sock.recv(1 << 18): got += piece
        break
    except WAITS: pass
say(got == want)
"""


@pytest.mark.parametrize("host,port", [("ws.test", 443), ("plain.test", 80)])
def test_megabytes_both_ways(inside, host, port):
    script = BIG.replace("HOST", repr(host)).replace("PORT", str(port))
    assert inside(script, f"allow GET {host}/**\n") == [[True]]


def test_each_half_ends_by_itself(inside, plain):
    """The origin answers when the client has ended; the client goes on when the
    origin has."""
    got = inside("""
pipe, first, fields = open("/count", host="plain.test", port=80)
pipe.send(b"x" * 300000); shut(pipe)
say(pipe.frame()[1].decode(), to_the_end(pipe))
pipe, first, fields = open("/last", host="plain.test", port=80)
say(pipe.frame()[1].decode(), to_the_end(pipe))
pipe.send(b"y" * 300000); shut(pipe)
pipe, first, fields = open("/echo", host="plain.test", port=80)
pipe.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
pipe.send(frame(b"z", BINARY, True)); pipe.frame(); pipe.sock.close()
import time; time.sleep(.3)
""", "allow GET plain.test/**\n")
    assert got == [["300000", ""], ["bye", ""]]
    assert eventually(lambda: len(plain.rest) == 1)
    assert plain.rest == [b"y" * 300000]
    # A connection that broke off does not look ended; which is over first, the
    # large upload or that, is nobody's business.
    assert eventually(lambda: len(plain.ends) == 3)
    assert sorted(plain.ends) == ["ConnectionResetError", "close", "close"]


def test_a_limit_of_uploads_counts_frames(stockade, inside, ws):
    got = inside("""
pipe, first, fields = open("/echo")
n = 0
try:
    for _ in range(128):
        pipe.send(frame(b"x" * 16000, BINARY, True)); n += len(pipe.frame()[1])
except (OSError, EOFError): pass
say(n)
""", "allow GET ws.test/**\nlimit upload 1M\n")
    assert 900000 < got[0][0] < 1 << 20
    assert sum(len(d) for _, d in ws.frames) < 1 << 20
    [done] = events(stockade, "response")
    assert "limit upload 1M" in done["error"] and done["sent_bytes"] <= 1 << 20


def test_a_credential_goes_out_and_does_not_come_back(stockade, inside, ws):
    """Whole and a byte at a time, in one frame and in many; a message that ends as
    the credential begins is not held back.  Nothing is compressed, and no frame
    hides it."""
    got = inside("""
import os
token = "Authorization: Bearer " + os.environ["WS_TOKEN"]
more = "Sec-WebSocket-Extensions: permessage-deflate"
for cut in 1, 5, 999:
    pipe, first, fields = open(f"/mirror?cut={cut}", token, more)
    say(pipe.frame()[1].decode(), pipe.frame()[1].decode())
    pipe.sock.close()
for cut in 1, 7:
    pipe, first, fields = open(f"/spread?cut={cut}", token, more)
    whole = b""
    while not whole.endswith(b">"):
        whole += pipe.frame()[1]
    say(whole.decode())
    pipe.sock.close()
say(status("/extension", token, more))
pipe, first, fields = open("/masked", token)
say(first[:12], to_the_end(pipe))
""", "allow GET ws.test/**\n"
     "secret WS_TOKEN from env for ws.test as bearer\n",
                 env={"WS_TOKEN": SECRET})
    masked = ["<" + "*" * len(SECRET) + ">", "begins: " + SECRET[:4]]
    assert got[:3] == [masked] * 3
    assert got[3:5] == [masked[:1]] * 2
    assert got[5] == ["502"]
    assert got[6][0] == "HTTP/1.1 101" and SECRET not in got[6][1]
    assert "Error" in got[6][1]
    for head in ws.heads:
        assert b"Bearer " + SECRET.encode() + b"\r\n" in head
        assert b"deflate" not in head
    requests = events(stockade, "request")
    assert all(r["secrets"] == ["WS_TOKEN"] for r in requests)
    assert sum(r.get("scrubbed", 0) for r in
               events(stockade, "response")) == 5


def test_without_tls_through_the_explicit_proxy(stockade, inside, plain):
    """CONNECT to port 80 and an upgrade in the tunnel: what an agent of a proxy,
    as node's clients have one, does for ws://."""
    got = inside("""
def dial(host, port):
    s = socket.create_connection(("proxy.stockade", 3128), 10)
    s.sendall(b"CONNECT %s:%d HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n"
              % ((host.encode(), port) * 2))
    assert Pipe(s).head().startswith(b"HTTP/1.1 200 ")
    return s
pipe, first, fields = open("/echo", host="plain.test", port=80)
pipe.send(frame(b"one", TEXT, True))
say(first[9:12], fields["sec-websocket-accept"], pipe.frame()[1].decode())
say(status("/no", host="plain.test", port=80))
""", "allow GET plain.test/echo\n")
    assert got == [["101", ACCEPT.lower(), "one"], ["403"]]
    assert [h.split()[1] for h in plain.heads] == [b"/echo"]
    assert [(r["url"], r["verdict"]) for r in events(stockade, "request")] == [
        ("http://plain.test/echo", "allow"), ("http://plain.test/no", "deny")]


LIBRARY = """
import asyncio, ssl, websockets
async def main():
    async with websockets.connect("wss://ws.test/echo", max_size=None) as ws:
        await ws.send("hello"); say(await ws.recv())
        await ws.send(b"x" * 1000000); say(len(await ws.recv()))
    say(ws.close_code)
asyncio.run(main())
"""


def test_a_client_of_python(inside):
    assert inside(LIBRARY) == [["hello"], [1000000], [1000]]


NODE = r"""
const http2 = require("http2");
const session = http2.connect("https://ws.test");
session.on("error", e => { console.log(JSON.stringify([String(e)])); process.exit(1); });
function open(path, use) {
	return new Promise((resolve) => {
		const s = session.request({ ":method": "CONNECT", ":path": path,
			":protocol": "websocket", "sec-websocket-version": "13" },
			{ endStream: false });
		let status = 0, got = [];
		s.on("response", h => { status = h[":status"]; use(s, status); });
		s.on("data", d => got.push(d));
		s.on("end", () => s.end());
		s.on("error", () => 0);
		s.on("close", () => { got = Buffer.concat(got);
			resolve([status, got.length, got.toString("hex", 0, 20)]); });
	});
}
function frame(opcode, n) {
	const head = Buffer.alloc(14);
	head[0] = 0x80 | opcode; head[1] = 0xff;
	head.writeBigUInt64BE(BigInt(n), 2);
	return Buffer.concat([head, Buffer.alloc(n, "x")]);
}
session.on("remoteSettings", async settings => {
	if (!settings.enableConnectProtocol) process.exit(2);
	const all = await Promise.all([
		open("/echo", s => { s.write(frame(2, 1000000)); s.write(frame(8, 2)); }),
		open("/no", s => s.end()), open("/refuse", s => s.end()),
		open("/greet", s => s.write(frame(8, 2))),
		open("/wrong", s => s.end())]);
	for (const one of all) console.log(JSON.stringify(one));
	session.close();
});
"""


def test_a_client_over_http2(stockade, authority, ws):
    """RFC 8441: several on one connection, to an origin that has HTTP/1."""
    ws.heads.clear()
    result = stockade.run(
        "node", "-e", NODE,
        policy=f"roots {authority.pem}\nreach ws.test via {ws.via}\n"
               "allow GET ws.test/**\ndeny GET ws.test/no\n").ok()
    got = [json.loads(line) for line in result.out.splitlines()]
    # Ends as they are in HTTP/2: without an error, as the origin has ended.
    assert [g[0] for g in got] == [200, 403, 404, 200, 502]
    assert got[0][1] == 10 + 1000000 + 4
    assert got[3][2] == "820568656c6c6f" + "88027878"
    assert sorted(h.split(b" ")[1] for h in ws.heads) == [
        b"/echo", b"/greet", b"/refuse", b"/wrong"]
    assert [r["upgrade"] for r in events(stockade, "request")] == [
        "websocket"] * 5
