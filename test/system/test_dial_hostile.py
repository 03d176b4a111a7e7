# SPDX-License-Identifier: Apache-2.0
"""stockade-dial alone: what an origin should not do.
"""
import base64
import socket
import time

import pytest

from dial_stage import (GOOD, LENGTH, MIB, PLACEHOLDER, SECRET, NUMBER, Dial,
                        authority, certificate, dial, echo, serve,
                        swap)  # noqa: F401

pytestmark = pytest.mark.whoever


# What an origin should not do.

MALFORMED = {
    "empty": b"",
    "garbage": b"\x00\x01\x02\x03 garbage\r\n\r\n",
    "http/0.9": b"<html>hello</html>",
    "version": b"HTTP/2.0 200 OK\r\ncontent-length: 4\r\n\r\ngood",
    "status": b"HTTP/1.1 2000 OK\r\n\r\n",
    "status word": b"HTTP/1.1 OK\r\n\r\n",
    "status 99": b"HTTP/1.1 099 OK\r\n\r\n",
    "101": b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n" + GOOD,
    "1xx flood": b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + GOOD,
    "1xx for ever": b"HTTP/1.1 103 Early\r\n\r\n" * 1000,
    "102 for ever": b"HTTP/1.1 102 Processing\r\n\r\n" * 1000,
    "102 with a body": b"HTTP/1.1 102 P\r\ncontent-length: 4\r\n\r\nevil" + GOOD,
    "length and chunked": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                          b"transfer-encoding: chunked\r\n\r\n"
                          b"4\r\ngood\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                   b"content-length: 5\r\n\r\ngood!",
    "same length twice": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                         b"content-length: 4\r\n\r\ngood",
    "negative length": b"HTTP/1.1 200 OK\r\ncontent-length: -4\r\n\r\ngood",
    "signed length": b"HTTP/1.1 200 OK\r\ncontent-length: +4\r\n\r\ngood",
    "length list": b"HTTP/1.1 200 OK\r\ncontent-length: 4, 4\r\n\r\ngood",
    "huge length": b"HTTP/1.1 200 OK\r\ncontent-length: "
                   b"99999999999999999999\r\n\r\ngood",
    "gzip chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n"
                    b"\r\n4\r\ngood\r\n0\r\n\r\n",
    "bare lf": b"HTTP/1.1 200 OK\ncontent-length: 4\n\ngood",
    "bare cr": b"HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n",
    "fold": b"HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 4\r\n\r\ngood",
    "nul": b"HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 4\r\n\r\ngood",
    "no colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "space colon": b"HTTP/1.1 200 OK\r\ncontent-length : 4\r\n\r\ngood",
    "huge head": b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70000 + b"\r\n\r\n",
    "many fields": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 5000 + b"\r\n",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"x-filler: y\r\n" * 20000,
    "cut head": b"HTTP/1.1 200 OK\r\ncontent-le",
    "cut body": b"HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\ngood",
    "cut chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                  b"4\r\ngood\r\n",
    "bad chunk size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                      b"0x4\r\ngood\r\n0\r\n\r\n",
    "chunk overflow": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                      b"10000000000000004\r\ngood\r\n0\r\n\r\n",
    "chunk spill": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                   b"3\r\ngood\r\n0\r\n\r\n",
    "chunk bare lf": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                     b"4\ngood\n0\n\n",
}
# The right body, but the connection is not to be trusted any more.
TAINTED = {
    "two responses": GOOD + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    "bytes behind": GOOD + b"x",
    "close": b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
             b"content-length: 4\r\n\r\ngood",
    "http/1.0": b"HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\ngood",
    "behind chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                     b"4\r\ngood\r\n0\r\n\r\nHTTP/1.1 200 evil\r\n\r\n",
}


