# SPDX-License-Identifier: Apache-2.0
"""What real work costs inside, and what many runs leave behind: for bench/run.

compile: a C project of 500 files, beside the same outside.  status: `git
status` on 50,000 files.  left: runs that are killed at any moment.  alive:
sandboxes that live at the same time.
"""
import os
import random
import shutil
import signal
import statistics
import subprocess
import time

FILES, STATUS_FILES = 500, 50000


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


def both(bench, folder, command, prepare, turns):
    """Seconds, in turns: outside, and inside with `write .`."""
    ways = {"native": command,
            "stockade": [bench.program, "run", "--write", ".", "--", *command]}
    took = {name: [] for name in ways}
    for _ in range(turns):
        for name, argv in ways.items():
            if prepare:
                subprocess.run(prepare, cwd=folder, env=bench.env, check=True)
            before = time.perf_counter()
            subprocess.run(argv, cwd=folder, env=bench.env, check=True,
                           stdout=subprocess.DEVNULL)
            took[name].append(time.perf_counter() - before)
    return [statistics.median(took[name]) for name in ways]


def row(bench, what, native, inside, bound):
    bench.row(what, f"{inside:.2f} s", f"native {native:.2f} s",
              inside / native, bound)


def compile(bench):
    folder = os.path.join(bench.cwd, "project")
    project(folder)
    native, inside = both(bench, folder, ["make", "-s", "-j2"],
                          ["make", "-s", "clean"], 1 if bench.quick else 3)
    row(bench, f"compiling {FILES} C files", native, inside, 1.03)
    shutil.rmtree(folder)


TEN = """import subprocess, time
before = time.perf_counter()
for _ in range(10):
    subprocess.run(["git", "status", "--porcelain"], check=True)
print(time.perf_counter() - before)"""


def status(bench):
    """Ten times, timed inside; what the start takes with so many files granted
    is a row of its own."""
    folder = os.path.join(bench.cwd, "repository")
    repository(folder)
    ways = {"native": [], "stockade": [bench.program, "run", "--write", ".",
                                       "--"]}
    took, starts = {name: [] for name in ways}, []
    for _ in range(2 if bench.quick else 5):
        for name, argv in ways.items():
            before = time.perf_counter()
            out = subprocess.run([*argv, "python3", "-c", TEN], cwd=folder,
                                 env=bench.env, check=True,
                                 stdout=subprocess.PIPE).stdout
            took[name].append(float(out.split()[-1]))
        starts.append(time.perf_counter() - before - took[name][-1])
    native, inside = [statistics.median(times) for times in took.values()]
    row(bench, f"`git status`, {STATUS_FILES} files, ten times", native,
        inside, 1.03)
    bench.row("the start of that run, with python's",
              f"{statistics.median(starts) * 1000:.0f} ms", "", None, None)
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
