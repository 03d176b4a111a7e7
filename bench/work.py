# SPDX-License-Identifier: Apache-2.0
"""What real work costs inside, and what many runs leave behind: for bench/run.

compile: a C project of 500 files, beside the same outside, direct and with an
overlay.  status: `git status` on 50,000 files, likewise; beside an overlay that
the kernel shows without us, for what that costs is not ours to lower.  left: runs
that are killed at any moment.  alive: sandboxes that live at the same time.  large: the
start in a tree of 200,000 files, which is looked through, beside `find`.
"""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from statistics import median

FILES, PARTS, STATUS_FILES = 500, 5, 50000
LARGE_FILES = 200000


def project(folder):
    os.makedirs(folder)
    with open(os.path.join(folder, "all.h"), "w") as out:
        out.write("#include <stdio.h>\n#include <stdlib.h>\n"
                  "#include <string.h>\n")
        out.writelines(f"int f{i}(int);\n" for i in range(FILES))
    for i in range(FILES):
        with open(os.path.join(folder, f"f{i}.c"), "w") as out:
            out.write(f'#include "all.h"\nint f{i}(int x) {{\n'
                      f'\tprintf("%d\\n", x);\n'
                      f"\treturn x ? f{(i + 1) % FILES}(x - 1) : {i};\n}}\n")
    with open(os.path.join(folder, "Makefile"), "w") as out:
        names = " ".join(f"f{i}.o" for i in range(FILES))
        out.write(f"lib.a: {names}\n\tar rcs $@ $^\n%.o: %.c all.h\n"
                  "\tcc -O0 -c -o $@ $<\nclean:\n\trm -f *.o lib.a\n")


def repository(folder):
    os.makedirs(folder)
    for i in range(STATUS_FILES):
        if i % 100 == 0:
            os.makedirs(os.path.join(folder, f"d{i // 100}"))
        with open(os.path.join(folder, f"d{i // 100}", f"f{i}"), "w") as out:
            out.write(f"{i}\n")
    git = ["git", "-C", folder, "-c", "user.name=b", "-c", "user.email=b@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    subprocess.run([*git, "status", "--porcelain"], check=True)


def ways(bench, command):
    inside = [bench.program, "run", "--write", "."]
    return {"native": command, "direct": [*inside, "--", *command],
            "overlay": [*inside, "--workspace", "overlay", "--", *command]}


# An overlay of the current directory, and nothing else.
BARE = """set -e; cd "$1"; shift
mount -t overlay o -o "lowerdir=$1,upperdir=$PWD/u,workdir=$PWD/w,volatile" m
cd m; shift; exec "$@" """
# Behind a filter of system calls that allows all of them: what any sandbox that has
# one must pay.
FILTERED = """import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])"""
TIMED = """import subprocess, sys, time
def took(times):
    before = time.perf_counter()
    for _ in range(times):
        subprocess.run(sys.argv[3:], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - before
print(took(int(sys.argv[1])), took(int(sys.argv[2])))"""


class Took:
    """Seconds: of the work, of what was done before that, and of the start."""
    def __init__(self, out, whole):
        self.first, self.work = map(float, out.split())
        self.start = whole - self.first - self.work


def bare(bench, folder, command):
    """As ways(), in a new overlay."""
    parts = tempfile.mkdtemp(dir=bench.cwd)
    for name in "uwm":
        os.mkdir(os.path.join(parts, name))
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
            BARE, "sh", parts, folder, *command]


