# SPDX-License-Identifier: Apache-2.0
"""stockade-dial alone: HTTP/2 to origins.
"""
import os
import queue
import struct
import threading
import time

import pytest

from dial_stage import (CHUNKED, GOOD, HOST, LENGTH, MIB, PLACEHOLDER, SECRET,
                        NUMBER, authority, certificate, dial, echo,
                        serve, swap)  # noqa: F401
from h2_agent import (DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING,
                      PUSH, SETTINGS, frame)
from h2_origin import H2Peer, block

pytestmark = pytest.mark.whoever


@pytest.fixture
def serve_h2(serve):
    def start(script, alpn=("h2", "http/1.1"), settings=None):
        origin = serve(lambda peer: script(H2Peer(peer.sock, settings)))
        origin.context.set_alpn_protocols(list(alpn))
        return origin
    return start


def answer(peer):
    """Answers each request with its path and its body, for ever."""
    while True:
        number, request = peer.request()
        peer.ok(number, request.get(":path") + b"\n" + request.body)


def test_a_request_and_its_response(dial, serve_h2):
    seen = []

    def script(peer):
        number, request = peer.request()
        seen.append((request.fields, peer.settings))
        peer.ok(number, b"hello", ("x-one", "1"), ("alt-svc", "h3"),
                ("content-length", "5"))
        peer.request()

    stream = dial.stream(serve_h2(script))
    response = stream.get("/a/b", query="q=1", fields=[("x-a", "b")], h2=1,
                          trailers=1)
    assert (response.status, response.body, response.whole) == \
        (200, b"hello", True)
    assert response.framing == (LENGTH, 5)
    assert response.fields == [(b"x-one", b"1")]
    assert response.trailers == []
    fields, settings = seen[0]
    assert fields == [
        (b":method", b"GET"), (b":scheme", b"https"),
        (b":authority", HOST.encode()), (b":path", b"/a/b?q=1"),
        (b"x-a", b"b"), (b"te", b"trailers")]
    # No push, and no table that would keep what was said.
    assert (settings[2], settings[1]) == (0, 0)
    done = dial.outcome()
    assert (done.status, done.sent, done.received, done.error) == \
        (200, 0, 5, b"")


def test_many_share_a_connection(dial, serve_h2):
    def script(peer):
        numbers = []
        while True:
            number, _ = peer.request()
            numbers.append(number)
            if len(numbers) == 40:
                for number in numbers[::-1]:
                    peer.ok(number, b"%d" % number)

    origin = serve_h2(script)
    streams = [dial.stream(origin).exchange(h2=1).send_body()
               for _ in range(40)]
    got = {stream.response().body for stream in streams}
    assert got == {b"%d" % n for n in range(1, 80, 2)}
    assert (origin.connections, dial.needs) == (1, 1)


def test_the_origin_says_how_many(dial, serve_h2):
    def script(peer):
        peer.until(lambda: len(peer.fresh) == 2)
        time.sleep(0.1)
        answer(peer)

    origin = serve_h2(script, settings={3: 2})
    first = dial.stream(origin)
    first.exchange(h2=1).send_body()
    time.sleep(0.2)
    streams = [dial.stream(origin).exchange(h2=1).send_body()
               for _ in range(3)]
    for stream in [first, *streams]:
        assert stream.response().body == b"/\n"
    assert origin.connections == 2


def test_http1_where_the_origin_wants_it(dial, serve):
    origin = serve(echo)
    origin.context.set_alpn_protocols(["http/1.1"])
    streams = [dial.stream(origin).exchange(h2=1).send_body()
               for _ in range(5)]
    for stream in streams:
        assert stream.response().body == b"GET / HTTP/1.1\n"
    assert 1 <= origin.connections <= 5


def test_http1_for_those_who_speak_it(dial, serve_h2):
    """HTTP/2 is not even offered."""
    chosen = []

    def script(peer):
        chosen.append(peer.sock.selected_alpn_protocol())

    origin = serve_h2(script)
    origin.script = lambda peer: script(peer) or echo(peer)
    assert dial.stream(origin).get().body == b"GET / HTTP/1.1\n"
    assert chosen == ["http/1.1"]


# Bodies.

@pytest.mark.parametrize("body, length", [(LENGTH, 300000), (CHUNKED, 0)])
def test_a_body(dial, serve_h2, body, length):
    data = os.urandom(300000)
    seen = []

    def script(peer):
        while True:
            number, request = peer.request()
            seen.append(request.get("content-length"))
            peer.ok(number, request.body)

    stream = dial.stream(serve_h2(script))
    for _ in range(2):
        stream.exchange("POST", body=body, length=length, h2=1)
        stream.send_body(*(data[i:i + 30000]
                           for i in range(0, len(data), 30000)))
        assert stream.response().body == data
        assert dial.outcome().sent == len(data)
    assert seen == [b"300000" if body == LENGTH else None] * 2


