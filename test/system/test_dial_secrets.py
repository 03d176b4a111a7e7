# SPDX-License-Identifier: Apache-2.0
"""stockade-dial alone: certificates and credentials.
"""
import base64
import threading
import time

import pytest

from dial_stage import (ADD, GOOD, HOST, MASK, NUMBER, PLACEHOLDER, SECRET, Dial,
                        authority, certificate, dial, echo, serve, swap)  # noqa: F401
from origin import Authority

pytestmark = pytest.mark.whoever


# Verification.

def wrong_certificates(authority, folder):
    stranger = Authority(str(folder))
    return {
        "another name": authority.leaf("wrong.test"),
        "expired": authority.leaf(HOST, days=-1),
        "wildcard inside": authority.leaf("a*.test"),
        "unknown authority": stranger.leaf(HOST),
        "address": authority.leaf("127.0.0.1"),
    }


@pytest.mark.parametrize("name", ["another name", "expired",
                                  "wildcard inside", "unknown authority",
                                  "address"])
def test_a_wrong_certificate_gets_nothing(dial, serve, authority, tmp_path,
                                          name):
    wrong = wrong_certificates(authority, tmp_path)[name]
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    dial.values[NUMBER] = SECRET
    response = dial.stream(serve(script, True, wrong)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure[0] == 502
    assert response.failure[1].startswith(f"TLS to {HOST} failed: ")
    assert dial.claimed == [] and b"".join(got) == b""
    assert dial.outcome().error == response.failure[1].encode()


def test_without_roots_no_host_verifies(serve, authority):
    helper = Dial(None)
    assert helper.stream(serve(echo)).get().failure[0] == 502
    helper.stop()


def test_an_origin_without_tls_gets_nothing(dial, serve):
    got = []

    def script(peer):
        got.append(peer.sock.recv(1000))
        peer.send(GOOD)

    assert dial.stream(serve(script, False)).get().failure[0] == 502
    assert b"HTTP" not in got[0]


# Credentials.

def reflect(peer):
    """Sends back what it got, as the path says."""
    while True:
        line, fields = peer.head()
        value = fields.get("authorization", "").encode()
        form, cut = line.split(" ")[1].strip("/").split("-")
        if form == "base64":
            value = base64.b64encode(b"x" + value)
        if form == "field":
            peer.ok(b"body", b"x-reflected: " + value,
                    b"location: https://x/?t=" + value)
            continue
        cut = int(cut) or 10000
        data = b"before " + value + b" after"
        peer.send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for i in range(0, len(data), cut):
            part = data[i:i + cut]
            peer.send(b"%x\r\n%s\r\n" % (len(part), part))
        peer.send(b"0\r\n\r\n")


@pytest.mark.parametrize("path", ["/raw-0", "/raw-1", "/raw-5", "/raw-7",
                                  "/base64-0", "/base64-3", "/field-0"])
def test_a_credential_is_put_in_and_masked(dial, serve, path):
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(reflect))
    response = stream.get(path, fields=[
        ("authorization", "Bearer " + PLACEHOLDER),
        ("accept-encoding", "gzip, br"), ("range", "bytes=0-3")],
        edits=swap())
    assert response.whole and response.status == 200
    everything = response.body + b"".join(n + v for n, v in response.fields)
    assert SECRET not in everything
    assert b"*" * len(SECRET) in everything
    for shift in range(3):
        inner = base64.b64encode(b"x" * shift + SECRET)[4:-4]
        assert inner not in everything
    if path.startswith("/raw"):
        assert response.body == b"before Bearer " + b"*" * len(SECRET) + \
            b" after"
    assert dial.claimed == [(stream.conn, 1)]
    done = dial.outcome()
    assert done.scrubbed >= 1 and done.error == b""


