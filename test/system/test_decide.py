# SPDX-License-Identifier: Apache-2.0
"""One request, one decision: what is decided is what arrives."""
import json
import re

import pytest

pytestmark = pytest.mark.whoever

CURL = "curl -sS --path-as-is -o /dev/null -w '%{http_code}\\n' "


def statuses(stockade, net, rules, *requests):
    script = "; ".join(CURL + request for request in requests)
    return [int(line) for line in stockade.sh(
        script, policy=net + rules).out.split()]


def test_methods(stockade, net, api):
    assert statuses(
        stockade, net, "allow GET,POST api.test/**\n",
        "https://api.test/x", "-X POST -d a https://api.test/x",
        "-I https://api.test/x", "-X DELETE https://api.test/x",
        "-X PURGE https://api.test/x") == [200, 200, 403, 403, 403]
    assert [r.method for r in api.requests] == ["GET", "POST"]


PATHS = [
    # rule, path on the wire, allowed
    ("/a/**", "/a/b", True), ("/a/**", "/a/b/c", True),
    ("/a/**", "/a/", True), ("/a/**", "/a", False), ("/a/**", "/ab", False),
    ("/a/*", "/a/b", True), ("/a/*", "/a/b/c", False),
    ("/a/b", "/a/b", True), ("/a/b", "/a/B", False),
    ("/a/b", "/%61/b", True), ("/a/b", "/a/%62", True),
    ("/**", "/", True),
    # Both readings of an encoded slash must be allowed.
    ("/a/**", "/a/b%2Fc", True), ("/a/*", "/a/b%2Fc", False),
    ("/a/**", "/a%2Fb", False),
    # Ambiguity is refused, not repaired.
    ("/a/**", "/a/../b", False), ("/a/**", "/a/./b", False),
    ("/a/**", "/a//b", False), ("/a/**", "/a/%2e%2e/b", False),
    ("/a/**", "/a/%2E/b", False), ("/a/**", "/a/..%2Fb", False),
    ("/a/**", "/a/%252e%252e/b", False), ("/a/**", "/a/%00", False),
    ("/a/**", "/a/%5c..%5cb", False), ("/a/**", "/a/%zz", False),
    ("/a/**", "/a/%", False), ("/a/**", "/a/b%2F%2Fc", False),
    ("/a/**", "/a/%2F", False),
]


@pytest.mark.parametrize("rule,path,allowed", PATHS)
def test_paths(stockade, net, api, rule, path, allowed):
    status = statuses(stockade, net, f"allow GET api.test{rule}\n",
                      f"'https://api.test{path}'")[0]
    if allowed:
        assert status == 200 and len(api.requests) == 1
    else:
        assert status in (400, 403) and api.requests == []


def test_queries(stockade, net, api):
    rules = "allow GET api.test/any\nallow GET api.test/one?a=1\n"
    assert statuses(
        stockade, net, rules, "'https://api.test/any?x=y'",
        "'https://api.test/one?a=1'", "'https://api.test/one?a=2'",
        "https://api.test/one") == [200, 200, 403, 403]
    assert api.targets == ["GET /any?x=y", "GET /one?a=1"]


QUERIES = [
    # The pairs of a rule in any order, each once; in no other reading.
    ("k?a=1&b=*", True, ["a=1&b=2", "b=2&a=1", "b=&a=1", "a=%31&b=x%26y"]),
    ("k?a=1&b=*", False, ["a=1", "a=1&b=2&c=3", "a=1&b=2&a=1", "%61=1&b=2",
                          "a=1;b=2", "a=1&b=2;c=3", "a[]=1&b=2",
                          "a=1&b=2&", "A=1&b=2"]),
    ("o?a=1&*", True, ["a=1", "c=3&a=1&b"]),
    ("o?a=1&*", False, ["a=1&a=2", "a=1&%61=2", "a=1&a[]=2", "a=1&c=d;a=2",
                        "a=1&c&c", "c=3"]),
    # What is denied is denied in every reading.
    ("d?admin=1", False, ["admin=1", "x&admin=1", "%61dmin=%31", "x;admin=1",
                          "admin[]=1", "admin=0&admin=1", "admin=1;x"]),
    ("d?admin=1", True, ["admin=0", "x=admin=1", "xadmin=1", "admin=11"]),
]