def message(text):
    return b"\0" + struct.pack(">I", len(text)) + text


@pytest.mark.parametrize("kind", ["unary", "client", "server", "both"])
def test_grpc(dial, serve_h2, kind):
    seen = []

    def script(peer):
        number, request = peer.head()
        seen.append(request.get("te"))
        peer.respond(number, ("content-type", "application/grpc"))
        if kind == "both":
            for i in range(3):
                peer.until(lambda n=i: request.body.count(b"ask") == n + 1)
                peer.data(number, message(b"%d" % i))
        peer.until(lambda: request.ended)
        for i in range({"unary": 1, "client": 1, "server": 3, "both": 0}[kind]):
            peer.data(number, message(b"%d" % i))
        peer.trailers(number, ("grpc-status", "0"), ("grpc-message", "fine"),
                      ("set-cookie", "x=y"), ("custom-bin", "eA"))
        peer.request()

    stream = dial.stream(serve_h2(script))
    stream.exchange("POST", "/pkg.Service/Method", body=CHUNKED, h2=1,
                    trailers=1, fields=[("content-type", "application/grpc")])
    asks = 3 if kind in ("client", "both") else 1
    got = b""
    for i in range(asks):
        stream.channel.send("BODY", data=message(b"ask%d" % i))
        if kind == "both":
            if i == 0:
                assert stream.channel.expect("RESPONSE").status == 200
            got += stream.channel.expect("CHUNK").data
    stream.channel.send("BODY_END")
    if kind == "both":
        end = stream.channel.expect("CHUNK_END")
        assert b"grpc-status" in end.fields
    else:
        response = stream.response()
        got = response.body
        assert response.framing == (CHUNKED, 0)
        assert response.trailers == [
            (b"grpc-status", b"0"), (b"grpc-message", b"fine"),
            (b"custom-bin", b"eA")]
    answers = 3 if kind in ("server", "both") else 1
    assert got == b"".join(message(b"%d" % i) for i in range(answers))
    assert seen == [b"trailers"]
    assert dial.outcome().error == b""


def test_a_head_may_be_all(dial, serve_h2):
    def script(peer):
        while True:
            number, _ = peer.head()
            peer.respond(number, ("grpc-status", "5"), end=True)

    response = dial.stream(serve_h2(script)).get(h2=1)
    assert (response.status, response.body, response.whole) == (200, b"", True)
    assert response.framing == (LENGTH, 0)


def test_interim_heads_and_head_requests(dial, serve_h2):
    def script(peer):
        while True:
            number, request = peer.request()
            peer.respond(number, status="100")
            peer.respond(number, ("x", "y"), status="102")
            peer.respond(number, ("link", "x"), status="103")
            peer.respond(number, ("content-length", "99"), end=True)

    response = dial.stream(serve_h2(script)).get(method="HEAD", h2=1)
    assert (response.status, response.body, response.whole) == (200, b"", True)
    assert response.get("content-length") == b"99"
    assert response.interims == [(103, [(b"link", b"x")])]


def test_an_agent_that_does_not_read_stops_its_stream_alone(dial, serve_h2):
    sent = [0]

    def script(peer):
        number, _ = peer.request()
        peer.respond(number)
        other = None
        while other is None:
            try:
                if peer.h2.local_flow_control_window(number) >= 16384:
                    peer.data(number, bytes(16384))
                    sent[0] += 16384
                else:
                    other, _ = peer.request()
            except EOFError:
                return
        peer.ok(other, bytes(MIB))
        peer.request()

    origin = serve_h2(script)
    stopped = dial.stream(origin).exchange(h2=1).send_body()
    stopped.channel.expect("RESPONSE")
    time.sleep(0.3)
    response = dial.stream(origin).get(h2=1)
    assert response.body == bytes(MIB) and sent[0] < 4 * MIB
    assert origin.connections == 1 and dial.rss_kib() < 32768
    stopped.close()


