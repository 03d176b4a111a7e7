# SPDX-License-Identifier: Apache-2.0
"""stockade-edge and TLS: whose certificate, which name, what is refused.

The name that was connected to, the server name of TLS, and Host are one name,
or the request goes nowhere.
"""
import json
import socket
import ssl
import struct
import threading
import time

import pytest

from edge_alone import Edge, Vault, body_of, place, respond  # noqa: F401

pytestmark = pytest.mark.whoever

HOST = "api.example"
GET = f"GET /v1/x HTTP/1.1\r\nHost: {HOST}\r\n\r\n"


@pytest.fixture
def edge(place):
    helper = Edge(place, port=443, vault=Vault)
    yield helper
    helper.close()


@pytest.fixture
def proxy(place):
    helper = Edge(place, port=3128, vault=Vault)
    yield helper
    helper.close()


def exchange(edge, agent, answer=b"ok"):
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    respond(stream, request, answer, length=len(answer))
    assert agent.response().body == answer
    return request


def test_a_request_through_tls(edge):
    agent = edge.connect_tls(HOST)
    request = exchange(edge, agent)
    assert (request.scheme, request.host, request.port) == (2, b"api.example",
                                                            443)
    exchange(edge, agent)
    assert edge.vault.asked == [HOST]


def test_the_first_request_does_not_wait_for_an_acknowledgement(edge):
    """A client with Nagle's algorithm on sends it behind its Finished.  Each
    would wait for 40 ms, so the fastest of ten tells, however busy it is."""
    waited = []
    for _ in range(10):
        agent = edge.connect(HOST)
        agent.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        agent.encrypt(edge, HOST)
        began = time.monotonic()
        agent.send(GET)
        edge.request()
        waited.append(time.monotonic() - began)
    assert min(waited) < 0.02, waited


def test_a_certificate_is_asked_for_once(edge):
    for _ in range(3):
        exchange(edge, edge.connect_tls(HOST))
    assert edge.vault.asked == [HOST]


