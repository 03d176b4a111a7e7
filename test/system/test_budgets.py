# SPDX-License-Identifier: Apache-2.0
"""`limit requests`, `upload` and `names`, judged by what the origin received."""
import contextlib
import json
import socket
import subprocess

import pytest

from conftest import eventually
from listener import Listener

pytestmark = pytest.mark.whoever

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


def settled(stockade):
    """All that was allowed has ended on record, and holds nothing of a limit."""
    log = stockade.log()
    allowed = [r for r in log if r["event"] in ("request", "relay")
               and r["verdict"] == "allow"]
    return len(responses(log)) == len(allowed)


def responses(log):
    return [r for r in log if r["event"] == "response"]


@contextlib.contextmanager
def steps(stockade, policy, script):
    """What of the script the command is to do, one after another, each when the
    one before is settled: until then it may have what it did not use."""
    child = stockade.start(
        "/usr/bin/python3", "-c", script + """
import json, sys
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
""", policy=policy, stdin=subprocess.PIPE, text=True)

    def do(expression):
        child.stdin.write(expression + "\n")
        child.stdin.flush()
        answer = json.loads(child.stdout.readline())
        assert eventually(lambda: settled(stockade), 20)
        return answer

    yield do
    _, errors = child.communicate(timeout=40)
    assert child.returncode == 0, errors


def sent(origin):
    return sum(len(r.body) for r in origin.requests)


def test_requests_of_a_run_stop_at_their_limit(stockade, net, api, other):
    """Whatever their hosts, and those that are refused do not count."""
    got = run(stockade, net + ALLOW + "limit requests 3\n"
              "limit requests 2 for api.test\n", """
got = [ask("https://%s.test/%d" % one) for one in (
    ("api", 0), ("denied", 1), ("api", 2), ("api", 3), ("other", 4), ("other", 5),
    ("api", 6))]
print(json.dumps(got))
""")
    assert [status for status, _ in got] == [200, 403, 200, 403, 200, 403, 403]
    assert api.targets == ["GET /0", "GET /2"] and other.targets == ["GET /4"]
    assert [json.loads(got[i][1])["rule"] for i in (3, 5)] == [
        "limit requests 2 for api.test", "limit requests 3"]


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
    with steps(stockade, net + ALLOW + "limit upload 1M\n", ASK) as do:
        assert do('ask("https://api.test/a", pieces(32))')[0] == 200
        # A client that still sends may see the end before the answer.
        assert do('ask("https://api.test/b", pieces(64))')[0] in (0, 403)
        assert do('ask("https://api.test/c")')[0] == 200
    assert len(api.requests[0].body) == 32 * 16384
    assert sent(api) <= 1 << 20
    log = responses(stockade.log())
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
    log = stockade.log()
    assert sum(r["sent_bytes"] for r in responses(log)) <= 1 << 20
    # Who comes when the others have it all is refused before anything flows.
    refused = [r for r in log if r.get("verdict") == "deny"]
    assert [r["status"] for r in responses(log)].count(403) + len(refused) >= 1


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


class Sink(Listener):
    """Takes whatever comes: how much, of each connection."""

    def __init__(self):
        self.got = []
        super().__init__(socket.create_server(("127.0.0.1", 0)))

    def serve(self, s):
        n = len(self.got)
        self.got.append(0)
        while piece := s.recv(65536):
            self.got[n] += len(piece)
        s.sendall(b"%d" % self.got[n])


@pytest.fixture
def sink():
    server = Sink()
    yield server.port, server.got
    server.close()


POUR = """
import socket
def pour(n, host="raw.test"):
    try:
        with socket.create_connection((host, 7000), 10) as s:
            for _ in range(n): s.sendall(b"x" * 16384)
            s.shutdown(socket.SHUT_WR)
            return s.recv(100).decode()
    except OSError:
        return "cut"
"""


def relays_to(port):
    return ("allow tcp raw.test:7000\nallow tcp *.wide.test:7000\n"
            + "".join(f"reach {name} via 127.0.0.1:{port}\n" for name in
                      ("raw.test", "a.wide.test", "b.wide.test")))


def test_relays_count_as_names(stockade, sink):
    out = run(stockade, relays_to(sink[0]) + "limit names 1\n", POUR + """
print(json.dumps([pour(0, "a.wide.test"), pour(0, "a.wide.test"),
                  pour(0, "b.wide.test")]))
""")
    assert out == ["0", "0", "cut"]
    denied = [r for r in stockade.log() if r["event"] == "relay"
              and r["verdict"] == "deny"]
    # A client may try again at the name's other address.
    assert {(r["host"], r["rule"]) for r in denied} == {
        ("b.wide.test", "limit names 1")}


def test_relays_count_as_requests_and_uploads(stockade, sink):
    port, got = sink
    policy = relays_to(port)
    with steps(stockade, policy + "limit upload 1M\n", POUR) as do:
        assert do("pour(48)") == str(48 * 16384)
        assert do("pour(48)") == "cut"
    assert sum(got) <= 1 << 20 and got[0] == 48 * 16384
    done = responses(stockade.log())
    assert sum(r["sent_bytes"] for r in done) <= 1 << 20
    assert "limit upload 1M" in done[1]["error"], done
    out = run(stockade, policy + "limit requests 2 for raw.test\n", POUR + """
print(json.dumps([pour(1), pour(1), pour(1), pour(1, "a.wide.test")]))
""")
    assert out == ["16384", "16384", "cut", "16384"]
