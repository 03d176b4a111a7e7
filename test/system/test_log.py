# SPDX-License-Identifier: Apache-2.0
"""Everything decided is on record, and the record holds."""
import os
import signal

import pytest

from conftest import eventually, processes

VALUE = "an-uncommon-secret-value-0x42"


@pytest.fixture
def logged(stockade, net, api, other):
    """A run with an allowed, a denied and a violating request."""
    stockade.sh(
        "curl -sS -o /dev/null -H \"Authorization: Bearer $T\" "
        "https://api.test/yes;"
        "curl -sS -o /dev/null https://api.test/no;"
        "curl -sS -o /dev/null -H \"Authorization: Bearer $T\" "
        "https://other.test/yes", policy=net +
        "allow GET api.test/yes\nallow GET other.test/**\n"
        "secret T from env for api.test as bearer\n", env={"T": VALUE})
    assert api.targets == ["GET /yes"]
    return stockade


def trail(stockade):
    found = [os.path.join(folder, name)
             for folder, _, names in os.walk(stockade.state() / "runs")
             for name in names]
    found = [path for path in found if os.path.getsize(path) > 200]
    assert found, "no record below the state directory"
    return max(found, key=os.path.getsize)


def test_each_decision_is_a_line(logged):
    text = "\n".join(str(record) for record in logged.log())
    assert "/yes" in text and "/no" in text
    assert "api.test" in text and "other.test" in text


def test_denied_shows_only_denials(logged):
    denied = logged.log("--denied")
    text = "\n".join(str(record) for record in denied)
    assert "/no" in text
    assert "'GET api.test/yes'" not in text


def test_the_text_form_is_for_people(logged):
    result = logged.call("log").ok()
    assert "/no" in result.out and "/yes" in result.out
    assert max(map(len, result.out.splitlines())) < 400


def test_secrets_are_never_in_it(logged):
    for folder, _, names in os.walk(logged.home):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                assert VALUE not in os.readlink(path)
                continue
            with open(path, "rb") as text:
                assert VALUE.encode() not in text.read(), name


def test_verify_accepts_what_was_written(logged):
    logged.call("log", "verify").ok()


def test_verify_sees_any_change(logged):
    path = trail(logged)
    with open(path, "rb") as text:
        lines = text.readlines()
    assert len(lines) >= 3
    os.chmod(path, 0o600)

    def broken(changed):
        with open(path, "wb") as text:
            text.writelines(changed)
        return logged.call("log", "verify").status != 0

    for i, line in enumerate(lines):
        # Without its last line a run looks interrupted; verify says that.
        if i + 1 < len(lines):
            assert broken(lines[:i] + lines[i + 1:]), f"line {i} removed"
        middle = len(line) // 2
        letter = b"a" if line[middle:middle + 1] != b"a" else b"b"
        assert broken(lines[:i] + [line[:middle] + letter + line[middle + 1:]]
                      + lines[i + 1:]), f"line {i} changed"
        assert broken(lines[:i] + [line] + lines[i:]), f"line {i} doubled"
    assert broken([lines[1], lines[0], *lines[2:]]), "two lines swapped"
    assert not broken(lines[:-1])
    assert "without an end" in logged.call("log", "verify").out
    assert not broken(lines), "the control"
    assert "complete" in logged.call("log", "verify").out


def test_the_state_is_private(logged):
    for folder, below, names in os.walk(logged.state()):
        assert os.stat(folder).st_mode & 0o077 == 0, folder
        # What every sandbox shows is open, in a folder that is not.
        if os.path.basename(folder) == "templates":
            below.clear()
            continue
        for name in names:
            mode = os.stat(os.path.join(folder, name)).st_mode
            assert mode & 0o077 == 0, name


def test_runs_are_listed(logged):
    logged.sh("true")
    result = logged.call("runs").ok()
    assert len(result.out.strip().splitlines()) >= 2


def test_an_older_run_by_name(logged):
    runs = [name for name in sorted(os.listdir(logged.state() / "runs"))
            if name.endswith(".jsonl")]
    logged.sh("true")
    result = logged.call("log", runs[0].removesuffix(".jsonl")).ok()
    assert "/no" in result.out


def test_a_run_that_does_not_exist(stockade):
    stockade.sh("true")
    result = stockade.call("log", "no-such-run")
    assert result.status != 0 and result.err.startswith("stockade:")


def test_hostile_bytes_do_not_reach_the_screen(stockade, net, api):
    stockade.run("curl", "-sS", "-g", "-A", "a\x1b[2Jb",
                 "https://api.test/%1b[2J%0afake",
                 policy=net + "allow GET api.test/x\n")
    result = stockade.call("log").ok()
    assert "\x1b" not in result.out
    assert "\nfake" not in result.out


