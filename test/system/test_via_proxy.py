# SPDX-License-Identifier: Apache-2.0
"""`via proxy`: every connection to an origin is the proxy's to make.  A proxy of
the test's own records what it is asked, byte by byte."""
import base64
import inspect
import json
import shutil
import socket
import threading

import pytest

import ws_origin
from conftest import needs_cell
from dial_stage import Origin as PeerOrigin
from h2_origin import H2Peer
from listener import Listener
from test_h2 import GRPC, rpc
from test_websocket import CLIENT, SECRET
from ws_origin import Origin

pytestmark = [needs_cell, pytest.mark.whoever]

ESTABLISHED = b"HTTP/1.0 200 Connection established\r\nVia: p\r\n\r\n"
PASSWORD = "pw-5f1c%Z/q"
LOGIN = base64.b64encode(f"corp:{PASSWORD}".encode()).decode()


class Proxy(Listener):
    """CONNECT, to the port of `routes` for a name and port that has one.  What
    `says` is answers in place of the tunnel; those in `mute` get no answer."""

    def __init__(self, routes, says=None, login=None, behind=b"", slow=False,
                 mute=()):
        self.routes, self.says, self.login = routes, says, login
        self.mute = mute
        self.behind, self.slow = behind, slow
        self.heads, self.passed = [], []
        super().__init__(socket.create_server(("", 0)))
        self.url = f"http://{self.via}"

    @property
    def asked(self):
        return [head.split("\r\n")[0] for head in self.heads]

    def serve(self, s):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = s.recv(1)
            if not piece:
                return
            head += piece
        self.heads.append(head.decode("latin-1"))
        if self.login and f"proxy-authorization: Basic {self.login}\r\n" \
                not in self.heads[-1]:
            s.sendall(b"HTTP/1.1 407 Give me\r\nContent-Length: 3\r\n"
                      b"Proxy-Authenticate: Basic realm=x\r\n\r\nno!")
            return
        if self.says is not None:
            s.sendall(self.says)
            s.shutdown(socket.SHUT_WR)
            s.recv(65536)
            return
        host, port = self.asked[-1].split()[1].rsplit(":", 1)
        if f"{host}:{port}" in self.mute:
            s.recv(1)
            return
        port = self.routes.get(f"{host}:{port}", port)
        with socket.create_connection(("127.0.0.1", int(port))) as origin:
            answer = ESTABLISHED + self.behind
            if self.slow:
                for i in range(len(answer)):
                    s.sendall(answer[i:i + 1])
            else:
                # With it, what an origin that speaks first says.
                origin.settimeout(0.2)
                try:
                    answer += origin.recv(4096)
                except TimeoutError:
                    pass
                origin.settimeout(None)
                s.sendall(answer)
            there = threading.Thread(target=self.pass_on, args=(origin, s))
            there.start()
            self.pass_on(s, origin, self.passed)
            there.join()

    @staticmethod
    def pass_on(source, to, seen=None):
        try:
            while piece := source.recv(65536):
                if seen is not None:
                    seen.append(piece)
                to.sendall(piece)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def proxy(api, plain):
    proxies = []

    def start(**more):
        routes = {"one.wide.test:443": api.port, "two.wide.test:80": plain.port}
        proxies.append(Proxy({**routes, **more.pop("routes", {})}, **more))
        return proxies[-1]

    yield start
    for p in proxies:
        p.close()


def get(stockade, url, policy, *more, **options):
    return stockade.run("curl", "-sS", "-m", "20", *more, url, policy=policy,
                        **options)


