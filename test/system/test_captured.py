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
    streams[m.conn].send("CHUNK_END")


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
                                act=act))
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