def test_what_the_origin_sees_of_a_credential(dial, serve):
    seen = []

    def script(peer):
        while True:
            seen.append(peer.head()[1])
            peer.ok(b"")

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    stream.get(fields=[("x-key", PLACEHOLDER), ("accept-encoding", "gzip")],
               edits=swap("x-key"))
    stream.get(edits=swap("authorization", "", ADD, "Bearer "))
    stream.get(fields=[("x-key", PLACEHOLDER), ("accept-encoding", "gzip")])
    assert seen[0]["x-key"] == SECRET.decode()
    assert seen[0]["accept-encoding"] == "identity"
    assert seen[1]["authorization"] == "Bearer " + SECRET.decode()
    assert seen[2]["x-key"] == PLACEHOLDER
    assert seen[2]["accept-encoding"] == "gzip"


def test_a_refused_lease_sends_nothing(dial, serve):
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    response = dial.stream(serve(script)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure == (502, "the credential is not available")
    time.sleep(0.1)
    assert b"".join(got) == b""


@pytest.mark.parametrize("fields", [
    [], [("authorization", "other")], [("x-key", PLACEHOLDER)],
    [("authorization", PLACEHOLDER + " " + PLACEHOLDER)],
    [("authorization", PLACEHOLDER), ("authorization", PLACEHOLDER)]])
def test_a_credential_without_its_place_sends_nothing(dial, serve, fields):
    got = []

    def script(peer):
        got.append(peer.sock.recv(100))

    dial.values[NUMBER] = SECRET
    response = dial.stream(serve(script)).get(fields=fields, edits=swap())
    assert response.failure[0] == 502
    assert SECRET.decode() not in response.failure[1]
    time.sleep(0.1)
    assert b"".join(got) == b""


def test_a_credential_is_never_sent_without_tls(dial, serve):
    origin = serve(echo, False)
    dial.values[NUMBER] = SECRET
    response = dial.stream(origin).get(
        scheme=1, port=80, fields=[("authorization", PLACEHOLDER)],
        edits=swap())
    assert response.failure[0] == 502
    assert (dial.claimed, origin.connections, dial.needs) == ([], 0, 0)


@pytest.mark.parametrize("fields", [b"content-encoding: gzip",
                                    b"content-encoding: br"])
def test_an_encoded_response_to_a_credential_is_refused(dial, serve, fields):
    def script(peer):
        peer.head()
        peer.ok(b"\x1f\x8b....", fields)

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    assert stream.get(fields=[("authorization", PLACEHOLDER)],
                      edits=swap()).failure[0] == 502
    # Without one it is nobody's business.
    assert dial.stream(serve(script)).get().status == 200


def test_a_secret_is_not_in_the_error_of_anything(dial, serve):
    def script(peer):
        peer.send(b"HTTP/1.1 " + peer.head()[1]["authorization"].encode()
                  + b"\r\n\r\n")

    dial.values[NUMBER] = SECRET
    response = dial.stream(serve(script)).get(
        fields=[("authorization", PLACEHOLDER)], edits=swap())
    assert response.failure[0] == 502
    assert SECRET.decode() not in response.failure[1]
    assert SECRET not in dial.outcome().error


def test_many_exchanges_each_with_its_own_credential(dial, serve):
    """64 at a time, 8 credentials: nobody gets another's."""
    def script(peer):
        while True:
            line, fields = peer.head()
            peer.ok(fields["x-key"].encode()[::-1])

    origin = serve(script)
    streams = []
    for i in range(64):
        dial.values[i] = b"value-%02d-of-eight" % (i % 8)
        stream = dial.stream(origin)
        stream.exchange(fields=[("x-key", PLACEHOLDER)],
                        edits=swap("x-key", secret=i)).send_body()
        streams.append(stream)
    for i, stream in enumerate(streams):
        assert stream.response().body[::-1] == b"value-%02d-of-eight" % (i % 8)


# A lease is a connection's, for a second.

def ask(stream, secret=NUMBER):
    """The credential that the origin was shown."""
    return stream.get(fields=[("x-key", PLACEHOLDER)], secrets=bytes([secret]),
                      edits=swap("x-key", secret=secret)).body[::-1]


def mirror(peer):
    while True:
        peer.ok(peer.head()[1]["x-key"].encode()[::-1])


def test_a_connection_s_next_request_claims_nothing(dial, serve):
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(mirror))
    assert ask(stream) == SECRET
    # A machine may take longer than the term for two of them.
    for _ in range(100):
        before = len(dial.claimed)
        assert ask(stream) == SECRET
        if len(dial.claimed) == before:
            break
    assert len(dial.claimed) == before
    assert all(conn == stream.conn for conn, _ in dial.claimed)


