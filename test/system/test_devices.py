# SPDX-License-Identifier: Apache-2.0
"""`device`: which nodes are there inside, and which never are."""
import json
import os
import shutil
import stat
import subprocess
import tempfile

import pytest

from conftest import IN_CELL, PROGRAM, as_root

SEE = """
import fcntl, os, stat, sys
for name in sys.argv[1:]:
    try:
        seen = os.stat(name)
        assert stat.S_ISCHR(seen.st_mode)
        word = "%d:%d" % (os.major(seen.st_rdev), os.minor(seen.st_rdev))
    except OSError as error:
        word = "absent"
    try:
        os.close(os.open(name, os.O_RDONLY | os.O_CLOEXEC))
        word += " opens"
    except OSError as error:
        pass
    print(os.path.basename(name), word)
"""

KVM = """
import fcntl, os
print(fcntl.ioctl(os.open("/dev/kvm", os.O_RDWR), 0xAE00))
"""


def see(stockade, *names, flags=(), **more):
    result = stockade.run("/usr/bin/python3", "-c", SEE, *names, flags=flags,
                          **more).ok()
    return dict(line.split(" ", 1) for line in result.out.splitlines())


def number(name):
    try:
        seen = os.stat(name)
    except FileNotFoundError:
        return None
    return f"{os.major(seen.st_rdev)}:{os.minor(seen.st_rdev)}"


def expected(name):
    """A user's own rights count; root's agent is given the node."""
    opens = os.access(name, os.R_OK)
    return number(name) + (" opens" if opens else "")


needs_nodes = pytest.mark.skipif(
    not (number("/dev/kvm") and number("/dev/fuse")),
    reason="needs /dev/kvm and /dev/fuse")


@needs_nodes
def test_a_named_device_is_there_and_no_other(stockade):
    names = ["/dev/kvm", "/dev/fuse", "/dev/loop-control", "/dev/net/tun"]
    assert set(see(stockade, *names).values()) == {"absent"}
    seen = see(stockade, *names, flags=["--device", "kvm"])
    assert seen["kvm"] == expected("/dev/kvm")
    assert seen["fuse"] == seen["loop-control"] == seen["tun"] == "absent"
    seen = see(stockade, *names, flags=["--device", "/dev/fuse kvm"])
    assert seen["fuse"] == expected("/dev/fuse")
    assert seen["kvm"] == expected("/dev/kvm")


@needs_nodes
@as_root
def test_its_ioctls_work(stockade):
    result = stockade.run("/usr/bin/python3", "-c", KVM,
                          flags=["--device", "kvm"]).ok()
    assert result.out == "12\n"
    # The node is the sandbox's: nothing that is done to it reaches the host's.
    before = os.stat("/dev/kvm")
    changed = stockade.sh("chmod 666 /dev/kvm; rm -f /dev/kvm; mv /dev/kvm k;"
                          "touch -d 2001-01-01 /dev/kvm; ls -ln /dev/kvm",
                          flags=["--device", "kvm", "--write", "."])
    assert changed.out.startswith("crw------- 1 1000 1000 10, 232"), changed
    after = os.stat("/dev/kvm")
    assert (before.st_mode, before.st_uid, before.st_mtime) == \
        (after.st_mode, after.st_uid, after.st_mtime)


@pytest.mark.parametrize("name, words", [
    ("/dev/mem", "memory"), ("/dev/kmsg", "kernel log"),
    ("/dev/port", "ports"), ("/dev/vda", "disk"), ("/dev/loop0", "disk"),
    ("/dev/sda", "disk"), ("/dev/zram0", "disk"),
    ("/dev/loop-control", "disks of files"), ("/dev/btrfs-control", "a disk"),
    ("/dev/net/tun", "the host's network"), ("/dev/vhost-net", "network"),
    ("/dev/vsock", "network"), ("/dev/uinput", "types"),
    ("/dev/input/event0", "typed"), ("/dev/console", "terminal"),
    ("/dev/tty0", "terminal"), ("/dev/tty1", "terminal"),
    ("/dev/ttyS0", "terminal"), ("/dev/ptmx", "terminal"),
    ("/dev/vcs1", "screen"), ("/dev/autofs", "not among"),
    ("/dev/userfaultfd", "not among"), ("/dev/cpu_dma_latency", "not among"),
    ("/dev/shm", "no device"),
    ("/dev/no-such", "no such device"),
])
def test_what_equals_the_host_is_refused(stockade, name, words):
    if not os.path.exists(name):
        words = "no such device"
    refused = stockade.run("true", flags=["--device", name])
    assert refused.status == 125 and words in refused.err, refused
    assert f"device {name}" in refused.err
    optional = stockade.run("true", flags=["--device?", name])
    # Missing is what may be optional, dangerous is not.
    assert (optional.status == 0) == (words == "no such device"), optional


