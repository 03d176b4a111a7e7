# SPDX-License-Identifier: Apache-2.0
"""A helper that was taken over: what it says to warden beyond what it was asked
for has no effect, but that it is killed.

The program is started from a folder in which that helper is a script.
"""
import os
import shutil
import subprocess

import pytest

from conftest import BUILD, PATIENCE, TREE

pytestmark = pytest.mark.whoever

ASK = ("curl -sS -m 20 -o /dev/null -w '%{http_code}\\n' http://plain.test/one;"
       "curl -sS -m 20 -o /dev/null -w '%{http_code}\\n' http://plain.test/two;"
       "echo over")

FAKE = """#!/usr/bin/python3 -IB
import socket, sys
sys.path.insert(0, {path!r})
import wire

warden = wire.Channel(socket.socket(fileno=3), None)
streams = {{}}


def done(m, **more):
    warden.send("DONE", **{{"conn": m.conn, "id": m.id, "status": 200, **more}})


def answer(m):
    streams[m.conn].send("RESPONSE", id=m.id, status=200)
    try:
        streams[m.conn].send("CHUNK_END")
    except BrokenPipeError:
        pass  # the agent had its answer, and has gone


def claim(m, **more):
    warden.send("CLAIM", **{{"conn": m.conn, "id": m.id, **more}})


def lease():
    # What vault says now, if it does, goes to where the test sees it.
    vault.end.settimeout(1)
    try:
        m = vault.receive()
    except TimeoutError:
        m = None
    with open({seen!r}, "ab") as seen:
        seen.write(m.value if m else b"nothing")


def connected(m, **more):
    warden.send("CONNECTED", **{{"conn": m.conn, "id": m.id,
                                "error": "refused", **more}})


def flood(say, m, **more):
    for _ in range(1000):
        say(m, **more)


while (m := warden.receive()) is not None:
    if m.kind == "PING":
        warden.send("PONG")
    elif m.kind == "STREAM":
        streams[m.conn] = wire.Channel(socket.socket(fileno=m.fds[0]))
    elif m.kind == "DIAL_START" and m.has_vault:
        vault = wire.Channel(socket.socket(fileno=m.fds[1]))
    elif m.kind == "RESOLVE_START":
        dial = wire.Channel(socket.socket(fileno=m.fds[0]))
    elif m.kind in ("EXCHANGE", "CONNECT"):
        {act}
"""


def run_with(stockade, role, act, policy, *command):
    """A run whose helper of that role does act with what it is told to do."""
    folder = stockade.base / "bin"
    folder.mkdir()
    shutil.copy(os.path.join(BUILD, "src", "stockade"), folder)
    for name in "edge", "vault", "dial", "resolve":
        (folder / f"stockade-{name}").symlink_to(
            os.path.join(BUILD, "src", f"stockade-{name}"))
    fake = folder / f"stockade-{role}"
    fake.unlink()
    fake.write_text(FAKE.format(path=os.path.join(TREE, "test", "system"),
                                seen=str(stockade.base / "seen"), act=act))
    fake.chmod(0o755)
    argv = stockade.argv(*command, policy=policy)
    return subprocess.run(
        [str(folder / "stockade"), *argv[1:]], cwd=stockade.cwd,
        env=stockade.env, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=60 * PATIENCE, check=False)


def ask_through(stockade, role, act, net):
    """The answers, and the records of that event."""
    result = run_with(stockade, role, act,
                      net + "read .\nallow GET plain.test/**\n",
                      "/bin/sh", "-c", ASK)
    *codes, over = result.stdout.split()
    assert over == "over", result
    return codes, stockade.log()


def events(log, kind):
    return [line for line in log if line["event"] == kind]


def check_fault(log, role):
    (fault,) = events(log, "fault")
    assert fault["process"] == role, fault


def test_dial_ends_each_exchange_once(stockade, net):
    codes, log = ask_through(stockade, "dial", "done(m); answer(m)", net)
    assert codes == ["200", "200"] and not events(log, "fault")
    assert len(events(log, "response")) == 2


@pytest.mark.parametrize("act", [
    "flood(done, m)",
    "done(m); answer(m); flood(done, m)",
    "flood(done, m, conn=m.conn + 1000)",
    "flood(done, m, id=0)",
    "flood(done, m, id=m.id + 1)",
    "[done(m, id=i) for i in range(1000)]",
])
def test_dial_says_what_nobody_asked_for(stockade, net, plain, act):
    _, log = ask_through(stockade, "dial", act, net)
    check_fault(log, "dial")
    # One for what it was told to do, and no more.
    assert len(events(log, "response")) <= len(
        [line for line in events(log, "request") if line["verdict"] == "allow"])
    assert not plain.requests


