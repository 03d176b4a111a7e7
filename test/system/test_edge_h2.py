# SPDX-License-Identifier: Apache-2.0
"""stockade-edge and HTTP/2: each stream is decided by itself.

What reaches warden and dial is what they get of HTTP/1: the canonical request,
bare bodies.  Most of what is malformed goes no further than nghttp2; the rest is
refused in words.
"""
import json
import struct
import threading
import time

import pytest

import wire
from edge_alone import (Edge, Place, Vault, body_of, place,
                        respond)  # noqa: F401
from h2_agent import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, MORE,
                      PADDED, PING, PRIORITY, PUSH, RST, SETTINGS, UPDATE,
                      block, connect, frame, head)
from test_edge_alone import NOT_DIALS

pytestmark = pytest.mark.whoever

HOST = "api.example"


@pytest.fixture(scope="module")
def edge(place):
    helper = Edge(place, port=443, vault=Vault)
    yield helper
    helper.close()


@pytest.fixture
def agent(edge):
    client = connect(edge, HOST)
    yield client
    client.agent.close()


def asked(edge, *also):
    """The next REQUEST, behind messages of these kinds and HANGUP."""
    while True:
        message = edge.warden.receive()
        if message.kind == "REQUEST":
            return message
        assert message.kind in ("HANGUP", *also), message


def serve(edge, answer=b"ok", **more):
    request = asked(edge)
    stream = edge.allow(request)
    body = body_of(stream)
    respond(stream, request, answer, length=len(answer), **more)
    return request, body


def nothing_was_asked(edge):
    """Of warden, and so of no origin; the number of refusals that it heard."""
    refused = 0
    client = connect(edge, "sentinel.example")
    stream = client.get("/sentinel")
    while True:
        message = edge.warden.receive()
        if message.kind == "REQUEST":
            break
        refused += message.kind == "REFUSED"
        assert message.kind in ("HANGUP", "REFUSED"), message
    assert message.path == b"/sentinel"
    edge.deny(message)
    assert client.answer(stream).status == 403
    client.agent.close()
    return refused


def test_a_request(edge, agent):
    stream = agent.get("/v1/%7ex?q=1", ("x-a", "1"), ("cookie", "a=1"),
                       ("cookie", "b=2"), ("te", "trailers"))
    request, body = serve(edge, b"hello", fields=[("x-b", "2"), *NOT_DIALS])
    assert (request.scheme, request.host, request.port) == (
        2, b"api.example", 443)
    assert (request.method, request.path, request.query) == (
        b"GET", b"/v1/~x", b"q=1")
    assert b"a=1; b=2" in request.fields and b"trailers" not in request.fields
    assert body == b""
    got = agent.answer(stream)
    assert got.status == 200 and got.body == b"hello"
    assert got.fields == {":status": "200", "x-b": "2", "content-length": "5"}
    assert got.error is None
    assert agent.settings[3] == 100


def test_streams_are_decided_one_by_one(edge, agent):
    """A hundred at once, answered in the opposite order, half of them denied."""
    streams = {b"/%d" % i: agent.get(f"/{i}", method="POST",
                                     body=b"for %d" % i)
               for i in range(100)}
    requests = [asked(edge) for _ in streams]
    assert len({request.conn for request in requests}) == 100
    for request in reversed(requests):
        if int(request.path[1:]) % 2:
            edge.deny(request)
            continue
        stream = edge.allow(request)
        assert body_of(stream) == b"for " + request.path[1:]
        respond(stream, request, b"of " + request.path[1:])
    for path, stream in streams.items():
        got = agent.answer(stream)
        if int(path[1:]) % 2:
            assert got.status == 403
            assert json.loads(got.body)["request"].endswith(path.decode())
        else:
            assert got.status == 200 and got.body == b"of " + path[1:]


def test_more_streams_than_that_are_refused_unseen(edge, agent):
    streams = [agent.get("/x") for _ in range(103)]
    agent.until(lambda: sum(a.error == 7 for a in agent.answers.values()) == 3)
    requests = [asked(edge) for _ in range(100)]
    for request in requests:
        edge.deny(request)
    assert [agent.answer(s).status for s in streams[:100]] == [403] * 100


