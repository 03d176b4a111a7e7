# SPDX-License-Identifier: Apache-2.0
"""The record is bounded: an agent that makes more and more of it loses the
network, or the run, and not a line of what was recorded."""
import json

import pytest

from conftest import PATIENCE

KIB = 1024

# Says how often it could, and whether an allowed request passes afterwards.
FLOOD = """
import http.client, os, socket, sys
kind, most = sys.argv[1], int(sys.argv[2])
address = socket.gethostbyname("plain.test")


def ask(method="GET", path="/yes", **more):
    c = http.client.HTTPConnection(address, timeout=10)
    c.request(method, path, headers={"Host": "plain.test", **more})
    c.getresponse().read()


def malformed():
    s = socket.create_connection((address, 80), timeout=10)
    s.sendall(b"GET / HTTP/9.9\\r\\n\\r\\n")
    if not s.recv(1):
        raise OSError


acts = {
    "denied": lambda: ask("DELETE"),
    "allowed": ask,
    "violation": lambda: ask(Cookie=os.environ["T"]),
    "malformed": malformed,
}
done = 0
try:
    while done < most:
        acts[kind]()
        done += 1
except (OSError, http.client.HTTPException):
    pass
try:
    ask(path="/after")
    print(done, "passed")
except (OSError, http.client.HTTPException):
    print(done, "refused")
"""
POLICY = """read .
allow GET plain.test/**
allow GET api.test/**
secret T from env for api.test as bearer
limit record 64K
"""


def flood(stockade, net, kind, most, policy=POLICY):
    """(How many times, whether a request passes then), what was told."""
    result = stockade.run("/usr/bin/python3", "-c", FLOOD, kind, most,
                          policy=net + policy, env={"T": "a-secret-value-9"},
                          timeout=60 * PATIENCE).ok()
    done, passes = result.out.split()
    return int(done), passes, result.err


def trail(stockade):
    (path,) = (stockade.state() / "runs").glob("2*.jsonl")
    return path


KINDS = ["denied", "allowed", "violation", "malformed"]


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_limit_nothing_is_allowed(stockade, net, plain, kind):
    done, passes, told = flood(stockade, net, kind, 5000)
    assert 20 <= done < 1000 and passes == "refused"
    assert "the network of this run has ended" in told
    assert "`limit record`: 65536 bytes" in told
    # All of what was done is there, one by one, and how it ended.
    path = trail(stockade)
    assert 60 * KIB < path.stat().st_size < 68 * KIB
    log = [json.loads(line) for line in path.read_text().splitlines()]
    (fault,) = [line for line in log if line["event"] == "fault"]
    assert "limit record" in fault["reason"]
    assert log[-1]["event"] == "end"
    event, verdict = {
        "denied": ("request", "deny"), "allowed": ("request", "allow"),
        "violation": ("violation", None), "malformed": ("refused", "deny"),
    }[kind]
    same = [line for line in log
            if line["event"] == event and line.get("verdict") == verdict]
    # What edge refuses by itself it answers without waiting for the record: some
    # that were answered may not be in it.
    least = 20 if kind == "malformed" else done
    assert least <= len(same) <= done + 1
    assert "complete" in stockade.call("log", "verify").ok().out
    assert "GET /after" not in plain.targets
    allowed = [line for line in log if line.get("verdict") == "allow"]
    assert len(plain.requests) <= len(allowed)


@pytest.mark.parametrize("kind", KINDS)
def test_below_it_nothing_is_different(stockade, net, plain, kind):
    done, passes, told = flood(stockade, net, kind, 20)
    assert (done, passes) == (20, "passed") and "ended" not in told


@pytest.mark.parametrize("record", ["64K", "1M"])
def test_what_is_about_a_file_ends_the_run(stockade, record):
    """Guarded names that are not made: there is no network that could end."""
    result = stockade.sh(
        "i=0; while [ $i -lt 200 ]; do i=$((i+1)); touch .envrc; mkdir .idea;"
        " done 2>/dev/null; echo over",
        policy=f"write .\nguard? x\nlimit record {record}\n")
    if record == "1M":
        assert result.ok().out == "over\n"
        return
    assert (result.out, result.status) == ("", 137)
    assert "this run has ended: the record has no room" in result.err
    assert 60 * KIB < trail(stockade).stat().st_size < 68 * KIB
    assert stockade.log()[-1]["event"] == "end"


APPEAR = """
import itertools, time
for i in itertools.count():
    try:
        open(f"k{i}.pem", "w").close()
    except OSError:
        pass
    time.sleep(.001)
"""


def test_what_cannot_be_covered_on_record_ends_the_run(stockade):
    """It makes ever more names that are hidden as soon as they are there."""
    result = stockade.run("/usr/bin/python3", "-c", APPEAR, policy="write .\n"
                          "hide **/*.pem\nlimit record 64K\n", timeout=60)
    assert result.status == 137
    assert "the record has no room" in result.err
    assert trail(stockade).stat().st_size < 68 * KIB
    assert [line["event"] for line in stockade.log()[-2:]] == ["fault", "end"]


@pytest.mark.parametrize("amount", ["63K", "1025M", "2G"])
def test_amounts_that_it_cannot_have(stockade, amount):
    result = stockade.sh("true", policy=f"limit record {amount}\n")
    assert result.status == 125 and "from 64K to 1G" in result.err
    stockade.sh("true", policy="limit record 1G\n").ok()