def test_a_lease_ends_also_when_it_is_never_quiet(dial, serve):
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(mirror))
    deadline = time.monotonic() + 20
    while len(dial.claimed) < 3 and time.monotonic() < deadline:
        assert ask(stream) == SECRET
    assert len(dial.claimed) == 3
    # What is leased anew is what holds.
    dial.values[NUMBER] = b"another-value"
    while ask(stream) == SECRET and time.monotonic() < deadline:
        pass
    assert ask(stream) == b"another-value"


def test_another_connection_claims_for_itself(dial, serve):
    dial.values[NUMBER], dial.values[8] = SECRET, b"the-other-one"
    origin = serve(mirror)
    assert ask(dial.stream(origin)) == SECRET
    assert ask(dial.stream(origin), 8) == b"the-other-one"
    assert (len(dial.claimed), origin.connections) == (2, 2)


def test_a_secret_that_is_not_leased_is_not_there(dial, serve):
    """Beside one that is, on the same connection."""
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(mirror))
    assert ask(stream) == SECRET
    response = stream.get(
        fields=[("x-key", PLACEHOLDER), ("x-other", PLACEHOLDER)],
        secrets=bytes([NUMBER]),
        edits=swap("x-key") + swap("x-other", secret=8))
    assert response.failure == (502, "the credential is not available")


def test_many_claim_at_once_and_all_are_served(dial, serve):
    dial.withheld = kept = []
    origin, streams = serve(mirror), []
    for i in range(40):
        dial.values[i] = b"value-%02d-" % i * 1800
        stream = dial.stream(origin)
        streams.append(stream.exchange(
            fields=[("x-key", PLACEHOLDER)], secrets=bytes([i]),
            edits=swap("x-key", secret=i)).send_body())
    deadline = time.monotonic() + 20
    while len(kept) < 40 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(kept) == 40
    # Who has hung up is not in the way of the others.
    for stream in streams[:20]:
        stream.close()
    for message in reversed(kept):
        dial.lease(message)
    for i, stream in enumerate(streams[20:], 20):
        assert stream.response().body[::-1] == b"value-%02d-" % i * 1800


def test_a_connection_may_end_while_its_lease_is_on_its_way(dial, serve):
    """Whoever then needs another one has claimed once."""
    peers, over = [], threading.Event()

    def script(peer):
        peers.append(peer)
        if len(peers) > 1:
            mirror(peer)
        peer.head()
        peer.ok(b"")
        over.wait(20)

    dial.values[NUMBER] = SECRET
    dial.withheld = kept = []
    stream = dial.stream(serve(script))
    assert stream.get(secrets=bytes([NUMBER])).status == 200
    stream.exchange(fields=[("x-key", PLACEHOLDER)], secrets=bytes([NUMBER]),
                    edits=swap("x-key")).send_body()
    deadline = time.monotonic() + 20
    while not kept and time.monotonic() < deadline:
        time.sleep(0.01)
    over.set()
    assert dial.stream(serve(echo)).get().status == 200
    dial.lease(kept[0])
    assert stream.response().body[::-1] == SECRET
    assert (len(peers), len(dial.claimed)) == (2, 1)


def test_a_lease_that_nobody_waits_for_is_dropped(dial, serve):
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(mirror))
    for conn, secret in [(99, NUMBER), (stream.conn, NUMBER), (0, NUMBER)]:
        dial.vault.send("LEASE", conn=conn, id=1, secret=secret, ok=1,
                        value=b"unasked")
    assert ask(stream) == SECRET


