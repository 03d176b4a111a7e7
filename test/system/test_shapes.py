# SPDX-License-Identifier: Apache-2.0
"""Placeholders that look like a service's tokens: clients take them, they work where
plain ones do, and where they do not they are found."""
import base64
import json
import re

import pytest

pytestmark = pytest.mark.whoever

VALUE = "s3cr3t+value/with=odd?chars-0123456789"
ALLOW = "allow * api.test/**\nallow * other.test/**\n"
SECRET = "secret TOKEN from env for api.test as {} like {}\n"
ENV = {"TOKEN": VALUE}
SHAPES = {
    "ghp_": r"ghp_[0-9A-Za-z]{36}",
    "github_pat_": r"github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}",
    "sk-ant-api03-": r"sk-ant-api03-[\w-]{93}AA",
    "xoxb-": r"xoxb-[0-9]{10,13}-[0-9]{10,13}-[0-9A-Za-z-]{24,}",
    "acme.live_": r"acme\.live_[0-9A-Za-z]{40}",
    "jwt": r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{43}",
}


def violations(stockade):
    return [(r["secret"], r["host"], r["where"]) for r in stockade.log()
            if r["event"] == "violation"]


@pytest.mark.parametrize("shape", SHAPES)
def test_it_looks_so_and_becomes_the_value_at_its_host(stockade, net, api,
                                                       other, shape):
    result = stockade.sh("""
        printf '%s\n' "$TOKEN"
        for host in api.test other.test; do
            curl -sS -o /dev/null -H "Authorization: Bearer $TOKEN" \
                https://$host/x
        done
        """, policy=net + ALLOW + SECRET.format("bearer", shape),
        env=ENV).ok()
    token = result.out.strip()
    assert re.fullmatch(SHAPES[shape], token), token
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE]
    assert [r.get("authorization") for r in other.requests] == [
        "Bearer " + token]
    assert violations(stockade) == [("TOKEN", "other.test", "field")]


@pytest.mark.parametrize("shape", ["ghp_", "jwt"])
def test_in_base64_and_in_bodies_it_is_found(stockade, net, api, other, shape):
    """As the password of basic authentication it is swapped for its host; for
    another, and in a body that comes in pieces, it is on record."""
    stockade.sh("""
        curl -sS -o /dev/null -u "me:$TOKEN" https://api.test/x
        curl -sS -o /dev/null -u "me:$TOKEN" https://other.test/x
        head -c 70000 /dev/zero | tr '\\0' x > body
        printf '%s' "{\\"token\\": \\"$TOKEN\\"}" >> body
        curl -sS -o /dev/null --data-binary @body https://other.test/raw
        printf 'ab%s' "$TOKEN" | base64 -w 0 > body
        curl -sS -o /dev/null --data-binary @body https://api.test/encoded
        """, policy=net + ALLOW + "write .\n" + SECRET.format("basic me", shape),
        env=ENV).ok()
    sent = base64.b64decode(api.requests[0].get("authorization").split()[1])
    assert sent.decode() == "me:" + VALUE
    assert not other.saw(VALUE)
    assert violations(stockade) == [("TOKEN", "other.test", "field"),
                                    ("TOKEN", "other.test", "body"),
                                    ("TOKEN", "api.test", "body")]


def test_two_of_one_shape_are_told_apart(stockade, net, api, other):
    """Also one that is plain, beside them."""
    result = stockade.sh("""
        printf '%s\n' "$ONE" "$TWO" "$THREE"
        for token in "$ONE" "$TWO" "$THREE"; do
            curl -sS -o /dev/null -H "Authorization: Bearer $token" \
                https://api.test/x
            curl -sS -o /dev/null -d "$token" https://other.test/x
        done
        """, policy=net + ALLOW + "".join(
            f"secret {name} from env for api.test as bearer{like}\n"
            for name, like in (("ONE", " like sk-"), ("TWO", " like sk-"),
                               ("THREE", ""))),
        env={"ONE": "value-one", "TWO": "value-two", "THREE": "value-three"}).ok()
    assert len(set(result.out.split())) == 3
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer value-one", "Bearer value-two", "Bearer value-three"]
    assert violations(stockade) == [(name, "other.test", "body")
                                    for name in ("ONE", "TWO", "THREE")]


def test_what_the_value_is_masked_by_does_not_depend_on_it(stockade, net, api):
    result = stockade.sh(
        'curl -sS -H "Authorization: Bearer $TOKEN" https://api.test/echo',
        policy=net + ALLOW + SECRET.format("bearer", "ghp_"), env=ENV).ok()
    assert api.saw(VALUE)
    assert VALUE not in result.text and "*" * len(VALUE) in result.out


def test_a_client_reads_the_end_of_a_jwt(stockade, net):
    """As those do that ask for a new one in time."""
    result = stockade.sh('printf "%s\n" "$TOKEN"',
                         policy=net + ALLOW + SECRET.format("bearer", "jwt"),
                         env=ENV).ok()
    header, claims, signature = result.out.strip().split(".")
    assert json.loads(base64.b64decode(header))["typ"] == "JWT"
    assert json.loads(base64.b64decode(claims))["exp"] > 4000000000
    assert len(base64.b64decode(signature + "=", validate=True)) == 32
