# SPDX-License-Identifier: Apache-2.0
"""stockade inside other walls: it works with every promise kept, or refuses
with the cause and a remedy, and then the command has not run."""
import ctypes
import os
import shutil
import struct
import subprocess
import sys

import pytest

from conftest import BUILD, IS_ROOT, as_root

X86 = os.uname().machine == "x86_64"
OPEN_TREE_ATTR, MOUNT_SETATTR, CLONE3 = 467, 442, 435
SECCOMP = 317 if X86 else 277
ENOSYS, EPERM = 38, 1
# A filter as an old container runtime has one: some numbers get an errno.
FILTER = """
import ctypes, os, struct, sys
numbers, error = [int(n) for n in sys.argv[1].split(",")], int(sys.argv[2])
code = [struct.pack("HBBI", 0x20, 0, 0, 0)]
for n in numbers:
    code.append(struct.pack("HBBI", 0x15, 0, 1, n))
    code.append(struct.pack("HBBI", 6, 0, 0, 0x50000 | error))
code.append(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
text = ctypes.create_string_buffer(b"".join(code))
program = ctypes.create_string_buffer(
    struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.syscall(SECCOMP, 1, 0, program) == 0, ctypes.get_errno()
os.execv(sys.argv[3], sys.argv[3:])
""".replace("SECCOMP", str(SECCOMP))
# Like unshare -m, with the rights to mount and the same user.
OWN_MOUNTS = ["unshare", "-m"] + ([] if IS_ROOT else ["-c", "--keep-caps"])


def within(stockade, wrapper, *command, flags=(), before=""):
    """Runs it within a wrapper; `before` is a line of shell in there."""
    argv = stockade.argv(*command, flags=flags)
    if before:
        argv = ["sh", "-ec", before + '\nexec "$@"', "sh", *argv]
    done = subprocess.run(
        [*wrapper, *argv], cwd=stockade.cwd, env=stockade.env, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=30)
    return done


def filtered(error, *numbers):
    return [sys.executable, "-c", FILTER, ",".join(map(str, numbers)),
            str(error), "/usr/bin/env"]


def refused(done, *words):
    assert done.returncode == 125 and done.stdout == "", done
    assert done.stderr.startswith("stockade:"), done
    assert done.stderr.count("\n") == 1, done
    for word in words:
        assert word in done.stderr, done


def landlock_abi():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


LOOK = ("echo ran; touch made 2>/dev/null && echo writable;"
        "cat .env; grep -c ' ro,' /proc/self/mounts")


@pytest.mark.parametrize("error", [ENOSYS, EPERM])
def test_without_the_newest_mount_call_all_is_as_strong(stockade, error):
    (stockade.cwd / ".env").write_text("CANARY")
    plain = within(stockade, [], "sh", "-c", LOOK)
    done = within(stockade, filtered(error, OPEN_TREE_ATTR), "sh", "-c", LOOK)
    assert done.returncode == plain.returncode == 0, done
    assert done.stdout == plain.stdout and done.stdout.startswith("ran\n")
    assert "CANARY" not in done.stdout and "writable" not in done.stdout
    assert not (stockade.cwd / "made").exists()


@pytest.mark.parametrize("numbers,error,word", [
    ([OPEN_TREE_ATTR, MOUNT_SETATTR], EPERM, "mount_setattr"),
    ([OPEN_TREE_ATTR, MOUNT_SETATTR], ENOSYS, "mount_setattr"),
    ([CLONE3], ENOSYS, "clone3")])
def test_a_filter_that_takes_a_wall_away_is_named(stockade, numbers, error,
                                                  word):
    refused(within(stockade, filtered(error, *numbers), "echo", "ran"), word,
            "container")


def test_inside_itself_it_says_why_not(stockade):
    script = f"{BUILD}/src/stockade run -- echo ran; echo $?"
    done = within(stockade, [], "sh", "-c", script, flags=["--read", BUILD])
    assert done.stdout == "125\n", done
    assert "clone3" in done.stderr and "sandbox around" in done.stderr
    assert done.stderr.count("\n") == 1


DOMAINS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
attr = (ctypes.c_uint64 * 2)(int(sys.argv[2]), int(sys.argv[3]))
for _ in range(int(sys.argv[1])):
    fd = libc.syscall(444, attr, 16, 0)
    assert fd >= 0 and libc.syscall(446, fd, 0) == 0, ctypes.get_errno()
    os.close(fd)