def test_a_lease_of_another_secret_is_a_refusal(dial, serve):
    dial.withheld = kept = []
    stream = dial.stream(serve(mirror))
    stream.exchange(fields=[("x-key", PLACEHOLDER)],
                    edits=swap("x-key")).send_body()
    deadline = time.monotonic() + 20
    while not kept and time.monotonic() < deadline:
        time.sleep(0.01)
    dial.vault.send("LEASE", conn=stream.conn, id=1, secret=8, ok=1,
                    value=SECRET)
    assert stream.response().failure == (
        502, "the credential is not available")


# A secret gets another value.

def test_a_401_to_a_credential_is_told_before_edge_hears_of_it(dial, serve):
    def script(peer):
        while True:
            peer.head()
            peer.send(b"HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n")

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    swapped = {"fields": [("x-key", PLACEHOLDER)], "edits": swap("x-key")}
    masked = {"edits": swap("x-key", "", form=MASK)}
    for more in (swapped, {}, masked, swapped):
        assert stream.get(**more).status == 401
        # One that is over was told before.
        dial.outcome()
    assert dial.rejected == [(stream.conn, 1), (stream.conn, 4)]


def test_all_that_a_secret_was_is_masked(dial, serve):
    dial.values[NUMBER] = SECRET
    dial.others[NUMBER] = b"value-before\nvalue-long-ago"
    stream = dial.stream(serve(
        lambda peer: (peer.head(), peer.ok(
            b"value-before " + SECRET + b" value-long-ago value-never"))))
    body = stream.get(fields=[("x-key", PLACEHOLDER)], edits=swap("x-key")).body
    assert body == (b"*" * 12 + b" " + b"*" * len(SECRET) + b" " + b"*" * 14 +
                    b" value-never")


def test_what_is_under_way_masks_a_value_that_comes(dial, serve):
    go_on = threading.Event()

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\nvalue-later ")
        go_on.wait(20)
        peer.send(b"value-later.")

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    stream.exchange(fields=[("x-key", PLACEHOLDER)], edits=swap("x-key"))
    assert stream.channel.expect("RESPONSE").status == 200
    assert stream.channel.expect("CHUNK").data == b"value-later "
    # Of another one nothing is masked, and what nobody has is no matter.
    dial.vault.send("MASK", secret=8, values=b"value-other")
    dial.vault.send("MASK", secret=NUMBER, values=b"value-later\nvalue-more")
    assert dial.stream(serve(echo)).get().status == 200
    go_on.set()
    body = b""
    while (message := stream.channel.receive()).kind == "CHUNK":
        body += message.data
    assert body == b"***********."


def test_a_lease_from_before_is_not_used_again(dial, serve):
    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(mirror))
    # A machine may take longer than a lease's term for two of them.
    for _ in range(100):
        before = len(dial.claimed)
        assert ask(stream) == SECRET
        if len(dial.claimed) == before:
            break
    assert len(dial.claimed) == before
    dial.values[NUMBER] = b"another-value"
    dial.vault.send("MASK", secret=NUMBER)
    # It has read that before what it is told next is leased.
    dial.values[8] = b"the-other-one"
    assert ask(dial.stream(serve(mirror)), 8) == b"the-other-one"
    assert ask(stream) == b"another-value"


def test_too_many_values_end_the_exchange(dial, serve):
    """It is cut: what cannot be masked does not pass."""
    go_on = threading.Event()

    def script(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\nbegun ")
        go_on.wait(20)

    dial.values[NUMBER] = SECRET
    stream = dial.stream(serve(script))
    stream.exchange(fields=[("x-key", PLACEHOLDER)], edits=swap("x-key"))
    assert stream.channel.expect("RESPONSE").status == 200
    for i in range(64):
        assert dial.process.poll() is None
        dial.vault.send("MASK", secret=NUMBER, values=b"value-%02d" % i)
    while (message := stream.channel.receive()).kind == "CHUNK":
        pass
    go_on.set()
    assert message.kind == "FAILURE"
    assert b"more than 64 credentials" in message.reason
