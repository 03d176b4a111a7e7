# SPDX-License-Identifier: Apache-2.0
"""stockade-edge among stand-ins for the agent, warden and dial.

Every refusal is looked at from both sides: what the agent reads, and that
nothing reached warden but the record of it.
"""
import json
import os
import random
import resource
import signal
import socket
import ssl
import threading
import time

import pytest

import wire
from conftest import eventually
from edge_alone import (Edge, body_of, edge, place, question,
                        respond)  # noqa: F401

pytestmark = pytest.mark.whoever

HOST = "api.example"
GET = f"GET /v1/x?q=1 HTTP/1.1\r\nHost: {HOST}\r\n\r\n"


@pytest.fixture
def proxy(place):
    helper = Edge(place, port=3128)
    yield helper
    helper.close()


@pytest.fixture
def agent(edge):
    return edge.connect(HOST)


def exchange(edge, agent, *pieces, **more):
    """Allows the next request and answers it; the request and its body."""
    request = edge.request()
    stream = edge.allow(request)
    body = body_of(stream)
    respond(stream, request, *pieces, **more)
    return request, body


# What dial has no say in: the framing, and which way leads to an origin.
NOT_DIALS = [("alt-svc", 'h3=":443"'), ("connection", "close, x-back"),
             ("content-length", "7"), ("transfer-encoding", "chunked"),
             ("upgrade", "h2c"), ("keep-alive", "timeout=1"), ("trailer", "x")]


# Requests and responses

def test_a_request_arrives_in_its_canonical_form(edge, agent):
    agent.send(f"GET /a%7eb?q=%20 HTTP/1.1\r\nHOST: {HOST.upper()}\r\n"
               "X-Thing:  1 \r\nConnection: keep-alive\r\n\r\n")
    request, body = exchange(edge, agent, b"hello", length=5, fields=[
        ("x-back", "2"), *NOT_DIALS])
    assert (request.host, request.port, request.scheme) == (b"api.example",
                                                            80, 1)
    assert (request.method, request.path, request.query) == (
        b"GET", b"/a~b", b"q=%20")
    assert wire.read_fields(request.fields) == [(b"x-thing", b"1")]
    assert (request.body, body) == (0, b"")
    got = agent.response()
    assert (got.status, got.body) == (200, b"hello")
    assert got.fields["x-back"] == "2"
    assert got.fields["content-length"] == "5"
    assert set(got.fields) == {"x-back", "content-length", "connection"}
    assert got.fields["connection"] == "keep-alive"


def test_a_connection_is_kept_and_its_end_is_told(edge, agent):
    for id in (1, 2, 3):
        agent.send(GET)
        request, _ = exchange(edge, agent, b"x", length=1)
        assert request.id == id
        assert agent.response().body == b"x"
    agent.close()
    assert edge.warden.expect("HANGUP").conn == request.conn
    assert edge.streams[request.conn].receive() is None


def test_a_response_may_speak_for_the_verdict(edge, agent):
    """Where nothing is to be sent, and the stream is there."""
    agent.send(GET)
    request, _ = exchange(edge, agent, b"x", length=1)
    assert agent.response().body == b"x"
    agent.send(GET)
    stream, request = edge.streams[request.conn], edge.request()
    respond(stream, request, b"y", length=1)
    assert agent.response().body == b"y"
    agent.send(GET)
    edge.deny(edge.request())
    assert agent.response().status == 403
    agent.send(GET)
    edge.request()
    stream.close()
    assert agent.response().status == 502
    assert agent.is_closed()


def test_pipelined_requests_are_asked_one_after_another(edge, agent):
    agent.send(GET + GET.replace("/x", "/y") + GET.replace("/x", "/z"))
    for path in (b"/v1/x", b"/v1/y", b"/v1/z"):
        request = edge.request()
        assert request.path == path
        assert edge.is_quiet(0.05)
        stream = edge.allow(request)
        body_of(stream)
        respond(stream, request, path, length=5)
    for path in (b"/v1/x", b"/v1/y", b"/v1/z"):
        assert agent.response().body == path


def test_chunks_pass_both_ways(edge, agent):
    agent.send(f"POST /up HTTP/1.1\r\nHost: {HOST}\r\n"
               "Transfer-Encoding: chunked\r\n\r\n"
               "5\r\nhello\r\n1;ext=1\r\n \r\n5\r\nworld\r\n0\r\n"
               "X-Trailer: 1\r\n\r\n" + GET)
    request, body = exchange(edge, agent, b"one", b"two", b"three")
    assert (request.body, request.length, body) == (2, 0, b"hello world")
    got = agent.response()
    assert got.fields["transfer-encoding"] == "chunked"
    assert got.body == b"onetwothree"
    assert edge.request().path == b"/v1/x"