def test_query_keys(stockade, net, api):
    rules = ("allow GET api.test/k?a=1&b=*\nallow GET api.test/o?a=1&*\n"
             "allow GET api.test/d\ndeny * api.test/**?admin=1\n")
    asked = [(f"/{rule.partition('?')[0]}?{query}", allowed)
             for rule, allowed, queries in QUERIES for query in queries]
    script = CURL + "-g " + " -o /dev/null ".join(
        f"'https://api.test{target}'" for target, _ in asked)
    got = stockade.sh(script, policy=net + rules).out.split()
    assert got == ["200" if allowed else "403" for _, allowed in asked]
    assert api.targets == ["GET " + t for t, allowed in asked if allowed]


def test_deny_beats_ask_beats_allow(stockade, net, api):
    rules = ("allow * api.test/**\nask * api.test/ask/**\n"
             "deny * api.test/ask/no/**\ndeny * api.test/no/**\n")
    assert statuses(
        stockade, net, rules, "https://api.test/x",
        "https://api.test/ask/x", "https://api.test/ask/no/x",
        "https://api.test/no/x") == [200, 403, 403, 403]
    assert api.targets == ["GET /x"]


def denial(stockade, net, rules, *arguments):
    result = stockade.run("curl", "-sSi", *arguments, policy=net + rules)
    head, _, body = result.out.replace("\r\n", "\n").partition("\n\n")
    return head.lower(), json.loads(body)


def test_the_page_of_a_denial(stockade, net, api):
    head, page = denial(stockade, net, "allow GET api.test/a\n",
                        "https://api.test/b?c=d")
    assert " 403" in head.splitlines()[0]
    assert "content-type: application/json" in head
    assert "stockade-denied" in head
    assert set(page) >= {"error", "request", "rule", "reason", "allow_with",
                         "advice"}
    assert "GET" in str(page["request"]) and "/b" in str(page["request"])
    assert page["allow_with"].startswith("allow GET api.test/b")
    # The statement that it names does allow it.
    assert statuses(stockade, net, page["allow_with"] + "\n",
                    "'https://api.test/b?c=d'") == [200]


def test_ask_says_why_it_is_refused(stockade, net, api):
    _, page = denial(stockade, net, "ask GET api.test/**\n",
                     "https://api.test/b")
    assert "ask" in (page["rule"] or "") + page["reason"]
    assert api.requests == []


def test_a_deny_rule_is_named(stockade, net, api):
    _, page = denial(stockade, net,
                     "allow GET api.test/**\ndeny GET api.test/b\n",
                     "https://api.test/b")
    assert "deny GET api.test/b" in page["rule"]
    assert api.requests == []


def test_hosts(stockade, net, api):
    rules = "allow GET *.wide.test/**\ndeny GET two.wide.test/**\n"
    assert statuses(stockade, net, rules, "https://one.wide.test/x",
                    "https://two.wide.test/x", "https://wide.test/x",
                    "https://oneswide.test/x") == [200, 403, 403, 403]
    assert [r.get("host") for r in api.requests] == ["one.wide.test"]


# Sends raw bytes, over TLS or not, and prints what comes back.
RAW = r"""
import socket, ssl, sys
name, sni, host, data = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
data = data.encode("latin-1").decode("unicode_escape").encode("latin-1")
s = socket.create_connection((name, 443 if sni != "-" else 80), timeout=10)
if sni != "-":
    c = ssl.create_default_context()
    c.check_hostname = False
    s = c.wrap_socket(s, server_hostname=sni or None)
s.sendall(data.replace(b"@HOST@", host.encode()))
s.settimeout(3)
got = b""
try:
    while True:
        piece = s.recv(65536)
        if not piece:
            break
        got += piece
except OSError:
    pass
sys.stdout.write(got.decode("latin-1"))
"""
GOOD = r"GET /headers HTTP/1.1\r\nHost: @HOST@\r\n\r\n"
# After which the client need not wait.
LAST = r"GET /headers HTTP/1.1\r\nHost: @HOST@\r\nConnection: close\r\n\r\n"


def raw(stockade, policy, name, sni, host, data):
    return stockade.run("/usr/bin/python3", "-c", RAW, name, sni, host, data,
                        policy=policy)


def test_names_must_agree(stockade, net, api, other):
    """The name that was looked up, the SNI and the Host are one name."""
    policy = net + "allow GET api.test/**\nallow GET other.test/**\n"
    good = raw(stockade, policy, "api.test", "api.test", "api.test", LAST)
    assert '"origin": "api"' in good.out, good
    for sni, host in (("other.test", "api.test"), ("api.test", "other.test"),
                      ("other.test", "other.test"), ("", "other.test")):
        api.clear()
        other.clear()
        result = raw(stockade, policy, "api.test", sni, host, GOOD)
        assert api.requests == [] and other.requests == [], (sni, host)
        assert '"origin"' not in result.out


