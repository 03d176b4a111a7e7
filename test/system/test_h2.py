# SPDX-License-Identifier: Apache-2.0
"""Clients that speak HTTP/2, and origins that do not, or do."""
import json
import os
import struct

import pytest

from conftest import TREE
from dial_stage import Origin
from h2_origin import H2Peer

NODE = r"""
const http2 = require("http2"), fs = require("fs"), tls = require("tls");
const session = http2.connect("https://api.test");
session.on("error", e => { console.log("session", e); process.exit(1); });
function ask(fields, body) {
	return new Promise((resolve) => {
		const stream = session.request(fields, { endStream: !body });
		let status = 0, text = "", n = 0;
		stream.on("response", h => status = h[":status"]);
		stream.on("data", d => { n += d.length; if (n < 9999) text += d; });
		stream.on("error", e => resolve({ error: e.code }));
		stream.on("end", () => resolve({ status, n, text }));
		if (body)
			stream.end(body);
	});
}
(async () => {
	const all = [];
	for (let i = 0; i < 60; i++)
		all.push(ask({ ":path": (i % 2 ? "/no/" : "/yes/") + i }));
	const many = await Promise.all(all);
	const denied = [];
	for (let i = 0; i < 3; i++)
		denied.push(await ask({ ":method": "POST", ":path": "/no" },
				      Buffer.alloc(900000, "u")));
	const up = await ask({ ":method": "POST", ":path": "/yes/upload" },
			     Buffer.alloc(3000000, "u"));
	const down = await ask({ ":path": "/bytes?n=9000000" });
	const other = await ask({ ":path": "/yes/x", ":authority": "other.test" });
	console.log(JSON.stringify({ many: many.map(a => a.status), up, down: down.n,
				     denied, other,
				     alpn: session.alpnProtocol }));
	session.close();
})();
"""


def test_node(stockade, net, api, other):
    result = stockade.run("node", "-e", NODE, policy=net +
                          "allow GET,POST api.test/yes/**\n"
                          "allow GET api.test/bytes?n=9000000\n"
                          "allow GET other.test/**\n").ok()
    got = json.loads(result.out)
    assert got["alpn"] == "h2"
    assert got["many"] == [200, 403] * 30
    assert got["up"]["status"] == 200 and got["down"] == 9000000
    for denied in got["denied"]:
        assert denied["status"] == 403
        assert "allow POST api.test/no" in denied["text"]
    assert got["other"]["status"] == 421 and other.requests == []
    assert len(api.targets) == 32
    assert {len(r.body) for r in api.requests} == {0, 3000000}
    assert all(r.version == "HTTP/1.1" and r.get("host") == "api.test"
               for r in api.requests)


def test_curl(stockade, net, api):
    result = stockade.sh(
        "w='-sS --http2 -w %{http_version}:%{http_code}\\n';"
        "curl $w https://api.test/yes/1 https://api.test/no/2;"
        "curl $w -I -o /dev/null https://api.test/yes/3;"
        "curl $w -d data -H 'Expect: 100-continue' https://api.test/echo;"
        "curl $w https://api.test/status/204;"
        "head -c 4000000 /dev/zero | curl $w -T - https://api.test/yes/up;"
        "curl $w -Z -o /dev/null $(seq -f 'https://api.test/yes/%g' 20)",
        policy=net + "allow * api.test/yes/**\nallow POST api.test/echo\n"
        "allow GET api.test/status/204\n").ok()
    assert "allow GET api.test/no/2" in result.out, result
    for line in ("2:200", "2:403", "2:204"):
        assert line in result.out, result
    assert '"body": "data"' in result.out
    assert not any("/no" in target for target in api.targets)
    assert [len(r.body) for r in api.requests if r.target == "/yes/up"] == [
        4000000]


