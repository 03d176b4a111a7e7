# SPDX-License-Identifier: Apache-2.0
"""stockade-dial alone: requests, responses and bodies as they should be.
"""
import os
import socket
import ssl
import threading
import time

import pytest

from dial_stage import (CHUNKED, CLOSE, HOST, LENGTH, MIB, OTHER, Dial,
                        authority, certificate, dial, echo, serve)  # noqa: F401

pytestmark = pytest.mark.whoever


# One request.

@pytest.mark.parametrize("tls", [False, True])
def test_a_request_and_its_response(dial, serve, tls):
    seen = []

    def script(peer):
        seen.append(peer.head())
        peer.ok(b"hello", b"x-one: 1", b"alt-svc: h3=\":443\"")

    stream = dial.stream(serve(script, tls))
    port = 443 if tls else 80
    response = stream.get("/a/b", scheme=2 if tls else 1, port=port,
                          query="q=1", fields=[("x-a", "b")])
    assert (response.status, response.body, response.whole) == \
        (200, b"hello", True)
    assert response.framing == (LENGTH, 5)
    assert response.fields == [(b"x-one", b"1")]
    assert seen[0][0] == "GET /a/b?q=1 HTTP/1.1"
    assert seen[0][1] == {"host": HOST, "x-a": "b",
                          "connection": "keep-alive"}
    done = dial.outcome()
    assert (done.id, done.status, done.sent, done.received, done.error) == \
        (1, 200, 0, 5, b"")


def test_a_port_of_its_own_is_named(dial, serve):
    seen = []

    def script(peer):
        seen.append(peer.head()[1]["host"])
        peer.ok(b"")

    dial.stream(serve(script)).get(port=8443)
    assert seen == [HOST + ":8443"]


def test_requests_share_a_connection(dial, serve):
    origin = serve(echo)
    stream = dial.stream(origin)
    for i in range(50):
        assert stream.get(f"/{i}").body == b"GET /%d HTTP/1.1\n" % i
        assert dial.outcome().id == i + 1
    assert (origin.connections, dial.needs) == (1, 1)


def test_another_origin_gets_a_connection_of_its_own(dial, serve):
    origin = serve(echo)
    stream = dial.stream(origin)
    for host, port in [(HOST, 443), (OTHER, 443), (HOST, 443), (HOST, 8443)]:
        assert stream.get(host=host, port=port).status == 200
    assert origin.connections == 3


def test_a_body_sent_before_the_exchange_waits(dial, serve):
    stream = dial.stream(serve(echo)).send_body(b"early")
    time.sleep(0.1)
    stream.exchange("POST", body=LENGTH, length=5)
    assert stream.response().body == b"POST / HTTP/1.1\nearly"


# Bodies.

@pytest.mark.parametrize("body, length", [(LENGTH, 300000), (CHUNKED, 0)])
def test_a_body_is_framed_anew(dial, serve, body, length):
    data = os.urandom(300000)
    stream = dial.stream(serve(echo))
    for _ in range(2):
        stream.exchange("POST", body=body, length=length)
        stream.send_body(*(data[i:i + 30000]
                           for i in range(0, len(data), 30000)))
        assert stream.response().body == b"POST / HTTP/1.1\n" + data
        assert dial.outcome().sent == len(data)


@pytest.mark.parametrize("pieces", [[b"toolong"], [b"abc", b"def"], [b"abc"],
                                    []])
def test_a_body_of_another_length_ends_it(dial, serve, pieces):
    got = []

    def script(peer):
        peer.head()
        got.append(peer.sock.recv(100))
        got.append(peer.sock.recv(100))

    stream = dial.stream(serve(script))
    stream.exchange("POST", body=LENGTH, length=4).send_body(*pieces)
    assert stream.response().failure[0] == 502
    assert b"body" in dial.outcome().error


def test_a_body_where_none_was_announced_goes_nowhere(dial, serve):
    origin = serve(echo)
    stream = dial.stream(origin)
    stream.exchange("GET").send_body(b"GET /x HTTP/1.1\r\nhost: a\r\n\r\n")
    assert stream.response().body == b"GET / HTTP/1.1\n"
    assert dial.stream(origin).get(path="/next").body == b"GET /next HTTP/1.1\n"
    assert origin.connections == 1


RESPONSES = {
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
               b"3\r\nabc\r\n3;x=y\r\ndef\r\n0\r\nx: y\r\n\r\n",
    "length": b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\nx: y\r\n\r\n"
               b"HTTP/1.1 104 U\r\n\r\nHTTP/1.1 103 E\r\nlink: x\r\n"
               b"\r\nHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef",
}


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("cut", [1, 7, 10000])
def test_a_response_in_pieces(dial, serve, name, cut):
    data = RESPONSES[name]

    def script(peer):
        while True:
            peer.head()
            for i in range(0, len(data), cut):
                peer.send(data[i:i + cut])
                if cut > 1:
                    time.sleep(0.001)

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(3):
        response = stream.get()
        assert (response.body, response.whole) == (b"abcdef", True)
        assert response.trailers == ([(b"x", b"y")] if name == "chunked"
                                     else [])
        assert response.interims == ([(103, [(b"link", b"x")])]
                                     if name == "interim" else [])
    assert origin.connections == 1


