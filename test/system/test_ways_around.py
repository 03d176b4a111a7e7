# SPDX-License-Identifier: Apache-2.0
"""Ways around the filter and the namespaces: filters of one's own, urgent
data, other protocols in a socket, capabilities of files, what mounts show.
Each attempt is made outside as well, where it gets through."""
import os
import subprocess

import pytest

from conftest import IS_ROOT, PROBE


def results(text):
    return {fields[0]: (fields[1], fields[2]) for fields in
            (line.split("\t") for line in text.splitlines())
            if len(fields) == 3}


def outside(*arguments):
    done = subprocess.run([PROBE, *map(str, arguments)], text=True, timeout=60,
                          stdout=subprocess.PIPE, check=True)
    (found,) = results(done.stdout).values()
    return found


def inside(stockade, *arguments, **more):
    text = stockade.run(PROBE, *arguments, **more).ok().out
    (found,) = results(text).values()
    return found


@pytest.mark.parametrize("attempt", ["allow-all-filter", "many-filters"])
def test_a_filter_of_ones_own_opens_nothing(stockade, attempt):
    assert outside(attempt) == ("ALLOWED", "0")
    assert inside(stockade, attempt) == ("BLOCKED", "EPERM")


def test_a_question_of_ones_own_is_not_asked(stockade):
    """It would wait for ever; our error comes first."""
    assert inside(stockade, "ask-instead") == ("BLOCKED", "EPERM")


def test_a_tracer_cannot_suspend_the_filter(stockade):
    if IS_ROOT:
        assert outside("suspend-filters") == ("ALLOWED", "0")
    assert inside(stockade, "suspend-filters",
                  policy="debug on\n") == ("BLOCKED", "EPERM")


@pytest.mark.parametrize("attempt,error", [
    ("urgent-local", "EOPNOTSUPP"), ("upper-protocol", "ENOPROTOOPT"),
    ("read-implies-exec", "EPERM")])
def test_refused_by_argument(stockade, attempt, error):
    assert outside(attempt) == ("ALLOWED", "0")
    assert inside(stockade, attempt) == ("BLOCKED", error)


NAMESPACES = {"time": 0x80, "mount": 0x20000, "cgroup": 0x2000000,
              "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000}


@pytest.mark.parametrize("name", NAMESPACES)
def test_no_namespace_of_any_kind(stockade, name):
    if IS_ROOT:
        assert outside("unshare", NAMESPACES[name]) == ("ALLOWED", "0")
    assert inside(stockade, "unshare",
                  str(NAMESPACES[name])) == ("BLOCKED", "EPERM")


def test_no_capability_is_put_on_a_file(stockade):
    if IS_ROOT:
        assert outside("set-capability",
                       stockade.base / "free") == ("ALLOWED", "0")
    assert inside(stockade, "set-capability", "granted",
                  policy="write .\n") == ("BLOCKED", "EPERM")
    made = stockade.cwd / "granted"
    assert made.exists()
    assert "security.capability" not in os.listxattr(made)


def mounts_of(path):
    with open(path) as text:
        return text.read()


def test_mounts_are_nobody_elses(stockade):
    """No mount inside belongs to a group that passes mounts on, and the host
    has the same ones afterwards."""
    before = mounts_of("/proc/self/mountinfo")
    inner = stockade.run("cat", "/proc/self/mountinfo",
                         policy="write .\n").ok().out
    assert mounts_of("/proc/self/mountinfo") == before
    assert inner
    for line in inner.splitlines():
        optional = line.split(" - ")[0].split()[6:]
        assert not optional, line


@pytest.mark.parametrize("device", ["userfaultfd", "kvm", "fuse", "mem",
                                    "kmsg", "vhost-net", "net/tun", "loop0"])
def test_devices_are_absent(stockade, device):
    assert inside(stockade, "open-read",
                  "/dev/" + device) == ("BLOCKED", "ENOENT")
    assert inside(stockade, "open-read", "/dev/zero") == ("ALLOWED", "0")


def test_speculation_is_as_outside(stockade):
    """Neither opened nor closed: a program may ask for more."""
    def lines(text):
        return [line for line in text.splitlines()
                if line.startswith("Speculation")]
    with open("/proc/self/status") as status:
        expected = lines(status.read())
    assert lines(stockade.run("cat", "/proc/self/status").ok().out) == expected


def test_no_key_of_the_host_is_seen(stockade):
    """Neither by the calls nor by the list."""
    seen = results(stockade.run(PROBE, "syscall", "keyctl", "add_key",
                                "request_key").ok().out)
    assert len(seen) == 3
    assert set(seen.values()) == {("BLOCKED", "EPERM")}
    assert outside("syscall", "keyctl") == ("ALLOWED", "0")
    result = stockade.run("cat", "/proc/keys")
    assert "_ses" not in result.out and "keyring" not in result.out, result


def test_a_directory_that_only_root_may_enter(stockade):
    """What cannot be granted after the ids are given away is an error or works:
    it is never left out."""
    closed = stockade.base / "closed"
    closed.mkdir(mode=0o700)
    (closed / "file").write_text("granted\n")
    result = stockade.run("cat", closed / "file",
                          policy=f"read {closed}\n").ok()
    assert result.out == "granted\n"
    stockade.sh(f"echo more > {closed}/made",
                policy=f"write {closed}\n").ok()
    assert (closed / "made").read_text() == "more\n"
    assert (closed / "made").stat().st_uid == os.geteuid()
