# SPDX-License-Identifier: Apache-2.0
"""How a run ends, and what is left of it: nothing."""
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import PATIENCE, eventually, is_ours, ours, processes


@pytest.mark.parametrize("status", [0, 1, 2, 42, 123, 124, 125, 126, 127,
                                    128, 200, 255])
def test_the_status_is_the_commands_own(stockade, status):
    assert stockade.sh(f"exit {status}").status == status


@pytest.mark.parametrize("name,number", [
    ("KILL", 9), ("TERM", 15), ("SEGV", 11), ("INT", 2), ("PIPE", 13)])
def test_a_signal_is_128_more(stockade, name, number):
    assert stockade.sh(f"kill -{name} $$; sleep 5").status == 128 + number


def test_not_found_and_not_executable(stockade):
    (stockade.cwd / "data").write_text("x")
    absent = stockade.run("no-such-program-at-all")
    assert absent.status == 127 and absent.err.startswith("stockade:")
    assert stockade.run("./absent").status == 127
    assert stockade.run("./data").status == 126
    assert stockade.run("/etc").status == 126


def test_the_time_limit(stockade):
    result = stockade.run("sleep", "30", policy="limit time 1s\n")
    assert result.status == 124, result
    assert 0.9 < result.seconds < 10
    assert stockade.run("true", policy="limit time 30s\n").status == 0


def test_orphans_end_before_the_run_does(stockade):
    result = stockade.sh("setsid sleep 71.25 & setsid nohup sleep 71.25 & "
                         "exit 3")
    assert not processes("sleep 71.25")     # at once, not soon
    assert result.status == 3
    assert result.seconds < 10


def test_what_makes_more_and_more_processes_ends_too(stockade):
    (stockade.cwd / "breed").write_text(
        "while :; do setsid sleep 71.75 & done\n")
    result = stockade.sh("setsid sh ./breed & setsid sh ./breed & "
                         "sleep 0.2; exit 4")
    assert not processes("sleep 71.75") and not processes("./breed")
    assert result.status == 4


# The first process of a container that reaps nobody but its own child.
CARELESS_INIT = """
import os, subprocess, sys
for _ in range(3):
    subprocess.run(sys.argv[1:], check=True, stdin=subprocess.DEVNULL)
for pid in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{pid}/stat") as stat:
        print(pid, stat.read().rpartition(") ")[2][0])
"""


def test_nothing_is_left_to_reap_in_a_container(stockade):
    who = [] if os.getuid() == 0 else ["--user", "--map-current-user"]
    done = subprocess.run(
        ["unshare", *who, "--pid", "--fork", "--mount-proc", sys.executable,
         "-c", CARELESS_INIT, *stockade.argv("sh", "-c", "sleep 9 & true")],
        cwd=stockade.cwd, env=stockade.env, check=True, text=True,
        stdout=subprocess.PIPE)
    assert done.stdout.split() == ["1", "R"], done.stdout


def test_output_is_whole(stockade):
    result = stockade.sh("head -c 3000000 /dev/zero | tr '\\0' x; "
                         "echo end >&2").ok()
    assert len(result.out) == 3000000 and result.err == "end\n"


def test_standard_input_passes(stockade):
    result = stockade.run("wc", "-c", stdin=b"x" * 500000).ok()
    assert result.out.strip() == "500000"


def running(stockade, script, **more):
    child = stockade.start("sh", "-c", script, **more)
    assert child.stdout.readline() == b"ready\n"
    return child


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT,
                                    signal.SIGHUP])
def test_a_signal_to_stockade_ends_the_run(stockade, number):
    child = running(stockade, "echo ready; sleep 72.5; echo more")
    # dash drops a signal that comes between its vfork and the exec.
    assert eventually(lambda: any(
        line.startswith("sleep") for _, line in
        processes("sleep 72.5").values()))
    child.send_signal(number)
    out, _ = child.communicate(timeout=10)
    assert child.returncode in (128 + number, -number)
    assert out == b""
    assert eventually(lambda: not processes("sleep 72.5"))