def test_trailers_are_asked_for_and_kept_apart(dial, serve):
    seen = []

    def script(peer):
        while True:
            seen.append(peer.head()[1])
            peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                      b"0\r\nX-Sum: 1\r\nset-cookie: a=b\r\nhost: x\r\n"
                      b"content-length: 9\r\nX-Two:2\r\n\r\n")

    stream = dial.stream(serve(script))
    for asks in (1, 0):
        response = stream.get(trailers=asks)
        assert response.whole and response.body == b""
        assert response.trailers == [(b"x-sum", b"1"), (b"x-two", b"2")]
    assert (seen[0]["te"], seen[0]["connection"]) == ("trailers",
                                                      "te, keep-alive")
    assert "te" not in seen[1] and seen[1]["connection"] == "keep-alive"


def test_a_response_until_the_end_of_the_connection(dial, serve):
    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\nall of ")
        time.sleep(0.05)
        peer.send(b"it")
        if isinstance(peer.sock, ssl.SSLSocket):
            peer.sock.unwrap()

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get()
        assert (response.body, response.whole) == (b"all of it", True)
        assert response.framing[0] == CLOSE
    assert origin.connections == 2


@pytest.mark.parametrize("ends", ["with notice", "cut"])
def test_the_tail_of_a_response_that_ends_with_its_connection(dial, serve, ends):
    """All of it is there before its end is told, and an end without notice is a
    cut, also when the agent reads later than the origin closes."""
    closed, size = threading.Event(), MIB

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(size))
        if ends == "with notice":
            peer.sock.settimeout(10)
            peer.sock.unwrap()
        peer.sock.close()
        closed.set()

    origin = serve(script)
    origin.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * size)
    stream = dial.stream(origin).exchange().send_body()
    stream.channel.expect("RESPONSE")
    if ends == "cut":
        assert closed.wait(10)
    received = 0
    while (message := stream.channel.receive()).kind == "CHUNK":
        received += len(message.data)
    assert received == size or ends == "cut"
    assert message.kind == ("CHUNK_END" if ends == "with notice" else "FAILURE")


def test_head_has_no_body(dial, serve):
    def script(peer):
        for _ in range(2):
            peer.head()
            peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n")

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get(method="HEAD")
        assert (response.body, response.whole) == (b"", True)
    assert origin.connections == 1


def test_events_are_forwarded_as_they_come(dial, serve):
    go = threading.Event()

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for i in range(3):
            peer.send(b"7\r\nevent %d\r\n" % i)
            go.wait(5)
            go.clear()
        peer.send(b"0\r\n\r\n")

    stream = dial.stream(serve(script))
    stream.exchange().send_body()
    stream.channel.expect("RESPONSE")
    for i in range(3):
        assert stream.channel.expect("CHUNK").data == b"event %d" % i
        go.set()
    stream.channel.expect("CHUNK_END")


def test_big_bodies_need_no_memory(dial, serve):
    piece = bytes(MIB)

    def script(peer):
        peer.head()
        peer.ok(b"warm")
        peer.head()
        size = 0
        while size < 64 * MIB:
            size += len(peer.sock.recv(MIB))
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
                  % (64 * MIB))
        for _ in range(64):
            peer.send(piece)

    stream = dial.stream(serve(script))
    assert stream.get().body == b"warm"
    stream.exchange("PUT", body=LENGTH, length=64 * MIB)
    small = bytes(32768)
    before = dial.rss_kib()
    for _ in range(2048):
        stream.channel.send("BODY", data=small)
    stream.channel.send("BODY_END")
    middle = dial.rss_kib()
    received = 0
    stream.channel.expect("RESPONSE")
    while (message := stream.channel.receive()).kind == "CHUNK":
        received += len(message.data)
    assert message.kind == "CHUNK_END" and received == 64 * MIB
    assert middle - before < 2048 and dial.rss_kib() - before < 2048


def test_an_agent_that_does_not_read_stops_the_origin(dial, serve):
    sent = [0]

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n")
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        while True:
            peer.send(bytes(65536))
            sent[0] += 65536

    stream = dial.stream(serve(script))
    stream.exchange().send_body()
    stream.channel.expect("RESPONSE")
    stopped = -1
    while sent[0] != stopped and sent[0] < 16 * MIB:
        stopped = sent[0]
        time.sleep(0.5)
    assert sent[0] == stopped < 16 * MIB
    assert stream.dial.rss_kib() < 32768
    stream.close()
    assert dial.outcome().error == b"the agent hung up"