def test_an_origin_that_does_not_read_stops_the_agent(dial, serve_h2):
    release = threading.Event()

    def script(peer):
        peer.credit = False
        number, request = peer.head()
        peer.until(lambda: len(request.body) == 65535)
        release.wait(10)
        peer.credit = True
        peer.h2.acknowledge_received_data(65535, number)
        peer.flush()
        peer.until(lambda: request.ended)
        peer.ok(number, b"%d" % len(request.body))

    stream = dial.stream(serve_h2(script))
    stream.exchange("POST", body=CHUNKED, h2=1)
    sent = stream.pour()
    assert dial.rss_kib() < 32768
    release.set()
    stream.channel.send("BODY_END")
    assert stream.response().body == b"%d" % sent


# Ends.

def test_an_agent_that_hangs_up_resets_its_stream(dial, serve_h2):
    errors = queue.Queue()

    def script(peer):
        number, request = peer.request()
        peer.respond(number)
        peer.data(number, b"half")
        peer.until(lambda: request.error is not None)
        errors.put(request.error)
        answer(peer)

    origin = serve_h2(script)
    stream = dial.stream(origin).exchange(h2=1).send_body()
    stream.channel.expect("CHUNK" if stream.channel.expect("RESPONSE")
                          is None else "CHUNK")
    stream.close()
    assert errors.get(timeout=5) == 8
    assert dial.stream(origin).get(h2=1).body == b"/\n"
    assert origin.connections == 1


def test_an_early_response_ends_the_request(dial, serve_h2):
    errors = queue.Queue()

    def script(peer):
        number, request = peer.head()
        peer.respond(number, status="413", end=True)
        peer.until(lambda: request.error is not None)
        errors.put(request.error)
        answer(peer)

    origin = serve_h2(script)
    stream = dial.stream(origin)
    stream.exchange("POST", body=LENGTH, length=10 * MIB, h2=1)
    stream.channel.send("BODY", data=bytes(30000))
    assert stream.response().status == 413
    assert errors.get(timeout=5) == 8
    assert dial.stream(origin).get(h2=1).body == b"/\n"
    assert origin.connections == 1


def refuse_stream(peer, number):
    peer.reset(number, 7)
    answer(peer)


def go_away(peer, number):
    peer.raw(frame(GOAWAY, 0, 0, struct.pack(">II", number - 1, 0)))
    peer.sock.recv(100)


@pytest.mark.parametrize("refuse", [refuse_stream, go_away])
@pytest.mark.parametrize("method, body", [("GET", 0), ("POST", CHUNKED)])
def test_what_was_refused_is_asked_again(dial, serve_h2, refuse, method, body):
    seen = []

    def script(peer):
        if seen:
            answer(peer)
        number, _ = peer.head()
        seen.append(number)
        refuse(peer, number)

    stream = dial.stream(serve_h2(script))
    stream.exchange(method, body=body, h2=1)
    time.sleep(0.2)
    assert stream.send_body().response().body == b"/\n"
    assert dial.outcome().error == b""


def test_what_was_refused_makes_room_for_itself(dial, serve, serve_h2):
    """As many connections are open as may be: the one that refused it, and
    takes nothing more, is the one that goes."""
    release, arrived, refused = threading.Event(), queue.Queue(), []

    def hold(peer):
        peer.head()
        arrived.put(1)
        release.wait(20)
        peer.send(GOOD)

    def script(peer):
        if refused:
            answer(peer)
        number, _ = peer.request()
        refused.append(number)
        peer.h2.update_settings({3: 0})
        peer.reset(number, 7)
        peer.until(lambda: False)

    held, origin = serve(hold), serve_h2(script)
    streams = [dial.stream(held).exchange().send_body() for _ in range(63)]
    for _ in streams:
        arrived.get(timeout=20)
    assert dial.stream(origin).get("/again", h2=1).body == b"/again\n"
    release.set()
    assert [stream.response().body for stream in streams] == [b"good"] * 63
    assert origin.connections == 2


def test_what_was_refused_with_its_body_is_not(dial, serve_h2):
    def script(peer):
        number, request = peer.request()
        refuse_stream(peer, number)

    origin = serve_h2(script)
    stream = dial.stream(origin)
    stream.exchange("POST", body=LENGTH, length=1, h2=1).send_body(b"x")
    assert stream.response().failure[0] == 502
    assert dial.stream(origin).get(h2=1).body == b"/\n"


def test_after_a_goodbye_there_is_another(dial, serve_h2):
    """What is under way goes on to its end."""
    go = threading.Event()

    def script(peer):
        number, _ = peer.request()
        if number == 1 and not go.is_set():
            peer.raw(frame(GOAWAY, 0, 0, struct.pack(">II", 1, 0)))
            go.wait(10)
        peer.ok(number, b"fine")
        peer.pump()

    origin = serve_h2(script)
    first = dial.stream(origin).exchange(h2=1).send_body()
    time.sleep(0.2)
    go.set()
    assert dial.stream(origin).get(h2=1).body == b"fine"
    assert first.response().body == b"fine"
    assert origin.connections == 2