GRPC = r"""
const http2 = require("http2");
const session = http2.connect("https://grpc.test");
session.on("error", e => { console.log("session", e); process.exit(1); });
const ASK = Buffer.from("\0\0\0\0\4ask;");
function call(kind) {
	return new Promise((resolve) => {
		const stream = session.request({ ":method": "POST",
			":path": "/test.Calls/" + kind,
			"content-type": "application/grpc", te: "trailers" });
		let text = "", left = 2, end = {};
		stream.on("response", h => end = h);
		stream.on("trailers", h => end = h);
		stream.on("data", d => {
			text += d.toString().replace(/[^a-z;]/g, "");
			if (kind == "both" && left-- > 0)
				stream.write(ASK);
			else if (kind == "both")
				stream.end();
		});
		stream.on("error", e => resolve(["error", e.code]));
		stream.on("end", () => setImmediate(() => resolve(
			[text, +end["grpc-status"],
			 decodeURIComponent(end["grpc-message"] || "")])));
		stream.write(ASK);
		if (kind == "client")
			stream.write(ASK);
		if (kind != "both")
			stream.end();
	});
}
(async () => {
	const kinds = ["unary", "client", "server", "both", "refused"];
	console.log(JSON.stringify(await Promise.all(kinds.map(call))));
	session.close();
})();
"""
GRPC_JS = r"""
const grpc = require("@grpc/grpc-js");
const client = new grpc.Client("grpc.test:443", grpc.credentials.createSsl());
const ASK = Buffer.from("ask;"), as = x => x;
const call = (kind, method, ...one) => new Promise((resolve) => {
	let text = "", left = 2;
	const over = e => resolve([text, e ? e.code : 0, e ? e.details : ""]);
	// Kinds of one answer take a function, the others are read.
	const single = /Unary|Client/.test(kind);
	const stream = client[kind]("/test.Calls/" + method, as, as, ...one,
		...(single ? [(e, d) => { text += d || ""; over(e); }] : []));
	if (!single) {
		stream.on("error", over);
		stream.on("end", () => over());
		stream.on("data", d => {
			text += d;
			if (stream.write && left-- > 0)
				stream.write(ASK);
			else if (stream.write)
				stream.end();
		});
	}
	if (stream.write)
		stream.write(ASK);
	if (stream.write && single) {
		stream.write(ASK);
		stream.end();
	}
});
Promise.all([
	call("makeUnaryRequest", "unary", ASK),
	call("makeClientStreamRequest", "client"),
	call("makeServerStreamRequest", "server", ASK),
	call("makeBidiStreamRequest", "both"),
	call("makeUnaryRequest", "refused", ASK),
]).then(all => { console.log(JSON.stringify(all)); client.close(); });
"""
GRPC_PYTHON = """
import grpc, json, queue
channel = grpc.secure_channel("grpc.test:443", grpc.ssl_channel_credentials())
def method(kind, name):
    return getattr(channel, kind)("/test.Calls/" + name)
asks = queue.Queue()
def both():
    asks.put(b"ask;")
    left = 2
    for told in method("stream_stream", "both")(iter(asks.get, None)):
        yield told
        asks.put(b"ask;" if left > 0 else None)
        left -= 1
said = [[method("unary_unary", "unary")(b"ask;")],
        [method("stream_unary", "client")(iter([b"ask;"] * 2))],
        method("unary_stream", "server")(b"ask;"), both()]
said = [[b"".join(one).decode(), 0, ""] for one in said]
try:
    method("unary_unary", "refused")(b"ask;")
except grpc.RpcError as e:
    said.append(["", e.code().value[0], e.details()])
print(json.dumps(said))
"""


def rpc(peer):
    """Answers each "ask;" at once; a call ends in trailers."""
    told, over = {}, set()

    def say(number, *messages):
        for text in messages:
            peer.data(number, struct.pack(">BI", 0, len(text)) + text)

    while True:
        peer.pump()
        for number, request in peer.requests.items():
            if number not in told:
                peer.respond(number, ("content-type", "application/grpc"))
                told[number] = 0
            asked = request.body.count(b"ask;")
            if asked > told[number] and request.get(
                    ":path") != b"/test.Calls/client":
                say(number, *[b"told;"] * (asked - told[number]))
                told[number] = asked
            if not request.ended or number in over:
                continue
            if request.get(":path") == b"/test.Calls/client":
                say(number, b"told;" * asked)
            if request.get(":path") == b"/test.Calls/server":
                say(number, b"more;", b"more;")
            peer.trailers(number, ("grpc-status", "0"))
            over.add(number)


@pytest.mark.parametrize("client", ["node", "grpc-js", "python"])
def test_grpc(stockade, net, authority, client):
    """Its four kinds, and a refusal that a program of it shows."""
    peers = []

    def serve(peer):
        peers.append(H2Peer(peer.sock))
        rpc(peers[-1])

    modules = f"{TREE}/build-npm/node_modules"
    if client == "grpc-js" and not os.path.exists(f"{modules}/@grpc/grpc-js"):
        pytest.skip("a client that is not installed")
    command, more = {
        "node": (["node", "-e", GRPC], ""),
        "grpc-js": (["node", "-e", GRPC_JS], f"read {modules}\n"
                    f"env set NODE_PATH={modules}\n"),
        "python": (["/usr/bin/python3", "-c", GRPC_PYTHON], "")}[client]
    origin = Origin(serve, authority.leaf("grpc.test"))
    origin.context.set_alpn_protocols(["h2"])
    result = stockade.run(*command, policy=net +
                          f"reach grpc.test via 127.0.0.1:{origin.port}\n"
                          "allow POST grpc.test/**\n"
                          "deny * grpc.test/test.Calls/refused\n"
                          + more).ok()
    got = json.loads(result.out)
    assert got[:4] == [[text, 0, ""] for text in (
        "told;", "told;told;", "told;more;more;", "told;told;told;")], result
    assert got[4][:2] == ["", 7]
    assert got[4][2].startswith("denied by stockade: denied by: deny * grpc"), got
    assert origin.connections == 1
    assert not [r for r in peers[0].requests.values()
                if r.get(":path").endswith(b"refused")]
    origin.close()