def test_a_request_split_at_every_byte(edge, agent):
    text = (f"POST /split HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 3\r\n"
            "\r\nabc" f"POST /chunks HTTP/1.1\r\nHost: {HOST}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n")

    def dribble():
        for c in text:
            agent.send(c)
            time.sleep(0.001)

    writer = threading.Thread(target=dribble)
    writer.start()
    assert exchange(edge, agent, b"1", length=1)[1] == b"abc"
    assert exchange(edge, agent, b"2", length=1)[1] == b"de"
    writer.join()
    assert [agent.response().body for _ in "12"] == [b"1", b"2"]


def test_continue_comes_after_the_verdict(edge, agent):
    agent.send(f"PUT /c HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n"
               "Expect: 100-continue\r\n\r\n")
    request = edge.request()
    agent.socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        agent.more()
    agent.socket.settimeout(10)
    stream = edge.allow(request)
    assert agent.response().status == 100
    agent.send("ok")
    assert body_of(stream) == b"ok"
    respond(stream, request, status=204)
    assert agent.response().status == 204


def test_a_body_that_waits_for_continue_is_never_sent_when_denied(edge,
                                                                  agent):
    agent.send(f"PUT /c HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\n"
               "Expect: 100-continue\r\n\r\n")
    edge.deny(edge.request())
    got = agent.response()
    assert got.status == 403 and got.fields["connection"] == "close"
    assert agent.is_closed()


@pytest.mark.parametrize("method,status", [("HEAD", 200), ("GET", 204),
                                           ("GET", 304)])
def test_responses_without_a_body(edge, agent, method, status):
    agent.send(GET.replace("GET", method))
    exchange(edge, agent, status=status,
             fields=[("content-length", "77")] if method == "HEAD" else [])
    got = agent.response(bodiless=True)
    assert got.status == status
    if method == "HEAD":
        assert got.fields["content-length"] == "77"
    agent.send(GET)
    exchange(edge, agent, b"next", length=4)
    assert agent.response().body == b"next"


def test_an_old_client_gets_a_body_that_ends_with_the_connection(edge, agent):
    agent.send(f"GET /old HTTP/1.0\r\nHost: {HOST}\r\n\r\n")
    exchange(edge, agent, b"all ", b"of it")
    got = agent.response()
    assert got.fields["connection"] == "close"
    assert "transfer-encoding" not in got.fields
    assert got.body == b"all of it"


def test_events_are_forwarded_at_once(edge, agent):
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=2, fields=wire.fields(
        ("content-type", "text/event-stream")))
    agent.until(b"\r\n\r\n")
    for n in range(5):
        began = time.monotonic()
        stream.send("CHUNK", data=b"data: %d\n\n" % n)
        assert agent.until(b"\r\n" + b"data: %d\n\n\r\n" % n)
        assert time.monotonic() - began < 0.05


def test_hints_pass_before_the_response(edge, agent):
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    stream.send("RESPONSE", id=1, status=103,
                fields=wire.fields(("link", "</a>"), *NOT_DIALS))
    assert agent.response().fields == {"link": "</a>"}
    respond(stream, request, b"x", length=1)
    assert agent.response().body == b"x"


@pytest.mark.parametrize("asks", [True, False])
def test_trailers_are_for_those_who_take_them(edge, agent, asks):
    agent.send(GET if not asks else
               GET.replace("\r\n\r\n", "\r\nTE: trailers\r\n\r\n"))
    request = edge.request()
    assert request.trailers == asks
    stream = edge.allow(request)
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=2)
    stream.send("CHUNK", data=b"x")
    stream.send("CHUNK_END", fields=wire.fields(("x-sum", "1")))
    assert agent.until(b"0\r\n").endswith(b"x\r\n0\r\n")
    assert agent.until(b"\r\n\r\n" if asks else b"\r\n") == (
        b"x-sum: 1\r\n\r\n" if asks else b"\r\n")


def test_trailers_that_none_may_be_end_it(edge, agent):
    agent.send(GET)
    stream = edge.allow(edge.request())
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=2)
    stream.send("CHUNK_END", fields=wire.fields(("content-length", "1")))
    with pytest.raises(ConnectionResetError):
        agent.rest()


def test_a_response_may_come_before_the_body_is_over(edge, agent):
    agent.send(f"POST /early HTTP/1.1\r\nHost: {HOST}\r\n"
               "Content-Length: 10\r\n\r\n12345")
    request = edge.request()
    stream = edge.allow(request)
    assert stream.expect("BODY").data == b"12345"
    respond(stream, request, b"no", status=413, length=2)
    assert agent.response().status == 413
    agent.send("67890" + GET)
    assert body_of(stream) == b"67890"
    exchange(edge, agent, b"x", length=1)
    assert agent.response().body == b"x"


def test_a_response_may_come_before_the_verdict(edge, agent):
    agent.send(GET)
    exchange(edge, agent, b"1", length=1)
    assert agent.response().body == b"1"
    agent.send(GET)
    request = edge.request()
    respond(edge.streams[request.conn], request, b"22", length=2)
    time.sleep(0.05)
    assert body_of(edge.allow(request)) == b""
    assert agent.response().body == b"22"
    agent.send(GET)
    exchange(edge, agent, b"3", length=1)
    assert agent.response().body == b"3"