def test_what_cannot_be_recorded_does_not_happen(stockade, net, api):
    """The state directory is full, or not ours: no record, no run."""
    blocked = stockade.home / ".local"
    blocked.write_text("a file where a folder must be")
    marker = stockade.cwd / "ran"
    result = stockade.sh("touch ran; curl -sS https://api.test/x",
                         policy=net + "write .\nallow GET api.test/**\n")
    assert result.status == 125, result
    assert not marker.exists() and api.requests == []


def trails(stockade):
    """Every run's file, by age, and those that wait for the next ones, in the
    order in which they are used."""
    folder = stockade.state() / "runs"
    return (sorted(folder.glob("*.jsonl")),
            sorted(folder.glob(".next.*"), reverse=True,
                   key=lambda path: int(path.suffix[1:])))


def test_a_run_leaves_the_next_ones_their_files(stockade):
    stockade.sh("true").ok()
    _, spares = trails(stockade)
    was = [path.stat() for path in spares]
    assert len(was) > 1
    assert all(st.st_size == 0 and st.st_mode & 0o7777 == 0o600 for st in was)
    stockade.sh("true").ok()
    done, left = trails(stockade)
    assert len(done) == 2 and left == spares[1:]
    assert was[0].st_ino in [path.stat().st_ino for path in done]
    assert all(path.stat().st_size > 200 for path in done)
    for path in left[:-1]:
        path.unlink()
    stockade.sh("true").ok()
    assert len(trails(stockade)[1]) == len(spares), "the last: more are made"
    for path in spares:
        path.unlink()
    stockade.sh("true").ok()
    assert len(trails(stockade)[0]) == 4
    stockade.call("log", "verify").ok()
    assert stockade.call("runs").ok().out.count("/bin/sh -c true") == 4


@pytest.mark.parametrize("kind", ["written", "link", "readable", "second"])
def test_a_prepared_file_that_somebody_changed_is_not_used(stockade, kind):
    stockade.sh("true").ok()
    spare = trails(stockade)[1][0]
    elsewhere = stockade.home / "elsewhere"
    elsewhere.write_text("")
    elsewhere.chmod(0o600)
    if kind == "written":
        spare.write_text("{}\n")
    elif kind == "readable":
        spare.chmod(0o644)
    elif kind == "second":
        os.link(spare, stockade.home / "second")
    else:
        spare.unlink()
        spare.symlink_to(elsewhere)
    marker = stockade.cwd / "ran"
    result = stockade.sh("touch ran", policy="write .\n")
    assert result.status == 125 and "audit trail" in result.err, result
    assert not marker.exists() and elsewhere.read_text() == ""
    stockade.sh("touch ran", policy="write .\n").ok()
    assert marker.exists(), "the control: the next one is as it was left"


AT_THE_END = r"""
import os, socket, ssl, sys, time
def hello(host):
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ssl.create_default_context().wrap_bio(
            into, out, server_hostname=host).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()
get = b"GET /%s HTTP/1.1\r\nHost: plain.test\r\n\r\n"
host, port, data = {
    "hello": ("api.test", 443, hello("other.test")),
    "bytes": ("plain.test", 80, b"\0\1\2 neither\r\n"),
    "denied": ("plain.test", 80, get % b"no"),
    "allowed": ("plain.test", 80, get % b"yes")}[sys.argv[1]]
kept = [socket.create_connection((host, port), 10) for _ in range(12)]
print("ready", flush=True)
while not os.path.exists("go"):
    time.sleep(.01)
for s in kept:
    s.sendall(data)
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["hello", "bytes", "denied", "allowed"])
def test_what_comes_last_is_in_it(stockade, net, plain, kind):
    """The command waits for no answer, and warden learns of its end as early as of
    all the rest.  What is refused is on record; what is allowed is not begun."""
    child = stockade.start(
        "/usr/bin/python3", "-c", AT_THE_END, kind,
        policy=net + "read .\nallow GET api.test/**\nallow GET plain.test/yes\n")
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGSTOP)
    (stockade.cwd / "go").touch()
    assert eventually(lambda: not [
        name for name, _ in processes(AT_THE_END[-50:].strip()).values()
        if not name.startswith("stockade")])
    child.send_signal(signal.SIGCONT)
    assert child.wait(20) == 0, child.stderr.read()
    log = stockade.log()
    refused = [r for r in log if r["event"] in ("refused", "request")
               and r.get("verdict") != "allow"]
    assert len(refused) == (0 if kind == "allowed" else 12), log
    assert log[-1]["event"] == "end" and log[-1]["denied"] == len(refused)
    assert not any(r["event"] == "fault" for r in log)
    allowed = [r for r in log if r.get("verdict") == "allow"]
    assert len(plain.targets) <= len(allowed) == log[-1]["allowed"]
