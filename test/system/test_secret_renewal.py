# SPDX-License-Identifier: Apache-2.0
"""`renew TIME`: a command's value that changes while the run lasts, judged by what
the origin got and by how often the command ran.
"""
import json
import os
import re
import signal
import subprocess
import threading

import pytest

from conftest import PATIENCE, eventually, processes
from h2_origin import H2Peer
from origin import Origin
from test_secret_bounds import ASK

pytestmark = pytest.mark.whoever

ALLOW = "allow * api.test/**\n"


def token(n):
    return f"t0ken-{n:04d}-of-the-user"


class Mint:
    """The command: each run prints the next value, unless it is told otherwise."""

    def __init__(self, folder):
        self.folder = folder
        self.runs_file = folder / "mint-runs"
        self.script = folder / "mint"
        self.does("echo t0ken-$(printf %04d $n)-of-the-user")

    def does(self, what):
        """From its next run on; $n counts them."""
        fresh = self.folder / "mint-new"
        fresh.write_text(f"cd {self.folder}\necho run >>mint-runs\n"
                         f"n=$(wc -l <mint-runs)\n{what}\n")
        os.replace(fresh, self.script)

    @property
    def runs(self):
        return len(self.runs_file.read_text().splitlines())

    def secret(self, bounds="renew 1h"):
        return (f'secret TOKEN from command "sh {self.script}" for api.test '
                f"as bearer {bounds}\n")


class Strict(Origin):
    """401 to every value but those that are good; it answers with all that it was
    ever shown."""

    def __init__(self, authority, good=()):
        self.good, self.gates = set(good), {}
        super().__init__("api", authority.leaf("api.test"))

    def values(self):
        return [(r.get("authorization") or "")[7:] for r in self.requests]

    def reply(self, request):
        value = (request.get("authorization") or "")[7:]
        return (200 if value in self.good else 401,
                " ".join(self.values()).encode())

    def _one(self, connection):
        request = connection.request(self)
        request.connection = connection
        if request.path == "/hold":
            return self._hold(connection)
        status, body = self.reply(request)
        connection.answer(body, status)
        return True

    def _hold(self, connection):
        """A response that begins, and goes on when the test says so."""
        gate = self.gates["hold"] = threading.Event()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"6\r\nbegun\n\r\n")
        gate.wait(20 * PATIENCE)
        text = " ".join(self.values()).encode()
        connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
        return True


@pytest.fixture
def mint(stockade):
    return Mint(stockade.base)


@pytest.fixture
def strict(authority):
    origin = Strict(authority, [token(2)])
    origin.policy = (f"roots {authority.pem}\n"
                     f"reach api.test via {origin.via}\n" + ALLOW)
    yield origin
    origin.close()


def run(stockade, policy, script):
    result = stockade.run("/usr/bin/python3", "-c", ASK + script, policy=policy)
    assert result.status == 0, result
    assert "t0ken" not in result.text
    return json.loads(result.out.splitlines()[-1])


def renewals(stockade):
    return [r for r in stockade.log() if r["event"] == "renewal"]


def test_after_a_401_the_next_request_has_another_value(stockade, strict, mint):
    got = run(stockade, strict.policy + mint.secret(), """
c = http.client.HTTPSConnection("api.test")
print(json.dumps([ask("/%d" % i, True, c) for i in range(4)]))
""")
    assert [status for status, _ in got] == [401, 200, 200, 200]
    assert strict.values() == [token(1)] + [token(2)] * 3
    # It answered with both, and the agent saw neither.
    assert set(re.findall(r"[^* ]+", " ".join(text for _, text in got))) == set()
    assert mint.runs == 2
    (renewal,) = renewals(stockade)
    assert renewal["secret"] == "TOKEN" and renewal["because"] == "401"
    assert renewal["host"] == "api.test" and renewal["changed"] is True
    assert "renewal    TOKEN: a new value; 401 from api.test\n" in (
        stockade.call("log").out)
    assert stockade.call("log", "verify").status == 0