def test_more_streams_than_descriptors_are_refused_unseen():
    network = Place()
    helper = Edge(network, port=443, vault=Vault, descriptors=84)
    agent = connect(helper, HOST)
    streams = [agent.get("/x") for _ in range(15)]
    agent.until(lambda: sum(a.error == 7 for a in agent.answers.values()) == 5)
    for request in [asked(helper) for _ in range(10)]:
        edge_stream = helper.allow(request)
        body_of(edge_stream)
        respond(edge_stream, request, b"ok", length=2)
    assert [agent.answer(s).status for s in streams[:10]] == [200] * 10
    # Eight calls are kept for it: too many, when others come.
    time.sleep(1.1)
    others = [connect(helper, HOST) for _ in range(3)]
    agent.until(lambda: agent.goaway == 0)
    stream = others[2].get("/x")
    helper.deny(asked(helper))
    assert others[2].answer(stream).status == 403
    helper.close()
    network.close()


def test_a_free_call_takes_the_next_request(edge, agent):
    """dial keeps the connection to the origin by the number."""
    seen = []
    for _ in range(3):
        stream = agent.get("/x")
        seen.append(serve(edge)[0])
        assert agent.answer(stream).body == b"ok"
    assert len({request.conn for request in seen}) == 1
    assert [request.id for request in seen] == [1, 2, 3]


def test_a_denial_in_the_middle_of_a_body(edge, agent):
    stream = agent.get("/up", method="POST", body=False)
    agent.data(stream, b"u" * 20000)
    edge.deny(asked(edge), reason="no rule allows POST of this",
              allow_with="allow POST api.example/up")
    got = agent.answer(stream)
    page = json.loads(got.body)
    assert got.status == 403
    assert page["allow_with"] == "allow POST api.example/up"
    assert got.fields["stockade-denied"] == "no-rule-allows-post-of-this"
    agent.until(lambda: got.error == 0)       # no more of it, please
    stream = agent.get("/x")
    serve(edge)
    assert agent.answer(stream).status == 200


def test_responses_without_a_body(edge, agent):
    for method, status in (("HEAD", 200), ("GET", 204), ("GET", 304)):
        stream = agent.get("/x", method=method)
        request = asked(edge)
        dial = edge.allow(request)
        body_of(dial)
        dial.send("RESPONSE", id=request.id, status=status,
                  fields=wire.fields(("etag", "e"), ("content-length", "9"))
                  if method == "HEAD" else wire.fields(("etag", "e")))
        dial.send("CHUNK_END")
        got = agent.answer(stream)
        assert (got.status, got.body) == (status, b"")
        assert got.fields.get("content-length") == (
            "9" if method == "HEAD" else None)


def test_continue_and_hints(edge, agent):
    stream = agent.get("/x", ("expect", "100-continue"), method="PUT",
                       body=False)
    request = asked(edge)
    assert agent.answers[stream].interim == []
    dial = edge.allow(request)
    agent.until(lambda: agent.answers[stream].interim)
    agent.data(stream, b"body", True)
    assert body_of(dial) == b"body"
    dial.send("RESPONSE", id=request.id, status=103,
              fields=wire.fields(("link", "</s>")))
    respond(dial, request, b"x")
    got = agent.answer(stream)
    assert [i[":status"] for i in got.interim] == ["100", "103"]
    assert got.interim[1]["link"] == "</s>" and got.body == b"x"


def test_trailers_of_a_request_are_dropped(edge, agent):
    stream = agent.get("/x", method="POST", body=False)
    agent.data(stream, b"data")
    agent.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block(
        [("authorization", "stolen"), ("x-t", "1")])))
    request, body = serve(edge)
    assert body == b"data" and b"stolen" not in request.fields
    assert agent.answer(stream).status == 200


