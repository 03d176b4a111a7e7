# SPDX-License-Identifier: Apache-2.0
"""`times`, `until` and `stockade secret revoke`, judged by what the origin got."""
import datetime
import json
import os
import signal
import socket
import subprocess

import pytest

from conftest import PATIENCE, as_root, as_user, eventually
from origin import Closed, Origin

pytestmark = pytest.mark.whoever

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


# One request for each line that comes, by one connection; says what each got.
BY_LINES = """
c = http.client.HTTPSConnection("api.test")
print("up", flush=True)
for line in sys.stdin:
    print(json.dumps(ask(line.strip(), True, c)), flush=True)
"""


class Asked:
    """A run that makes a request for each ask()."""

    def __init__(self, stockade, policy, script=BY_LINES, more=()):
        self.stockade = stockade
        self.known = set(self.names())
        self.child = stockade.start(
            "/usr/bin/python3", "-c", ASK + script, policy=policy,
            env={**ENV, **dict(more)}, stdin=subprocess.PIPE)
        assert self.child.stdout.readline() == b"up\n"

    def names(self):
        try:
            return os.listdir(self.stockade.state() / "control")
        except FileNotFoundError:
            return []

    def listens(self):
        """Its name, once it can be asked."""
        return eventually(lambda: next((n for n in self.names() if n not in
                                        self.known and n[0] != "."), None),
                          20 * PATIENCE)

    def ask(self, path):
        self.child.stdin.write(path.encode() + b"\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.stdin.close()
            try:
                self.child.wait(20 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.child.kill()
        self.child.stdout.close()
        self.child.stderr.close()
        self.child.wait()


def test_what_was_revoked_is_not_carried(stockade, net, api):
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        assert run.ask("/1")[0] == 200
        said = stockade.call("secret", "revoke", "TOKEN").ok()
        assert said.out == f"revoked: TOKEN in the run {name}\n"
        refused = run.ask("/2")
        # Once more is no error, and nothing new.
        stockade.call("secret", "revoke", "TOKEN", name).ok()
        assert run.ask("/3")[0] == 403
    assert refused[0] == 403
    assert reason(refused) == "the secret TOKEN was revoked"
    assert carried(api) == ["/1"] and len(api.requests) == 1
    records = stockade.log()
    assert [r["secret"] for r in records if r["event"] == "revoked"] == [
        "TOKEN"]
    assert [r["reason"] for r in stockade.log("--denied")] == [
        "the secret TOKEN was revoked"] * 2
    assert "  revoked    TOKEN\n" in stockade.call("log").out
    assert stockade.call("log", "verify").status == 0
    # With the run its socket has gone.
    assert run.names() == []


def test_only_that_secret_is_revoked(stockade, net, api):
    policy = (net + ALLOW + SECRET +
              "\nsecret OTHER from env for api.test as header x-key\n")
    script = """
print("up", flush=True)
for line in sys.stdin:
    c = http.client.HTTPSConnection("api.test")
    c.request("GET", line.strip(), headers={"X-Key": os.environ["OTHER"]})
    print(c.getresponse().status, flush=True)
"""
    with Asked(stockade, policy, script, {"OTHER": "another-value"}) as run:
        assert run.listens()
        stockade.call("secret", "revoke", "TOKEN").ok()
        assert run.ask("/1") == 200
    assert [r.get("x-key") for r in api.requests] == ["another-value"]


def test_several_runs_have_to_be_named(stockade, net, api):
    policy = net + ALLOW + SECRET + "\n"
    with Asked(stockade, policy) as one:
        first = one.listens()
        with Asked(stockade, policy) as two:
            second = two.listens()
            said = stockade.call("secret", "revoke", "TOKEN")
            assert said.status == 125 and first in said.err
            assert second in said.err and "name one" in said.err
            stockade.call("secret", "revoke", "TOKEN", first).ok()
            assert one.ask("/1")[0] == 403 and two.ask("/2")[0] == 200
        # Of those that are under way it is the only one.
        stockade.call("secret", "revoke", "TOKEN").ok()
    assert carried(api) == ["/2"]


@pytest.mark.parametrize("arguments,says", [
    ([], "or revoke NAME [RUN]"), (["TOKEN"], "or revoke NAME [RUN]"),
    (["revoke"], "expected: stockade secret revoke"),
    (["revoke", "TOKEN", "a", "b"], "expected: stockade secret revoke"),
    (["revoke", "NO-NAME"], "is no name of a secret"),
    (["revoke", "TOKEN", "../runs"], "no run is named"),
    (["revoke", "TOKEN", ".."], "no run is named"),
    (["revoke", "OTHER"], "no run that is under way has the secret OTHER"),
    (["revoke", "TOKEN", "20200101-000000-0000000000"], "is not under way"),
])
def test_what_cannot_be_revoked_says_why(stockade, net, api, arguments, says):
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        result = stockade.call("secret", *arguments)
        assert result.status == 125 and says in result.err, result
        result = stockade.call("secret", "revoke", "OTHER", name)
        assert result.status == 125, result
        assert "this run has no secret OTHER" in result.err
        assert run.ask("/1")[0] == 200


def test_without_a_run_there_is_nothing_to_revoke(stockade, net):
    result = stockade.call("secret", "revoke", "TOKEN")
    assert result.status == 125 and "no run with secrets" in result.err
    # One without secrets has no socket.
    with Asked(stockade, net) as run:
        result = stockade.call("secret", "revoke", "TOKEN")
        assert result.status == 125 and "no run that is under way" in result.err
        assert run.names() == []


def test_a_killed_run_leaves_a_name_that_harms_nothing(stockade, net, api,
                                                       monkeypatch):
    policy = net + ALLOW + SECRET + "\n"
    with Asked(stockade, policy) as killed:
        name = killed.listens()
        killed.child.send_signal(signal.SIGKILL)
        killed.child.wait()
    assert killed.names() == [name]
    with Asked(stockade, policy) as run:
        assert run.listens() != name
        result = stockade.call("secret", "revoke", "TOKEN", name)
        assert result.status == 125 and "is not under way" in result.err
        assert name not in run.names()
        # Nor where it is only come across.
        stale = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        monkeypatch.chdir(stockade.state() / "control")
        stale.bind(name)
        stale.close()
        stockade.call("secret", "revoke", "TOKEN").ok()
        assert name not in run.names()
        assert run.ask("/1")[0] == 403
    assert carried(api) == []


def speak(stockade, name, *packets, user=None, front=()):
    """What a run says to packets of somebody's; to an empty one, which is not sent,
    what it says by itself: to a stranger, whose words it leaves unread."""
    script = ("import os, socket, sys\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              "os.chdir(sys.argv[1])\n"
              f"os.setuid({user}) if {user} else None\n"
              "s.settimeout(20)\n"
              "s.connect(sys.argv[2])\n"
              "for one in sys.argv[3:]:\n"
              "    if one:\n"
              "        s.send(one.encode('latin-1'))\n"
              "    print(s.recv(4096).decode(), end='')\n")
    return subprocess.run(
        [*front, "/usr/bin/python3", "-c", script, stockade.state() / "control", name,
         *packets], capture_output=True, text=True, check=True).stdout


def test_what_is_asked_is_strict(stockade, net, api):
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        for bad in ("\n", "has\n", "revoke\n", "revoke TOKEN", "revoke  TOKEN\n",
                    "revoke TOKEN \n", "REVOKE TOKEN\n", "revoke TOKEN\nX\n",
                    "revoke TOKEN\r\n", "x" * 511 + "\n",
                    "revoke " + "x" * 600 + "\n"):
            said = speak(stockade, name, bad, "has OTHER\n", "has TOKEN\n")
            lines = said.splitlines()
            assert len(lines) == 3 and lines[0].startswith("error "), said
            assert lines[1].startswith("error ") and lines[2] == "ok"
        assert run.ask("/1")[0] == 200
        assert speak(stockade, name, "revoke TOKEN\n") == "ok\n"
        assert run.ask("/2")[0] == 403


def test_one_who_says_nothing_is_not_waited_for(stockade, net, api,
                                                monkeypatch):
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        silent = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        monkeypatch.chdir(stockade.state() / "control")
        silent.connect(name)
        assert run.ask("/1")[0] == 200
        stockade.call("secret", "revoke", "TOKEN").ok()
        assert run.ask("/2")[0] == 403
        silent.close()


@pytest.mark.whoever(False)
@as_root
def test_another_user_is_refused(stockade, net, api):
    """Also where the modes of the folders and the socket would let it."""
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        folder = stockade.state() / "control"
        assert os.stat(folder).st_mode & 0o7777 == 0o700
        assert os.stat(folder / name).st_mode & 0o7777 == 0o600
        os.chmod(folder, 0o711)
        os.chmod(folder / name, 0o666)
        said = speak(stockade, name, "", user=65533)
        assert said.startswith("error only the user who has started this run")
        assert run.ask("/1")[0] == 200
    assert carried(api) == ["/1"]


@pytest.mark.parametrize("granted", ["", "/control"])
def test_nothing_inside_can_ask(stockade, net, api, granted):
    """Not in the run itself and not in another one, where it could be read."""
    state = stockade.state()
    (state / "control").mkdir(0o700, parents=True)
    script = f"""
import socket
def connect(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        os.chdir({str(state / "control")!r})
        s.connect(name)
        return "connected"
    except OSError as error:
        return type(error).__name__
print("up", flush=True)
for line in sys.stdin:
    print(json.dumps([connect(line.strip()), [
        os.path.join(top, name) for top, _, names in os.walk({str(state)!r})
        for name in names]]), flush=True)
"""
    policy = net + ALLOW + f"read {stockade.home} {state}{granted}\n"
    secret = SECRET + "\n"
    with Asked(stockade, policy, script) as without, \
            Asked(stockade, policy + secret, script) as run:
        name = run.listens()
        for inside in (run, without):
            said, names = inside.ask(name)
            assert said in ("PermissionError", "FileNotFoundError"), said
            assert not any("control" in path for path in names)
            # But for what is granted there is no mask.
            assert granted or any(path.endswith(".jsonl") for path in names)
        stockade.call("secret", "revoke", "TOKEN").ok()


@pytest.mark.whoever(False)
@as_user
def test_the_same_user_elsewhere_is_refused(stockade, net, api):
    """In another user namespace, as what is inside."""
    with Asked(stockade, net + ALLOW + SECRET + "\n") as run:
        name = run.listens()
        assert speak(stockade, name, "has TOKEN\n") == "ok\n"
        said = speak(stockade, name, "", front=["unshare", "-U"])
        assert said.startswith("error only the user who has started this run")
        assert run.ask("/1")[0] == 200
