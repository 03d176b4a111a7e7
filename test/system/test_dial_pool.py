# SPDX-License-Identifier: Apache-2.0
"""stockade-dial alone: which connections to origins are shared, and by whom.
"""
import queue
import threading
import time

import pytest

from dial_stage import (CHUNKED, GOOD, HOST, LENGTH, OTHER, PLACEHOLDER,
                        SECRET, NUMBER, authority, certificate, dial, echo,
                        serve, swap)  # noqa: F401

pytestmark = pytest.mark.whoever


def hold(dial, origin_of, n, release, arrived):
    """n streams at once, each on a connection of its own."""
    streams = [dial.stream(origin_of).exchange().send_body()
               for _ in range(n)]
    for _ in range(n):
        arrived.get(timeout=20)
    release.set()
    for stream in streams:
        assert stream.response().body == b"good"
    return streams


def holder(release, arrived):
    """Holds every request until told."""
    def script(peer):
        while True:
            peer.head()
            arrived.put(1)
            release.wait(20)
            peer.send(GOOD)
    return script


@pytest.mark.parametrize("tls", [True, False])
def test_streams_share_a_connection(dial, serve, tls):
    more = {} if tls else {"scheme": 1, "port": 80}
    origin = serve(echo, tls)
    for i in range(5):
        stream = dial.stream(origin)
        assert stream.get(f"/{i}", **more).body == b"GET /%d HTTP/1.1\n" % i
        stream.close()
    assert (origin.connections, dial.needs) == (1, 1)


def test_at_once_they_share_none(dial, serve):
    release, arrived = threading.Event(), queue.Queue()
    origin = serve(holder(release, arrived))
    streams = hold(dial, origin, 5, release, arrived)
    assert origin.connections == 5
    # All of them are there for those who come now, each for one.
    release.clear()
    for stream in streams:
        stream.exchange().send_body()
    for _ in streams:
        arrived.get(timeout=20)
    release.set()
    for stream in streams:
        assert stream.response().body == b"good"
    assert origin.connections == 5


def test_another_origin_shares_none(dial, serve):
    origin, other = serve(echo), serve(echo)
    for host, port in [(HOST, 443), (OTHER, 443), (HOST, 8443)]:
        dial.stream(origin).get(host=host, port=port)
    dial.stream(serve(echo, False)).get(scheme=1, port=443)
    assert (origin.connections, dial.needs) == (3, 4)
    assert dial.stream(other).get().status == 200
    assert other.connections == 0


def test_other_secrets_share_none(dial, serve):
    """What is sent decides; none is a set as well."""
    seen = []

    def script(peer):
        mine = []
        seen.append(mine)
        while True:
            mine.append(peer.head()[1].get("x-key"))
            peer.ok(b"")

    origin = serve(script)
    for secrets in [b"", b"\0\0\0\1", b"\0\0\0\2", b"\0\0\0\1\0\0\0\2"] * 2:
        edits, fields = b"", []
        for i in range(0, len(secrets), 4):
            field = "x-key" if i == 0 else "x-other"
            secret = secrets[i + 3]
            dial.values[secret] = SECRET + secrets.hex().encode()
            edits += swap(field, secret=secret)
            fields.append((field, PLACEHOLDER))
        assert dial.stream(origin).get(fields=fields, edits=edits,
                                       secrets=secrets).status == 200
    assert origin.connections == 4
    assert [len(mine) for mine in seen] == [2] * 4
    assert all(len(set(mine)) == 1 for mine in seen)


TAINTS = {
    "bytes behind": GOOD + b"x",
    "close": b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
             b"content-length: 4\r\n\r\ngood",
    "malformed": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n"
                 b"content-length: 5\r\n\r\ngood",
}


@pytest.mark.parametrize("name", TAINTS)
def test_a_tainted_connection_serves_no_other_stream(dial, serve, name):
    seen = []

    def script(peer):
        peer.head()
        seen.append(1)
        if len(seen) == 1:
            peer.send(TAINTS[name])
            assert peer.sock.recv(100) == b"", "it was used again"
        else:
            peer.send(GOOD)

    origin = serve(script)
    dial.stream(origin).get()
    response = dial.stream(origin).get()
    assert (response.body, response.whole) == (b"good", True)
    assert origin.connections == 2