@pytest.mark.parametrize("length,sent", [("5", b"1234"), ("3", b"1234")])
def test_a_body_is_as_long_as_was_said(edge, agent, length, sent):
    stream = agent.get("/x", ("content-length", length), method="POST",
                       body=False)
    request = asked(edge)
    dial = edge.allow(request)
    agent.data(stream, sent, True)
    assert agent.answer(stream).error == 1
    while (message := dial.receive()) is not None:
        assert message.kind == "BODY"         # and no BODY_END


def test_a_failure_is_explained_or_visible(edge, agent):
    stream = agent.get("/x")
    request = asked(edge)
    dial = edge.allow(request)
    body_of(dial)
    dial.send("FAILURE", id=1, status=504, reason="no answer in time")
    got = agent.answer(stream)
    assert got.status == 504 and b"no answer in time" in got.body
    stream = agent.get("/x")
    again = asked(edge)
    assert again.conn != request.conn         # it cannot have a stream twice
    dial = edge.allow(again)
    body_of(dial)
    dial.send("RESPONSE", id=1, status=200, body=1, length=10)
    dial.send("CHUNK", data=b"half")
    agent.until(lambda: agent.answers[stream].body == b"half")
    dial.send("FAILURE", id=1, status=502, reason="cut off")
    assert agent.answer(stream).error == 2
    stream = agent.get("/x")
    serve(edge)
    assert agent.answer(stream).status == 200


def test_a_reset_ends_the_call_and_no_other(edge, agent):
    waiting, at_work, kept = [agent.get(f"/{i}") for i in range(3)]
    requests = [asked(edge) for _ in range(3)]
    dial = edge.allow(requests[1])
    body_of(dial)
    dial.send("RESPONSE", id=1, status=200, body=2)
    agent.until(lambda: agent.answers[at_work].status)
    agent.reset(at_work)
    agent.reset(waiting, error=0)
    assert dial.receive() is None
    hung_up = {edge.warden.expect("HANGUP").conn for _ in range(2)}
    assert hung_up == {requests[0].conn, requests[1].conn}
    edge.allow(requests[0])                   # too late, and void
    dial = edge.allow(requests[2])
    body_of(dial)
    respond(dial, requests[2], b"kept", length=4)
    assert agent.answer(kept).body == b"kept"


def test_the_end_of_the_agent_ends_its_calls(edge):
    agent = connect(edge, HOST)
    agent.get("/x", method="POST", body=False)
    dial = edge.allow(asked(edge))
    agent.agent.close()
    assert dial.receive() is None
    edge.warden.expect("HANGUP")


def test_a_big_upload_needs_no_memory_and_stops_no_other(edge, agent):
    total = 32 << 20
    before = edge.memory()
    big = agent.get("/big", method="PUT", body=False)
    request = asked(edge)
    dial = edge.allow(request)
    writer = threading.Thread(target=agent.upload, args=(big, total))
    writer.start()
    other = connect(edge, HOST)
    stream = other.get("/x", method="PUT", body=b"x" * 40000)
    assert serve(edge)[1] == b"x" * 40000
    assert other.answer(stream).status == 200
    while agent.window[big]:                  # dial has read nothing
        time.sleep(0.01)
    assert writer.is_alive()
    assert edge.memory() - before < 4096
    assert body_of(dial) == b"u" * total
    writer.join()
    respond(dial, request, b"ok", length=2)
    assert agent.answer(big).status == 200
    assert edge.memory() - before < 4096
    other.agent.close()


def test_an_upload_that_stands_still_stops_no_other_of_its_connection(
        edge, agent):
    stuck = agent.get("/stuck", method="PUT", body=False)
    request = asked(edge)
    dial = edge.allow(request)
    agent.upload(stuck, 65535)
    for size in (300000, 10):
        stream = agent.get("/x", method="PUT", body=False)
        writer = threading.Thread(target=agent.upload, args=(stream, size))
        writer.start()
        assert len(serve(edge)[1]) == size
        writer.join()
        assert agent.answer(stream).status == 200
    assert len(body_of(dial)) == 65535
    respond(dial, request, b"ok", length=2)
    assert agent.answer(stuck).status == 200