def once_then_good(data):
    """The first connection says data, the others what is right."""
    state = []

    def script(peer):
        peer.head()
        if state:
            peer.send(GOOD)
            return
        state.append(1)
        peer.send(data)
        if data in TAINTED.values():
            # It stays open: nothing but our judgement ends it.
            peer.sock.settimeout(5)
            assert peer.sock.recv(100) == b"", "it was used again"

    return script


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_response_is_502(dial, serve, name, tls):
    origin = serve(once_then_good(MALFORMED[name]), tls)
    more = {} if tls else {"scheme": 1, "port": 80}
    stream = dial.stream(origin)
    response = stream.get(**more)
    assert response.failure and response.failure[0] == 502
    assert not response.whole
    assert response.body in (b"", b"good", b"goo")
    assert "garbage" not in response.failure[1]
    assert dial.outcome().error == response.failure[1].encode()
    # The stream is over; the next one is not affected.
    other = dial.stream(origin).get(**more)
    assert (other.status, other.body, other.whole) == (200, b"good", True)


@pytest.mark.parametrize("name", TAINTED)
def test_a_tainted_connection_is_not_used_again(dial, serve, name):
    origin = serve(once_then_good(TAINTED[name]))
    stream = dial.stream(origin)
    for _ in range(2):
        response = stream.get()
        assert (response.body, response.whole) == (b"good", True)
        time.sleep(0.05)
    assert origin.connections == 2


def test_what_comes_unasked_ends_the_connection(dial, serve):
    def script(peer):
        peer.head()
        peer.send(GOOD)
        time.sleep(0.05)
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")

    origin = serve(script)
    stream = dial.stream(origin)
    for _ in range(3):
        assert stream.get().body == b"good"
        time.sleep(0.15)
    assert origin.connections == 3


def test_a_response_before_the_request_is_none(dial, serve):
    def script(peer):
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood")

    stream = dial.stream(serve(script))
    response = stream.get()
    assert response.failure or response.body == b"evil"
    # Whatever the first one got, the second gets a connection of its own.
    if not response.failure:
        time.sleep(0.2)     # until the second answer lies there, unasked
        stream.get()
        assert dial.needs == 2


def test_an_early_response_is_forwarded(dial, serve):
    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        time.sleep(1)

    origin = serve(script)
    stream = dial.stream(origin)
    stream.exchange("POST", body=LENGTH, length=10 * MIB)
    stream.channel.send("BODY", data=bytes(30000))
    response = stream.response()
    assert (response.status, response.body, response.whole) == \
        (413, b"big", True)
    assert dial.outcome().error == b""
    # What edge still sends is dropped, also behind the next exchange.
    origin.script = echo
    stream.exchange(path="/next")
    for _ in range(40):
        stream.channel.send("BODY", data=bytes(30000))
    stream.channel.send("BODY_END")
    response = stream.response()
    assert response.body == b"GET /next HTTP/1.1\n"
    assert origin.connections == 2


# Connections that end between two requests.

def closes_after_one(peer):
    line, _ = peer.head()
    peer.ok(line.encode())


def test_a_connection_closed_between_requests_is_replaced(dial, serve):
    origin = serve(closes_after_one)
    stream = dial.stream(origin)
    for i in range(3):
        assert stream.get(f"/{i}").body == b"GET /%d HTTP/1.1" % i
        time.sleep(0.05)
    assert origin.connections == 3


def closes_on_second(peer):
    """Takes the second request and closes: as a race would look."""
    line, _ = peer.head()
    peer.ok(line.encode())
    peer.sock.recv(4)
    peer.sock.shutdown(socket.SHUT_RDWR)


def test_a_stale_connection_is_tried_once_more(dial, serve):
    origin = serve(closes_on_second)
    stream = dial.stream(origin)
    assert stream.get("/1").status == 200
    assert stream.get("/2").body == b"GET /2 HTTP/1.1"
    assert origin.connections == 2


def test_a_stale_connection_is_no_reason_to_act_twice(dial, serve):
    origin = serve(closes_on_second)
    stream = dial.stream(origin)
    assert stream.get("/1").status == 200
    assert stream.get("/2", method="POST").failure[0] == 502
    assert origin.connections == 1