def run(bench, folder, argv):
    """What it holds is dropped."""
    before = time.perf_counter()
    out = subprocess.run(argv, cwd=folder, env=bench.env, check=True,
                         stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    took = Took(out, time.perf_counter() - before)
    if "overlay" in argv:
        subprocess.run([bench.program, "discard"], cwd=folder, env=bench.env,
                       check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return took


def turns(bench, folder, n, ways_of, prepare=None):
    """{way: [Took]}, one of each in every turn, in changing order: the machine is
    not as fast in one minute as in the next."""
    took, dice = {}, random.Random(1)
    for turn in range(n):
        order = list(ways_of(turn).items())
        dice.shuffle(order)
        for name, argv in order:
            if prepare:
                prepare()
            took.setdefault(name, []).append(run(bench, folder, argv))
    return took


def row(bench, label, took, way, peer, bound):
    """The median of what each turn says."""
    ours = [one.work for one in took[way]]
    theirs = [one.work for one in took[peer]]
    bench.row(label, f"{median(ours):.2f} s",
              f"{peer} {median(theirs):.2f} s",
              median(a / b for a, b in zip(ours, theirs)), bound)


def compile(bench):
    """A fifth of the files in each turn."""
    folder = os.path.join(bench.cwd, "project")
    project(folder)

    def clean():
        subprocess.run(["make", "-s", "clean"], cwd=folder, env=bench.env,
                       check=True)

    def part(turn):
        first = turn % PARTS * (FILES // PARTS)
        names = [f"f{first + i}.o" for i in range(FILES // PARTS)]
        return ways(bench, ["python3", "-c", TIMED, "0", "1", "make", "-s",
                            "-j2", *names])
    took = turns(bench, folder, PARTS * (1 if bench.quick else 3), part, clean)
    row(bench, f"compiling {FILES // PARTS} C files of {FILES}", took,
        "direct", "native", 1.03)
    row(bench, "... in an overlay", took, "overlay", "native", 1.1)
    shutil.rmtree(folder)


def status(bench):
    """Ten times in a turn, after a first: root's files have another owner inside,
    and an overlay's have not been looked at, so git reads them all again."""
    folder = os.path.join(bench.cwd, "repository")
    repository(folder)
    command = ["python3", "-c", TIMED, "1", "10", "git", "-c",
               "safe.directory=*", "status", "--porcelain"]

    def all_ways(_):
        return {**ways(bench, command),
                "filtered": ["python3", "-c", FILTERED, *command],
                "overlayfs": bare(bench, folder, command)}
    took = turns(bench, folder, 2 if bench.quick else 9, all_ways)
    row(bench, f"`git status`, {STATUS_FILES} files, ten times", took,
        "direct", "native", 1.03)
    row(bench, "... beside a filter that allows all", took, "direct",
        "filtered", 1.03)
    row(bench, "... that filter without us", took, "filtered", "native", None)
    row(bench, "... in an overlay", took, "overlay", "overlayfs", 1.1)
    row(bench, "... an overlay without us", took, "overlayfs", "native", None)
    first = {way: median(one.first for one in all_of)
             for way, all_of in took.items()}
    bench.row("... the first one, direct and in an overlay",
              f"{first['direct']:.2f} s, {first['overlay']:.2f} s",
              f"overlayfs {first['overlayfs']:.2f} s", None, None)
    start = median(one.start for one in took["direct"])
    bench.row("the start of that run, with python's", f"{start * 1000:.0f} ms",
              "", None, None)
    shutil.rmtree(folder)


def ours(bench):
    """Processes of this program; one that has ended has none any more."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += os.path.samefile(f"/proc/{pid}/exe", bench.program)
        except OSError:
            pass
    return found


def cgroups():
    return sum(len(below) for _, below, _ in os.walk("/sys/fs/cgroup"))


def mounts():
    with open("/proc/self/mountinfo") as text:
        return len(text.readlines())


def left(bench):
    """Killed at any moment, 1,000 times."""
    folder = os.path.join(bench.cwd, "killed")
    os.makedirs(folder)
    before = ours(bench), mounts(), cgroups()
    dice = random.Random(2)
    count = 50 if bench.quick else 1000
    for _ in range(count):
        run = subprocess.Popen(
            [bench.program, "run", "--write", ".", "--", "sh", "-c",
             "mkdir -p d && mv d e; rmdir e"], cwd=folder, env=bench.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * 0.012)
        run.send_signal(signal.SIGKILL)
        run.wait()
    time.sleep(1)
    found = [now - then for now, then in
             zip((ours(bench), mounts(), cgroups()), before)]
    found.append(len(set(os.listdir(folder)) - {"d", "e"}))
    bench.row(f"left by {count} killed runs",
              "{} processes, {} mounts, {} cgroups, {} files".format(*found),
              "", sum(found), 0)
    shutil.rmtree(folder)


def alive(bench):
    """At the same time, each with a command that runs."""
    count = 50 if bench.quick else 1000
    before = time.perf_counter()
    runs = []
    for _ in range(count):
        runs.append(subprocess.Popen(
            [bench.program, "run", "--", "sh", "-c", "echo on; exec sleep 600"],
            cwd=bench.cwd, env=bench.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE))
    on = sum(run.stdout.readline() == b"on\n" for run in runs)
    took = time.perf_counter() - before
    for run in runs:
        run.terminate()
    ended = sum(run.wait() == 128 + signal.SIGTERM for run in runs)
    bench.row(f"{count} sandboxes alive at once",
              f"{on} run after {took:.1f} s, {ended} ended", "",
              2 * count - on - ended, 0)


def large(bench):
    """A folder of a few files for each that has others, as projects are."""
    folder = os.path.join(bench.home, "large")
    for i in range(LARGE_FILES):
        inner = os.path.join(folder, f"d{i // 400}", f"e{i // 16 % 25}")
        if i % 16 == 0:
            os.makedirs(inner)
        kind = "pem" if i % 5000 == 0 else ("c", "h", "js", "md")[i % 4]
        os.close(os.open(os.path.join(inner, f"name{i % 16}.{kind}"),
                         os.O_CREAT | os.O_WRONLY))
    took = {"start": [], "find": []}
    argv = {"start": [bench.program, "run", "--write", ".", "--hide",
                      "**/*.pem", "--", "/bin/true"],
            "find": ["find", ".", "-name", "*.pem"]}
    for turn in range(4 if bench.quick else 16):
        for name in took:
            before = time.perf_counter()
            subprocess.run(argv[name], cwd=folder, env=bench.env, check=True,
                           stdout=subprocess.DEVNULL)
            if turn:
                took[name].append((time.perf_counter() - before) * 1000)
    medians = {name: median(times) for name, times in took.items()}
    bench.row(f"start in a tree of {LARGE_FILES:,} files",
              f"{medians['start']:.0f} ms", f"find {medians['find']:.0f} ms",
              medians["start"] / medians["find"], 1.5)
    shutil.rmtree(folder)