def test_many_handshakes_for_one_new_name_at_once(edge):
    agents = [edge.connect("same.example") for _ in range(8)]
    threads = [threading.Thread(target=agent.encrypt,
                                args=(edge, "same.example"))
               for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    for agent in agents:
        agent.send(GET.replace(HOST, "same.example"))
        assert edge.request().host == b"same.example"


def test_without_a_server_name_the_name_connected_to_is_used(edge):
    agent = edge.connect_tls(HOST, name=None)
    assert exchange(edge, agent).host == b"api.example"
    assert edge.vault.asked == [HOST]


def test_alpn_is_h2_or_http11(edge):
    agent = edge.connect_tls(HOST, alpn=["http/1.1", "h2"])
    assert agent.socket.selected_alpn_protocol() == "h2"
    agent = edge.connect_tls(HOST, alpn=["http/1.0", "http/1.1"])
    assert agent.socket.selected_alpn_protocol() == "http/1.1"
    exchange(edge, agent)
    with pytest.raises(ssl.SSLError):
        edge.connect_tls(HOST, alpn=["h2c"])


def test_another_server_name_is_refused(edge):
    with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
        edge.connect_tls(HOST, name="front.example")
    told = edge.refused()
    assert told.host == b"api.example"
    assert b"another than the name" in told.reason
    assert edge.vault.asked == [] and edge.is_quiet()


def test_another_host_inside_is_refused(edge):
    agent = edge.connect_tls(HOST)
    agent.send(GET.replace(HOST, "front.example"))
    edge.refused()
    assert agent.response().status == 400
    assert agent.is_closed() and edge.is_quiet()


def test_vault_may_refuse_a_name(edge):
    edge.vault.refused.add(HOST)
    with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
        edge.connect_tls(HOST)
    edge.refused()


def test_a_literal_address_with_a_server_name_is_explained(edge):
    agent = edge.connect_tls("203.0.113.7", name=HOST, literal=True)
    agent.send(GET)
    assert b"literal address" in edge.refused().reason
    got = agent.response()
    assert got.status == 403
    assert "literal address" in json.loads(got.body)["reason"]


def test_a_literal_address_without_a_server_name_is_refused(edge):
    with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
        edge.connect_tls("203.0.113.7", name=None, literal=True)
    assert edge.refused().host == b"203.0.113.7"


def test_a_client_that_does_not_trust_us_is_recorded(edge):
    agent = edge.connect(HOST)
    with pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(agent.socket,
                                                 server_hostname=HOST)
    assert b"does not trust" in edge.refused().reason


def test_plain_http_on_the_tls_port_is_warden_s_to_decide(edge):
    agent = edge.connect(HOST)
    agent.send(GET.replace("\r\n\r\n", ":443\r\n\r\n"))
    request = edge.request()
    assert (request.scheme, request.port) == (1, 443)


def test_a_large_body_both_ways(edge):
    agent = edge.connect_tls(HOST)
    data = bytes(range(256)) * 40000

    def push():
        agent.send(f"POST /up HTTP/1.1\r\nHost: {HOST}\r\n"
                   f"Content-Length: {len(data)}\r\n\r\n")
        agent.send(data)

    writer = threading.Thread(target=push)
    writer.start()
    request = edge.request()
    stream = edge.allow(request)
    assert body_of(stream) == data
    writer.join()
    pieces = [data[i:i + 30000] for i in range(0, len(data), 30000)]
    thread = threading.Thread(target=respond,
                              args=(stream, request, *pieces))
    thread.start()
    assert agent.response().body == data
    thread.join()


def test_a_slow_reader_through_tls_stops_the_stream(edge):
    agent = edge.connect_tls(HOST)
    agent.send(GET)
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    before = edge.memory()
    pieces = [b"p" * 32768] * 1024
    writer = threading.Thread(target=respond,
                              args=(stream, request, *pieces))
    writer.start()
    writer.join(0.5)
    assert writer.is_alive() and edge.memory() - before < 4096
    assert agent.response().body == b"".join(pieces)
    writer.join()


def test_a_client_that_resets_hurts_nobody(edge):
    for wait in (0, 0.001, 0.01, 0.1):
        agent = edge.connect_tls(HOST)
        agent.send(GET)
        request = edge.request()
        stream = edge.allow(request)
        body_of(stream)
        stream.end.settimeout(0.2)
        try:
            respond(stream, request, *[b"p" * 32768] * 100)
        except TimeoutError:
            pass
        agent.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
        agent.socket.close()
        time.sleep(wait)
        edge.warden.expect("HANGUP")
    exchange(edge, edge.connect_tls(HOST))


def test_a_truncated_response_is_not_a_clean_end(edge):
    agent = edge.connect_tls(HOST)
    agent.send(GET)
    stream = edge.allow(edge.request())
    body_of(stream)
    stream.send("RESPONSE", id=1, status=200, body=2)
    stream.send("CHUNK", data=b"half")
    agent.until(b"half\r\n")
    stream.close()
    with pytest.raises((ConnectionResetError, ssl.SSLError)):
        agent.rest()


def test_a_close_is_said(edge):
    agent = edge.connect_tls(HOST)
    agent.send(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"))
    request = edge.request()
    stream = edge.allow(request)
    body_of(stream)
    respond(stream, request, b"bye", length=3)
    got = agent.response()
    assert (got.body, got.fields["connection"]) == (b"bye", "close")
    assert agent.is_closed()


@pytest.mark.parametrize("hello", [b"\x16", b"\x16\x03\x01\x00\x05hello",
                                   b"\x16" * 70000],
                         ids=["a byte", "a record", "a lot"])
def test_garbage_that_begins_like_tls(edge, hello):
    agent = edge.connect(HOST)
    try:
        agent.send(hello)
        agent.socket.shutdown(socket.SHUT_WR)
        agent.rest()
    except OSError:
        pass
    exchange(edge, edge.connect_tls(HOST))


# Through the explicit proxy

def tunnel(proxy, target, name="", more=""):
    agent = proxy.connect("proxy.stockade")
    agent.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{more}\r\n")
    assert agent.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    agent.encrypt(proxy, name or target.rsplit(":", 1)[0])
    return agent


@pytest.mark.parametrize("more", ["", "Connection: close\r\n"])
def test_a_tunnel(proxy, more):
    agent = tunnel(proxy, HOST + ":443", more=more)
    request = exchange(proxy, agent)
    assert (request.scheme, request.host, request.port) == (2, b"api.example",
                                                            443)
    exchange(proxy, agent)


def test_a_tunnel_to_another_port(proxy):
    agent = tunnel(proxy, HOST + ":8443")
    agent.send(GET.replace(HOST, HOST + ":8443"))
    assert proxy.request().port == 8443


def test_a_tunnel_behind_a_plain_request_is_a_connection_of_its_own(proxy):
    agent = proxy.connect("proxy.stockade")
    agent.send("GET http://one.example/ HTTP/1.1\r\nHost: one.example\r\n\r\n")
    first = proxy.request()
    stream = proxy.allow(first)
    body_of(stream)
    respond(stream, first, b"1", length=1)
    assert agent.response().body == b"1"
    agent.send(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n")
    assert proxy.warden.expect("HANGUP").conn == first.conn
    assert agent.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    agent.encrypt(proxy, HOST)
    second = exchange(proxy, agent)
    assert (second.host, second.id) == (b"api.example", 1)
    assert second.conn != first.conn


def test_a_tunnel_is_for_one_name(proxy):
    with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
        tunnel(proxy, HOST + ":443", name="front.example")
    proxy.refused()
    agent = tunnel(proxy, HOST + ":443")
    agent.send(GET.replace(HOST, "front.example"))
    proxy.refused()
    assert agent.response().status == 400


def test_there_is_no_tunnel_in_a_tunnel(proxy):
    agent = tunnel(proxy, HOST + ":443")
    agent.send(f"CONNECT {HOST}:22 HTTP/1.1\r\nHost: {HOST}:22\r\n\r\n")
    proxy.refused()
    assert agent.response().status == 501


def test_bytes_before_the_answer_to_connect_are_refused(proxy):
    agent = proxy.connect("proxy.stockade")
    agent.send(f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n"
               "\x16\x03\x01")
    proxy.refused()
    assert agent.response().status == 400