def test_what_is_always_there_may_be_named(stockade):
    stockade.run("head", "-c1", "/dev/urandom",
                 flags=["--device", "/dev/urandom /dev/null"]).ok()


def test_gpu_is_what_there_is_of_it(stockade):
    nodes = [f"/dev/dri/{name}" for name in
             (os.listdir("/dev/dri") if os.path.isdir("/dev/dri") else [])]
    nodes += [f"/dev/{name}" for name in os.listdir("/dev")
              if name.startswith("nvidia") or name in ("kfd", "dxg")]
    nodes = [n for n in nodes if stat.S_ISCHR(os.stat(n).st_mode)]
    result = stockade.run("true", flags=["--device", "gpu"])
    if nodes:
        assert "absent" not in see(stockade, *nodes,
                                   flags=["--device", "gpu"]).values()
    else:
        assert result.status == 125 and "device? gpu" in result.err
    stockade.run("true", flags=["--device?", "gpu"]).ok()


@pytest.fixture
def node():
    """A node of the machine's random numbers that everybody may open, and one
    that lies about its name; in the cell's own mounts."""
    if not IN_CELL:
        pytest.skip("needs the names and addresses of test/cell")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs",
                    "/dev/net"], check=True)
    for name, minor, major in (("open", 183, 10), ("fuse", 11, 1),
                               ("disk", 0, 7)):
        os.mknod("/dev/net/" + name, 0o666 | (
            stat.S_IFBLK if name == "disk" else stat.S_IFCHR),
            os.makedev(major, minor))
        os.chmod("/dev/net/" + name, 0o666)
    os.symlink("open", "/dev/net/link")
    os.symlink("/dev/net/disk", "/dev/net/dri")
    yield
    subprocess.run(["umount", "/dev/net"], check=True)


@as_root
def test_a_node_is_judged_by_its_number(stockade, node):
    names = ["/dev/net/open", "/dev/net/link", "/dev/net/tun"]
    seen = see(stockade, *names, flags=["--device", "/dev/net/link"])
    assert seen == {"open": "10:183 opens", "link": "10:183 opens",
                    "tun": "absent"}
    for name in ("fuse", "disk", "dri"):
        refused = stockade.run("true", flags=["--device", f"/dev/net/{name}"])
        assert refused.status == 125, name
        assert "kernel log" in refused.err or "disk" in refused.err


@as_root
def test_a_user_gets_what_the_user_may_open(node):
    base = tempfile.mkdtemp(prefix="device.")
    try:
        os.chown(base, 12345, 12345)
        for flags, word in (([], "absent"),
                            (["--device", "/dev/net/open"], "10:183 opens")):
            out = subprocess.run(
                [PROGRAM, "run", *flags, "--", "/usr/bin/python3", "-c", SEE,
                 "/dev/net/open"], user=12345, group=12345, extra_groups=[],
                cwd=base, env={"HOME": base, "PATH": "/usr/bin:/bin"},
                check=True, capture_output=True).stdout
            assert out.decode() == f"open {word}\n"
    finally:
        shutil.rmtree(base)


@needs_nodes
def test_it_is_told_in_every_form(stockade):
    flags = ["--device", "kvm"]
    plan = stockade.call("run", *flags, "--explain", "true").ok().out
    assert "/dev/kvm" in plan and "device kvm" in plan
    text = stockade.call("policy", "--json", *flags).ok().out
    assert json.loads(text)["devices"] == [
        {"name": "kvm", "origin": "--device"}]
    again = stockade.call("policy", "--policy", stockade.policy(text)).ok()
    assert again.out.startswith("device kvm")
