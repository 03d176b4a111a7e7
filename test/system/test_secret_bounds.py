# SPDX-License-Identifier: Apache-2.0
"""`times` and `until` of a secret, judged by what the origin got."""
import datetime
import json

import pytest

from origin import Closed, Origin

VALUE = "s3cr3t-value-0123456789"
ENV = {"TOKEN": VALUE}
ALLOW = "allow * api.test/**\n"
SECRET = "secret TOKEN from env for api.test as bearer"
ASK = """
import http.client, json, os, sys, threading, time
def ask(path, token=True, connection=None):
    c = connection or http.client.HTTPSConnection("api.test")
    c.request("GET", path, headers={
        "Authorization": "Bearer " + os.environ["TOKEN"]} if token else {})
    answer = c.getresponse()
    text = answer.read().decode()
    return answer.status, text
"""
# One request after another, over one connection, until one is refused; then more.
UNTIL_REFUSED = """
c, got = http.client.HTTPSConnection("api.test"), []
print("up", flush=True)
while not got or got[-1][0] == 200:
    got.append(ask("/%d" % len(got), True, c))
got += [ask("/late", True, c) for _ in range(5)]
print(json.dumps(got), flush=True)
"""


def run(stockade, policy, script):
    result = stockade.run("/usr/bin/python3", "-c", ASK + script,
                          policy=policy, env=ENV)
    assert result.status == 0, result
    assert VALUE not in result.text
    return json.loads(result.out.splitlines()[-1])


def carried(origin):
    """Targets of the requests that have brought the value."""
    return [r.target for r in origin.requests
            if r.get("authorization") == "Bearer " + VALUE]


def reason(answer):
    return json.loads(answer[1])["reason"]


def test_of_many_at_once_so_many_carry_it(stockade, net, api):
    got = run(stockade, net + ALLOW + SECRET + " times 5\n", """
got, gate = [], threading.Barrier(24)
def one(i):
    gate.wait()
    got.append(ask("/%d" % i))
threads = [threading.Thread(target=one, args=(i,)) for i in range(24)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps(got))
""")
    assert sorted(status for status, _ in got) == [200] * 5 + [403] * 19
    assert len(carried(api)) == 5 and len(api.requests) == 5
    why = "the secret TOKEN was used 5 times, as the policy allows"
    assert {reason(a) for a in got if a[0] == 403} == {why}
    denied = stockade.log("--denied")
    assert [r["reason"] for r in denied] == [why] * 19
    assert all("secrets" not in r for r in denied)
    assert stockade.call("log", "verify").status == 0


NODE = r"""
const session = require("http2").connect("https://api.test");
const ask = (path) => new Promise((resolve) => {
	const stream = session.request({ ":path": path,
		authorization: "Bearer " + process.env.TOKEN });
	let status = 0;
	stream.on("response", h => status = h[":status"]);
	stream.on("data", () => {});
	stream.on("error", e => resolve(-1));
	stream.on("end", () => resolve(status));
});
(async () => {
	const all = [];
	for (let i = 0; i < 24; i++)
		all.push(ask("/" + i));
	console.log(JSON.stringify({ got: await Promise.all(all),
				     alpn: session.alpnProtocol }));
	session.close();
})();
"""


def test_of_many_streams_so_many_carry_it(stockade, net, api):
    result = stockade.run("node", "-e", NODE, env=ENV,
                          policy=net + ALLOW + SECRET + " times 5\n").ok()
    got = json.loads(result.out)
    assert got["alpn"] == "h2"
    assert sorted(got["got"]) == [200] * 5 + [403] * 19
    assert len(carried(api)) == 5 and len(api.requests) == 5