def test_names_are_the_proxys_to_look_up(stockade, authority, api, plain,
                                         proxy):
    """Names that nobody knows here, https and http.  What the proxy reads is
    nobody's bytes."""
    p = proxy(slow=True)
    result = stockade.run(
        "curl", "-sS", "-m", "20", "https://one.wide.test/echo",
        "http://two.wide.test/plain",
        "https://three.wide.test/no",
        policy=f"roots {authority.pem}\nvia proxy {p.url} by name\n"
        "allow GET one.wide.test/**\nallow GET two.wide.test:80/**\n")
    assert api.targets == ["GET /echo"], result
    assert plain.targets == ["GET /plain"]
    for head, place in zip(p.heads, ("one.wide.test:443", "two.wide.test:80"),
                           strict=True):
        assert head == f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n\r\n"
    assert not any(b"one.wide.test/" in piece or b"/echo" in piece
                   for piece in p.passed)
    seen = [r for r in stockade.log() if r["event"] == "connect"]
    assert [r.get("proxy") for r in seen] == [f"127.0.0.1:{p.port}"] * 2
    assert not any("address" in r for r in seen)


def test_names_are_looked_up_and_judged_here(stockade, authority, api, plain,
                                             proxy):
    """By the name for TLS, which proves it; else for what was judged.  A name
    that means a private address, or none: the proxy hears nothing."""
    p = proxy()
    urls = [f"https://public.test:{api.port}/a",
            f"http://public.test:{plain.port}/b",
            f"https://private.test:{api.port}/c",
            f"http://loopback.test:{plain.port}/d",
            f"http://unique.test:{plain.port}/e",
            "https://one.wide.test/f", f"https://127.0.0.1:{api.port}/g",
            f"http://metadata.google.internal:{plain.port}/h"]
    result = stockade.run(
        "curl", "-sS", "-m", "20", *urls,
        policy=f"roots {authority.pem}\nvia proxy {p.url}\n"
        f"allow * *:{api.port}/**\nallow * *:{plain.port}/**\nallow * *\n")
    assert p.asked == [f"CONNECT public.test:{api.port} HTTP/1.1",
                       f"CONNECT 93.184.216.34:{plain.port} HTTP/1.1"], result
    assert api.targets == ["GET /a"] and plain.targets == ["GET /b"]
    connects = [r for r in stockade.log() if r["event"] == "connect"]
    assert connects[1]["address"] == f"93.184.216.34:{plain.port}"
    assert "forbidden addresses" in connects[2]["reason"]


def test_by_name_literals_and_special_names_stay_refused(stockade, api, plain,
                                                         proxy):
    p = proxy()
    urls = [f"http://{host}:{plain.port}/x" for host in (
        "127.0.0.1", "[::1]", "169.254.169.254", "localhost", "x.local",
        "metadata.google.internal", "0x7f.1", "2130706433")]
    result = stockade.run(
        "curl", "-sSg", "-m", "20", *urls, f"http://two.wide.test:{plain.port}/",
        "http://denied.wide.test/", policy=f"via proxy {p.url} by name\n"
        f"allow * *:{plain.port}/**\n")
    assert p.asked == [f"CONNECT two.wide.test:{plain.port} HTTP/1.1"], result
    assert plain.targets == ["GET /"]


def test_reach_goes_there_directly(stockade, plain, proxy):
    p = proxy()
    result = get(stockade, "http://plain.test/direct", f"via proxy {p.url}\n"
                 f"reach plain.test via {plain.via}\nallow GET plain.test:80\n")
    assert plain.targets == ["GET /direct"], result
    assert p.heads == []


@pytest.mark.parametrize("slow", [False, True])
def test_a_relay_goes_through_it(stockade, proxy, slow):
    """Also when the server speaks first, in one packet with the 200."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve():
            s, _ = server.accept()
            with s:
                s.sendall(b"220 hello\r\n")
                got = b""
                while piece := s.recv(4096):
                    got += piece
                s.sendall(b"got " + got)

        threading.Thread(target=serve, daemon=True).start()
        p = proxy(slow=slow)
        result = stockade.run("python3", "-c", f"""
import socket
with socket.create_connection(("public.test", {port}), 20) as s:
    f = s.makefile("rb")
    print(f.readline())
    s.sendall(b"this")
    s.shutdown(socket.SHUT_WR)
    print(f.read())