def test_a_failure_may_come_before_the_verdict(edge, agent):
    agent.send(GET)
    exchange(edge, agent, b"1", length=1)
    assert agent.response().body == b"1"
    agent.send(GET)
    request = edge.request()
    stream = edge.streams[request.conn]
    stream.send("FAILURE", id=2, status=502, reason="too fast")
    assert "too fast" in agent.response().phrase
    edge.allow(request)
    assert agent.is_closed()


def test_a_client_may_close_its_half(edge, agent):
    agent.send(GET)
    agent.socket.shutdown(socket.SHUT_WR)
    exchange(edge, agent, b"still here", length=10)
    assert agent.response().body == b"still here"
    assert agent.is_closed()


# Streams under pressure

def test_a_client_that_does_not_read_stops_the_stream(edge, agent):
    total, piece = 64 << 20, b"p" * 32768
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    sent = 0

    def push():
        nonlocal sent
        stream.send("RESPONSE", id=1, status=200, body=1, length=total)
        while sent < total:
            stream.send("CHUNK", data=piece)
            sent += len(piece)
        stream.send("CHUNK_END")

    before = edge.memory()
    writer = threading.Thread(target=push)
    writer.start()
    time.sleep(0.5)
    assert sent < total / 2
    assert edge.memory() - before < 4096
    assert agent.response().body == piece * (total // len(piece))
    writer.join()
    assert edge.memory() - before < 4096


def test_a_stream_that_is_not_read_stops_the_client(edge, agent):
    total = 64 << 20
    agent.send(f"PUT /big HTTP/1.1\r\nHost: {HOST}\r\n"
               f"Content-Length: {total}\r\n\r\n")
    request = edge.request()
    stream = edge.allow(request)
    sent = 0

    def push():
        nonlocal sent
        while sent < total:
            agent.send(b"u" * 65536)
            sent += 65536

    before = edge.memory()
    writer = threading.Thread(target=push)
    writer.start()
    time.sleep(0.5)
    assert sent < total / 2
    assert edge.memory() - before < 4096
    assert body_of(stream) == b"u" * total
    writer.join()
    respond(stream, request, status=201, length=0)
    assert agent.response().status == 201
    assert edge.memory() - before < 4096


def test_others_are_served_while_one_is_stuck(edge, agent):
    agent.send(GET)
    stuck = edge.allow(edge.request())
    body_of(stuck)
    other = edge.connect(HOST)
    other.send(GET)
    exchange(edge, other, b"free", length=4)
    assert other.response().body == b"free"


# Failures

def test_a_failure_before_the_response_is_explained(edge, agent):
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    stream.send("FAILURE", id=1, status=504, reason="no answer in time")
    got = agent.response()
    assert got.status == 504 and "no answer in time" in got.phrase
    assert json.loads(got.body)["reason"] == "no answer in time"
    assert agent.is_closed()


@pytest.mark.parametrize("said,seen,error", [
    (403, 403, "denied by stockade"), (429, 429, "denied by stockade"),
    (404, 502, "failed in stockade"), (200, 502, "failed in stockade"),
    (600, 502, "failed in stockade")])
def test_a_failure_may_be_a_limit_and_no_other_answer(edge, agent, said, seen,
                                                      error):
    agent.send(GET)
    stream = edge.allow(edge.request())
    body_of(stream)
    stream.send("FAILURE", id=1, status=said, reason="limit reached")
    got = agent.response()
    assert (got.status, json.loads(got.body)["error"]) == (seen, error)
    assert agent.is_closed()


def test_a_response_that_is_cut_short_ends_in_a_reset(edge, agent):
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=2)
    stream.send("CHUNK", data=b"half")
    agent.until(b"half\r\n")
    stream.send("FAILURE", id=1, status=502, reason="cut off")
    with pytest.raises(ConnectionResetError):
        agent.rest()


@pytest.mark.parametrize("wrong", [
    [("RESPONSE", dict(id=9, status=200))],
    [("RESPONSE", dict(id=1, status=101))],
    [("RESPONSE", dict(id=1, status=99))],
    [("RESPONSE", dict(id=1, status=200,
                       fields=wire.fields(("a", "b\r\nc: d"))))],
    [("CHUNK", dict(data=b"x"))], [("CHUNK_END", {})]])
def test_a_dial_that_breaks_the_rules_is_a_bad_gateway(edge, agent, wrong):
    agent.send(GET)
    stream = edge.allow(edge.request())
    body_of(stream)
    for kind, values in wrong:
        stream.send(kind, **values)
    assert agent.response().status == 502
    assert agent.is_closed()


@pytest.mark.parametrize("wrong", [
    [("CHUNK", dict(data=b"more than three"))], [("CHUNK_END", {})],
    [("RESPONSE", dict(id=1, status=200))]])
def test_a_dial_that_breaks_its_framing_is_cut_off(edge, agent, wrong):
    agent.send(GET)
    stream = edge.allow(edge.request())
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=1, length=3)
    for kind, values in wrong:
        stream.send(kind, **values)
    with pytest.raises(ConnectionResetError):
        agent.rest()