os.execv(sys.argv[4], sys.argv[4:])
"""


def landlocked(n, files, network):
    return [sys.executable, "-c", DOMAINS, str(n), str(files), str(network),
            "/usr/bin/env"]


def test_a_landlock_domain_around_it_permits_no_mounts(stockade):
    make_sockets = 1 << 9
    refused(within(stockade, landlocked(1, make_sockets, 0), "echo", "ran"),
            "Landlock", "permits no mounts")


@pytest.mark.skipif(landlock_abi() < 4, reason="needs Landlock for networks")
def test_seventeen_landlock_domains_are_too_many(stockade):
    """The kernel has room for sixteen; the last is never left out."""
    connect = 2
    done = within(stockade, landlocked(15, 0, connect), "echo", "ran")
    assert done.stdout == "ran\n", done
    refused(within(stockade, landlocked(16, 0, connect), "echo", "ran"),
            "andlock")


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("abi", [0, 1, 2, 3, 4, 5, 6])
def test_an_older_landlock_is_enough_or_is_refused(stockade, abi):
    """Asked for its version, the kernel says an older one."""
    (stockade.cwd / "f").write_text("old")
    (stockade.cwd / ".env").write_text("CANARY")
    wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e",
               "trace=landlock_create_ruleset", "-e",
               f"inject=landlock_create_ruleset:retval={abi}:when=1"]
    # pid 1's first call is the question; the second makes the ruleset.
    done = within(stockade, wrapper, "sh", "-c", "cat f .env; echo x > f;"
                  "echo x > /tmp/f && cat /tmp/f; echo x > /usr/f")
    if abi < 2:
        refused(done, "andlock", "5.19")
    else:
        assert done.stdout == "oldx\n" and done.returncode, done
    assert (stockade.cwd / "f").read_text() == "old"


@pytest.mark.parametrize("mask", [
    "mount --bind /dev/null /proc/timer_list",
    "mount -t tmpfs none /proc/acpi || mount -t tmpfs none /proc/irq",
    "mount --bind /proc/sys /proc/sys\nmount -o remount,bind,ro /proc/sys"])
def test_a_masked_proc(stockade, mask):
    control = within(stockade, OWN_MOUNTS, "echo", "ran", before="true")
    assert control.stdout == "ran\n", control
    refused(within(stockade, OWN_MOUNTS, "echo", "ran", before=mask),
            "masks parts of its /proc", "unmask=ALL")


def test_user_namespaces_switched_off(stockade):
    # Files, not pipes: root would have to give those away first.
    off = ("echo 0 > /proc/sys/user/max_user_namespaces\n"
           '"$@" > out 2> err && cat out && exit || cat err >&2\nexit 125')
    refused(within(stockade, ["unshare", "-U", "-r"], "echo", "ran",
                   before=off),
            "user namespaces are switched off", "stockade doctor")


def test_a_refused_namespace_names_what_refuses_it(stockade):
    wrapper = filtered(EPERM, 272 if X86 else 97)  # unshare
    refused(within(stockade, wrapper, "echo", "ran"),
            "seccomp filter", "stockade doctor")
    done = subprocess.run([*wrapper, stockade.argv("x")[0], "doctor"],
                          env=stockade.env, stdout=subprocess.PIPE, text=True,
                          timeout=30, check=False)
    assert done.returncode == 1, done
    assert "start stockade outside of the container" in done.stdout, done
    assert "pid namespace          untried" in done.stdout, done
    assert "missing: user namespace (" in done.stdout, done


def test_root_of_a_container_with_few_ids(stockade):
    refused(within(stockade, ["unshare", "-U", "-r"], "echo", "ran"),
            "root of this container has no id to give away",
            "start stockade as an ordinary user")


@pytest.mark.skipif(IS_ROOT, reason="speaks of a launch by a user")
def test_a_user_in_a_user_namespace(stockade):
    done = within(stockade, ["unshare", "-U", "-c"], "id", "-u")
    assert done.stdout == f"{os.getuid()}\n", done


@pytest.mark.parametrize("below", ["/dev/shm", "/proc/self"])
def test_a_home_where_there_is_no_place_for_one(stockade, below):
    done = subprocess.run(
        stockade.argv("sh", "-c", "echo x > ~/x && cat ~/x && echo $HOME"),
        env={**stockade.env, "HOME": below + "/home",
             "XDG_STATE_HOME": str(stockade.base / "state")},
        cwd=stockade.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=30)
    assert done.returncode == 0, done
    content, home = done.stdout.split()
    assert content == "x" and not home.startswith(below)


@as_root
def test_the_state_of_another_user_is_refused_with_the_remedy(stockade):
    stockade.sh("true").ok()
    os.chown(stockade.state(), 65534, 65534)
    done = stockade.sh("echo ran")
    assert done.status == 125 and done.out == ""
    assert "belongs to user 65534" in done.err
    assert "XDG_STATE_HOME" in done.err
    other = {"XDG_STATE_HOME": str(stockade.base / "own")}
    assert stockade.sh("echo ran", env=other).ok().out == "ran\n"


def test_the_filter_here_is_one(stockade):
    """The control: without a number in it nothing is refused."""
    done = within(stockade, filtered(EPERM, 1999), "echo", "ran")
    assert done.stdout == "ran\n" and struct.calcsize("HBBI") == 8