""", policy=f"via proxy {p.url}\nallow tcp public.test:{port}\n")
    assert result.out == "b'220 hello\\r\\n'\nb'got this'\n", result
    assert p.asked == [f"CONNECT 93.184.216.34:{port} HTTP/1.1"]


def test_tls_that_nobody_opens_goes_through_it(stockade, authority, proxy):
    """`allow tls`: the client sees the origin's certificate, and the proxy is
    asked for nothing that the server name does not prove."""
    class Server(Listener):
        def serve(self, s):
            s.sendall(b"heard " + s.recv(100))

    server = Server(socket.create_server(("127.0.0.1", 0)),
                    authority.leaf("one.wide.test"))
    p = proxy(routes={"one.wide.test:443": server.port})
    shutil.copy(authority.pem, stockade.cwd / "pin.pem")
    result = stockade.run("/usr/bin/python3", "-c", """
import socket, ssl
context = ssl.create_default_context(cafile="pin.pem")
context.check_hostname = False
for name in "one.wide.test", "two.wide.test":
    try:
        with context.wrap_socket(socket.create_connection(("one.wide.test", 443)),
                                 server_hostname=name) as t:
            t.sendall(b"this"); print(t.recv(100), t.getpeercert()["issuer"][0])
    except OSError as e: print(type(e).__name__)