def test_edge_ends_with_warden(place):
    helper = Edge(place)
    agent = helper.connect(HOST)
    agent.send(GET)
    helper.request()
    helper.warden.close()
    assert helper.process.wait(5) == 0
    with pytest.raises(ConnectionResetError):
        assert agent.rest() == b""
        raise ConnectionResetError


# Denials

def test_a_denial_is_explained(edge, agent):
    agent.send(GET)
    edge.deny(edge.request(), reason="no rule allows it",
              allow_with="allow GET api.example/v1/**")
    got = agent.response()
    assert (got.status, got.phrase) == (
        403, "Forbidden by stockade: no rule allows it")
    assert got.fields["content-type"] == "application/json"
    assert got.fields["stockade-denied"] == "no-rule-allows-it"
    page = json.loads(got.body)
    assert page["request"] == "GET http://api.example/v1/x?q=1"
    assert page["rule"] is None
    assert page["allow_with"] == "allow GET api.example/v1/**"
    assert list(page) == ["error", "request", "rule", "reason", "allow_with",
                          "advice"]
    # The connection goes on.
    agent.send(GET)
    exchange(edge, agent, b"x", length=1)
    assert agent.response().body == b"x"


def test_a_denied_upload_is_explained_and_drained(edge, agent):
    agent.send(f"POST /x HTTP/1.1\r\nHost: {HOST}\r\n"
               "Content-Length: 1000000\r\n\r\n")
    edge.deny(edge.request())
    agent.send(b"z" * 1000000)
    got = agent.response()
    assert got.status == 403 and got.fields["connection"] == "close"
    assert agent.is_closed()
    agent.close()
    assert edge.warden.expect("HANGUP")
    assert edge.is_quiet()


def test_git_is_told_in_plain_text(edge, agent):
    agent.send(f"GET /r/info/refs HTTP/1.1\r\nHost: {HOST}\r\n"
               "User-Agent: git/2.39\r\n\r\n")
    edge.deny(edge.request(), rule="deny * api.example/r/**")
    got = agent.response()
    assert got.fields["content-type"] == "text/plain"
    assert b"rule: deny * api.example/r/**" in got.body


def test_a_denied_head_has_no_body(edge, agent):
    agent.send(GET.replace("GET", "HEAD"))
    edge.deny(edge.request())
    assert agent.response(bodiless=True).status == 403
    agent.send(GET)
    exchange(edge, agent, b"x", length=1)
    assert agent.response().body == b"x"


def test_a_hostile_reason_cannot_split_the_answer(edge, agent):
    agent.send(GET)
    edge.deny(edge.request(), reason="a\r\nSet-Cookie: b\r\n\r\n\x1b[31m\xff",
              rule="r\x00\n", allow_with="\r\n\r\n")
    got = agent.response()
    assert "set-cookie" not in got.fields
    assert json.loads(got.body)["reason"].startswith("a\r\nSet-Cookie: b")


UPGRADE = (f"GET /ws HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: WebSocket\r\n"
           "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")


def test_a_websocket_is_a_get_and_then_bytes(edge, agent):
    """What comes behind its head waits for the 101; the accept value is edge's."""
    agent.send(UPGRADE + "early")
    request = edge.request()
    assert (request.method, request.upgrade, request.body) == (b"GET", 1, 0)
    assert b"sec-websocket" not in request.fields
    stream = edge.allow(request)
    stream.end.settimeout(0.1)
    with pytest.raises((TimeoutError, BlockingIOError)):
        stream.receive()
    stream.end.settimeout(20)
    stream.send("RESPONSE", id=request.id, status=101, body=3,
                fields=wire.fields(("sec-websocket-accept", "dial's"),
                                   ("sec-websocket-protocol", "a")))
    stream.send("CHUNK", data=b"hello")
    assert agent.until(b"hello") == (
        b"HTTP/1.1 101 Switching Protocols\r\nsec-websocket-protocol: a\r\n"
        b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        b"connection: upgrade\r\nupgrade: websocket\r\n\r\nhello")
    assert stream.receive().data == b"early"
    stream.send("CHUNK_END")
    agent.send("GET /next HTTP/1.1\r\n\r\n")
    assert stream.receive().data == b"GET /next HTTP/1.1\r\n\r\n"
    assert edge.is_quiet()


@pytest.mark.parametrize("upgrade,body", [(False, 3), (True, 0), (True, 1)])
def test_a_switch_that_is_none_is_not_shown(edge, agent, upgrade, body):
    agent.send(UPGRADE if upgrade else GET)
    request = edge.request()
    edge.allow(request).send("RESPONSE", id=request.id, status=101, body=body)
    assert agent.response().status == 502
    assert agent.is_closed()


