# SPDX-License-Identifier: Apache-2.0
"""`syscalls` and `debug`: fewer system calls, by the built-in list or by a
profile of a container engine, and tracing of one's own processes."""
import json
import os
import shutil
import subprocess
import time

import pytest

from conftest import PROBE

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not installed")

KILLED = 128 + 31   # SIGSYS


def profile(default, *entries, **more):
    return json.dumps({"defaultAction": "SCMP_ACT_" + default,
                       "syscalls": list(entries), **more})


def entry(names, action, **more):
    return {"names": names.split(), "action": "SCMP_ACT_" + action, **more}


@pytest.fixture
def written(stockade):
    """A profile beside the home, by its path."""
    def write(text):
        path = stockade.base / "profile.json"
        path.write_text(text)
        return str(path)
    return write


def results(text):
    return {fields[0]: (fields[1], fields[2]) for fields in
            (line.split("\t") for line in text.splitlines())
            if len(fields) == 3}


def probe(stockade, *arguments, **more):
    found = results(stockade.run(PROBE, *arguments, **more).ok().out)
    assert found
    return found


WORK = """
set -e
printf 'int main(void) { return 42; }' > a.c
cc -o a a.c && { ./a || test $? = 42; }
git init -q . && git add a.c
git -c user.name=t -c user.email=t@t commit -qm one && git log --oneline
find . -name '*.c' | xargs grep -l main | sort | sed s/a/b/
tar cf - a.c | tar tf - && cp -a a.c b.c && timeout 5 true && mkfifo f
python3 - <<'END'
import multiprocessing, subprocess, threading, tempfile, asyncio, os
thread = threading.Thread(target=print, args=("thread",))
thread.start(); thread.join()
print(subprocess.check_output(["echo", "child"]))
tempfile.TemporaryFile().write(b"x")
asyncio.run(asyncio.sleep(0))
END
"""
NODE = """
const { execSync } = require('child_process'), fs = require('fs');
fs.writeFileSync('n', 'x'); fs.watch('.').close();
new (require('worker_threads').Worker)('1', { eval: true });
console.log(execSync('echo node').toString(), fs.readdirSync('.').length);
"""


def test_strict_is_enough_for_ordinary_programs(stockade):
    result = stockade.sh(WORK, policy="write .\nsyscalls strict\n").ok()
    assert "thread" in result.out and "b'child" in result.out
    assert (stockade.cwd / "a").exists()
    if shutil.which("node"):
        result = stockade.run("node", "-e", NODE,
                              policy="write .\nsyscalls strict\n").ok()
        assert "node" in result.out


def test_strict_is_less_than_the_default(stockade):
    calls = ["memfd_create", "pkey_alloc", "rseq", "statx", "mount"]
    default = probe(stockade, "syscall", *calls)
    strict = probe(stockade, "syscall", *calls, policy="syscalls strict\n")
    for name in "memfd_create", "pkey_alloc":
        assert default[f"syscall {name}"] == ("ALLOWED", "0")
        assert strict[f"syscall {name}"] == ("BLOCKED", "ENOSYS")
    for name in "rseq", "statx":
        assert strict[f"syscall {name}"] == ("ALLOWED", "0")
    assert strict["syscall mount"] == ("BLOCKED", "EPERM")


def test_it_is_a_second_filter_on_every_thread(stockade):
    script = """
import os, threading
stop = threading.Event()
threads = [threading.Thread(target=stop.wait) for _ in range(3)]
[t.start() for t in threads]
for task in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{task}/status") as status:
        print(*[line.split()[1] for line in status
                if line.startswith("Seccomp")])
stop.set()
"""
    for policy, filters in ("", "1"), ("syscalls strict\n", "2"):
        result = stockade.run("/usr/bin/python3", "-c", script,
                              policy=policy).ok()
        lines = result.out.splitlines()
        assert len(lines) == 4
        assert set(lines) == {f"2 {filters}"}


