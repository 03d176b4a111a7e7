# SPDX-License-Identifier: Apache-2.0
"""A helper that is killed, or that hangs, in the middle of responses: what was
under way ends visibly, what waits and what comes later is answered with a
reason, and all of it is on record."""
import os
import signal
import socket
import time

import pytest

from conftest import PATIENCE, Stockade, eventually, processes
from listener import Listener

ROLES = "edge", "vault", "dial", "resolve"

# Two requests are under way when the helper fails, one comes before that is
# known, two later: the second of them for a name that has no certificate yet.
SCRIPT = """
ask() {
    name=$1 url=$2; shift 2
    curl -sS -N -m 60 -o $name.body -w '%{http_code} %{exitcode}' "$@" $url \
        > $name.tmp 2> $name.err
    mv $name.tmp $name.code
}
ask begun https://slow.test/begun &
ask silent https://slow.test/silent &
until [ -e failed ]; do sleep 0.02; done
ask caught https://slow.test/x -H "Authorization: Bearer $TOKEN" &
until [ -e go ]; do sleep 0.02; done
ask later https://slow.test/x
ask new https://new.test/x
wait
"""


class Slow(Listener):
    """Begins a response and says no more, or never begins one."""

    def __init__(self, pair):
        self.heard = []
        super().__init__(socket.create_server(("127.0.0.1", 0)), pair)

    def serve(self, s):
        _, path, *_ = s.recv(65536).decode().split(" ") + [""] * 2
        self.heard.append(path)
        if path == "/begun":
            s.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                      b"4\r\none\n\r\n")
        elif path == "/x":
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        s.recv(1)


@pytest.fixture
def slow(authority):
    server = Slow(authority.leaf("slow.test", "new.test"))
    yield server
    server.close()


def helper_of(child, role):
    name = ("stockade-" + role)[:15]
    for pid, (seen, _) in processes().items():
        try:
            with open(f"/proc/{pid}/stat") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if seen == name and parent == child.pid:
            return pid
    return None


def cpu(pid):
    """What it has used, in ticks."""
    with open(f"/proc/{pid}/stat") as stat:
        return sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))


class Case:
    """A run of its own whose one helper fails."""

    def __init__(self, base, role, policy):
        self.role, self.stockade = role, Stockade(base / role)
        self.child = self.stockade.start(
            "/bin/sh", "-c", SCRIPT, policy=policy,
            env={"TOKEN": "a-very-secret-value"})

    def read(self, name):
        try:
            return (self.stockade.cwd / name).read_text()
        except FileNotFoundError:
            return ""

    def code(self, name):
        """The status of the response, and curl's own."""
        return tuple(map(int, self.read(name + ".code").split()))

    def mark(self, name):
        (self.stockade.cwd / name).touch()

    def give_up(self):
        self.child.kill()
        return self.child.communicate()

    def finish(self):
        _, self.err = self.child.communicate(timeout=30 * PATIENCE)
        self.log = self.stockade.log()

    def events(self, kind):
        return [line for line in self.log if line["event"] == kind]


def check(case, number):
    (fault,) = case.events("fault")
    if number == signal.SIGSTOP:
        assert (fault["process"], fault["reason"]) == (case.role,
                                                       "does not answer")
    assert b"the network of this run has ended" in case.err
    ended = "the network of this run has ended: "
    # What had begun is cut, and shows it.
    assert case.read("begun.body") == "one\n"
    assert case.code("begun")[1] in (18, 56, 92), case.read("begun.err")
    if case.role == "edge":
        assert fault["process"] == "edge"
        for name in "silent", "caught", "later", "new":
            assert case.code(name)[0] == 0 and case.code(name)[1], name
        return
    # One that was killed may be seen to go later than who ends with it.
    assert fault["process"] in ROLES[1:]
    assert case.code("silent") == (502, 0), case.read("silent.err")
    assert case.code("caught")[0] in (502, 503, 504)
    assert case.code("later") == (503, 0), case.read("later.err")
    assert ended in case.read("later.body")
    assert "a-very-secret-value" not in case.read("caught.body")
    if case.role == "vault":
        assert case.code("new")[0] == 0
        assert "vault does not answer" in case.events("refused")[-1]["reason"]
    else:
        assert case.code("new") == (503, 0)
    refused = [line for line in case.events("request")
               if line["verdict"] == "deny"]
    assert all(ended in line["reason"] for line in refused)
    assert len(refused) >= (1 if case.role == "vault" else 2)
    # Each that was allowed and not answered by an origin is over, on record.
    answered = {(line["conn"], line["id"]) for line in case.events("response")}
    assert {(line["conn"], line["id"]) for line in case.events("request")
            if line["verdict"] == "allow"} - answered <= {
        (line["conn"], line["id"]) for line in case.events("request")
        if case.code("caught")[0] == 503}
    assert sum(ended in line.get("error", "")
               for line in case.events("response")) >= 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP],
                         ids=["killed", "hung"])