""", policy=f"read .\nvia proxy {p.url} by name\nallow tls one.wide.test\n").ok()
    server.close()
    assert result.out == ("b'heard this' (('commonName', 'test authority'),)\n"
                          "SSLError\n"), result
    assert p.asked == ["CONNECT one.wide.test:443 HTTP/1.1"]


def test_calls_of_grpc_go_through_it(stockade, authority, proxy):
    """HTTP/2 all the way, with a credential that the proxy does not see."""
    peers = []

    def serve(peer):
        peers.append(H2Peer(peer.sock))
        rpc(peers[-1])

    origin = PeerOrigin(serve, authority.leaf("grpc.test"))
    origin.context.set_alpn_protocols(["h2"])
    p = proxy(routes={"grpc.test:443": origin.port})
    result = stockade.run(
        "node", "-e", GRPC, env={"TOKEN": SECRET},
        policy=f"roots {authority.pem}\nvia proxy {p.url} by name\n"
        "allow POST grpc.test/**\ndeny * grpc.test/test.Calls/refused\n"
        "secret TOKEN from env for grpc.test as bearer add\n").ok()
    got = json.loads(result.out)
    assert [one[:2] for one in got] == [
        ["told;", 0], ["told;told;", 0], ["told;more;more;", 0],
        ["told;told;told;", 0], ["", 7]], result
    (peer,) = peers
    assert len(peer.requests) == 4
    assert {r.get("authorization") for r in peer.requests.values()} == {
        b"Bearer " + SECRET.encode()}
    assert p.asked == ["CONNECT grpc.test:443 HTTP/1.1"]
    assert not any(SECRET.encode() in piece for piece in p.passed)
    origin.close()


WEBSOCKETS = inspect.getsource(ws_origin) + CLIENT + """
import os
token = "Authorization: Bearer " + os.environ["WS_TOKEN"]
pipe, first, fields = open("/greet", token, host="one.wide.test")
pipe.send(frame(b"up", TEXT, True))
say(first[9:12], pipe.frame()[1].decode(), pipe.frame()[1].decode())
pipe, first, fields = open("/mirror?cut=9", token, host="one.wide.test")
say(pipe.frame()[1].decode())
pipe, first, fields = open("/count", host="two.wide.test", port=80)
pipe.send(b"x" * 300000); shut(pipe)
say(first[9:12], pipe.frame()[1].decode(), to_the_end(pipe))
say(status("/denied", host="one.wide.test"), status("/refuse", host="one.wide.test"))
"""


def test_websockets_go_through_it(stockade, authority, proxy):
    """With TLS and without; each end by itself, and a credential does not come
    back."""
    tls, bare = Origin(authority.leaf("one.wide.test")), Origin()
    p = proxy(routes={"one.wide.test:443": tls.port,
                      "two.wide.test:80": bare.port})
    try:
        result = stockade.run(
            "/usr/bin/python3", "-c", WEBSOCKETS, env={"WS_TOKEN": SECRET},
            policy=f"roots {authority.pem}\nvia proxy {p.url} by name\n"
            "allow GET one.wide.test/**\ndeny GET one.wide.test/denied\n"
            "allow GET two.wide.test:80/**\n"
            "secret WS_TOKEN from env for one.wide.test as bearer\n").ok()
    finally:
        tls.close()
        bare.close()
    assert [json.loads(line) for line in result.out.splitlines()] == [
        ["101", "hello", "up"], ["<" + "*" * len(SECRET) + ">"],
        ["101", "300000", ""], ["403", "404"]]
    assert [h.split()[1] for h in tls.heads] == [b"/greet", b"/mirror?cut=9",
                                                 b"/refuse"]
    assert [h.split()[1] for h in bare.heads] == [b"/count"]
    assert {line.split()[1] for line in p.asked} == {"one.wide.test:443",
                                                     "two.wide.test:80"}
    assert not any(SECRET.encode() in piece for piece in p.passed)


ANSWERS = {
    "407": (b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n", "wants a login"),
    "403": (b"HTTP/1.1 403 No\r\nX: evil-text\r\n\r\n<b>evil-text</b>",
            "refused the connection (403)"),
    "garbage": (b"SSH-2.0-evil-text\r\n", "does not answer as an HTTP proxy"),
    "status": (b"HTTP/1.1 2000 OK\r\n\r\n", "does not answer as an HTTP proxy"),
    "bare LF": (b"HTTP/1.1 200 OK\n\n", "does not answer as an HTTP proxy"),
    "interim": (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
                "refused the connection (100)"),
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
               "answered with a body"),
    "chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                "answered with a body"),
    "behind": (ESTABLISHED + b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
               b"evil-text", "something behind its answer"),
    "endless": (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"evil-text" * 1000,
                "answers without an end"),
    "nothing": (b"", "closed the connection"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_tunnel_is_an_error(stockade, proxy, kind):
    says, why = ANSWERS[kind]
    p = proxy(says=says)
    result = get(stockade, "http://two.wide.test/x", "allow GET two.wide.test:80"
                 f"\nvia proxy {p.url} by name\n", "-w", "%{http_code}")
    assert "502" in result.out and "evil-text" not in result.text, result
    errors = [r.get("error", "") for r in stockade.log()
              if r["event"] == "response"]
    assert len(errors) == 1 and why in errors[0], errors
    assert len(p.heads) == 1 and p.passed == []


STUCK = """
bash -c 'exec 3<>/dev/tcp/three.wide.test/22; exec head -c1 <&3' & relay=$!
curl -sS -m 1 http://two.wide.test/stuck & request=$!
for i in 1 2 3; do curl -sS -m 20 https://one.wide.test/$i; done
wait $request; kill $relay
"""


def test_one_that_says_nothing_holds_up_nobody_else(stockade, authority, api,
                                                    proxy):
    """A request and a relay wait for it, and what needs another answer has it."""
    p = proxy(mute=["two.wide.test:80", "three.wide.test:22"])
    result = stockade.sh(STUCK, policy=f"roots {authority.pem}\nvia proxy {p.url}"
                         " by name\nallow GET *.wide.test/**\n"
                         "allow tcp three.wide.test:22\n")
    assert api.targets == ["GET /1", "GET /2", "GET /3"], result
    assert "curl: (28)" in result.err, result
    assert {line.split()[1] for line in p.asked} >= set(p.mute)


def test_it_cannot_be_read_through_tls(stockade, authority, proxy):
    """A proxy that answers in the origin's place is no origin."""
    p = proxy(says=ESTABLISHED + b"evil-text")
    result = get(stockade, "https://one.wide.test/x", "allow GET one.wide.test\n"
                 f"roots {authority.pem}\nvia proxy {p.url} by name\n")
    assert "evil-text" not in result.text
    assert p.passed == []