def test_no_connection_carries_both(stockade, strict, mint):
    run(stockade, strict.policy + mint.secret(), """
c = http.client.HTTPSConnection("api.test")
print(json.dumps([ask("/%d" % i, True, c) for i in range(3)]))
""")
    assert strict.values() == [token(1), token(2), token(2)]
    one, two, three = (r.connection for r in strict.requests)
    assert one is not two and two is three


def test_without_the_clause_it_is_read_once(stockade, strict, mint):
    got = run(stockade, strict.policy + mint.secret(""), """
print(json.dumps([ask("/1"), ask("/2")]))
""")
    assert [status for status, _ in got] == [401, 401]
    assert strict.values() == [token(1)] * 2
    assert mint.runs == 1 and renewals(stockade) == []


class Telling(Strict):
    """Takes every value, and tells whether it was shown more than one."""

    def reply(self, request):
        return 200, b"%d" % min(2, len(set(self.values())))


@pytest.fixture
def telling(authority):
    origin = Telling(authority)
    origin.policy = (f"roots {authority.pem}\n"
                     f"reach api.test via {origin.via}\n" + ALLOW)
    yield origin
    origin.close()


UNTIL_TWO = """
def until_two(path):
    c, last, end = http.client.HTTPSConnection("api.test"), "", time.monotonic() + 60
    while last != "2" and time.monotonic() < end:
        status, last = ask(path, True, c)
        assert status == 200
    for _ in range(3):
        assert ask(path, True, c)[0] == 200
"""


def test_an_old_value_is_renewed_where_it_is_used(stockade, telling, mint):
    run(stockade, telling.policy + mint.secret("renew 1s"), UNTIL_TWO + """
until_two("/x")
print(json.dumps([]))
""")
    # None goes back.
    assert telling.values() == sorted(telling.values())
    assert set(telling.values()) <= {token(i + 1) for i in range(mint.runs)}
    assert len(set(telling.values())) > 1
    assert {r["because"] for r in renewals(stockade)} == {"age"}
    assert all("host" not in r for r in renewals(stockade))
    assert len(renewals(stockade)) == mint.runs - 1
    assert "TOKEN: a new value; it was old\n" in stockade.call("log").out


def test_requests_at_once_have_one_of_the_two(stockade, telling, mint):
    run(stockade, telling.policy + mint.secret("renew 1s"), UNTIL_TWO + """
threads = [threading.Thread(target=until_two, args=("/%d" % i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps([]))
""")
    values = set(telling.values())
    assert 1 < len(values) <= mint.runs
    assert values <= {token(i + 1) for i in range(mint.runs)}
    # No connection has carried more than one, and nobody goes back.
    carried, asked = {}, {}
    for request, value in zip(telling.requests, telling.values()):
        carried.setdefault(id(request.connection), set()).add(value)
        asked.setdefault(request.path, []).append(value)
    assert {len(v) for v in carried.values()} == {1}
    assert len(asked) == 8 and all(v == sorted(v) for v in asked.values())


def test_many_401s_run_the_command_a_few_times(stockade, strict, mint):
    strict.good = set()
    got = run(stockade, strict.policy + mint.secret(), """
got = []
def many():
    c = http.client.HTTPSConnection("api.test")
    for _ in range(125):
        got.append(ask("/x", True, c)[0])
threads = [threading.Thread(target=many) for _ in range(4)]
began = time.monotonic()
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps([got, time.monotonic() - began]))
""")
    statuses, lasted = got
    assert statuses == [401] * 500
    # At once, after 10 s, after 30 s, after 70 s: the start's run as well.
    most = 2 + sum(lasted >= 10 * (2 ** i - 1) for i in range(1, 6))
    assert 2 <= mint.runs <= most
    assert len(renewals(stockade)) == mint.runs - 1


def test_a_command_that_fails_changes_nothing(stockade, strict, mint):
    strict.good = set()
    mint.does("[ $n = 1 ] || { echo t0ken-wrong; exit 7; }\n"
              f"echo {token(1)}")
    got = run(stockade, strict.policy + mint.secret(), """
print(json.dumps([ask("/1"), ask("/2"), ask("/3")]))
""")
    assert [status for status, _ in got] == [401] * 3
    assert strict.values() == [token(1)] * 3
    (renewal,) = renewals(stockade)
    assert renewal["error"] == "its command failed with status 7"
    assert "changed" not in renewal
    shown = stockade.call("log").out
    assert "TOKEN: failed, the value stays what it was; 401 from api.test" in shown
    assert "its command failed with status 7" in shown