def test_a_profile_refuses_with_its_own_errno(stockade, written):
    path = written(profile("ALLOW", entry(
        "mkdir mkdirat", "ERRNO", errnoRet=95)))
    script = "mkdir made && echo made"
    result = stockade.sh(script, policy=f"write .\nsyscalls {path}\n")
    assert "not supported" in result.err and not (
        stockade.cwd / "made").exists()
    assert stockade.sh(script, policy="write .\n").ok().out == "made\n"
    assert (stockade.cwd / "made").is_dir()


def test_a_profile_kills(stockade, written):
    path = written(profile("ALLOW", entry("mkdir mkdirat", "KILL")))
    script = "exec mkdir made"
    result = stockade.sh(script, policy=f"write .\nsyscalls {path}\n")
    assert result.status == KILLED
    assert not (stockade.cwd / "made").exists()
    stockade.sh(script, policy="write .\n").ok()


ARGUMENTS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
number = 41 if os.uname().machine == "x86_64" else 198
for family in 2, 2 | 1 << 32, 10, 1 | 2 << 32:
    made = libc.syscall(number, ctypes.c_ulong(family), 1, 0)
    print("made" if made >= 0 else errno.errorcode[ctypes.get_errno()])
"""


def test_arguments_also_with_garbage_in_the_high_half(stockade, written):
    path = written(profile("ALLOW", entry(
        "socket", "ERRNO", errnoRet=13,
        args=[{"index": 0, "value": 2, "op": "SCMP_CMP_EQ"}])))
    argv = "/usr/bin/python3", "-c", ARGUMENTS
    assert stockade.run(*argv).ok().out.split() == ["made"] * 4
    result = stockade.run(*argv, policy=f"syscalls {path}\n").ok()
    assert result.out.split() == ["EACCES", "EACCES", "made", "made"]


# An engine's own form; of it only the part that may be run here counts.
ENGINE = profile(
    "ERRNO",
    entry("""accept accept4 access arch_prctl bind brk chdir clock_gettime
    clock_nanosleep close close_range connect dup dup2 dup3 epoll_create1
    epoll_ctl epoll_pwait epoll_wait eventfd2 execve exit exit_group faccessat
    faccessat2 fadvise64 fchdir fcntl fork fstat fstatfs fsync ftruncate futex
    getcwd getdents64 getegid geteuid getgid getgroups getpgrp getpid getppid
    getrandom getrlimit getsockname getsockopt gettid gettimeofday getuid ioctl
    kill listen lseek lstat madvise mmap mprotect mremap munmap nanosleep
    newfstatat open openat pause pipe pipe2 poll ppoll prctl pread64 prlimit64
    pselect6 pwrite64 read readlink readlinkat readv recvfrom recvmsg rseq
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend sched_getaffinity
    sched_yield select sendmmsg sendmsg sendto set_robust_list set_tid_address
    setpgid setsockopt shutdown sigaltstack stat statfs statx sysinfo tgkill
    umask uname unlink unlinkat vfork wait4 waitid write writev _llseek
    socketcall mmap2 s390_pci_mmio_read""", "ALLOW"),
    entry("clone", "ALLOW", args=[
        {"index": 0, "value": 2114060288, "op": "SCMP_CMP_MASKED_EQ"}],
          excludes={"caps": ["CAP_SYS_ADMIN"], "arches": ["s390"]}),
    entry("clone3", "ERRNO", errnoRet=38,
          excludes={"caps": ["CAP_SYS_ADMIN"]}),
    entry("mount umount2 unshare bpf", "ALLOW",
          includes={"caps": ["CAP_SYS_ADMIN"]}),
    entry("socket", "ALLOW", args=[
        {"index": 0, "value": 12, "op": "SCMP_CMP_LT"}]),
    entry("ptrace", "ALLOW", includes={"minKernel": "4.8"}),
    entry("personality", "ALLOW", args=[
        {"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}]),
    defaultErrnoRet=1,
    archMap=[{"architecture": "SCMP_ARCH_X86_64",
              "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
             {"architecture": "SCMP_ARCH_AARCH64",
              "subArchitectures": None}])


def test_an_engines_profile_is_taken_as_it_is(stockade, written):
    path = written(ENGINE)
    script = ("import threading, socket, os\n"
              "t = threading.Thread(target=print, args=('thread',))\n"
              "t.start(); t.join(); socket.socket()\n"
              "print(os.system('true'))\n"
              "try: os.mkdir('/tmp/x')\n"
              "except OSError as e: print(e.errno)\n")
    result = stockade.run("/usr/bin/python3", "-c", script,
                          policy=f"syscalls {path}\n").ok()
    assert result.out.split() == ["thread", "0", "1"]
    found = probe(stockade, "syscall", "clone3", "memfd_create",
                  policy=f"syscalls {path}\n")
    assert found["syscall clone3"] == ("BLOCKED", "ENOSYS")
    assert found["syscall memfd_create"] == ("BLOCKED", "EPERM")


def test_no_profile_opens_what_is_closed(stockade, written):
    everything = written(profile("ALLOW", entry(
        "mount unshare clone clone3 ptrace bpf keyctl add_key setns "
        "io_uring_setup perf_event_open userfaultfd", "ALLOW")))
    closed = probe(stockade, "syscall")
    assert probe(stockade, "syscall",
                 policy=f"syscalls {everything}\n") == closed
    for attempt in "unshare-user", "clone-user", "clone3-user":
        found = probe(stockade, attempt, policy=f"syscalls {everything}\n")
        assert [word for word, _ in found.values()] == ["BLOCKED"]


def test_several_are_all_in_force(stockade, written):
    one = written(profile("ALLOW", entry("mkdir mkdirat", "ERRNO")))
    two = stockade.base / "two.json"
    two.write_text(profile("ALLOW", entry("symlink symlinkat", "ERRNO")))
    policy = f"write .\nsyscalls {one}\nsyscalls {two}\nsyscalls strict\n"
    count = "awk '/^Seccomp_filters/ { print $2 }' /proc/self/status"
    usual = stockade.sh(count, policy="write .\n").ok()
    result = stockade.sh("mkdir d; ln -s a l; echo x > f; " + count,
                         policy=policy).ok()
    assert int(result.out) == int(usual.out) + 3
    assert [path.name for path in stockade.cwd.iterdir()] == ["f"]


def test_a_profile_is_guarded_inside_a_grant(stockade):
    path = stockade.cwd / "seccomp.json"
    path.write_text(profile("ALLOW"))
    before = path.read_bytes()
    result = stockade.sh(
        "cat seccomp.json; echo x >> seccomp.json; rm -f seccomp.json; "
        "mv seccomp.json y; mv ../work ../other; echo {} > other.json",
        policy="write .\nsyscalls seccomp.json\n")
    assert result.out.startswith("{")
    assert path.read_bytes() == before
    assert (stockade.cwd / "other.json").exists()
    # Without the statement it is a file as any other.
    stockade.sh("rm seccomp.json", policy="write .\n").ok()
    assert not path.exists()


BAD = {
    "unknown key": '{"defaultAction": "SCMP_ACT_ALLOW", "rules": []}',
    "unknown system call": profile("ALLOW", entry("mkdri", "KILL")),
    "somebody else would decide": profile("ALLOW", entry("mkdir", "NOTIFY")),
    "unknown action": profile("PERMIT"),
    "unknown op": profile("ALLOW", entry("mkdir", "KILL", args=[
        {"index": 0, "value": 0, "op": "SCMP_CMP_LIKE"}])),
    "execve is not allowed": profile("ERRNO", entry("read", "ALLOW")),
    "brackets within brackets": "[" * 50 + "]" * 50,
    "expected an object": "[]",
    "more than 4096 instructions": profile("ALLOW", *[entry(
        "lseek", "KILL", args=[{"index": 1, "value": n << 32 | n,
                                "op": "SCMP_CMP_EQ"}])
        for n in range(2000)]),
}


@pytest.mark.parametrize("said", BAD)
def test_a_bad_profile_runs_nothing(stockade, written, said):
    path = written(BAD[said])
    result = stockade.sh("echo ran > ran",
                         policy=f"write .\nsyscalls {path}\n")
    assert result.status == 125 and not (stockade.cwd / "ran").exists()
    assert said in result.err and path[-40:] in result.err, result
    assert len(result.complaints()) == 1
    # `policy` says the same without a run.
    assert stockade.call("policy", "--syscalls", path).status == 125


def test_an_absent_profile(stockade):
    path = stockade.base / "absent.json"
    result = stockade.sh("echo ran", policy=f"syscalls {path}\n")
    assert result.status == 125 and str(path)[-40:] in result.err
    assert stockade.sh("echo ran",
                       policy=f"syscalls? {path}\n").ok().out == "ran\n"


def test_a_fifo_as_profile_is_not_waited_for(stockade):
    os.mkfifo(stockade.cwd / "fifo")
    result = stockade.sh("echo ran", policy="syscalls fifo\n")
    assert result.status == 125 and "no regular file" in result.err


def test_at_most_eight(stockade, written):
    path = written(profile("ALLOW"))
    for n in range(9):
        shutil.copy(path, stockade.cwd / f"{n}.json")
    lines = [f"syscalls {n}.json\n" for n in range(9)]
    stockade.sh("true", policy="".join(lines[:8])).ok()
    result = stockade.sh("true", policy="".join(lines))
    assert result.status == 125 and "more than 8" in result.err


def test_explain_and_policy_name_them(stockade, written):
    path = written(profile("ALLOW"))
    flags = ["--syscalls", path, "--syscalls", "strict", "--debug", "on"]
    plan = stockade.call("run", "--explain", *flags, "--", "true").ok().out
    steps = [line.split()[1] for line in plan.splitlines()[:-1]]
    assert steps[-3:] == ["syscalls", "syscalls", "command"]
    assert f"# syscalls {path}" in plan and "# syscalls strict" in plan
    assert "tracing (debug on)" in plan
    text = stockade.call("policy", *flags).ok().out
    assert f"syscalls {path}" in text and "debug on" in text
    form = stockade.call("policy", "--json", *flags).ok().out
    again = stockade.policy(form)
    assert stockade.call("policy", "--json", "--policy",
                         again).ok().out == form


OWN = ["trace-own", "read-own", "write-own", "compare-own"]


@pytest.mark.parametrize("attempt", OWN)
def test_tracing_ones_own_processes_takes_debug(stockade, attempt):
    assert probe(stockade, attempt) == {attempt: ("BLOCKED", "EPERM")}
    assert probe(stockade, attempt, policy="debug on\n") == {
        attempt: ("ALLOWED", "0")}


@pytest.mark.parametrize("attempt", ["ptrace", "read-memory",
                                     "take-descriptor"])
def test_debug_does_not_reach_the_first_process(stockade, attempt):
    found = probe(stockade, attempt, "1", policy="debug on\n")
    assert [word for word, _ in found.values()] == ["BLOCKED"], found
    result = stockade.sh("cat /proc/1/mem; cat /proc/1/maps",
                         policy="debug on\n")
    assert result.status != 0 and result.out == ""


def test_debug_does_not_reach_outside(stockade):
    with subprocess.Popen(["sleep", "60"]) as victim:
        try:
            for attempt in "ptrace", "read-memory", "kill":
                found = probe(stockade, attempt, str(victim.pid),
                              policy="debug on\n")
                assert [word for word, _ in found.values()] == ["BLOCKED"]
        finally:
            victim.kill()


@needs_strace
def test_strace_works_with_debug(stockade):
    argv = "strace", "-f", "-e", "trace=execve", "sh", "-c", "true | true"
    result = stockade.run(*argv)
    assert result.status != 0 and "not permitted" in result.err
    result = stockade.run(*argv, policy="debug on\n").ok()
    assert 'execve("' in result.err and "exited with 0" in result.err
    # Also behind a filter that has no opinion of its own about it.
    stockade.run(*argv, policy="debug on\nsyscalls strict\n").ok()


@pytest.mark.skipif(os.uname().machine != "x86_64",
                    reason="changes registers of x86-64")
def test_a_tracer_cannot_change_a_call_behind_the_filter(stockade):
    outside = subprocess.run([PROBE, "trace-change"], text=True,
                             stdout=subprocess.PIPE, timeout=20).stdout
    assert results(outside) == {"trace-change": ("ALLOWED", "0")}
    assert probe(stockade, "trace-change", policy="debug on\n") == {
        "trace-change": ("BLOCKED", "EPERM")}


def listed(stockade, *flags):
    text = stockade.call("doctor", "--syscalls", "--json", *flags).ok().out
    return {call["name"]: (call["verdict"], call.get("condition", ""))
            for call in json.loads(text)["syscalls"]}


@pytest.mark.parametrize("policy", ["", "syscalls strict\n", "debug on\n",
                                    "engine"])
def test_doctor_lists_what_the_kernel_then_says(stockade, written, policy):
    if policy == "engine":
        policy = f"syscalls {written(ENGINE)}\n"
    said = listed(stockade, "--policy", stockade.policy(policy))
    assert len(said) > 300
    seen = probe(stockade, "syscall", policy=policy)
    for name, (word, error) in seen.items():
        verdict, condition = said[name.split()[1]]
        if word == "ALLOWED":
            assert verdict in ("allowed", "conditional"), (name, verdict)
        elif verdict != "conditional":
            assert verdict == error, (name, verdict, error)
        assert (verdict == "conditional") == (condition != "")


def test_doctor_lists_for_people(stockade, written):
    path = written(profile("ALLOW", entry("lseek", "ERRNO", errnoRet=75, args=[
        {"index": 1, "value": 4096, "op": "SCMP_CMP_GT"}]),
        entry("mkdir", "KILL")))
    lines = stockade.call("doctor", "--syscalls", "--policy",
                          stockade.policy(f"syscalls {path}\n")).ok().out
    lines = {line.split()[0]: line for line in lines.splitlines() if line}
    assert lines["read"].split() == ["read", "allowed"]
    assert lines["mount"].split() == ["mount", "EPERM"]
    assert lines["clone3"].split() == ["clone3", "ENOSYS"]
    assert "EPERM for TIOCSTI" in lines["ioctl"]
    assert "EOVERFLOW if argument 1 > 4096, else allowed" in lines["lseek"]
    if os.uname().machine == "x86_64":
        assert lines["mkdir"].split() == ["mkdir", "killed"]
    assert listed(stockade)["lseek"] == ("allowed", "")


def test_every_thread_of_every_helper_is_filtered(stockade, net, api):
    from conftest import ours
    child = stockade.start(
        "sh", "-c", "curl -sS -o /dev/null https://api.test/x; "
        "curl -sS -o /dev/null https://public.test/; echo ready; sleep 30",
        policy=net + "allow GET api.test/**\nallow GET public.test/**\n"
        "secret T from env for api.test as bearer\n", env={"T": "value-of-t"})
    try:
        assert child.stdout.readline() == b"ready\n"
        helpers = {name: pid for pid, (name, _) in ours().items()
                   if name.startswith("stockade-")}
        assert {"stockade-edge", "stockade-vault", "stockade-dial",
                "stockade-init"} <= set(helpers)
        for name, pid in helpers.items():
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/status") as status:
                    assert "Seccomp:\t2\n" in status.read(), (name, task)
    finally:
        child.terminate()
        child.communicate(timeout=10)


def test_start_up_does_not_wait_for_a_large_profile(stockade, written):
    """Not a measurement: it would be seconds if each name were looked up in
    each list."""
    path = written(profile("ALLOW", *[entry("read write", "LOG", args=[
        {"index": 2, "value": n, "op": "SCMP_CMP_EQ"}]) for n in range(400)]))
    began = time.monotonic()
    stockade.run("true", policy=f"syscalls {path}\n").ok()
    assert time.monotonic() - began < 5