SHOW = """
env; cat /proc/self/environ /proc/1/environ 2>/dev/null
curl -sS -m 20 -H 'Proxy-Authorization: Basic bWluZQ==' \
    https://one.wide.test/echo http://two.wide.test/echo
"""


def check_login(stockade, api, plain, p, policy, **more):
    result = stockade.sh(SHOW, policy=policy, **more)
    assert len(api.requests) == 1 and len(plain.requests) == 1, result
    assert len(p.heads) == 2
    for head in p.heads:
        assert head.endswith(f"\r\nproxy-authorization: Basic {LOGIN}\r\n\r\n")
        assert head.lower().count("proxy-authorization") == 1
    everything = result.text + stockade.call("log", "--json").ok().out
    for text in (PASSWORD, LOGIN):
        assert text not in everything
        assert not api.saw(text) and not plain.saw(text)
    assert not api.saw("bWluZQ") and not plain.saw("bWluZQ")


RULES = ("allow GET one.wide.test/**\nallow GET two.wide.test:80/**\n"
         "env pass PROXY_LOGIN\n")


@pytest.mark.parametrize("source", ["env", "file", "command"])
def test_the_login_is_for_the_proxy_alone(stockade, authority, api, plain, proxy,
                                          source):
    p = proxy(login=LOGIN)
    (stockade.home / "password").write_text(PASSWORD + "\n")
    sources = {"env": "env PROXY_PASSWORD", "file": "file ~/password",
               "command": 'command "cat ~/password"'}
    check_login(stockade, api, plain, p, f"roots {authority.pem}\nvia proxy "
                f"{p.url} by name login corp from {sources[source]}\n{RULES}",
                env={"PROXY_PASSWORD": PASSWORD} if source == "env" else {})


def test_the_environments_proxy(stockade, authority, api, plain, proxy):
    p = proxy(login=LOGIN)
    url = p.url.replace("//", f"//corp:{PASSWORD.replace('%', '%25')}@")
    rules = f"roots {authority.pem}\nvia proxy by name\n{RULES}"
    check_login(stockade, api, plain, p, rules,
                env={"https_proxy": url, "HTTP_PROXY": "http://unused.test:1"})
    # What no_proxy names is looked up here.
    result = get(stockade, f"http://public.test:{plain.port}/direct",
                 f"{rules}allow GET public.test:{plain.port}/**\n",
                 env={"all_proxy": url, "no_proxy": "x.y, .test"})
    assert plain.targets[1:] == ["GET /direct"], result
    assert len(p.heads) == 2


def test_no_proxy_is_no_way_around_it(stockade, plain, proxy):
    """Neither without one, nor with one that is not there or must not be."""
    rules = f"allow GET public.test:{plain.port}/**\n"
    url = f"http://public.test:{plain.port}/x"
    result = get(stockade, url, rules + "via proxy\n")
    assert result.status == 125 and "names no proxy" in result.err, result
    for where in ("http://127.0.0.1:1", "http://nobody.invalid:3128",
                  f"http://169.254.169.254:{plain.port}",
                  f"http://metadata.test:{plain.port}"):
        result = get(stockade, url, rules + f"via proxy {where}\n")
        assert "the proxy" in result.out, result
    result = get(stockade, url, rules + f"via proxy {proxy().url} login a from "
                 "env NOT_SET\n")
    assert result.status == 125 and "via proxy" in result.err, result
    assert plain.connections == 0


def test_a_wrong_login_is_said(stockade, proxy):
    p = proxy(login="other")
    result = get(stockade, "http://two.wide.test/x", "allow GET two.wide.test:80"
                 f"\nvia proxy {p.url} by name login corp from env P\n",
                 env={"P": PASSWORD})
    assert "does not accept the login (407)" in result.out, result
    assert "no!" not in result.out and PASSWORD not in result.text
