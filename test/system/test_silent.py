# SPDX-License-Identifier: Apache-2.0
"""File systems whose server is there and says nothing: no run starts on them, and
none waits for them."""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import as_root, eventually, ours

# Answers INIT (26) and, where told to, GETATTR (3): the root is a directory.
DAEMON = """
import os, struct, sys
fd, says = int(sys.argv[1]), sys.argv[2:]
while True:
    asked = os.read(fd, 1 << 17)
    kind, unique = struct.unpack_from("=IQ", asked, 4)
    answer = None
    if kind == 26:
        answer = struct.pack("=4I2H2I2H8I", 7, 31, 0, 0, 8, 8, 4096, 1, 1, 0,
                             *[0] * 8)
    elif kind == 3 and "attributes" in says:
        answer = struct.pack("=QII6Q10I", 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                             0o40755, 2, 0, 0, 0, 4096, 0)
    if answer:
        os.write(fd, struct.pack("=IiQ", 16 + len(answer), 0, unique) + answer)
"""


@pytest.fixture
def silent():
    """Mounts one at a directory: silent(path, "attributes")."""
    libc, made = ctypes.CDLL(None, use_errno=True), []
    if not os.path.exists("/dev/fuse"):
        pytest.skip("needs /dev/fuse")

    def mount(path, *says):
        path.mkdir(parents=True)
        fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
        if libc.mount(b"silent", bytes(path), b"fuse.silent", 0,
                      options.encode()):
            pytest.fail(os.strerror(ctypes.get_errno()))
        daemon = subprocess.Popen(
            [sys.executable, "-c", DAEMON, str(fd), *says], pass_fds=[fd])
        made.append((path, daemon))
        os.close(fd)
        return path

    def unmount():
        while made:
            path, daemon = made.pop()
            daemon.kill()
            daemon.wait()
            libc.umount2(bytes(path), 2)
    mount.ends = unmount
    yield mount
    unmount()


@as_root
def test_who_does_not_answer_is_named_and_left_behind(stockade, silent):
    """In a granted tree, as a grant, and when asked for nothing but what it is.
    All at once, as each takes as long as an answer may; but who does not want to
    wait ends it."""
    below = silent(stockade.cwd / "a" / "below", "attributes")
    grant = silent(stockade.home / "grant", "attributes")
    mute = silent(stockade.home / "mute")
    tries = [([], below), (["--write", "."], below),
             (["--hide", "**/*.pem"], below), (["--read", grant], grant),
             (["--read", f"{stockade.home}/mu*"], mute), (["--read", mute], mute)]
    runs = [stockade.start("/bin/true", flags=[*map(str, flags)])
            for flags, _ in tries]
    ended = stockade.start("/bin/true")
    time.sleep(2)
    assert ended.poll() is None
    ended.send_signal(signal.SIGINT)
    assert ended.wait(timeout=3) == -signal.SIGINT
    ended.communicate()
    for run, (flags, path) in zip(runs, tries):
        # The end of what it says is seen, whoever is still kept by the kernel.
        out, err = run.communicate(timeout=30)
        assert run.returncode == 125 and not out, (flags, err)
        assert f"{path}: the file system there does not answer" in \
            err.decode(), (flags, err)
    silent.ends()
    assert eventually(lambda: not ours())
    for flags in (["--write", "."], ["--read", str(grant)]):
        stockade.run("/bin/true", flags=flags).ok()


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_nobody_waits_where_nothing_is_named(stockade):
    """The process that can be left behind is spared, as it costs of each start."""
    made = []
    for flags in [], ["--read", str(stockade.cwd)]:
        log = stockade.base / "strace"
        subprocess.run(
            ["strace", "-f", "-qq", "-o", str(log), "-e",
             "trace=clone,clone3,fork,vfork",
             *stockade.argv("/bin/true", flags=flags)], cwd=stockade.cwd,
            env=stockade.env, stdin=subprocess.DEVNULL, check=True, timeout=60)
        made.append(len(re.findall(r"(?:clone3?|v?fork)\(", log.read_text())))
    assert made[0] == made[1] - 1 and made[0] > 0, made


@as_root
def test_who_answers_is_looked_through_on_no_disk_as_well(stockade):
    """Without a word in the policy, which is when nobody waits beside it."""
    libc = ctypes.CDLL(None, use_errno=True)
    below = stockade.cwd / "a" / "below"
    below.mkdir(parents=True)
    assert libc.mount(b"none", bytes(below), b"tmpfs", 0, None) == 0
    try:
        (below / "plain").write_text("plain\n")
        (below / ".env").write_text("CANARY\n")
        result = stockade.sh("cat a/below/plain a/below/.env")
    finally:
        libc.umount2(bytes(below), 2)
    assert result.out == "plain\n"