def test_one_that_was_given_up_serves_no_other(dial, serve):
    ended = threading.Event()

    def script(peer):
        line, _ = peer.head()
        if "slow" not in line:
            peer.send(GOOD)
            return
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        assert peer.sock.recv(100) == b""
        ended.set()

    origin = serve(script)
    stream = dial.stream(origin).exchange(path="/slow").send_body()
    stream.channel.expect("RESPONSE")
    stream.close()
    assert ended.wait(5)
    assert dial.stream(origin).get().body == b"good"
    # Nor one whose request is stuck half-way.
    stream = dial.stream(origin)
    stream.exchange("POST", body=CHUNKED).channel.send("BODY", data=b"x")
    assert stream.response().body == b"good"
    assert dial.stream(origin).get().body == b"good"
    assert origin.connections == 4


def test_a_new_connection_resumes_what_that_host_had(dial, serve):
    """A handshake is not made whole again, and never by another host's session."""
    resumed = []

    def script(peer):
        host = peer.head()[1]["host"]
        resumed.append((host, peer.sock.session_reused))
        peer.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
                  b"content-length: 0\r\n\r\n")

    origin = serve(script)
    for host in HOST, HOST, OTHER, OTHER, HOST:
        assert dial.stream(origin).get(host=host).whole
    assert resumed == [(HOST, False), (HOST, True), (OTHER, False), (OTHER, True),
                       (HOST, True)]


def test_an_idle_one_that_was_closed_is_replaced(dial, serve):
    def script(peer):
        peer.head()
        peer.send(GOOD)

    origin = serve(script)
    for _ in range(3):
        assert dial.stream(origin).get().body == b"good"
        time.sleep(0.05)
    assert origin.connections == 3


@pytest.mark.parametrize("method, connections", [("GET", 2), ("POST", 1)])
def test_one_that_closes_in_the_moment_of_use(dial, serve, method,
                                              connections):
    def script(peer):
        peer.head()
        peer.send(GOOD)
        peer.sock.recv(4)

    origin = serve(script)
    assert dial.stream(origin).get().body == b"good"
    response = dial.stream(origin).get(method=method)
    assert (response.body == b"good") == (connections == 2)
    assert origin.connections == connections


def test_no_more_than_the_limit_are_open(dial, serve):
    """The others wait, in their order; each that ends lets one in."""
    release, arrived = threading.Event(), queue.Queue()
    origin = serve(holder(release, arrived))
    streams = [dial.stream(origin).exchange().send_body() for _ in range(70)]
    for _ in range(64):
        arrived.get(timeout=20)
    # Another host is not concerned, and one that gives up leaves its place.
    assert dial.stream(serve(echo)).get(host=OTHER).status == 200
    dial.outcome()
    streams.pop(66).close()
    assert dial.outcome().error == b"the agent hung up"
    time.sleep(0.1)
    assert (arrived.empty(), origin.connections) == (True, 64)
    streams.pop(0).close()
    arrived.get(timeout=20)
    time.sleep(0.1)
    assert (arrived.empty(), origin.connections) == (True, 65)
    release.set()
    for stream in streams:
        assert stream.response().body == b"good"
    assert origin.connections == 65


def test_an_idle_one_of_other_secrets_makes_room(dial, serve):
    release, arrived = threading.Event(), queue.Queue()
    origin = serve(holder(release, arrived))
    hold(dial, origin, 64, release, arrived)
    dial.values[NUMBER] = SECRET
    response = dial.stream(origin).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap(), secrets=b"1")
    assert (response.body, origin.connections) == (b"good", 65)


def test_what_cannot_be_reached_keeps_no_place(dial, serve):
    for _ in range(70):
        assert dial.stream("connection refused").get().failure[0] == 502
    assert dial.stream(serve(echo)).get().status == 200


def test_of_many_idle_ones_a_few_are_kept(dial, serve):
    release, arrived, ended = threading.Event(), queue.Queue(), queue.Queue()

    def script(peer):
        try:
            holder(release, arrived)(peer)
        finally:
            ended.put(1)

    hold(dial, serve(script), 12, release, arrived)
    for _ in range(4):
        ended.get(timeout=12)
    time.sleep(0.1)
    assert ended.empty()