@pytest.mark.parametrize("method, good", [("GET", True), ("POST", False)])
def test_an_idle_one_that_ends_when_used(dial, serve_h2, method, good):
    def script(peer):
        number, _ = peer.request()
        peer.ok(number, b"fine")
        peer.head()

    origin = serve_h2(script)
    assert dial.stream(origin).get(h2=1).body == b"fine"
    response = dial.stream(origin).get(method=method, h2=1)
    assert (response.body == b"fine") == good
    assert origin.connections == (2 if good else 1)


def test_a_cut_response_is_none(dial, serve_h2):
    def script(peer):
        number, _ = peer.request()
        peer.respond(number)
        peer.data(number, b"half")

    response = dial.stream(serve_h2(script)).get(h2=1)
    assert response.failure[0] == 502 and not response.whole
    assert response.body == b"half"


# What an origin should not do.

OK = (":status", "200")


def heads(*fields, flags=END_HEADERS | END_STREAM):
    return lambda peer, number: peer.headers(number, fields, flags)


def raw(*frames):
    return lambda peer, number: peer.raw(b"".join(
        frame(kind, flags, stream and number, payload)
        for kind, flags, stream, payload in frames))


HEAD = (HEADERS, END_HEADERS, 1, block([OK]))
BAD = {
    "no status": heads(("x", "y")),
    "two": heads(OK, OK),
    "status late": heads(("x", "y"), OK),
    "status word": heads((":status", "2x0")),
    "status 600": heads((":status", "600")),
    "status 99": heads((":status", "99")),
    "101": heads((":status", "101")),
    "102 ends": heads((":status", "102")),
    "interim ends": heads((":status", "103")),
    "pseudo": heads(OK, (":path", "/")),
    "upper case": heads(OK, ("X-A", "b")),
    "nul": heads(OK, ("x", "a\0b")),
    "line": heads(OK, ("x", "a\r\nset-cookie: b")),
    "colon": heads(OK, ("x:y", "z")),
    "empty name": heads(OK, ("", "z")),
    "connection": heads(OK, ("connection", "close")),
    "chunked": heads(OK, ("transfer-encoding", "chunked")),
    "upgrade": heads(OK, ("upgrade", "x")),
    "two lengths": heads(OK, ("content-length", "0"), ("content-length", "1")),
    "length word": heads(OK, ("content-length", "x")),
    "length, no body": heads(OK, ("content-length", "4")),
    "many fields": heads(OK, *[("x", "y")] * 200),
    "huge": lambda peer, number: peer.raw(
        frame(HEADERS, 0, number, block([OK, ("x", "y" * 16000)])[:16384])
        + b"".join(frame(9, 0, number, bytes(16384)) for _ in range(20))),
    "short": raw((HEADERS, END_HEADERS, 1,
                  block([OK, ("content-length", "5")])),
                 (DATA, END_STREAM, 1, b"good")),
    "long": raw((HEADERS, END_HEADERS, 1,
                 block([OK, ("content-length", "3")])),
                (DATA, END_STREAM, 1, b"good")),
    "data first": raw((DATA, END_STREAM, 1, b"good")),
    "1xx flood": raw(*[(HEADERS, END_HEADERS, 1,
                        block([(":status", "103")]))] * 9),
    "bad trailers": raw(HEAD, (HEADERS, END_HEADERS | END_STREAM, 1,
                               block([(":status", "200")]))),
    "trailer name": raw(HEAD, (HEADERS, END_HEADERS | END_STREAM, 1,
                               block([("X", "y")]))),
    "trailers go on": raw(HEAD, (HEADERS, END_HEADERS, 1,
                                 block([("x", "y")]))),
    "push": raw((PUSH, END_HEADERS, 1, b"\0\0\0\2" + block(
        [(":method", "GET"), (":scheme", "https"), (":authority", HOST),
         (":path", "/evil")]))),
    "hpack": raw((HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff")),
    "not h2": lambda peer, number: peer.raw(GOOD),
    "settings": raw((SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff")),
    "zero": raw((DATA, 0, 0, b"x")),
    "another stream": lambda peer, number: peer.raw(
        frame(HEADERS, END_HEADERS, number + 2, block([OK]))),
    "acks": raw((SETTINGS, 1, 0, b"x")),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_response_is_502(dial, serve_h2, name):
    seen = []

    def script(peer):
        if seen:
            answer(peer)
        number, _ = peer.request()
        seen.append(1)
        BAD[name](peer, number)
        while peer.sock.recv(65536):
            pass

    origin = serve_h2(script)
    response = dial.stream(origin).get(h2=1)
    assert response.failure and response.failure[0] == 502, response.__dict__
    assert not response.whole
    assert response.body in (b"", b"good", b"goo")
    # Nobody else is served by it.
    other = dial.stream(origin).get(h2=1)
    assert (other.status, other.body, other.whole) == (200, b"/\n", True)
    assert origin.connections == 2


def test_a_flood_of_pings_needs_no_memory(dial, serve_h2):
    def script(peer):
        number, _ = peer.request()
        peer.sock.settimeout(0.5)
        try:
            for _ in range(200):
                peer.raw(frame(PING, 0, 0, b"12345678") * 1000)
        except OSError:
            return

    response = dial.stream(serve_h2(script)).get(h2=1)
    assert response.failure[0] == 502 and dial.rss_kib() < 32768


# Credentials.

def with_secret(stream, path="/", **more):
    return stream.get(path, h2=1, secrets=b"\0\0\0\1", edits=swap(),
                      fields=[("authorization", "Bearer " + PLACEHOLDER),
                              ("accept-encoding", "gzip")], **more)


def test_a_credential_is_put_in_and_masked(dial, serve_h2):
    seen = []

    def script(peer):
        while True:
            number, request = peer.request()
            value = request.get("authorization")
            seen.append((value, request.get("accept-encoding")))
            peer.respond(number, ("x-back", value))
            for i in range(0, len(value), 5):
                peer.data(number, value[i:i + 5])
            peer.trailers(number, ("x-last", value))

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve_h2(script))
    stars = b"Bearer " + b"*" * len(SECRET)
    for _ in range(2):
        response = with_secret(stream)
        assert response.body == stars
        assert response.get("x-back") == stars
        assert response.trailers == [(b"x-last", stars)]
        assert dial.outcome().scrubbed == 3
    assert seen == [(b"Bearer " + SECRET, b"identity")] * 2


def test_other_secrets_share_none(dial, serve_h2):
    origin = serve_h2(answer)
    dial.values[NUMBER] = SECRET
    for _ in range(2):
        assert with_secret(dial.stream(origin)).status == 200
        assert dial.stream(origin).get(h2=1).status == 200
    assert origin.connections == 2


def test_an_encoded_response_to_a_credential_is_refused(dial, serve_h2):
    def script(peer):
        number, _ = peer.request()
        peer.ok(number, b"\x1f\x8b", ("content-encoding", "gzip"))
        answer(peer)

    dial.values[NUMBER] = SECRET
    origin = serve_h2(script)
    assert with_secret(dial.stream(origin)).failure[0] == 502


def test_a_credential_that_was_refused_is_sent_again(dial, serve_h2):
    seen = []

    def script(peer):
        number, request = peer.request()
        seen.append(request.get("authorization"))
        peer.reset(number, 7)
        number, request = peer.request()
        seen.append(request.get("authorization"))
        peer.ok(number, b"fine")
        peer.pump()

    dial.values[NUMBER] = SECRET
    assert with_secret(dial.stream(serve_h2(script))).body == b"fine"
    assert seen == [b"Bearer " + SECRET] * 2 and len(dial.claimed) == 1


def memory_of(pid):
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb") as memory:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if "w" not in rights or end - start > 1 << 28:
                continue
            try:
                memory.seek(start)
                yield memory.read(end - start)
            except (OSError, ValueError):
                continue


def test_no_value_stays_in_memory(dial, serve_h2):
    """Neither as it is, nor in the code that heads are compressed with."""
    import hpack.huffman
    import hpack.huffman_constants as code
    coder = hpack.huffman.HuffmanEncoder(code.REQUEST_CODES,
                                         code.REQUEST_CODES_LENGTH)

    def script(peer):
        while True:
            number, request = peer.request()
            peer.ok(number, b"%d" % len(request.get("authorization")))

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve_h2(script))
    for _ in range(2):
        assert with_secret(stream).body == b"%d" % (7 + len(SECRET))
    dial.outcome()
    spelled = coder.encode(b"Bearer " + SECRET)[4:-2]
    if os.geteuid():
        with pytest.raises(PermissionError):
            list(memory_of(dial.process.pid))
        return
    # The connection holds its lease for a moment, and knows nothing afterwards.
    for _ in range(30):
        found = [text for text in (SECRET, spelled)
                 if any(text in part for part in memory_of(dial.process.pid))]
        if not found:
            break
        time.sleep(0.1)
    assert found == []
