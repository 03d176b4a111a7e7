# SPDX-License-Identifier: Apache-2.0
"""Interactive programs: a terminal of the run's own, behind the person's."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import pytest


class Terminal:
    """`stockade run` on a pseudo terminal, as a person has it."""

    def __init__(self, stockade, *command, rows=30, columns=100, shell=None,
                 **more):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.seen = b""
        argv = stockade.argv(*command, **more)

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            shell(argv) if shell else argv, cwd=stockade.cwd,
            env={**stockade.env, "TERM": "xterm"}, stdin=slave, stdout=slave,
            stderr=slave, preexec_fn=lead)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def until(self, text, seconds=15):
        end = time.monotonic() + seconds
        while text.encode() not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                piece = b""
            if not piece:
                raise AssertionError(f"no {text!r} in {self.seen!r}")
            self.seen += piece
        before, _, self.seen = self.seen.partition(text.encode())
        return before.decode("utf-8", "replace")

    def wait(self, seconds=15):
        """The status; reads on, so that nobody waits for us."""
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:
                    pass
        return self.child.wait(1)

    def close(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(stockade):
    opened = []

    def start(*command, **more):
        opened.append(Terminal(stockade, *command, **more))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_it_is_a_terminal_of_its_own(terminal):
    t = terminal("sh", "-c", "tty; test -t 0 && test -t 1 && test -t 2 && "
                 "echo all; stty size; exit 5")
    before = t.until("all")
    assert "/dev/pts/" in before or "/dev/console" in before
    t.until("30 100")
    assert t.wait() == 5


def test_what_is_typed_arrives(terminal):
    t = terminal("sh", "-c", "echo ready; read line; echo \"got <$line>\"")
    t.until("ready")
    t.send("hello\n")
    t.until("got <hello>")
    assert t.wait() == 0


def test_a_resize_arrives(terminal):
    t = terminal("sh", "-c", "trap 'stty size' WINCH; echo ready; "
                 "while :; do sleep 0.1; done")
    t.until("ready")
    t.resize(41, 121)
    os.kill(t.child.pid, signal.SIGWINCH)
    t.until("41 121")
    t.send("\x03")
    t.wait()


def test_ctrl_c_interrupts_the_command(terminal):
    t = terminal("sh", "-c", "echo ready; sleep 30; echo never")
    t.until("ready")
    time.sleep(0.2)
    t.send("\x03")
    # As without stockade: a shell's loop ends, and its prompt is on a new line.
    assert t.wait() == -signal.SIGINT
    assert b"never" not in t.seen


def test_ctrl_c_ends_a_script_that_runs_it_in_a_loop(terminal):
    t = terminal("sh", "-c", "echo ready; sleep 30",
                 shell=lambda argv: ["sh", "-c", 'while :; do "$@"; done',
                                     "sh", *argv])
    t.until("ready")
    time.sleep(0.2)
    t.send("\x03")
    assert t.wait() == -signal.SIGINT
    assert b"ready" not in t.seen


def test_ctrl_c_is_the_commands_to_handle(terminal):
    t = terminal("sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; "
                 "while :; do sleep 0.1; done")
    t.until("ready")
    t.send("\x03")
    t.until("caught")
    assert t.wait() == 9


def test_end_of_file(terminal):
    t = terminal("sh", "-c", "echo ready; cat; echo ended")
    t.until("ready")
    t.send("line\n")
    t.until("line")
    time.sleep(0.2)
    t.send("\x04")
    t.until("ended")
    assert t.wait() == 0


def test_job_control_inside(terminal):
    t = terminal("bash", "--norc", "-i")
    t.until("$ ")
    t.send("PS1='%''% '\n")
    t.until("%% ")
    t.send("sleep 30\n")
    time.sleep(0.5)
    t.send("\x1a")
    t.until("Stopped")
    t.send("jobs; kill -9 %1; sleep 0.3; exit 4\n")
    assert t.wait() == 4


def test_the_terminal_is_restored(terminal):
    t = terminal("sh", "-c", "stty raw -echo; echo ready; sleep 0.1")
    t.until("ready")
    t.wait()
    assert termios.tcgetattr(t.slave) == t.before


def test_the_terminal_is_restored_after_a_kill(terminal):
    from conftest import eventually
    t = terminal("sh", "-c", "echo ready; sleep 30")
    t.until("ready")
    assert termios.tcgetattr(t.slave) != t.before
    t.child.kill()
    t.child.wait()
    assert eventually(lambda: termios.tcgetattr(t.slave) == t.before)


def test_ctrl_z_stops_and_continues(terminal):
    """A shell outside sees the run stop, and brings it back."""
    def shell(argv):
        return ["bash", "--norc", "-i", "-c",
                'set -m; "$@"; echo "[stopped]"; fg >/dev/null; '
                'echo "[back $?]"', "sh", *argv]
    t = terminal("sh", "-c", "echo ready; read x; echo \"got $x\"; exit 6",
                 shell=shell)
    t.until("ready")
    time.sleep(0.3)
    t.send("\x1a")
    t.until("[stopped]")
    time.sleep(0.3)
    t.send("word\n")
    t.until("got word")
    t.until("[back 6]")
    t.wait()


def test_output_to_a_pipe_with_input_from_the_terminal(terminal):
    def shell(argv):
        return ["sh", "-c", '"$@" | tr a-z A-Z', "sh", *argv]
    t = terminal("sh", "-c", "test -t 0 && echo in; test -t 1 || echo piped",
                 shell=shell)
    t.until("IN")
    t.until("PIPED")
    t.wait()


def test_large_output_is_whole(terminal):
    t = terminal("sh", "-c", "seq 1 20000; echo finished")
    before = t.until("finished", 30)
    assert before.split()[-1] == "20000"
    assert len(before.split()) == 20000
    assert t.wait() == 0
