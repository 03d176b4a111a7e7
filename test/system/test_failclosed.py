# SPDX-License-Identifier: Apache-2.0
"""Every step of the set-up, made to fail, ends in 125 and runs nothing.

strace first counts how often the launcher and its children make a call before
the command runs, then lets the first, the second ... of them fail.
"""
import collections
import os
import re
import shutil
import subprocess

import pytest

from conftest import eventually, ours

pytestmark = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed")

# Everything that makes a wall.  A call that this launcher does not use is
# counted as zero and has no cases.
CALLS = [
    "unshare", "clone3", "clone", "setns", "mount", "umount2", "pivot_root",
    "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig",
    "fsmount", "mount_setattr", "landlock_create_ruleset",
    "landlock_add_rule", "landlock_restrict_self", "seccomp", "prctl",
    "capset", "setgroups", "setresuid", "setresgid", "close_range", "chroot",
    "chdir", "fchdir", "socketpair", "pipe2", "sethostname", "mkdirat",
    "symlinkat", "bind", "listen", "setsockopt", "sendto", "sendmsg",
    "prlimit64", "execveat", "pidfd_open", "memfd_create", "setsid",
]
# Its EPERM may be a filter's that is older than the call: two calls follow.
ERRORS = {"open_tree_attr": "EACCES"}
# Failing these is not failing a step of ours: a name is a courtesy, and the C
# library asks for limits.
TOLERATED = re.compile(r"prctl\(PR_SET_NAME|prlimit64\(\d+, \w+, NULL")


def traced(stockade, flags, marker, policy):
    log = stockade.base / "strace"
    argv = ["strace", "-f", "-qq", "-o", str(log), *flags]
    argv += stockade.argv("/bin/sh", "-c", f"echo ran > {marker}",
                          policy=policy)
    result = subprocess.run(argv, cwd=stockade.cwd, env=stockade.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=60)
    return result, log.read_text(errors="replace")


def is_exec_of_command(line):
    """stockade's own arguments name the command as well.

    An ordinary user's strace cannot read the arguments of pid 1's child, which
    is not dumpable, and of no other process.
    """
    return re.match(r"\d+ +execve(at)?\((\d+, )?0x", line) or (
        re.match(r"\d+ +execve", line) and '"/bin/sh", "-c"' in line
        and '/src/stockade"' not in line)


def was_set_up_when_injected(text):
    for line in text.splitlines():
        if "(INJECTED)" in line:
            return False
        if is_exec_of_command(line):
            return True
    return True


def injected_line(text):
    return next(line for line in text.splitlines() if "(INJECTED)" in line)


def count_calls(stockade, policy):
    """How often each call is made by each process before the exec."""
    marker = stockade.cwd / "counted"
    result, text = traced(
        stockade, ["-e", "trace=" + ",".join("?" + c for c in CALLS)
                   + ",execve,execveat"], marker, policy)
    assert result.returncode == 0 and marker.exists(), result
    marker.unlink()
    counts = collections.Counter()
    for line in text.splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if not match:
            continue
        pid, call = match.groups()
        if call in CALLS:
            counts[pid, call] += 1
        # What comes after the command has started is no step of the set-up.
        if is_exec_of_command(line):
            break
    highest = collections.Counter()
    for (_, call), n in counts.items():
        highest[call] = max(highest[call], n)
    return highest


@pytest.mark.parametrize("policy", ["", "net"])
def fail(stockade, policy, call, n):
    """The n-th such call of each process fails: None when all were made, or what
    was wrong, "" for nothing."""
    marker = stockade.cwd / "ran"
    result, text = traced(
        stockade, ["-e", f"trace={call},execve,execveat", "-e",
                   f"inject={call}:error={ERRORS.get(call, 'EPERM')}:when={n}"],
        marker, policy)
    ran = marker.exists()
    if ran:
        marker.unlink()
    if was_set_up_when_injected(text):
        return None
    if ran and TOLERATED.search(injected_line(text)):
        return ""
    if ran or result.returncode != 125:
        return (f"{injected_line(text)} ({n}): {result.returncode}"
                f"{', RAN' if ran else ''}: {result.stderr[-200:]}")
    if not result.stderr.startswith(b"stockade:"):
        return f"{call} ({n}): no complaint: {result.stderr[-200:]}"
    return ""


@pytest.mark.parametrize("policy", ["", "net"])
def test_every_step_fails_closed(stockade, net, policy):
    policy = "write .\n" + (net + "allow GET api.test/**\n" if policy else "")
    wrong, cases = [], 0
    for call, highest in count_calls(stockade, policy).items():
        for n in range(1, highest + 1):
            complaint = fail(stockade, policy, call, n)
            # A helper is set up beside the command: one that fails in the very
            # moment of the exec is told of after it.  A hole stays one.
            if complaint:
                complaint = fail(stockade, policy, call, n)
            cases += complaint is not None
            if complaint:
                wrong.append(complaint)
    assert cases > 20, "the sweep has no teeth"
    assert not wrong, "\n".join(wrong)
    assert eventually(lambda: not ours())


MISSING = {
    # A kernel that lacks it answers ENOSYS; the complaint names it.
    "landlock_create_ruleset": "landlock",
    "seccomp": "seccomp",
    "clone3": "clone3",
    "close_range": "close_range",
}


@pytest.mark.parametrize("call", MISSING)
def test_a_missing_kernel_feature_is_named(stockade, call):
    marker = stockade.cwd / "ran"
    result, text = traced(
        stockade, ["-e", f"trace={call}", "-e", f"inject={call}:error=ENOSYS"],
        marker, "write .\n")
    assert "INJECTED" in text
    assert result.returncode == 125 and not marker.exists(), result
    assert MISSING[call].encode() in result.stderr.lower(), result


def test_the_sweep_would_notice(stockade):
    """The control: with nothing injected the command runs."""
    marker = stockade.cwd / "ran"
    result, _ = traced(stockade, ["-e", "trace=none"], marker, "write .\n")
    assert result.returncode == 0 and marker.exists()
    assert os.path.getsize(marker) == 4