def test_a_helper_fails_in_the_middle_of_responses(tmp_path, slow, authority,
                                                   number):
    policy = (f"write .\nroots {authority.pem}\nreach slow.test via {slow.via}\n"
              f"reach new.test via {slow.via}\n"
              "allow GET slow.test/**\nallow GET new.test/**\n"
              "secret TOKEN from env for slow.test as bearer\n")
    cases = [Case(tmp_path, role, policy) for role in ROLES]
    other = Case(tmp_path, "other", policy)
    for case in (*cases, other):
        assert eventually(lambda: case.read("begun.body") == "one\n",
                          20 * PATIENCE), case.give_up()
    assert eventually(lambda: slow.heard.count("/silent") > len(ROLES),
                      20 * PATIENCE)
    for case in cases:
        os.kill(helper_of(case.child, case.role), number)
        case.mark("failed")
    for case in cases:
        # A hung one is noticed within seconds.
        assert eventually(lambda: case.read("silent.code") and
                          case.read("caught.code"), 25 * PATIENCE), case.role
        case.mark("go")
    for case in cases:
        case.finish()
        check(case, number)
    # Another run has not noticed.
    other.mark("failed")
    other.mark("go")
    assert eventually(lambda: other.read("new.code"), 20 * PATIENCE)
    assert other.code("later") == other.code("new") == (200, 0)
    other.child.terminate()
    other.finish()
    assert other.events("fault") == []


MANY = """
import os, threading, time, urllib.request, urllib.error
print("ready", flush=True)
while not os.path.exists("failed"):
    time.sleep(.02)
codes = []
def ask(i):
    request = urllib.request.Request("http://plain.test/x")
    for k in range(12):
        request.add_header(f"x-{k}", "a" * 5000)
    try:
        codes.append(urllib.request.urlopen(request, timeout=30).status)
    except urllib.error.HTTPError as e:
        codes.append(e.code)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(40)]
for t in threads: t.start()
for t in threads: t.join()
print(*sorted(set(codes)), len(codes))
"""


def start_many(stockade, net):
    """More than the channel to dial holds comes when "failed" is there."""
    child = stockade.start(
        "/usr/bin/python3", "-c", "import urllib.request as r\n"
        "r.urlopen('http://plain.test/x').read()\n" + MANY,
        policy=net + "read .\nallow GET plain.test/**\n")
    assert child.stdout.readline() == b"ready\n"
    return child


def settled(count, least):
    """Has it stopped to grow, beyond that?"""
    before = count()
    time.sleep(0.2)
    return least <= before == count()


def test_a_helper_that_is_behind_is_waited_for(stockade, net, plain):
    child = start_many(stockade, net)
    (record,) = (stockade.state() / "runs").glob("2*.jsonl")
    dial = helper_of(child, "dial")
    os.kill(dial, signal.SIGSTOP)
    (stockade.cwd / "failed").touch()
    assert eventually(lambda: settled(
        lambda: record.read_text().count('"request"'), 4), 4 * PATIENCE)
    os.kill(dial, signal.SIGCONT)
    out, err = child.communicate(timeout=40 * PATIENCE)
    assert out == b"200 40\n", (out, err)
    assert len(plain.requests) == 41
    assert not [line for line in stockade.log() if line["event"] == "fault"]


def test_a_helper_that_takes_no_more_is_not_waited_for_long(stockade, net,
                                                            plain):
    child = start_many(stockade, net)
    os.kill(helper_of(child, "dial"), signal.SIGSTOP)
    (stockade.cwd / "failed").touch()
    out, err = child.communicate(timeout=40 * PATIENCE)
    assert out in (b"502 503 40\n", b"502 40\n"), (out, err)
    assert len(plain.requests) == 1
    (fault,) = [line for line in stockade.log() if line["event"] == "fault"]
    assert (fault["process"], fault["reason"]) == ("dial", "does not answer")


# Connects often, to a long name, and when "go" is there says another one.
FLOOD = """
import http.client, os, resource, socket, ssl, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
out = ssl.MemoryBIO()
client = ssl._create_unverified_context().wrap_bio(
    ssl.MemoryBIO(), out, server_hostname="other.test")
try:
    client.do_handshake()
except ssl.SSLWantReadError:
    hello = out.read()
long = socket.gethostbyname(".".join(["a" * 62] * 4) + ".a")
sockets = [socket.create_connection((long, 443), 30)
           for _ in range(min(4500, most - 64))]
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(.02)
for s in sockets:
    s.sendall(hello)
print("sent", flush=True)
while sockets:
    s = sockets.pop()
    s.settimeout(30)
    try:
        while s.recv(4096):
            pass
    except ConnectionResetError:
        pass
c = http.client.HTTPConnection("plain.test", timeout=30)
c.request("GET", "/after")
print(c.getresponse().status)
"""


def test_a_warden_that_is_behind_is_waited_for(stockade, net, plain):
    """More is refused meanwhile than edge would keep for it."""
    child = stockade.start(
        "/usr/bin/python3", "-c", FLOOD,
        policy=net + "read .\nallow GET plain.test/**\n")
    assert child.stdout.readline() == b"ready\n"
    edge = helper_of(child, "edge")
    os.kill(child.pid, signal.SIGSTOP)
    (stockade.cwd / "go").touch()
    try:
        assert child.stdout.readline() == b"sent\n"
        # It has done what it can: it sleeps, and is there.
        assert eventually(lambda: settled(lambda: cpu(edge), 1), 30 * PATIENCE)
    finally:
        os.kill(child.pid, signal.SIGCONT)
    out, err = child.communicate(timeout=60 * PATIENCE)
    assert out == b"200\n", (out, err)
    log = stockade.log()
    assert not [line for line in log if line["event"] == "fault"]
    assert sum(line["event"] == "refused" for line in log) >= 900
