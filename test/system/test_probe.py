# SPDX-License-Identifier: Apache-2.0
"""The probe, a program in C that tries one thing and prints how it ended.

Each attempt is made twice: without a sandbox, where it must succeed, or the
test has no teeth, and inside, where it must be refused.
"""
import subprocess

import pytest

from conftest import PROBE

# What agents and their languages need; everything else that the probe lists
# is refused.
ALLOWED = {"openat2", "memfd_create", "inotify_init1", "epoll_pwait2",
           "pidfd_open", "close_range", "copy_file_range", "statx", "rseq",
           "pkey_alloc", "landlock_create_ruleset", "seccomp"}


def outside(*arguments):
    done = subprocess.run([PROBE, *arguments], stdout=subprocess.PIPE,
                          check=True, timeout=60)
    return results(done.stdout.decode())


def inside(stockade, *arguments, **more):
    return results(stockade.run(PROBE, *arguments, **more).ok().out)


def results(text):
    return {fields[0]: (fields[1], fields[2]) for fields in
            (line.split("\t") for line in text.splitlines())
            if len(fields) == 3}


def test_system_calls(stockade):
    seen = inside(stockade, "syscall")
    assert len(seen) > 50
    allowed = {name.split()[1] for name, (word, _) in seen.items()
               if word == "ALLOWED"}
    assert allowed <= ALLOWED, allowed - ALLOWED
    for name, (word, error) in seen.items():
        assert word == "ALLOWED" or error in ("EPERM", "ENOSYS"), name
    # The same probe, outside, gets through to the kernel for nearly all.
    control = outside("syscall")
    teeth = [name for name, (word, _) in control.items()
             if word == "ALLOWED" and seen[name][0] == "BLOCKED"]
    assert len(teeth) > 30


ATTEMPTS = [
    ["int80"], ["x32"], ["unshare-user"], ["clone-user"], ["clone3-user"],
    ["user-then-mount"], ["ioctl-tiocsti"], ["ioctl-tiocsti-high"],
    ["ptrace", "1"], ["read-memory", "1"], ["take-descriptor", "1"],
    ["remount-rw", "/usr"], ["umount", "/proc"], ["setns-init", "mnt"],
    ["open-write", "/usr/x"], ["create", "/etc/x"], ["create", "/usr/x"],
    ["create", "/x"], ["mkdir", "/x"], ["unlink", "/usr/bin/env"],
    ["chmod", "/usr/bin/env"], ["truncate", "/usr/bin/env"],
    ["open-read", "/etc/shadow"], ["open-read", "/proc/kcore"],
    ["open-write", "/proc/sys/kernel/core_pattern"],
    ["open-write", "/proc/sysrq-trigger"], ["list", "/sys"],
    ["list", "/root"], ["list", "/var/log"], ["mknod", "/tmp/null"],
    ["exchange", "/usr/bin", "/usr/lib"],
]


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=" ".join)
def test_an_attempt_is_refused(stockade, attempt):
    if attempt[:2] == ["list", "/root"] and str(
            stockade.home).startswith("/root"):
        attempt = ["list", "/home"]
    seen = inside(stockade, *attempt)
    assert seen
    for name, (word, _) in seen.items():
        assert word == "BLOCKED", (name, seen)


def test_what_a_program_needs_is_there(stockade):
    """The allowances beside those refusals."""
    for attempt in (["create", "/tmp/x"], ["mkdir", "/tmp/d"],
                    ["open-read", "/proc/self/maps"], ["list", "/usr"],
                    ["stat", "/dev/null"], ["open-write", "/dev/null"],
                    ["writable-code"], ["mkfifo", "/tmp/f"],
                    ["memfd-exec", "/bin/true"]):
        seen = inside(stockade, *attempt)
        assert [word for word, _ in seen.values()] == ["ALLOWED"], attempt