def test_an_origin_that_does_not_read_stops_the_agent(dial, serve):
    release = threading.Event()

    def script(peer):
        peer.head()
        release.wait(10)
        peer.body()
        peer.ok(b"thanks")

    stream = dial.stream(serve(script))
    stream.exchange("POST", body=CHUNKED)
    stream.pour()
    assert dial.rss_kib() < 32768
    release.set()
    stream.channel.send("BODY_END")
    assert stream.response().body == b"thanks"


# Ends.

@pytest.mark.parametrize("error, status", [
    ("connection refused", 502), ("timed out", 504), ("no such name", 502),
    ("the name lookup timed out", 504),
    ("resolves only to forbidden addresses (10.0.0.5: private)", 502)])
def test_what_cannot_be_reached(dial, error, status):
    response = dial.stream(error).get()
    assert response.failure == (status, f"cannot reach {HOST}: {error}")
    assert dial.outcome().status == status


@pytest.mark.parametrize("when", ["connecting", "handshake", "waiting",
                                  "streaming"])
def test_an_agent_that_hangs_up(dial, serve, when):
    closed, begun = threading.Event(), threading.Event()

    def script(peer):
        peer.head()
        if when == "streaming":
            peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n123")
        begun.set()
        peer.sock.settimeout(5)
        try:
            assert peer.sock.recv(1) == b""
        except (ConnectionError, ssl.SSLError):
            pass
        closed.set()

    origin = serve(script)
    if when == "handshake":
        origin.context, origin.script = None, \
            lambda peer: (begun.set(), time.sleep(1))
    stream = dial.stream(origin)
    if when == "connecting":
        dial.origins[stream.conn] = Silent()
        begun.set()
    stream.exchange().send_body()
    assert begun.wait(5)
    if when == "streaming":
        stream.channel.expect("RESPONSE")
    stream.close()
    assert dial.outcome().error == b"the agent hung up"
    if when in ("waiting", "streaming"):
        assert closed.wait(5)
    assert dial.stream(serve(echo)).get().status == 200


class Silent:
    """An origin that accepts only in the backlog."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]


def test_an_exchange_after_the_hangup_is_accounted_for(dial, serve):
    stream = dial.stream(serve(echo))
    stream.close()
    time.sleep(0.1)
    stream.exchange()
    assert dial.outcome().error == b"the agent hung up"


def test_it_ends_with_its_neighbours(authority):
    for end in ("warden", "resolve", "vault"):
        helper = Dial(authority.pem)
        getattr(helper, end).end.shutdown(socket.SHUT_RDWR)
        assert helper.process.wait(5) == (0 if end == "warden" else 1)


def test_a_message_outside_the_table_ends_it(authority):
    helper = Dial(authority.pem)
    helper.warden.end.send(b"\xff")
    assert helper.process.wait(5) == 1


def test_two_exchanges_at_once_end_it(authority, serve):
    helper = Dial(authority.pem)
    stream = helper.stream(serve(lambda peer: time.sleep(3)))
    stream.exchange()
    stream.exchange()
    assert helper.process.wait(5) == 1


# A limit on what is sent: warden counts, dial obeys.

def test_a_body_asks_for_more_and_stops_where_there_is_none(dial, serve):
    def script(peer):
        while True:
            peer.fill()

    stream = dial.stream(serve(script))
    stream.exchange(method="PUT", body=CHUNKED, allowance=65536,
                    limit="limit upload 96K (t:1)")
    for _ in range(2):
        stream.channel.send("BODY", data=b"x" * 32768)
    assert dial.draws.get(timeout=20) == (stream.conn, 1)
    # Nothing is read from here on: there is no answer to a third one yet.
    stream.channel.send("BODY", data=b"x" * 32768)
    dial.allow(stream, 98304)
    assert dial.draws.get(timeout=20) == (stream.conn, 1)
    stream.channel.send("BODY", data=b"x")
    dial.allow(stream, 98304)
    assert stream.response().failure == (403, "limit upload 96K (t:1) is "
                                              "reached")
    done = dial.outcome()
    assert (done.status, done.sent) == (403, 98304)
    assert dial.draws.empty()


def test_a_known_length_needs_no_more(dial, serve):
    stream = dial.stream(serve(echo))
    body = b"x" * 32768
    stream.exchange(method="PUT", body=LENGTH, length=32768, allowance=32768)
    assert stream.send_body(body).response().status == 200
    stream.exchange(method="PUT", body=LENGTH, length=32768, allowance=32767,
                    limit="limit")
    assert stream.send_body(body).response().failure == (403,
                                                         "limit is reached")
    assert dial.draws.empty()