def connect_in_time(edge, host):
    """Its clock gives a handshake less than a second."""
    for _ in range(9):
        try:
            return connect(edge, host)
        except OSError:
            pass
    pytest.fail("no handshake in time")


@pytest.fixture
def hasty():
    network = Place()
    helper = Edge(network, port=443, vault=Vault, hasty=True)
    yield helper
    helper.close()
    network.close()


def test_what_goes_both_ways_may_be_silent(hasty):
    """A call of gRPC, and a request whose answer has begun, for longer than an
    upload that does not go on."""
    edge, talks = hasty, connect_in_time(hasty, HOST)
    grpc = [("content-type", "application/grpc"), ("te", "trailers")]
    call = talks.get("/call", *grpc, method="POST", body=False)
    call_stream = edge.allow(call_request := asked(edge))
    watch = talks.get("/watch", method="POST", body=False)
    watch_stream = edge.allow(asked(edge))
    watch_stream.send("RESPONSE", id=1, status=200, body=2)
    stuck = connect_in_time(edge, "stuck.example")
    stuck.get("/stuck", method="PUT", body=False)
    edge.allow(asked(edge))
    stuck.agent.socket.settimeout(40)
    stuck.rest()
    talks.upload(call, 5)
    assert body_of(call_stream) == b"u" * 5
    respond(call_stream, call_request, b"told", length=4)
    assert talks.answer(call).body == b"told"
    watch_stream.send("CHUNK", data=b"event")
    talks.until(lambda: talks.answers[watch].body == b"event")


def test_a_frame_is_handed_on_whole(edge, agent):
    """It is two records of TLS: dial is not woken for each of them."""
    stream = agent.get("/x", method="PUT", body=False)
    request = asked(edge)
    dial = edge.allow(request)
    data = frame(DATA, END_STREAM, stream, b"w" * 16384)
    agent.send(data[:5000])
    other = connect(edge, HOST)
    there = other.get("/other")
    serve(edge)
    assert other.answer(there).status == 200   # so edge has seen the 5,000
    agent.send(data[5000:])
    first = dial.receive()
    assert (first.kind, len(first.data)) == ("BODY", 16384)
    assert body_of(dial) == b""
    respond(dial, request, b"ok", length=2)
    assert agent.answer(stream).status == 200
    other.agent.close()


WIDER = (1 << 18) - (1 << 16)
WIDE_MAX = 64


def long_body(edge, agent):
    """More than a window of it is at dial, and there is more to come."""
    stream = agent.get("/long", method="PUT", body=False)
    request = asked(edge)
    dial = edge.allow(request)
    for _ in range(2):
        agent.data(stream, b"l" * 40000)
        got = 0
        while got < 40000:
            got += len(dial.receive().data)
    return stream, request, dial


def finish(agent, stream, request, dial):
    agent.data(stream, b"e", True)
    assert body_of(dial) == b"e"
    respond(dial, request, b"ok", length=2)
    assert agent.answer(stream).status == 200


def test_windows_of_long_bodies_are_wide_while_they_are_few(edge, agent):
    first, *others, last = [long_body(edge, agent)
                            for _ in range(WIDE_MAX + 1)]
    there = agent.get("/x")
    serve(edge)
    assert agent.answer(there).status == 200   # behind every update by then
    for stream, _, _ in (first, *others):
        assert agent.window[stream] >= WIDER
    assert agent.window[last[0]] < WIDER
    finish(agent, *first)
    agent.data(last[0], b"m")
    agent.until(lambda: agent.window[last[0]] >= WIDER)
    assert last[2].receive().data == b"m"
    for long in (*others, last):
        finish(agent, *long)