def test_without_sni_the_looked_up_name_counts(stockade, net, api):
    result = raw(stockade, net + "allow GET api.test/**\n", "api.test", "",
                 "api.test", LAST)
    assert '"origin": "api"' in result.out, result


def test_connect_name_must_agree(stockade, net, api, other):
    script = r"""
import socket, ssl, sys
s = socket.create_connection(("proxy.stockade", 3128), timeout=10)
s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (
    sys.argv[1].encode(), sys.argv[1].encode()))
head = s.recv(4096)
sys.stdout.write(head.decode())
if b" 200" in head.split(b"\r\n")[0]:
    c = ssl.create_default_context()
    c.check_hostname = False
    s = c.wrap_socket(s, server_hostname=sys.argv[2])
    s.sendall(b"GET /headers HTTP/1.1\r\nHost: %s\r\n"
              b"Connection: close\r\n\r\n" % sys.argv[3].encode())
    while (d := s.recv(4096)):
        sys.stdout.write(d.decode())
"""
    policy = net + "allow GET api.test/**\nallow GET other.test/**\n"

    def run(*names):
        return stockade.run("/usr/bin/python3", "-c", script, *names,
                            policy=policy)
    good = run("api.test:443", "api.test", "api.test")
    assert '"origin": "api"' in good.out, good
    for names in (("other.test:443", "api.test", "api.test"),
                  ("api.test:443", "other.test", "other.test"),
                  ("api.test:443", "api.test", "other.test"),
                  ("api.test:22", "api.test", "api.test"),
                  ("127.0.0.1:443", "api.test", "api.test")):
        api.clear()
        other.clear()
        result = run(*names)
        assert api.requests == [] and other.requests == [], names
        assert '"origin"' not in result.out


def test_pipelined_requests_are_decided_one_by_one(stockade, net, api):
    result = raw(
        stockade, net + "allow GET api.test/headers\n", "api.test",
        "api.test", "api.test",
        GOOD + r"GET /no HTTP/1.1\r\nHost: @HOST@\r\n\r\n" + LAST)
    assert api.targets == ["GET /headers", "GET /headers"], result
    codes = re.findall(r"HTTP/1\.1 (\d+)", result.out)
    assert codes == ["200", "403", "200"], result