# What dial claims.

VALUE = "the-value-of-the-user"
SECRET = "secret TOKEN from env for api.test as bearer add\n"


def claim_through(stockade, net, act, host="api.test"):
    """What vault leased, and the faults on record."""
    stockade.env["TOKEN"] = VALUE
    result = run_with(
        stockade, "dial", act,
        net + SECRET + "read .\nallow GET api.test/**\nallow GET other.test/**\n",
        "/bin/sh", "-c", f"curl -sS -m 20 -o /dev/null https://{host}/; echo over")
    assert result.stdout == "over\n", result
    seen = stockade.base / "seen"
    return (seen.read_text() if seen.exists() else "",
            events(stockade.log(), "fault"))


def test_dial_claims_what_a_request_carries(stockade, net):
    assert claim_through(stockade, net, "claim(m); lease(); done(m); answer(m)") \
        == (VALUE, [])


@pytest.mark.parametrize("act, host", [
    ("claim(m); claim(m)", "api.test"),
    ("done(m); claim(m); lease()", "api.test"),
    ("claim(m); lease()", "other.test"),
])
def test_dial_claims_what_no_request_carries(stockade, net, act, host):
    seen, faults = claim_through(stockade, net, act, host)
    assert VALUE not in seen and [f["process"] for f in faults] == ["dial"]


@pytest.mark.parametrize("more", ["conn=m.conn + 1000", "conn=0", "id=0",
                                  "id=m.id + 1"])
def test_dial_claims_for_nobody(stockade, net, more):
    """As when the agent has hung up: there is nothing to be had."""
    assert claim_through(
        stockade, net,
        f"claim(m, {more}); lease(); done(m); answer(m)") == ("nothing", [])


# What dial says was rejected.

RENEWED = ("secret TOKEN from command 'echo run >>{base}/runs; "
           "wc -l <{base}/runs | sed s/^/the-value-/' for api.test as bearer "
           "add renew 1h\n")


def reject_through(stockade, net, act, host="api.test"):
    """How often the command has run, and the records."""
    run_with(
        stockade, "dial", act, net + RENEWED.format(base=stockade.base) +
        "read .\nallow GET api.test/**\nallow GET other.test/**\n", "/bin/sh",
        "-c", f"for i in $(seq 20); do curl -sS -m 20 -o /dev/null "
        f"https://{host}/; done; echo over")
    return (len((stockade.base / "runs").read_text().splitlines()),
            stockade.log())


REJECT = ("say = lambda **more: warden.send('REJECTED', **{'conn': m.conn, "
          "'id': m.id, **more}); ")


def test_dial_that_lies_of_401s_has_the_command_run_once_more(stockade, net):
    """For each request: the time that has to pass between two runs bounds it."""
    runs, log = reject_through(stockade, net,
                               REJECT + "say(); done(m); answer(m)")
    renewals = events(log, "renewal")
    assert len(events(log, "request")) == 20 and not events(log, "fault")
    assert runs - 1 == len(renewals)
    # At once, and after ten seconds, where this machine took so long for it.
    assert 1 <= len(renewals) <= 3


@pytest.mark.parametrize("act, host", [
    ("say(); say()", "api.test"),
    ("done(m); say()", "api.test"),
    ("say(); done(m); answer(m)", "other.test"),
])
def test_dial_rejects_what_no_request_carries(stockade, net, act, host):
    runs, log = reject_through(stockade, net, REJECT + act, host)
    check_fault(log, "dial")
    assert runs <= 2


@pytest.mark.parametrize("more", ["conn=m.conn + 1000", "conn=0", "id=0",
                                  "id=m.id + 1"])
def test_dial_rejects_for_nobody(stockade, net, more):
    runs, log = reject_through(stockade, net,
                               REJECT + f"say({more}); done(m); answer(m)")
    assert runs == 1 and not events(log, "fault")


def test_resolve_answers_once(stockade, net):
    codes, log = ask_through(
        stockade, "resolve",
        "connected(m); dial.send('SOCKET', conn=m.conn, id=m.id, error='refused')",
        net)
    assert codes == ["502", "502"] and not events(log, "fault")
    assert len(events(log, "connect")) == 2


@pytest.mark.parametrize("act", [
    "flood(connected, m)",
    "connected(m, conn=m.conn + 1000); flood(connected, m)",
])
def test_resolve_says_what_nobody_asked_for(stockade, net, act):
    _, log = ask_through(stockade, "resolve", act, net)
    check_fault(log, "resolve")
    assert len(events(log, "connect")) == 1