def test_upgrades_to_http2_are_not_carried(edge, agent):
    agent.send(f"GET / HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: h2c\r\n"
               "Connection: Upgrade, HTTP2-Settings\r\n"
               "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
    assert edge.request().fields == b""


def test_a_literal_address_is_never_dialled(edge):
    agent = edge.connect("203.0.113.9", literal=True)
    agent.send("GET / HTTP/1.1\r\nHost: 203.0.113.9\r\n\r\n")
    told = edge.refused()
    assert (told.host, told.port) == (b"203.0.113.9", 80)
    got = agent.response()
    assert got.status == 403
    assert "literal address" in json.loads(got.body)["reason"]
    assert agent.is_closed() and edge.is_quiet()


def test_an_address_of_the_range_that_no_name_has_is_a_literal(edge):
    agent = edge.connect("198.18.77.77", literal=True)
    agent.send(GET)
    edge.refused()
    assert agent.response().status == 403


def test_another_protocol_is_closed(edge, agent):
    agent.send("SSH-2.0-OpenSSH_9.2\r\n")
    assert edge.refused().reason == (
        b"neither TLS nor HTTP; `allow tcp api.example:80` would carry it"
        b" unread")
    assert agent.is_closed()


def test_a_port_where_the_server_speaks_first_is_asked_for_at_once(place):
    edge = Edge(place, port=22)
    agent = edge.connect("ssh.example")
    asked = edge.warden.expect("OPEN")
    assert (asked.host, asked.port, asked.relay, asked.only) == (
        b"ssh.example", 22, 1, 1)
    edge.deny(asked)
    with pytest.raises(ConnectionResetError):
        agent.rest()
    edge.warden.expect("HANGUP")
    assert edge.connect("203.0.113.22", literal=True).is_closed()
    assert b"literal" in edge.refused().reason
    edge.close()


def test_tls_is_refused_where_nothing_is_intercepted(edge, agent):
    import ssl
    context = ssl.create_default_context()
    with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
        context.wrap_socket(agent.socket, server_hostname=HOST)
    told = edge.refused()
    assert told.host == b"api.example"
    assert told.reason == b"no rule allows any TLS request"


HOSTILE = {
    "both lengths": "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 3\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: 3\r\n"
                   "Content-Length: 3\r\n\r\nabc",
    "signed length": "POST / HTTP/1.1\r\nHost: H\r\nContent-Length: +3\r\n"
                     "\r\nabc",
    "odd coding": "POST / HTTP/1.1\r\nHost: H\r\n"
                  "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "space before colon": "POST / HTTP/1.1\r\nHost: H\r\n"
                          "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "folded": "GET / HTTP/1.1\r\nHost: H\r\nX: a\r\n b\r\n\r\n",
    "bare line feeds": "GET / HTTP/1.1\nHost: H\n\n",
    "NUL": "GET / HTTP/1.1\r\nHost: H\r\nX: a\x00b\r\n\r\n",
    "two hosts": "GET / HTTP/1.1\r\nHost: H\r\nHost: H\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "another host": "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "another port": "GET / HTTP/1.1\r\nHost: H:8080\r\n\r\n",
    "userinfo": "GET / HTTP/1.1\r\nHost: a@H\r\n\r\n",
    "absolute form": "GET http://H/ HTTP/1.1\r\nHost: H\r\n\r\n",
    "connect": "CONNECT H:443 HTTP/1.1\r\nHost: H:443\r\n\r\n",
    "dots": "GET /a/../b HTTP/1.1\r\nHost: H\r\n\r\n",
    "encoded dots": "GET /a/%2e%2e/b HTTP/1.1\r\nHost: H\r\n\r\n",
    "doubly encoded": "GET /%252e%252e/b HTTP/1.1\r\nHost: H\r\n\r\n",
    "backslash": "GET /a\\..\\b HTTP/1.1\r\nHost: H\r\n\r\n",
    "fragment": "GET /a#b HTTP/1.1\r\nHost: H\r\n\r\n",
    "version": "GET / HTTP/1.2\r\nHost: H\r\n\r\n",
    "two spaces": "GET  / HTTP/1.1\r\nHost: H\r\n\r\n",
    "trace": "TRACE / HTTP/1.1\r\nHost: H\r\n\r\n",
    "h2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "override": "POST / HTTP/1.1\r\nHost: H\r\n"
                "X-HTTP-Method-Override: DELETE\r\n\r\n",
    "long head": "GET / HTTP/1.1\r\nHost: H\r\nX: " + "x" * 70000 + "\r\n\r\n",
    "long path": "GET /" + "x" * 70000 + " HTTP/1.1\r\nHost: H\r\n\r\n",
    "many fields": "GET / HTTP/1.1\r\nHost: H\r\n" + "a: b\r\n" * 5000
                   + "\r\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_head_is_refused_and_recorded(edge, agent, name):
    second = GET.replace("/v1/x", "/smuggled")
    agent.send(HOSTILE[name].replace("H\r", HOST + "\r").replace(
        "http://H", "http://" + HOST).replace("H:", HOST + ":").replace(
        "a@H", "a@" + HOST) + second)
    assert edge.refused().host == b"api.example"
    got = agent.response()
    assert got.status in (400, 403, 414, 417, 431, 501, 505)
    assert json.loads(got.body)["error"].endswith("by stockade")
    assert agent.is_closed()
    assert edge.is_quiet(0.05)


@pytest.mark.parametrize("chunks", [
    "0x3\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n", "3\r\nabcd\r\n0\r\n\r\n",
    "-1\r\n", "ffffffffffffffffff\r\n", "3;a=\"\nb\"\r\nabc\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n"])
def test_a_hostile_body_never_ends_well(edge, agent, chunks):
    agent.send(f"POST / HTTP/1.1\r\nHost: {HOST}\r\n"
               f"Transfer-Encoding: chunked\r\n\r\n{chunks}" + GET)
    stream = edge.allow(edge.request())
    while (message := stream.receive()) is not None:
        assert message.kind == "BODY"
    assert edge.refused().reason == b"malformed chunked body"
    assert agent.response().status == 400
    assert agent.is_closed()
    agent.close()
    edge.warden.expect("HANGUP")
    assert edge.is_quiet(0.05)


def test_a_body_that_breaks_off_is_not_a_body(edge, agent):
    agent.send(f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n"
               "\r\nabc")
    stream = edge.allow(edge.request())
    assert stream.expect("BODY").data == b"abc"
    agent.close()
    assert b"middle of a body" in edge.refused().reason
    assert stream.receive() is None


@pytest.mark.parametrize("split", [1, 20, 52])
def test_a_placeholder_in_a_body_is_reported(edge, agent, split):
    text = "stockade_placeholder_" + "0123456789abcdef" * 2
    agent.send(f"POST /p HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 60\r\n"
               "\r\n" + "key=" + text[:split])
    request = edge.request()
    stream = edge.allow(request)
    stream.expect("BODY")
    agent.send(text[split:] + "end")
    told = edge.warden.expect("VIOLATION")
    assert (told.conn, told.id) == (request.conn, request.id)
    assert (told.placeholder, told.where) == (text.encode(), b"body")
    body_of(stream)
    respond(stream, request, length=0)
    assert agent.response().status == 200


# The explicit proxy

def test_absolute_form_through_the_proxy(proxy):
    agent = proxy.connect("proxy.stockade")
    agent.send("GET http://one.example/a HTTP/1.1\r\nHost: one.example\r\n"
               "Proxy-Connection: keep-alive\r\n\r\n")
    first, _ = exchange(proxy, agent, b"1", length=1)
    assert (first.host, first.port, first.path) == (b"one.example", 80, b"/a")
    assert first.fields == b""
    assert agent.response().body == b"1"
    agent.send("GET http://one.example:8080/b HTTP/1.1\r\n"
               "Host: one.example:8080\r\n\r\n")
    assert proxy.warden.expect("HANGUP").conn == first.conn
    second, _ = exchange(proxy, agent, b"2", length=1)
    assert (second.port, second.id) == (8080, 1)
    assert second.conn != first.conn
    assert agent.response().body == b"2"


@pytest.mark.parametrize("line", [
    "GET /origin-form HTTP/1.1", "GET https://a.example/ HTTP/1.1",
    "GET http://127.0.0.1/ HTTP/1.1", "GET ftp://a.example/ HTTP/1.1",
    "CONNECT 10.0.0.1:443 HTTP/1.1", "CONNECT a.example HTTP/1.1",
    "CONNECT [::1]:443 HTTP/1.1", "CONNECT a.example:0 HTTP/1.1"])
def test_the_proxy_refuses(proxy, line):
    agent = proxy.connect("proxy.stockade")
    agent.send(line + "\r\nHost: a.example\r\n\r\n")
    proxy.refused()
    assert agent.response().status in (400, 403)
    assert agent.is_closed() and proxy.is_quiet()


def test_the_proxy_itself_speaks_no_tls(proxy):
    agent = proxy.connect("proxy.stockade")
    agent.send(b"\x16\x03\x01\x00\x05")
    assert b"without TLS" in proxy.refused().reason


def tunnel(proxy, where):
    agent = proxy.connect("proxy.stockade")
    agent.send(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
               "Connection: close\r\n\r\n")
    assert agent.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    return agent


@pytest.mark.parametrize("said", [b"EHLO me\r\n", b"SSH-2.0-me\r\n",
                                  b"\0\0\0\x08\x04\xd2\x16\x2f", b"\n"])
def test_neither_tls_nor_http_does_not_go_through_a_tunnel(proxy, said):
    agent = tunnel(proxy, "a.example:587")
    agent.send(said)
    told = proxy.refused()
    assert (told.host, told.port) == (b"a.example", 587)
    assert b"neither TLS nor HTTP" in told.reason
    assert b"`allow tcp a.example:587`" in told.reason
    try:
        assert agent.is_closed()
    except ConnectionResetError:
        pass


def test_http_in_a_tunnel_is_decided_like_any_other(proxy):
    agent = tunnel(proxy, "a.example:8080")
    get = "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n"
    agent.send(get % (1, "a.example:8080"))
    first, _ = exchange(proxy, agent, b"1", length=1)
    assert (first.scheme, first.host, first.port, first.path) == (
        1, b"a.example", 8080, b"/1")
    assert agent.response().body == b"1"
    agent.send(get % (2, "a.example:8080"))
    second = proxy.request()
    assert (second.conn, second.path) == (first.conn, b"/2")
    proxy.deny(second)
    assert agent.response().status == 403
    # What was before of another host is another's.
    agent = proxy.connect("proxy.stockade")
    agent.send(get.replace("/%s", "http://b.example/%s") % (3, "b.example"))
    third, _ = exchange(proxy, agent, b"3", length=1)
    assert agent.response().body == b"3"
    agent.send("CONNECT a.example:80 HTTP/1.1\r\nHost: a.example:80\r\n\r\n")
    assert proxy.warden.expect("HANGUP").conn == third.conn
    agent.until(b"\r\n\r\n")
    agent.send(get % (4, "a.example"))
    fourth = proxy.request()
    assert (fourth.host, fourth.port, fourth.id) == (b"a.example", 80, 1)
    assert fourth.conn != third.conn


@pytest.mark.parametrize("head, status", [
    ("GET /x HTTP/1.1\r\nHost: b.example", 400),
    ("GET /x HTTP/1.1\r\nHost: a.example:80", 400),
    ("GET http://b.example/x HTTP/1.1\r\nHost: b.example", 400),
    ("GET http://a.example:8080/x HTTP/1.1\r\nHost: a.example:8080", 400),
    ("CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443", 501),
    ("PRI * HTTP/2.0", 505)])
def test_a_tunnel_without_tls_is_for_one_name(proxy, head, status):
    agent = tunnel(proxy, "a.example:8080")
    agent.send(head + "\r\n\r\n")
    assert proxy.refused().host == b"a.example"
    assert agent.response().status == status
    assert agent.is_closed() and proxy.is_quiet()


def test_a_tunnel_where_the_server_speaks_first_is_asked_for(proxy):
    for status in (0, 403):
        agent = proxy.connect("proxy.stockade")
        agent.send("CONNECT a.example:25 HTTP/1.1\r\nHost: a.example:25"
                   "\r\n\r\n")
        asked = proxy.warden.expect("OPEN")
        assert (asked.host, asked.port, asked.only) == (b"a.example", 25, 1)
        if status:
            proxy.deny(asked)
            assert agent.response().status == 403
            continue
        stream = proxy.allow(asked)
        assert proxy.is_quiet()
        stream.send("RESPONSE", id=asked.id, status=200, body=3)
        assert agent.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        stream.send("CHUNK", data=b"220 hello\r\n")
        assert agent.until(b"\n") == b"220 hello\r\n"
        agent.send(b"EHLO me\r\n")
        assert stream.expect("BODY").data == b"EHLO me\r\n"
        # Its end without CHUNK_END is none.
        stream.close()
        with pytest.raises(ConnectionResetError):
            agent.rest()
        proxy.warden.expect("HANGUP")


# Names

def test_names_have_addresses_of_their_own(edge):
    one, two = edge.address("one.example"), edge.address("two.example")
    assert one != two and one.startswith("198.18.")
    assert edge.address("ONE.example".lower()) == one
    six = edge.address("one.example", 28)
    assert six.startswith("fd53:746f:636b::")
    assert edge.address("localhost") == "127.0.0.1"
    assert edge.address("a.localhost", 28) == "::1"
    reverse = ".".join(reversed(one.split("."))) + ".in-addr.arpa"
    assert b"\x03one\x07example\0" in edge.ask(question(reverse, 12))
    assert edge.is_quiet()


@pytest.mark.parametrize("name,kind,code,answers", [
    ("one.example", 16, 0, 0), ("one.example", 65, 0, 0),
    ("1.2.3.4", 1, 5, 0), ("a b.example", 1, 5, 0),
    ("9.9.9.9.in-addr.arpa", 12, 3, 0)])
def test_other_questions_get_no_record(edge, name, kind, code, answers):
    answer = edge.ask(question(name, kind))
    assert (answer[3] & 15, answer[7]) == (code, answers)


def test_names_over_tcp(place):
    helper = Edge(place, port=53)
    agent = helper.connect("203.0.113.53", literal=True)
    asked = question("tcp.example", 1)
    for _ in range(3):
        agent.send(len(asked).to_bytes(2, "big") + asked)
    for _ in range(3):
        n = int.from_bytes(agent.exactly(2), "big")
        assert agent.exactly(n)[7] == 1
    agent.close()
    helper.close()


def test_a_name_may_be_reached_by_either_family(edge):
    assert edge.address("six.example", 28) == "fd53:746f:636b::2"
    agent = edge.connect("fd53:746f:636b::2", literal=True)
    agent.send("GET / HTTP/1.1\r\nHost: six.example\r\n\r\n")
    assert edge.request().host == b"six.example"


# Many connections

@pytest.fixture
def many_descriptors():
    """An ordinary user's shell often grants 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_connections_cost_little(edge, agent, many_descriptors):
    agent.send(GET)
    exchange(edge, agent, b"x", length=1)
    before = edge.memory()
    for _ in range(500):
        agent = edge.connect(HOST)
        agent.send(GET)
        exchange(edge, agent, b"x", length=1)
        agent.response()
    assert edge.memory() - before < 2048


def test_more_connections_than_descriptors_wait(place):
    edge = Edge(place, descriptors=100)
    agents = [edge.connect(HOST) for _ in range(40)]
    for agent in agents:
        agent.send(GET)
    served = [edge.request() for _ in range(18)]
    assert edge.is_quiet()
    before = edge.cpu()
    time.sleep(1)
    assert edge.cpu() - before < 0.2
    for request in served:
        edge.deny(request)
    for agent in agents[:18]:
        agent.close()
    for _ in range(18):
        while edge.warden.receive().kind != "REQUEST":
            pass
    edge.close()


def test_the_longest_idle_connection_makes_room(place):
    """Of 18 that fit, one is at work for longest, and one idle for longest."""
    edge = Edge(place, descriptors=100)
    working, oldest, *others = [edge.connect(HOST) for _ in range(18)]
    working.send(GET)
    at_work = edge.request()
    for agent in (oldest, *others):
        agent.send(GET)
        exchange(edge, agent, b"x", length=1)
        assert agent.response().body == b"x"
    time.sleep(1.1)
    late = edge.connect(HOST)
    late.send(GET)
    assert edge.warden.expect("HANGUP").conn == at_work.conn + 1
    exchange(edge, late, b"late", length=4)
    assert late.response().body == b"late"
    assert oldest.is_closed()
    edge.deny(at_work)
    assert working.response().status == 403
    for agent in others:
        agent.send(GET)
        exchange(edge, agent, b"y", length=1)
        assert agent.response().body == b"y"
    edge.close()


def test_a_warden_that_is_behind_is_waited_for(edge):
    agents = [edge.connect("203.0.113.1", literal=True) for _ in range(700)]
    for agent in agents:
        agent.send(GET)
    time.sleep(0.5)
    for _ in agents:
        assert edge.refused().port == 80
    for agent in agents:
        assert agent.response().status == 403
    assert edge.is_quiet()


LONG = ".".join(["a" * 62] * 4) + ".a"


def settle(edge):
    """Until it has no more to do."""
    assert eventually(lambda: (edge.cpu(), time.sleep(0.2))[0] == edge.cpu(), 60)


def connect_many(edge, n, at_once):
    """To a long name; at once: all of them before edge sees the first."""
    address = edge.address(LONG)
    sockets = [edge.place.socket("tcp4") for _ in range(n)]
    if at_once:
        os.kill(edge.process.pid, signal.SIGSTOP)
    for s in sockets:
        s.settimeout(10)
        s.connect((address, edge.port))
    os.kill(edge.process.pid, signal.SIGCONT)
    return sockets


def hello():
    """The first bytes of a TLS client that names nobody."""
    out = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    client = context.wrap_bio(ssl.MemoryBIO(), out)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


@pytest.mark.parametrize("how, n", [("hello", 4500), ("silent", 2500)])
def test_what_ends_at_once_waits_for_warden_too(place, many_descriptors, how, n):
    """More refusals than would be kept for a warden that does not read."""
    edge = Edge(place, hasty=how == "silent")
    sockets = connect_many(edge, n, how == "silent")
    if how == "hello":
        first = hello()
        for s in sockets:
            s.sendall(first)
    settle(edge)
    before = edge.cpu()
    time.sleep(0.5)
    assert edge.cpu() - before < 0.2, "it spins"
    for _ in sockets:
        assert edge.refused().host.decode() == LONG
    for s in sockets:
        s.close()
    # And it goes on.
    agent = edge.connect(HOST)
    agent.send(GET)
    edge.deny(edge.request())
    assert agent.response().status == 403
    edge.close()


def test_a_silent_connection_costs_no_time(edge, agent):
    agent.send(GET)
    edge.request()
    agent.send(GET * 10)
    before = edge.cpu()
    time.sleep(1)
    assert edge.cpu() - before < 0.1


def test_noise_hurts_nobody(edge):
    noise = random.Random(1)
    for _ in range(300):
        agent = edge.connect("203.0.113.1", literal=True)
        seed = noise.choice([GET, "POST / HTTP/1.1\r\n\r\n", "\x16\x03\x01"])
        data = bytearray(seed.encode("latin-1") * noise.randint(1, 3)
                         + noise.randbytes(noise.randint(0, 300)))
        for _ in range(noise.randint(0, 8)):
            data[noise.randrange(len(data))] = noise.randrange(256)
        agent.send(bytes(data))
        if noise.random() < 0.5:
            agent.socket.shutdown(socket.SHUT_WR)
        agent.close()
    for _ in range(300):
        with edge.place.socket("udp4") as s:
            s.sendto(noise.randbytes(noise.randint(0, 600)),
                     ("198.18.0.53", 53))
    agent = edge.connect(HOST)
    agent.send(GET)
    while (message := edge.warden.receive()).kind != "REQUEST":
        assert message.kind == "REFUSED"
    assert message.host == b"api.example"