@pytest.mark.parametrize("what, why", [
    ("echo two words", "not one line of visible ASCII"),
    ("true", "its source is empty"),
    ("echo abc", "shorter than 4 bytes"),
    ("head -c 17000 /dev/zero | tr '\\0' x", "longer than 16384 bytes"),
])
def test_what_is_no_value_changes_nothing(stockade, strict, mint, what, why):
    mint.does(f"[ $n = 1 ] && echo {token(1)} || {{ {what}; }}")
    got = run(stockade, strict.policy + mint.secret(), """
print(json.dumps([ask("/1"), ask("/2")]))
""")
    assert [status for status, _ in got] == [401] * 2
    assert strict.values() == [token(1)] * 2
    (renewal,) = renewals(stockade)
    assert why in renewal["error"]


def test_the_same_value_again_is_said_so(stockade, strict, mint):
    mint.does(f"echo {token(1)}")
    run(stockade, strict.policy + mint.secret(), """
print(json.dumps([ask("/1"), ask("/2")]))
""")
    assert strict.values() == [token(1)] * 2
    (renewal,) = renewals(stockade)
    assert renewal["changed"] is False
    assert "TOKEN: the same value again; 401 from api.test" in (
        stockade.call("log").out)


def test_what_is_under_way_masks_the_new_value(stockade, strict, mint):
    """A response that began before the renewal, and ends with what came after."""
    strict.good = {token(2)}
    child = stockade.start("/usr/bin/python3", "-c", ASK + """
c = http.client.HTTPSConnection("api.test")
c.request("GET", "/hold", headers={
    "Authorization": "Bearer " + os.environ["TOKEN"]})
held = c.getresponse()
assert held.readline() == b"begun\\n"
print(json.dumps([ask("/1")[0], ask("/2")[0]]), flush=True)
print(json.dumps(held.read().decode()), flush=True)
""", policy=strict.policy + mint.secret())
    assert json.loads(child.stdout.readline()) == [401, 200]
    strict.gates["hold"].set()
    text = json.loads(child.stdout.readline())
    out, err = child.communicate(timeout=20 * PATIENCE)
    assert child.returncode == 0, (out, err)
    assert strict.values() == [token(1), token(1), token(2)]
    assert set(text) == {"*", " "} and len(text) == len(" ".join(
        strict.values()))


