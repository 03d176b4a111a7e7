# SPDX-License-Identifier: Apache-2.0
"""`limit requests`, `upload` and `names`, judged by what the origin received."""
import json

ALLOW = ("allow GET,PUT api.test/**\nallow GET other.test/**\n"
         "allow GET *.wide.test/**\n")
ASK = """
import json, sys, threading, urllib.error, urllib.request
def ask(url, body=None):
    request = urllib.request.Request(url, data=body, method="PUT" if body else "GET")
    try:
        return urllib.request.urlopen(request).status, ""
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)
def pieces(n):
    for _ in range(n):
        yield b"x" * 16384
"""


def run(stockade, policy, script):
    result = stockade.run("/usr/bin/python3", "-c", ASK + script,
                          policy=policy)
    assert result.status == 0, result
    return json.loads(result.out.splitlines()[-1])


def sent(origin):
    return sum(len(r.body) for r in origin.requests)


def test_requests_stop_at_their_limit(stockade, net, api, other):
    got = run(stockade, net + ALLOW + "limit requests 3 for api.test\n", """
got = [ask("https://api.test/%d" % i) for i in range(5)]
got.append(ask("https://other.test/"))
print(json.dumps(got))
""")
    assert [status for status, _ in got] == [200, 200, 200, 403, 403, 200]
    assert api.targets == ["GET /0", "GET /1", "GET /2"]
    assert other.targets == ["GET /"]
    answer = json.loads(got[3][1])
    assert answer["rule"] == "limit requests 3 for api.test"
    assert "of which 0 are left" in answer["reason"]
    assert len(stockade.log("--denied")) == 2


def test_an_upload_in_queries_stops_at_its_limit(stockade, net, api):
    """A megabyte in queries of a kilobyte, of which 100 may leave."""
    got = run(stockade, net + ALLOW + "limit upload 100K\n", """
import http.client
api, got = http.client.HTTPSConnection("api.test"), []
for i in range(1000):
    api.request("GET", "/q?d=" + "x" * 1000)
    answer = api.getresponse()
    answer.read()
    got.append(answer.status)
print(json.dumps(got))
""")
    through = got.count(200)
    assert got == [200] * through + [403] * (1000 - through)
    assert 90 < through < 100
    assert sum(len(t) for t in api.targets) <= 100 * 1024


def test_a_body_of_known_length_is_refused_before_it_flows(stockade, net,
                                                           api):
    got = run(stockade, net + ALLOW + "limit upload 64K for api.test\n", """
print(json.dumps([ask("https://api.test/a", b"x" * 50000),
                  ask("https://api.test/b", b"x" * 20000),
                  ask("https://api.test/c", b"x" * 10000)]))
""")
    assert [status for status, _ in got] == [200, 403, 200]
    assert api.targets == ["PUT /a", "PUT /c"]
    assert "limit upload 64K for api.test" in got[1][1]


def test_a_body_of_unknown_length_is_cut(stockade, net, api):
    got = run(stockade, net + ALLOW + "limit upload 1M\n", """
print(json.dumps([ask("https://api.test/a", pieces(32)),
                  ask("https://api.test/b", pieces(64)),
                  ask("https://api.test/c")]))
""")
    assert got[0][0] == 200 and got[2][0] == 200
    assert len(api.requests[0].body) == 32 * 16384
    # A client that still sends may see the end before the answer.
    assert got[1][0] in (0, 403)
    assert sent(api) <= 1 << 20
    log = [r for r in stockade.log("--json") if r["event"] == "response"]
    assert "limit upload 1M" in log[1]["error"] and log[1]["status"] == 403
    assert sum(r["sent_bytes"] for r in log) <= 1 << 20


def test_two_uploads_at_once_keep_it_together(stockade, net, api):
    run(stockade, net + ALLOW + "limit upload 1M\n", """
work = [threading.Thread(target=ask, args=("https://api.test/%d" % i,
                                           pieces(48))) for i in range(3)]
for one in work:
    one.start()
for one in work:
    one.join()
print(json.dumps(0))
""")
    log = [r for r in stockade.log("--json") if r["event"] == "response"]
    # A client that still sends may be gone before what it was told.
    assert 2 <= len(log) <= 3
    assert sum(r["sent_bytes"] for r in log) <= 1 << 20
    assert [r["status"] for r in log].count(403) >= 1


def test_names_below_a_wildcard_are_counted(stockade, net, api):
    got = run(stockade, net + ALLOW + "limit names 1 for *.wide.test\n", """
print(json.dumps([ask("https://api.test/a")[0],
                  ask("https://one.wide.test/b")[0],
                  ask("https://two.wide.test/c"),
                  ask("https://one.wide.test/d")[0]]))
""")
    assert got[:2] == [200, 200] and got[3] == 200
    assert got[2][0] == 403 and "limit names 1 for *.wide.test" in got[2][1]
    assert api.targets == ["GET /a", "GET /b", "GET /d"]