def test_a_slow_reader_needs_no_memory_and_stops_no_other(edge):
    total, piece = 32 << 20, b"d" * 32768
    agent = connect(edge, HOST, reads=False)
    agent.give(1 << 26)                       # of the connection, not the stream
    before = edge.memory()
    slow = agent.get("/slow")
    request = asked(edge)
    dial = edge.allow(request)
    body_of(dial)
    sent = 0

    def push():
        nonlocal sent
        dial.send("RESPONSE", id=1, status=200, body=1, length=total)
        while sent < total:
            dial.send("CHUNK", data=piece)
            sent += len(piece)
        dial.send("CHUNK_END")

    writer = threading.Thread(target=push)
    writer.start()
    agent.until(lambda: len(agent.answers[slow].body) == 65535)
    for _ in range(3):
        stream = agent.get("/x")
        serve(edge, b"quick")
        assert agent.answer(stream).body == b"quick"
    assert sent < total / 2
    assert edge.memory() - before < 4096
    agent.credit = True
    agent.give(1 << 25, slow)
    assert agent.answer(slow).body == piece * (total // len(piece))
    writer.join()
    assert edge.memory() - before < 4096
    agent.agent.close()


def test_goaway_lets_the_last_answer_through(edge, agent):
    stream = agent.get("/x")
    agent.send(frame(GOAWAY, payload=struct.pack(">II", 0, 0)))
    serve(edge, b"last")
    assert agent.answer(stream).body == b"last"
    agent.rest()


def test_a_literal_address_is_explained(edge):
    agent = edge.connect_tls("203.0.113.7", name=HOST, literal=True,
                             alpn=["h2"])
    from h2_agent import H2Agent
    client = H2Agent(agent, HOST)
    got = client.answer(client.get("/x"))
    assert got.status == 403 and b"literal address" in got.body
    assert nothing_was_asked(edge) == 1


SOCKET = [(":protocol", "websocket"), ("sec-websocket-version", "13")]


def test_a_websocket_is_a_get_and_then_bytes(edge, agent):
    """An extended CONNECT: its bytes wait for the switch, each half ends by itself,
    and the call is not used again."""
    stream = agent.get("/ws", *SOCKET, ("sec-websocket-protocol", "a"),
                       method="CONNECT", body=False)
    agent.data(stream, b"early")
    request = asked(edge)
    assert (request.method, request.upgrade, request.body, request.path) == (
        b"GET", 1, 0, b"/ws")
    assert request.fields == wire.fields(("sec-websocket-protocol", "a"))
    dial = edge.allow(request)
    dial.end.settimeout(0.1)
    with pytest.raises((TimeoutError, BlockingIOError)):
        dial.receive()
    dial.end.settimeout(20)
    dial.send("RESPONSE", id=request.id, status=101, body=3, fields=wire.fields(
        ("sec-websocket-accept", "x"), ("sec-websocket-protocol", "a")))
    dial.send("CHUNK", data=b"hello")
    assert dial.receive().data == b"early"
    answer = agent.answers[stream]
    agent.until(lambda: answer.body == b"hello")
    assert agent.settings[8] == 1
    assert answer.fields == {":status": "200", "sec-websocket-protocol": "a"}
    dial.send("CHUNK_END")
    agent.until(lambda: answer.ended)
    agent.data(stream, b"last", True)
    assert dial.receive().data == b"last"
    assert dial.receive().kind == "BODY_END"
    dial.send("TAKEN")
    assert dial.receive() is None    # its stream is not used again


def test_a_websocket_that_is_not_opened(edge, agent):
    """Denied, refused by the origin, or cut off by dial in the middle."""
    denied = agent.get("/no", *SOCKET, method="CONNECT", body=False)
    edge.deny(asked(edge))
    assert agent.answer(denied).status == 403
    other = agent.get("/gone", *SOCKET, method="CONNECT", body=False)
    agent.data(other, b"early")
    request = asked(edge)
    dial = edge.allow(request)
    respond(dial, request, b"no", status=404, length=2)
    assert (agent.answer(other).status, agent.answers[other].body) == (404, b"no")
    assert dial.receive().kind == "BODY_END"
    cut = agent.get("/cut", *SOCKET, method="CONNECT", body=False)
    request = asked(edge)
    dial = edge.allow(request)
    dial.send("RESPONSE", id=request.id, status=101, body=3)
    dial.send("FAILURE", id=request.id, status=502, reason="gone")
    assert agent.answer(cut).error is not None


def refused_head(*changes, drop=(), body=None):
    """A GET whose fields are changed: "name" replaced, others added."""
    def send(agent):
        fields = [f for f in head(HOST) if f[0] not in drop]
        names = [f[0] for f in fields]
        for change in changes:
            if change[0] in names and change not in fields:
                fields[names.index(change[0])] = change
            else:
                fields.append(change)
        return agent.request(fields, body)
    return send


def raw(*frames):
    def send(agent):
        for one in frames:
            agent.send(one)
    return send


GET = block(head(HOST))
GIVEN = END_HEADERS | END_STREAM
# What is said, and what comes of it: the status of a page, "reset", or "end" of
# the connection.
HOSTILE = {
    "another authority": (refused_head((":authority", "front.example")), 421),
    "another port": (refused_head((":authority", HOST + ":80")), 421),
    "another host": (refused_head(("host", "front.example")), "any"),
    "no authority": (refused_head(drop=[":authority"]), "any"),
    "a doubled path": (refused_head((":path", "/")), "reset"),
    "a doubled authority": (refused_head((":authority", HOST)), "reset"),
    "a path behind fields": (refused_head(("x-a", "1"), (":path", "/y"),
                                          drop=[":path"]), "reset"),
    "an unknown pseudo": (refused_head((":x", "1")), "any"),
    "no path": (refused_head(drop=[":path"]), "reset"),
    "an absolute path": (refused_head((":path", "https://b.example/")), "any"),
    "a path that climbs": (refused_head((":path", "/a/../b")), 400),
    "a split path": (refused_head((":path", "/ HTTP/1.1\r\nx: y")), "any"),
    "plain http": (refused_head((":scheme", "http")), 400),
    "lower case": (refused_head((":method", "get")), 400),
    "CONNECT": (refused_head((":method", "CONNECT"),
                             drop=[":scheme", ":path"]), 501),
    "extended CONNECT": (refused_head((":method", "CONNECT"),
                                      (":protocol", "websocket")), "any"),
    "TRACE": (refused_head((":method", "TRACE")), 501),
    "upper case": (refused_head(("X-A", "1")), "any"),
    "a line feed": (refused_head(("x-a", "1\nx-b: 2")), "any"),
    "a carriage return": (refused_head(("x-a", "1\r\nhost: b")), "any"),
    "a NUL": (refused_head(("x-a", "1\0")), "any"),
    "a colon in a name": (refused_head(("x:a", "1")), "any"),
    "a blank before a value": (refused_head(("x-a", " 1")), "any"),
    "connection": (refused_head(("connection", "close")), "any"),
    "transfer-encoding": (refused_head(("transfer-encoding", "chunked")),
                          "any"),
    "upgrade": (refused_head(("upgrade", "h2c")), "any"),
    "te gzip": (refused_head(("te", "gzip")), "any"),
    "two lengths": (refused_head(("content-length", "1"),
                                 ("content-length", "2"), body=False), "any"),
    "a length and no body": (refused_head(("content-length", "1")), "any"),
    "an override": (refused_head(("x-http-method-override", "PUT")), 400),
    "129 fields": (refused_head(*((f"x-{i}", "") for i in range(129))), 400),
    "a long head": (refused_head(*((f"x-{i}", "v" * 16000)
                                   for i in range(5))), "any"),
    "an even stream": (raw(frame(HEADERS, GIVEN, 2, GET)), "end"),
    "a head on stream 0": (raw(frame(HEADERS, GIVEN, 0, GET)), "end"),
    "data before a head": (raw(frame(DATA, 0, 1, b"x")), "end"),
    "a push": (raw(frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + GET)), "end"),
    "a frame too large": (raw(frame(DATA, 0, 1, b"x" * 16385)), "end"),
    "too much padding": (raw(frame(HEADERS, GIVEN | PADDED, 1, b"\xff" + GET)),
                         "end"),
    "a continuation alone": (raw(frame(MORE, END_HEADERS, 1, GET)), "end"),
    "a head interrupted": (raw(frame(HEADERS, END_STREAM, 1, GET),
                               frame(PING, payload=b"8 bytes.")), "end"),
    "a bad table": (raw(frame(HEADERS, GIVEN, 1, b"\xff\xff\xff\xff\x0f")),
                    "end"),
    "a window too large": (raw(frame(UPDATE, payload=b"\x7f\xff\xff\xff")),
                           "end"),
    "an empty window update": (raw(frame(UPDATE, payload=b"\0\0\0\0")), "end"),
    "a short setting": (raw(frame(SETTINGS, payload=b"\0\3")), "end"),
    "not even a preface": (raw(b"GET / HTTP/1.1\r\n\r\n" * 4), "end"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_hostile_is_asked(edge, agent, kind):
    send, result = HOSTILE[kind]
    stream = send(agent)
    if result == "end":
        agent.rest()
    else:
        got = agent.answer(stream)
        assert got.error == 1 or got.status >= 400
        if result == "reset":
            assert got.error == 1
        elif result != "any":
            assert got.status == result
        assert agent.goaway is None
    assert nothing_was_asked(edge) == 1


SHORT = block(head(HOST))
FLOODS = {
    "pings": lambda i: frame(PING, payload=b"8 bytes."),
    "settings": lambda i: frame(SETTINGS, payload=b"\0\4\0\0\xff\xff"),
    "many settings": lambda i: frame(SETTINGS, payload=b"\0\4\0\0\xff\xff" * 99),
    "priorities": lambda i: frame(PRIORITY, 0, 1 + 2 * i, b"\0\0\0\0\1"),
    "updates": lambda i: frame(UPDATE, payload=b"\0\0\0\1"),
    "resets": lambda i: frame(HEADERS, GIVEN, 1 + 2 * i, SHORT)
    + frame(RST, 0, 1 + 2 * i, b"\0\0\0\x08"),
    "resets of ours": lambda i: frame(HEADERS, GIVEN, 1 + 2 * i, SHORT)
    + frame(UPDATE, 0, 1 + 2 * i, b"\0\0\0\0"),
    "malformed heads": lambda i: frame(HEADERS, GIVEN, 1 + 2 * i, block(
        head(HOST, "/", "GET", ("connection", "x")))),
    "refused heads": lambda i: frame(HEADERS, GIVEN, 1 + 2 * i, block(
        head("front.example"))),
    "empty data": lambda i: (frame(HEADERS, END_HEADERS, 1, SHORT) if i == 0
                             else frame(DATA, 0, 1)),
    "empty continuations": lambda i: frame(HEADERS, 0, 1, SHORT) if i == 0
    else frame(MORE, 0, 1),
    "a head of continuations": lambda i: frame(HEADERS, 0, 1, SHORT) if i == 0
    else frame(MORE, 0, 1, b"\0\1x\x7f\x9e\x3e" + b"v" * 8000),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_ends_the_connection(edge, agent, kind):
    before = edge.memory()
    flood = b"".join(map(FLOODS[kind], range(2500)))
    try:
        for at in range(0, len(flood), 1 << 16):
            agent.send(flood[at:at + (1 << 16)])
    except OSError:
        pass                                  # it has ended meanwhile
    else:
        agent.rest()
    assert edge.memory() - before < 8192
    client = connect(edge, "sentinel.example")
    stream = client.get("/sentinel")
    while (request := asked(edge, "REFUSED")).path != b"/sentinel":
        assert kind.startswith(("reset", "empty data"))   # else well-formed
    edge.deny(request)
    assert client.answer(stream).status == 403
    client.agent.close()


def test_a_compressed_bomb_is_small_in_memory(edge, agent):
    """A field of 4 KiB into the table, and 60,000 references to it."""
    before = edge.memory()
    value = b"v" * 4000
    bomb = GET + b"\x40\1x\x7f" + b"\xa1\x1e" + value
    stream = agent.open()
    agent.send(frame(HEADERS, END_STREAM, stream, bomb))
    for _ in range(6):
        agent.send(frame(MORE, 0, stream, b"\xbe" * 10000))
    agent.send(frame(MORE, END_HEADERS, stream))
    assert agent.answer(stream).status == 431
    assert nothing_was_asked(edge) == 1
    assert edge.memory() - before < 4096
