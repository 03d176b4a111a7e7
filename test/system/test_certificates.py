# SPDX-License-Identifier: Apache-2.0
"""The origin's certificate: each bad kind is refused, before any byte of the
request leaves, with a reason that names it; the good kinds pass the same way.
The agent cannot switch this off: its own -k is about our certificate only.
"""
import ssl

import pytest

import certs
from origin import Origin

pytestmark = pytest.mark.whoever

HOST = "api.test"
SECRET = "sk-live-6f1d2c3b4a59687f"


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    folder.chmod(0o755)
    return folder, certs.make_ca(folder)


@pytest.fixture
def serve(ca):
    """Starts an origin with a certificate of a kind."""
    origins = []

    def start(keywords, version=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # This side would refuse the weak kinds by itself.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(*certs.make_kind(*ca, HOST, keywords))
        if version:
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = version
        origins.append(Origin("kind"))
        origins[-1].context = context
        return origins[-1]
    yield start
    for origin in origins:
        origin.close()


def fetch(stockade, ca, origin):
    return stockade.sh(
        f'curl -sSk -H "Authorization: Bearer $TOKEN" https://{HOST}/echo',
        policy=f"""
allow GET {HOST}/**
reach {HOST} via {origin.via}
roots {ca[1].pem}
secret TOKEN from env for {HOST} as bearer
""", env={"TOKEN": SECRET})


@pytest.mark.parametrize("kind", certs.GOOD)
def test_good_certificate_is_accepted(stockade, ca, serve, kind):
    origin = serve(certs.GOOD[kind])
    result = fetch(stockade, ca, origin)
    assert '"origin": "kind"' in result.out, result
    assert origin.saw(SECRET)


@pytest.mark.parametrize("kind", certs.BAD)
def test_bad_certificate_is_refused_with_its_reason(stockade, ca, serve, kind):
    keywords, reason = certs.BAD[kind]
    origin = serve(keywords)
    result = fetch(stockade, ca, origin)
    assert origin.connections == 1, result
    assert not origin.requests, result
    assert reason in result.out, result
    assert HOST in result.out


@pytest.mark.parametrize("version,passes", [
    (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
    (ssl.TLSVersion.TLSv1_3, True)])
def test_versions_from_1_2_on_pass(stockade, ca, serve, version, passes):
    origin = serve({}, version)
    result = fetch(stockade, ca, origin)
    assert bool(origin.requests) == passes, result