def test_what_carries_nothing_is_not_counted(stockade, net, api):
    """Nor what a rule, or another limit, has refused."""
    got = run(stockade, net + "allow GET api.test/yes/**\n" + SECRET +
              " times 2\nlimit requests 4\n", """
print(json.dumps([ask("/no"), ask("/yes/1"), ask("/yes/2", False),
                  ask("/yes/3"), ask("/yes/4"), ask("/yes/5", False),
                  ask("/yes/6", False)]))
""")
    assert [status for status, _ in got] == [403, 200, 200, 200, 403, 200, 403]
    assert carried(api) == ["/yes/1", "/yes/3"]
    assert [r.target for r in api.requests] == [
        "/yes/1", "/yes/2", "/yes/3", "/yes/5"]
    # What the bound of the secret has refused, the limit has not counted.
    assert "used 2 times" in reason(got[4])
    assert "limit requests 4" in reason(got[6])


def test_what_would_be_added_is_refused(stockade, net, api, other):
    got = run(stockade, net + ALLOW + SECRET + " add times 1\n", """
print(json.dumps([ask("/1", False), ask("/2", False), ask("/3")]))
""")
    assert [status for status, _ in got] == [200, 403, 403]
    assert carried(api) == ["/1"] and len(api.requests) == 1


class Forgetful(Origin):
    """Each connection takes a second request, and ends in place of an answer."""

    def _one(self, connection):
        if getattr(connection, "used", False):
            connection.request(self)
            raise Closed
        connection.used = True
        return super()._one(connection)


def test_a_second_attempt_is_the_same_request(stockade, authority):
    origin = Forgetful("api", authority.leaf("api.test"))
    try:
        got = run(stockade, f"roots {authority.pem}\n"
                  f"reach api.test via {origin.via}\n" + ALLOW + SECRET +
                  " times 3\n", """
print(json.dumps([ask("/%d" % i) for i in range(5)]))
""")
    finally:
        origin.close()
    assert [status for status, _ in got] == [200, 200, 200, 403, 403]
    assert carried(origin) == ["/0", "/1", "/1", "/2", "/2"]


@pytest.mark.parametrize("bound", ["until 1h", "until 9000-01-01T00:00:00Z",
                                   "times 2 until 1h"])
def test_within_its_bounds_it_is_used(stockade, net, api, bound):
    got = run(stockade, net + ALLOW + SECRET + f" {bound}\n",
              "print(json.dumps([ask('/1'), ask('/2')]))")
    assert [status for status, _ in got] == [200, 200]
    assert carried(api) == ["/1", "/2"]


def test_after_a_duration_nothing_carries_it(stockade, net, api):
    """Though the connection's lease of it would last longer."""
    got = run(stockade, net + ALLOW + SECRET + " until 700ms\n", UNTIL_REFUSED)
    good = [a for a in got if a[0] == 200]
    assert got[len(good):] and {a[0] for a in got[len(good):]} == {403}
    assert len(got) == len(good) + 6
    assert carried(api) == [f"/{i}" for i in range(len(good))]
    assert len(api.requests) == len(good)
    assert {reason(a) for a in got[len(good):]} == {
        "the secret TOKEN was to be used until 700ms after the start"}


def test_a_time_that_is_over_is_an_error(stockade, net, api):
    began = datetime.datetime.now(datetime.timezone.utc)
    past = (began - datetime.timedelta(seconds=1)).strftime(
        "%Y-%m-%dT%H:%M:%SZ")
    for text in (past, "2020-06-01T12:00:00+02:00"):
        result = stockade.sh("echo ran", env=ENV, policy=net + ALLOW + SECRET +
                             f" until {text}\n")
        assert result.status == 125 and "ran" not in result.out, result
        assert "secret TOKEN: it was to be used until 20" in result.err
        assert "which is over" in result.err


def test_check_says_what_bounds_it(stockade, net):
    flags = ["--policy", stockade.policy(
        net + ALLOW + SECRET + " times 3 until 90s\n")]
    said = stockade.call("check", *flags, "GET https://api.test/x").ok()
    assert "with the secret: TOKEN (times 3 until 90s)" in said.out
    said = stockade.call("check", "--json", *flags,
                         "GET https://api.test/x").ok()
    answer, = json.loads(said.out)
    assert answer["secrets"] == "TOKEN"
    assert answer["bounded"] == "TOKEN (times 3 until 90s)"
