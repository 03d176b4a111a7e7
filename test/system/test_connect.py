# SPDX-License-Identifier: Apache-2.0
"""Addresses: what may be dialled, and who says so.

test/cell gives this namespace the addresses, names for them, and the origin
listens at every one of them: a refused address is one that would have answered.
The rule's port is the origin's own, since no `reach` maps it.
"""
import pytest

from conftest import needs_cell

pytestmark = needs_cell


def fetch(stockade, authority, origin, name, rules="", host=None):
    policy = (f"roots {authority.pem}\n{rules}"
              f"allow GET {host or name}:{origin.port}/**\n")
    return stockade.run("curl", "-sS", "-g",
                        f"https://{name}:{origin.port}/headers",
                        policy=policy)


def test_a_public_name_is_reached(stockade, authority, api):
    result = fetch(stockade, authority, api, "public.test")
    assert '"origin": "api"' in result.out, result
    assert api.targets == ["GET /headers"]


def test_the_next_address_is_tried(stockade, authority, other):
    result = fetch(stockade, authority, other, "twice.test")
    assert '"origin": "other"' in result.out, result


SPECIAL = ["loopback.test", "private.test", "metadata.test", "shared.test",
           "loopback6.test", "unique.test", "mapped.test", "localhost"]


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_address_is_refused(stockade, authority, other, name):
    result = fetch(stockade, authority, other, name)
    assert other.connections == 0, result
    assert '"origin"' not in result.out


@pytest.mark.parametrize("name", ["loopback.test", "metadata.test"])
def test_reach_is_the_way_to_a_special_address(stockade, authority, other,
                                               name):
    result = fetch(stockade, authority, other, name,
                   f"reach {name} via {other.via}\n")
    assert '"origin": "other"' in result.out, result


def test_a_refused_address_is_explained(stockade, authority, other):
    result = fetch(stockade, authority, other, "metadata.test")
    assert "169.254.169.254" in result.text + stockade.call("log").out, result


LITERALS = ["127.0.0.1", "[::1]", "10.0.0.7", "169.254.169.254",
            "93.184.216.34", "[fd00::7]", "[::ffff:127.0.0.1]"]


@pytest.mark.parametrize("address", LITERALS)
def test_a_literal_address_is_never_dialled_for_http(stockade, authority,
                                                     plain, api, address):
    policy = (f"roots {authority.pem}\nallow * *:{plain.port}/**\n"
              f"allow * *:{api.port}/**\n")
    for scheme, origin in (("http", plain), ("https", api)):
        result = stockade.run(
            "curl", "-sSkg", f"{scheme}://{address}:{origin.port}/x",
            policy=policy)
        assert origin.connections == 0, result


@pytest.mark.parametrize("trick", [
    "0x7f.1", "2130706433", "017700000001", "127.1", "public.test."])
def test_odd_spellings_of_addresses(stockade, plain, trick):
    stockade.run("curl", "-sS", f"http://{trick}:{plain.port}/x",
                 policy=f"allow GET other.test:{plain.port}/**\n")
    assert plain.connections == 0


def test_reach_does_not_change_tls(stockade, authority, api):
    """The certificate must still be that name's."""
    result = stockade.run(
        "curl", "-sS", "https://elsewhere.test/headers",
        policy=f"roots {authority.pem}\nreach elsewhere.test via {api.via}\n"
        "allow GET elsewhere.test/**\n")
    assert api.requests == [], result
    assert '"origin"' not in result.out


def test_an_unknown_authority_is_refused(stockade, api):
    result = stockade.run(
        "curl", "-sS", "https://api.test/headers",
        policy=f"reach api.test via {api.via}\nallow GET api.test/**\n")
    assert api.requests == [], result
    assert '"origin"' not in result.out


def test_an_expired_certificate_is_refused(stockade, authority):
    from origin import Origin
    old = Origin("old", authority.leaf("old.test", days=-1))
    result = stockade.run(
        "curl", "-sS", "https://old.test/x",
        policy=f"roots {authority.pem}\nreach old.test via {old.via}\n"
        "allow GET old.test/**\n")
    old.close()
    assert old.requests == [], result


def test_ssl_cert_file_of_the_caller_counts(stockade, authority, api):
    result = stockade.run(
        "curl", "-sS", "https://api.test/headers",
        policy=f"reach api.test via {api.via}\nallow GET api.test/**\n",
        env={"SSL_CERT_FILE": authority.pem})
    assert '"origin": "api"' in result.out, result


def test_any_port_is_captured(stockade):
    """Nothing is open inside: a connection lands at edge, or nowhere."""
    script = """
import socket
for address in ("93.184.216.34", "10.0.0.7"):
    for port in (22, 25, 5432):
        s = socket.create_connection((address, port), timeout=5)
        s.settimeout(5)
        try:
            s.sendall(b"hello\\r\\n")
            print("got", s.recv(100))
        except OSError as e:
            print("closed", e)
"""
    result = stockade.run("/usr/bin/python3", "-c", script,
                          policy="allow GET api.test/**\n")
    assert "Traceback" not in result.err, result


def test_udp_is_refused_at_once(stockade):
    script = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("93.184.216.34", 443))
s.settimeout(5)
s.send(b"x")
try:
    s.recv(10)
    print("answered")
except ConnectionRefusedError:
    print("refused")
except TimeoutError:
    print("silence")
"""
    result = stockade.run("/usr/bin/python3", "-c", script,
                          policy="allow GET api.test/**\n")
    assert result.out == "refused\n", result


def test_no_name_is_looked_up_outside(stockade):
    """Every name has a synthetic address; other types have none."""
    script = """
import socket
a = socket.gethostbyname("a-name-that-nobody-has.example")
b = socket.gethostbyname("another.example")
print(a.startswith("198.18.") or a.startswith("198.19."), a != b)
print(a == socket.gethostbyname("A-NAME-that-nobody-has.example"))
"""
    result = stockade.run("/usr/bin/python3", "-c", script,
                          policy="allow GET api.test/**\n").ok()
    assert result.out.split() == ["True", "True", "True"]