def test_the_command_may_handle_the_signal(stockade):
    child = running(stockade, "trap 'echo handled; exit 7' TERM; echo ready;"
                    "while :; do sleep 0.1; done")
    child.send_signal(signal.SIGTERM)
    out, _ = child.communicate(timeout=15)
    assert out == b"handled\n"
    assert child.returncode in (7, 128 + signal.SIGTERM)


def test_a_command_that_ignores_the_signal_has_a_moment(stockade):
    child = running(stockade, "trap '' TERM; echo ready;"
                    "while :; do sleep 0.1; done; : unheard")
    child.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(timeout=2)
    child.communicate(timeout=15)
    assert child.returncode == 128 + signal.SIGKILL
    assert eventually(lambda: not processes(": unheard"))


def mounts():
    with open("/proc/self/mountinfo") as text:
        return text.read()


def cgroups():
    """Those of another user are the other half's of the tests."""
    found = (os.path.join(folder, name)
             for folder, names, _ in os.walk("/sys/fs/cgroup")
             for name in names if name.startswith("stockade-"))
    return {path for path in found if is_ours(path)}


def files():
    return {os.path.join(folder, name)
            for folder in ("/tmp", "/run", "/dev/shm", "/var/tmp")
            for name in os.listdir(folder) if "stockade" in name
            and not name.startswith(("stockade-test.", "stockade-tree.",
                                     "stockade-demo.", "stockade-bench."))}


NET_RULES = "allow GET api.test/**\nsecret T from env for api.test as bearer\n"
ASK = (f"while :; do curl -sS -m {2 * PATIENCE:.0f} -o /dev/null "
       "https://api.test/x && echo ready; sleep 0.1; done")


def test_sigkill_of_stockade_leaves_nothing(stockade, net, api):
    before = (mounts(), cgroups(), files(), set(ours()))
    child = running(stockade, ASK + " #73.25", policy=net + NET_RULES,
                    env={"T": "value"})
    child.kill()
    child.wait()
    assert eventually(lambda: not processes("#73.25"))
    assert eventually(lambda: not set(ours()) - before[3]), ours()
    assert (mounts(), cgroups(), files()) == before[:3]
    child.stdout.close()
    child.stderr.close()


def test_sigkill_while_it_starts_leaves_nothing(stockade, net):
    """At any moment: the kill comes after 0, 1, 2 ... milliseconds."""
    before = (mounts(), cgroups(), files(), set(ours()))
    for delay in range(0, 25):
        child = stockade.start("sleep", "74.25", policy=net + NET_RULES,
                               env={"T": "value"})
        time.sleep(delay / 1000)
        child.kill()
        child.communicate()
    assert eventually(lambda: not processes("sleep 74.25")), "still running"
    assert eventually(lambda: not set(ours()) - before[3]), ours()
    assert (mounts(), cgroups(), files()) == before[:3]


@pytest.mark.parametrize("helper", ["edge", "vault", "dial", "resolve"])
def test_a_helpers_death_means_no_network(stockade, net, api, helper):
    child = running(stockade, ASK, policy=net + NET_RULES,
                    env={"T": "value"})
    victims = [pid for pid, (name, _) in ours().items()
               if name == f"stockade-{helper}"[:15]]
    if not victims:
        child.kill()
        child.communicate()
        pytest.fail(f"no process is called stockade-{helper}")
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    api.clear()
    time.sleep(1.0)
    assert api.requests == [], "a request passed after the helper's death"
    assert child.poll() is None, "the command itself goes on"
    child.terminate()
    child.communicate(timeout=10)
    assert child.returncode not in (0, 125)


def test_a_hundred_runs_leave_nothing(stockade):
    before = (mounts(), cgroups(), files(), set(ours()))
    for _ in range(100):
        assert stockade.run("true").status == 0
    assert eventually(lambda: not set(ours()) - before[3])
    assert (mounts(), cgroups(), files()) == before[:3]


def test_two_runs_at_once(stockade):
    children = [stockade.start("sh", "-c", f"sleep 0.5; exit {n}")
                for n in range(1, 9)]
    for n, child in enumerate(children, 1):
        child.communicate(timeout=30)
        assert child.returncode == n