def test_a_revoked_secret_is_not_renewed(stockade, strict, mint):
    strict.good = set()
    child = stockade.start("/usr/bin/python3", "-c", ASK + """
c = http.client.HTTPSConnection("api.test")
print("up", flush=True)
for line in sys.stdin:
    print(json.dumps(ask(line.strip(), True, c)), flush=True)
""", policy=strict.policy + mint.secret("renew 1s"), stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    control = stockade.state() / "control"
    eventually(lambda: control.exists() and [
        n for n in os.listdir(control) if n[0] != "."], 20 * PATIENCE)
    stockade.call("secret", "revoke", "TOKEN").ok()
    for _ in range(3):
        child.stdin.write(b"/x\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline())[0] == 403
    child.communicate(timeout=20 * PATIENCE)
    assert mint.runs == 1 and strict.requests == []
    assert renewals(stockade) == []


HANG = ("[ $n = 1 ] && echo t0ken-0001-of-the-user || "
        "{ sleep 7777 & sleep 7777; }")


def hanging():
    return {pid: p for pid, p in processes("7777").items()
            if "sleep 7777" in p[1] and "sh" not in p[0]}


def test_who_waits_for_a_command_that_hangs_goes_on(stockade, strict, mint):
    """With the value that there is; the run's end ends the command, and what that
    has started."""
    strict.good = set()
    mint.does(HANG)
    before = set(hanging())
    child = stockade.start("/usr/bin/python3", "-c", ASK + """
print(json.dumps([ask("/1")[0], ask("/2")[0], ask("/3")[0]]), flush=True)
sys.stdin.readline()
""", policy=strict.policy + mint.secret(), stdin=subprocess.PIPE)
    assert json.loads(child.stdout.readline()) == [401] * 3
    assert strict.values() == [token(1)] * 3
    assert eventually(lambda: len(set(hanging()) - before) == 2, 20 * PATIENCE)
    child.communicate(b"\n", timeout=20 * PATIENCE)
    assert child.returncode == 0
    # Killed is not yet gone.
    assert eventually(lambda: set(hanging()) <= before, 20 * PATIENCE)
    assert mint.runs == 2


def zombies_of(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(parent) == pid:
            found.append(other)
    return found


def test_no_zombie_is_left(stockade, strict, mint):
    child = stockade.start("/usr/bin/python3", "-c", ASK + """
print(json.dumps([ask("/1")[0], ask("/2")[0]]), flush=True)
sys.stdin.readline()
""", policy=strict.policy + mint.secret(), stdin=subprocess.PIPE)
    assert json.loads(child.stdout.readline()) == [401, 200]
    assert zombies_of(child.pid) == []
    child.communicate(b"\n", timeout=20 * PATIENCE)
    assert child.returncode == 0 and mint.runs == 2


def test_a_run_that_is_ended_ends_the_command(stockade, strict, mint):
    mint.does(HANG)
    before = set(hanging())
    child = stockade.start("/usr/bin/python3", "-c", ASK + """
print(ask("/1")[0], flush=True)
time.sleep(1000)
""", policy=strict.policy + mint.secret())
    assert child.stdout.readline() == b"401\n"
    assert eventually(lambda: len(set(hanging()) - before) == 2, 20 * PATIENCE)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=20 * PATIENCE)
    # Killed is not yet gone.
    assert eventually(lambda: set(hanging()) <= before, 20 * PATIENCE)


NODE = r"""
const session = require("http2").connect("https://api.test");
const ask = (path) => new Promise((resolve) => {
	const stream = session.request({ ":path": path,
		authorization: "Bearer " + process.env.TOKEN });
	let status = 0, text = "";
	stream.on("response", h => status = h[":status"]);
	stream.on("data", data => text += data);
	stream.on("error", e => resolve([-1, ""]));
	stream.on("end", () => resolve([status, text]));
});
(async () => {
	const got = [await ask("/1"), await ask("/2")];
	got.push(...await Promise.all([ask("/3"), ask("/4"), ask("/5")]));
	console.log(JSON.stringify(got));
	session.close();
})();
"""


class StrictH2(Strict):
    """The same, that speaks HTTP/2 alone."""

    def __init__(self, authority):
        super().__init__(authority, [token(2)])
        self.context.set_alpn_protocols(["h2"])
        self.shown, self.connected = [], []

    def handle(self, sock):
        try:
            sock = self.context.wrap_socket(sock, server_side=True)
            peer = H2Peer(sock)
            self.connected.append(values := [])
            while True:
                stream, request = peer.head()
                value = request.get("authorization").decode()[7:]
                self.shown.append(value)
                values.append(value)
                peer.until(lambda: request.ended)
                status = b"200" if value in self.good else b"401"
                peer.h2.send_headers(stream, [(b":status", status)])
                peer.h2.send_data(stream, " ".join(self.shown).encode(), True)
                peer.flush()
        except (EOFError, OSError):
            pass


def test_over_http2(stockade, authority, mint):
    origin = StrictH2(authority)
    try:
        result = stockade.run(
            "node", "-e", NODE, policy=f"roots {authority.pem}\n"
            f"reach api.test via {origin.via}\n" + ALLOW + mint.secret()).ok()
    finally:
        origin.close()
    got = json.loads(result.out)
    assert [status for status, _ in got] == [401] + [200] * 4
    assert origin.shown == [token(1)] + [token(2)] * 4
    assert all(set(text) <= {"*", " "} for _, text in got)
    # Nor does a connection that is shared carry both.
    assert sorted(len(set(values)) for values in origin.connected if values) \
        == [1, 1]
    assert mint.runs == 2
