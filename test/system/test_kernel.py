# SPDX-License-Identifier: Apache-2.0
"""How exactly the kernel refuses: the errno that a program inside gets to see,
with the same attempt outside where it is allowed there.  test_probe.py has the
long lists of attempts; test/probe/probe.h makes them."""
import os
import pty
import secrets
import shutil
import socket
import subprocess

import pytest

from conftest import IS_ROOT, PROBE, PROGRAM, read_terminal

def parse(text):
    """{attempt: (ALLOWED or BLOCKED, errno)}"""
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines and all(len(line) == 3 for line in lines), text
    return {name: (verdict, error) for name, verdict, error in lines}


@pytest.fixture
def inside(stockade):
    shutil.copy(PROBE, stockade.cwd / "probe")

    def attempt(*arguments, **more):
        return parse(stockade.run("./probe", *arguments, **more).ok().out)
    return attempt


def outside(*arguments, cwd=None):
    result = subprocess.run([PROBE, *map(str, arguments)], cwd=cwd,
                            stdin=subprocess.DEVNULL, text=True,
                            stdout=subprocess.PIPE, timeout=60, check=True)
    return parse(result.stdout)


def one(results):
    assert len(results) == 1, results
    return next(iter(results.values()))


@pytest.mark.parametrize("attempt,error", [
    ("unshare-user", "EPERM"), ("clone-user", "EPERM"),
    ("clone3-user", "ENOSYS"), ("user-then-mount", "EPERM")])
def test_no_namespace_inside_the_namespace(inside, attempt, error):
    assert one(outside(attempt)) == ("ALLOWED", "0")
    assert one(inside(attempt)) == ("BLOCKED", error)


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="calls of 32-bit x86")
def test_the_32_bit_gate_kills(inside):
    here = one(outside("int80"))
    assert one(inside("int80")) in (("BLOCKED", "SIGSYS"),
                                    ("BLOCKED", "SIGSEGV"))
    assert one(inside("x32")) == ("BLOCKED", "ENOSYS")
    assert here in (("ALLOWED", "0"), ("BLOCKED", "SIGSEGV"),
                    ("BLOCKED", "ENOSYS"))


STREAM, DATAGRAM, RAW = 1, 2, 3


@pytest.mark.parametrize("family,kind,protocol,error", [
    (socket.AF_UNIX, STREAM, 0, "0"), (socket.AF_INET, STREAM, 6, "0"),
    (socket.AF_INET6, DATAGRAM, 0, "0"), (socket.AF_NETLINK, RAW, 0, "0"),
    (socket.AF_NETLINK, RAW, 12, "EPROTONOSUPPORT"),
    (socket.AF_INET, STREAM, 262, "EPROTONOSUPPORT"),
    (socket.AF_INET, RAW, 1, "EPERM"), (socket.AF_INET, 10, 3, "EPERM"),
    (socket.AF_PACKET, RAW, 3, "EAFNOSUPPORT"),
    (socket.AF_VSOCK, STREAM, 0, "EAFNOSUPPORT"),
    (socket.AF_ALG, 5, 0, "EAFNOSUPPORT")])
def test_sockets(inside, family, kind, protocol, error):
    verdict = "ALLOWED" if error == "0" else "BLOCKED"
    found = one(inside("socket", int(family), kind, protocol))
    assert found == (verdict, error)


@pytest.mark.parametrize("family,kind,protocol", [
    (socket.AF_UNIX, STREAM, 0), (socket.AF_INET, STREAM, 0),
    (socket.AF_NETLINK, RAW, 12)])
def test_sockets_outside_are_open(family, kind, protocol):
    assert one(outside("socket", int(family), kind, protocol)) == (
        "ALLOWED", "0")


def test_device_nodes_are_refused(stockade, inside, tmp_path):
    found = one(inside("mknod", "null", policy="write .\n"))
    assert found == ("BLOCKED", "EPERM")
    assert not (stockade.cwd / "null").exists()
    assert one(inside("mkfifo", "pipe", policy="write .\n"))[0] == "ALLOWED"
    if IS_ROOT:
        assert one(outside("mknod", tmp_path / "null"))[0] == "ALLOWED"


def test_processes_outside_cannot_be_named(inside):
    with subprocess.Popen(["sleep", "60"]) as victim:
        try:
            assert one(outside("kill", victim.pid))[0] == "ALLOWED"
            for attempt in ("kill", "ptrace", "read-memory",
                            "take-descriptor"):
                assert one(inside(attempt, victim.pid))[0] == "BLOCKED"
            assert victim.poll() is None
        finally:
            victim.kill()


def test_abstract_sockets_outside_cannot_be_reached(inside):
    with socket.socket(socket.AF_UNIX) as listener:
        name = f"stockade-probe-{secrets.token_hex(8)}"
        listener.bind("\0" + name)
        listener.listen()
        assert one(outside("connect-abstract", name))[0] == "ALLOWED"
        assert one(inside("connect-abstract", name))[0] == "BLOCKED"


def test_other_udp_is_refused_at_once(inside):
    for address in ("203.0.113.7", "2001:db8::7"):
        assert one(inside("udp", address, 443)) == ("BLOCKED", "ECONNREFUSED")


def test_what_an_agent_does_all_day_works(inside):
    for attempt in (["memfd-exec", "/usr/bin/true"], ["writable-code"],
                    ["listen", "127.0.0.1", 3000], ["processes", 40],
                    ["exec", "/usr/bin/true"], ["open-write", "/dev/null"]):
        assert one(inside(*attempt)) == ("ALLOWED", "0"), attempt


@pytest.mark.parametrize("attempt", ["ioctl-tiocsti", "ioctl-tiocsti-high"])
def test_nothing_is_typed_into_the_terminal(stockade, attempt):
    shutil.copy(PROBE, stockade.cwd / "probe")
    outer, inner = pty.openpty()
    child = subprocess.Popen(
        [PROGRAM, "run", "--", "./probe", attempt], cwd=stockade.cwd,
        env=stockade.env, stdin=inner, stdout=inner, stderr=inner,
        start_new_session=True)
    os.close(inner)
    said = read_terminal(outer)
    assert child.wait(30) == 0, said
    assert b"BLOCKED\tEPERM" in said, said


def test_doctor_says_that_it_can_work(stockade):
    result = stockade.call("doctor").ok()
    assert "can work here" in result.out
    assert "missing" not in result.out