def test_a_stale_connection_with_a_credential(dial, serve):
    """The origin is verified before the value is sent again."""
    seen = []

    def script(peer):
        seen.append(peer.head()[1]["authorization"])
        peer.ok(b"")
        seen.append(peer.head()[1]["authorization"])

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    for _ in range(2):
        response = stream.get(
            fields=[("authorization", "Bearer " + PLACEHOLDER)],
            edits=swap())
        assert response.status == 200
    value = "Bearer " + SECRET.decode()
    assert seen[:3] == [value, value, value]
    assert 1 <= len(dial.claimed) <= 2


# A proxy that takes the connection, and does not make one.

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.fixture
def hurried():
    """Half a minute is less than one second for it."""
    helper = Dial(None, proxy="proxy.test", hasty=True)
    yield helper
    assert helper.process.poll() is None, helper.faults
    assert helper.stop() == 0


def dripping(peer):
    """A byte now and then does not help: what counts is when it was asked."""
    peer.head()
    peer.send(ESTABLISHED[:-4] + b"\r\nX: ")
    while True:
        peer.send(b"x")
        time.sleep(0.02)


def endless(peer):
    peer.head()
    peer.send(ESTABLISHED[:-2])
    while True:
        peer.send(b"X: y\r\n" * 100)


def silent(peer):
    peer.head()
    peer.until(b"what never comes")


def tunnels(peer):
    assert peer.head()[0].startswith("CONNECT ")
    # Slow, but in time.
    for i in range(len(ESTABLISHED)):
        peer.send(ESTABLISHED[i:i + 1])
    echo(peer)


@pytest.mark.parametrize("says, shown", [
    ([(1, SECRET)], SECRET), ([(1, SECRET), (1, b"another")], SECRET),
    ([(0, b"")], None), ([(0, b""), (1, SECRET)], None)])
def test_the_login_for_a_proxy_is_said_once(serve, says, shown):
    seen = []

    def script(peer):
        seen.append(peer.head()[1]["proxy-authorization"])
        peer.send(ESTABLISHED)
        echo(peer)

    helper = Dial(None, proxy="proxy.test", user="corp")
    for ok, value in says:
        helper.vault.send("LEASE", conn=0, ok=ok, value=value)
    response = helper.stream(serve(script, False)).get(scheme=1, port=80)
    if shown:
        login = base64.b64encode(b"corp:" + shown).decode()
        assert (response.status, seen) == (200, [f"Basic {login}"])
    else:
        assert response.failure == (
            502, "the login for the proxy is not available")
        assert not seen
    assert helper.stop() == 0


def test_a_proxy_that_does_not_answer_is_given_up(hurried, serve):
    """Each in its time, with a reason, on record; what others ask goes on."""
    scripts = {silent: 504, dripping: 504, endless: 502}
    why = {504: "the proxy's answer for api.test timed out",
           502: "the proxy proxy.test answers without an end"}
    plain = {"scheme": 1, "port": 80}
    began = time.monotonic()
    waiting = [(status, hurried.stream(serve(script, False)).exchange(**plain))
               for script, status in scripts.items()]
    relays = [(status, hurried.stream(serve(script, False)))
              for script, status in scripts.items()]
    for _, relay in relays:
        hurried.warden.send("RELAY", conn=relay.conn, id=1, host="api.test",
                            port=22, allowance=2**64 - 1)
        relay.id = 1
    good = hurried.stream(serve(tunnels, False))
    for i in range(3):
        assert good.get(f"/{i}", **plain).body == b"GET /%d HTTP/1.1\n" % i
    for status, stream in waiting + relays:
        assert stream.response().failure == (status, why[status])
    assert time.monotonic() - began < 10
    errors = [hurried.outcome().error.decode() for _ in range(9)]
    assert sorted(e for e in errors if e) == sorted(
        why[status] for status, _ in waiting + relays)
    # Nobody is left at the other end, and the next one is asked as before.
    assert good.get("/3", **plain).body == b"GET /3 HTTP/1.1\n"