HEAD = r"POST /a HTTP/1.1\r\nHost: @HOST@\r\n"
SECOND = r"GET /smuggled HTTP/1.1\r\nHost: @HOST@\r\n\r\n"
SMUGGLING = {
    "two lengths": HEAD + r"Content-Length: 4\r\nContent-Length: 0\r\n\r\n",
    "length list": HEAD + r"Content-Length: 0, 4\r\n\r\n",
    "length and chunked": HEAD + r"Content-Length: 4\r\n"
                          r"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "signed length": HEAD + r"Content-Length: +0\r\n\r\n",
    "negative length": HEAD + r"Content-Length: -1\r\n\r\n",
    "hex length": HEAD + r"Content-Length: 0x0\r\n\r\n",
    "long length": HEAD + r"Content-Length: 18446744073709551616\r\n\r\n",
    "length with a space": HEAD + r"Content-Length : 0\r\n\r\n",
    "chunked twice": HEAD + r"Transfer-Encoding: chunked\r\n"
                     r"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunked not last": HEAD + r"Transfer-Encoding: chunked, gzip\r\n\r\n"
                        r"0\r\n\r\n",
    "chunked, odd case": HEAD + r"Transfer-Encoding: xchunked\r\n\r\n"
                         r"0\r\n\r\n",
    "chunked with a tab": HEAD + r"Transfer-Encoding:\x0bchunked\r\n\r\n"
                          r"0\r\n\r\n",
    "field with a space": HEAD + r"Transfer-Encoding : chunked\r\n\r\n"
                          r"0\r\n\r\n",
    "folded field": HEAD + r"X: a\r\n Transfer-Encoding: chunked\r\n\r\n"
                    r"0\r\n\r\n",
    "bare LF": r"GET /a HTTP/1.1\nHost: @HOST@\n\n",
    "bare LF in the head": r"GET /a HTTP/1.1\r\nHost: @HOST@\nX: y\r\n\r\n",
    "bare CR": r"GET /a HTTP/1.1\r\nHost: @HOST@\rX: y\r\n\r\n",
    "NUL in a value": r"GET /a HTTP/1.1\r\nHost: @HOST@\r\nX: a\x00b\r\n\r\n",
    "NUL in the host": r"GET /a HTTP/1.1\r\nHost: @HOST@\x00.evil\r\n\r\n",
    "two hosts": r"GET /a HTTP/1.1\r\nHost: @HOST@\r\nHost: other.test"
                 r"\r\n\r\n",
    "no host": r"GET /a HTTP/1.1\r\n\r\n",
    "host list": r"GET /a HTTP/1.1\r\nHost: @HOST@, other.test\r\n\r\n",
    "host with userinfo": r"GET /a HTTP/1.1\r\nHost: u@@HOST@\r\n\r\n",
    "target names another": r"GET https://other.test/a HTTP/1.1\r\n"
                            r"Host: @HOST@\r\n\r\n",
    "chunk size signed": HEAD + r"Transfer-Encoding: chunked\r\n\r\n"
                         r"+0\r\n\r\n",
    "chunk size hex": HEAD + r"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
    "chunk size too long": HEAD + r"Transfer-Encoding: chunked\r\n\r\n"
                           r"10000000000000000\r\n",
    "chunk with bare LF": HEAD + r"Transfer-Encoding: chunked\r\n\r\n"
                          r"1\na\n0\n\n",
    "chunk longer than said": HEAD + r"Transfer-Encoding: chunked\r\n\r\n"
                              r"1\r\nabc\r\n0\r\n\r\n",
    "space before the version": r"GET /a  HTTP/1.1\r\nHost: @HOST@\r\n\r\n",
    "tab in the line": r"GET\t/a\tHTTP/1.1\r\nHost: @HOST@\r\n\r\n",
    "HTTP/0.9": r"GET /a\r\n\r\n",
    "HTTP/1.2": r"GET /a HTTP/1.2\r\nHost: @HOST@\r\n\r\n",
    "HTTP/2 preface": r"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "colon first": r"GET /a HTTP/1.1\r\n:x\r\nHost: @HOST@\r\n\r\n",
    "control in the name": "GET /a HTTP/1.1\\r\\nHost: @HOST@\\r\\nX\\x01: a"
                           "\\r\\n\\r\\n",
    "h2c upgrade with body": r"GET /a HTTP/1.1\r\nHost: @HOST@\r\n"
                             r"Content-Length: x\r\nUpgrade: h2c\r\n\r\n",
}


@pytest.mark.parametrize("vector", SMUGGLING)
def test_smuggling_never_reaches_an_origin(stockade, net, api, other, vector):
    policy = net + ("allow * api.test/a\nallow * api.test/headers\n"
                    "allow * other.test/**\n")
    data = SMUGGLING[vector] + SECOND
    result = raw(stockade, policy, "api.test", "api.test", "api.test", data)
    for origin in (api, other):
        assert not origin.saw("smuggled"), result
        # A head may be decided before its body turns out to be broken; then
        # it stands alone and is never completed.
        assert len(origin.requests) <= (1 if "chunk" in vector else 0), result
    assert "200" not in result.out.split("\r\n")[0], result


def test_hop_by_hop_fields_stay_behind(stockade, net, api):
    stockade.run("curl", "-sS", "--http1.1",
                 "-H", "Connection: X-Hop, keep-alive",
                 "-H", "X-Hop: 1", "-H", "Upgrade: h2c",
                 "-H", "Proxy-Authorization: Basic x", "-H", "X-End: 1",
                 "https://api.test/headers",
                 policy=net + "allow GET api.test/**\n").ok()
    names = {name for name, _ in api.requests[0].fields}
    assert "x-end" in names
    assert not names & {"x-hop", "upgrade", "proxy-authorization"}


def test_an_upgrade_that_was_not_asked_for_is_no_tunnel(stockade, net, api):
    result = stockade.run("curl", "-sS", "https://api.test/status/101",
                          policy=net + "allow GET api.test/**\n", timeout=20)
    assert result.status != 0 or '"error"' in result.out, result


def test_http_rules_match_their_port_only(stockade, net, api):
    assert statuses(
        stockade, net, "allow GET api.test:8443/x\n",
        "https://api.test:8443/x", "https://api.test/x") == [200, 403]
    assert len(api.requests) == 1
