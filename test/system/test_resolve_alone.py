# SPDX-License-Identifier: Apache-2.0
"""stockade-resolve among stand-ins for warden and dial.

Whatever may not be dialled has a listener waiting for it, or a name that the
host itself would answer: a refusal is seen where a connection would have been
made, and each has its allowance beside it.
"""
import os
import socket
import time

import pytest

import wire
from conftest import needs_cell

pytestmark = pytest.mark.whoever


class Resolve:
    def __init__(self):
        self.process, self.warden, self.dial = wire.start_resolve()
        self.id = 0

    def connect(self, host, port=443, via=""):
        self.id += 1
        self.warden.send("CONNECT", conn=1, id=self.id, host=host, port=port,
                         via=via)
        told = self.warden.expect("CONNECTED")
        got = self.dial.expect("SOCKET")
        assert (told.id, got.id) == (self.id, self.id)
        assert told.error == got.error
        assert bool(got.fds) == (got.error == b"")
        for fd in got.fds:
            os.close(fd)
        return told

    def stop(self):
        self.warden.close()
        self.dial.close()
        return self.process.wait(5)


@pytest.fixture
def resolve():
    helper = Resolve()
    yield helper
    assert helper.process.poll() is None, "it has died"
    helper.stop()


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture
def everywhere():
    """The port of a server at every address of this namespace."""
    with socket.create_server(("", 0)) as four:
        port = four.getsockname()[1]
        with socket.socket(socket.AF_INET6) as six:
            six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            six.bind(("::", port))
            six.listen()
            yield port


LITERALS = ["127.0.0.1", "10.0.0.1", "::1", "[::1]", "2130706433", "0x7f.1",
            "127.1", "0177.0.0.1", "0", "1.1.1.1", "169.254.169.254",
            "::ffff:127.0.0.1", "fe80::1%lo", "127.0.0.1.", "2606:4700::1111"]


@pytest.mark.parametrize("host", LITERALS)
def test_a_literal_is_refused(resolve, host):
    assert resolve.connect(host).error == b"an address instead of a name"


SPECIAL = ["localhost", "LOCALHOST", "localhost.", "a.localhost", "x.local",
           "metadata", "metadata.google.internal", "metadata.goog",
           "instance-data", "instance-data.ec2.internal",
           "metadata.tencentyun.com", "host.docker.internal",
           "gateway.docker.internal", "kubernetes.default",
           "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]


@pytest.mark.parametrize("host", SPECIAL)
def test_a_special_name_is_refused(resolve, host):
    assert resolve.connect(host).error == \
        b"the name never means a public host"


FORBIDDEN = {
    "loopback.test": b"127.0.0.1: loopback",
    "loopback6.test": b"::1: loopback",
    "private.test": b"10.0.0.7: private",
    "metadata.test": b"169.254.169.254: cloud metadata",
    "shared.test": b"100.64.0.7: shared by a carrier",
    "unique.test": b"fd00::7: private",
    "mapped.test": b"::ffff:127.0.0.1: loopback",
}


@needs_cell
@pytest.mark.parametrize("host", FORBIDDEN)
def test_a_name_of_a_forbidden_address_is_refused(resolve, everywhere, host):
    assert resolve.connect(host, everywhere).error == \
        b"resolves only to forbidden addresses (%s)" % FORBIDDEN[host]


@needs_cell
@pytest.mark.parametrize("host", ["public.test", "twice.test", "mixed.test"])
def test_a_public_address_of_a_name_is_dialled(resolve, everywhere, host):
    told = resolve.connect(host, everywhere)
    assert told.error == b""
    assert told.address == b"93.184.216.34:%d" % everywhere


def test_a_name_that_does_not_exist(resolve):
    error = resolve.connect("no-such-host.invalid").error
    assert error in (b"no such name", b"the name server does not answer",
                     b"the name server failed", b"the name lookup timed out",
                     b"the name cannot be looked up")


def test_via_reaches_exactly_that_endpoint(resolve, listener):
    port = listener.getsockname()[1]
    told = resolve.connect("models.test", 80, via=f"127.0.0.1:{port}")
    assert told.error == b""
    assert told.address == b"127.0.0.1:%d" % port
    listener.settimeout(5)
    listener.accept()[0].close()


def test_via_ipv6(resolve):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        port = server.getsockname()[1]
        told = resolve.connect("six.test", 80, via=f"[::1]:{port}")
    assert (told.error, told.address) == (b"", b"[::1]:%d" % port)


def test_no_socket_of_the_machine(resolve, tmp_path):
    """Those are connected by warden, which has the person's rights."""
    path = str(tmp_path / "s")
    os.chmod(tmp_path, 0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()
        assert resolve.connect("unix.test", 80, via="unix:" + path).error \
            == b"malformed endpoint"


@pytest.mark.parametrize("via", [
    "169.254.169.254:80", "100.100.100.200:80", "[fd00:ec2::254]:80",
    "[::ffff:169.254.169.254]:80", "[64:ff9b::a9fe:a9fe]:80",
    "[2002:a9fe:a9fe::1]:80"])
def test_metadata_is_refused_even_by_via(resolve, via):
    assert resolve.connect("meta.test", 80, via=via).error == \
        b"forbidden address (cloud metadata)"


@pytest.mark.parametrize("via", [
    "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.1:80",
    "127.0.0.1:+80", "127.0.0.1:080", "[::1]", "[::1]80", "[127.0.0.1]:80",
    "::1:80", "localhost:80", ":80", "[", "[]:80"])
def test_a_malformed_via_is_refused(resolve, via):
    assert resolve.connect("a.test", 80, via=via).error == \
        b"malformed endpoint"


def test_a_closed_port_is_refused_at_once(resolve, listener):
    port = listener.getsockname()[1]
    listener.close()
    began = time.monotonic()
    error = resolve.connect("a.test", 80, via=f"127.0.0.1:{port}").error
    assert error == b"connection refused"
    assert time.monotonic() - began < 1


def test_lookups_do_not_hold_up_a_connect(resolve, listener):
    """Twenty lookups of names that nobody answers, then one that needs none."""
    for i in range(20):
        resolve.warden.send("CONNECT", conn=2, id=i + 1, port=443,
                            host=f"n{i}.invalid")
    port = listener.getsockname()[1]
    began = time.monotonic()
    resolve.warden.send("CONNECT", conn=3, id=1, host="a.test", port=80,
                        via=f"127.0.0.1:{port}")
    while True:
        told = resolve.warden.expect("CONNECTED")
        if told.conn == 3:
            break
    assert told.error == b"" and time.monotonic() - began < 2


def test_it_ends_with_warden():
    helper = Resolve()
    helper.warden.close()
    assert helper.process.wait(5) == 0


def test_it_ends_with_dial():
    helper = Resolve()
    helper.dial.close()
    helper.process.wait(5)


def test_a_message_outside_the_table_ends_it():
    helper = Resolve()
    helper.warden.end.send(b"\xff")
    assert helper.process.wait(5) == 1
