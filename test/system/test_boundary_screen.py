# SPDX-License-Identifier: Apache-2.0
"""What stockade itself prints never speaks to the terminal, whoever chose the
bytes: the agent, a repository, a server, a name in the file system."""
import json
import os
import re
import socket
import subprocess

import pytest

from conftest import PROGRAM

# A clipboard write, a title report, a line that lies, a control of one byte
# (as UTF-8, and bare), text that runs backwards, a return, a tag character.
NASTY = ["\x1b]52;c;ZXZpbA==\x07", "\x1b[21t", "\nstockade: all is well",
         "\u009b2J", "\udc9b2J", "\u202egnp.exe", "\rFAKE", "\x7f", "\u2066x",
         "\U000e0041", "\u200b", "\ufeff"]
NASTY_IDS = ["clipboard", "report", "newline", "c1", "raw-c1", "bidi",
             "return", "delete", "isolate", "tag", "zero-width", "bom"]
hostile = pytest.mark.parametrize("bytes_", NASTY, ids=NASTY_IDS)
# Whatever a terminal, or a reader, could take for more than a letter.
SPEAKS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\udc80-\udcff]")


class Said:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode("utf-8", "surrogateescape")
        self.err = done.stderr.decode("utf-8", "surrogateescape")

    def is_clean(self):
        for text in (self.out, self.err):
            assert not SPEAKS.search(text), repr(text)
            assert not re.search("(?m)^(stockade: all is well|FAKE)", text), text
        return self


def say(stockade, *argv, cwd=None, env=None, stdin=None):
    return Said(subprocess.run(
        [PROGRAM, *argv], cwd=cwd or stockade.cwd, stdin=subprocess.DEVNULL
        if stdin is None else stdin, env={**stockade.env, **(env or {})},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30))


@hostile
def test_the_log_and_the_runs(stockade, bytes_):
    """Arguments, the working directory, and what failed."""
    where = stockade.cwd / ("in" + bytes_.replace("/", ""))
    where.mkdir()
    assert say(stockade, "run", "--", "true", "a" + bytes_,
               cwd=where).status == 0
    say(stockade, "run", "--", "./absent" + bytes_, cwd=where).is_clean()
    for verb in (["runs"], ["log"], ["runs", "--json"], ["log", "--json"],
                 ["log", "--denied"], ["log", "verify"]):
        said = say(stockade, *verb).is_clean()
        assert said.status == 0 and said.out or verb[-1] == "--denied", verb
    # The control: it is there, in a form that can be seen.
    runs = [json.loads(line)["run"] for line in
            say(stockade, "runs", "--json").out.splitlines()]
    for run in runs:
        said = say(stockade, "log", run)
        assert re.search("/in[\\\\\ufffd]", said.out), said.out


@hostile
def test_hosts_and_requests(stockade, net, api, bytes_):
    raw = os.fsencode(bytes_.replace("\n", " ").replace("\r", " "))
    script = """
import os, socket, ssl, sys
text = os.fsencode(sys.argv[1])
for head in (b"GET /" + text + b" HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n",
             b"GET / HTTP/1.1\\r\\nHost: a" + text + b"\\r\\n\\r\\n",
             b"B" + text + b" / HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n",
             b"CONNECT " + text + b":443 HTTP/1.1\\r\\n\\r\\n"):
    with socket.create_connection(("plain.test", 80), 5) as s:
        s.sendall(head)
        s.recv(4096)
name = b"x" + text.split(b".")[0][:60]
question = (b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len(name)]) + name
            + b"\\4test\\0\\0\\1\\0\\1")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(2)
    s.sendto(question, ("10.111.0.1", 53))
    try:
        s.recv(512)
    except OSError:
        pass
"""
    stockade.run("/usr/bin/python3", "-c", script, raw,
                 policy=net + "allow GET plain.test/x\n")
    for verb in (["log"], ["log", "--denied"], ["log", "--json"], ["runs"]):
        said = say(stockade, *verb).is_clean()
        assert said.status == 0 and said.out
    assert "deny" in say(stockade, "log").out


@hostile
def test_the_plan(stockade, bytes_):
    name = bytes_.replace("/", "")
    (stockade.cwd / ("." + name)).mkdir()
    (stockade.cwd / ("d" + name)).mkdir()
    (stockade.cwd / ("d" + name) / ".env").write_text("x")
    for flags in ([], ["--json"]):
        said = say(stockade, "run", "--explain", *flags, "--write", ".", "--",
                   "true", name).is_clean()
        assert said.status == 0 and ".env" in said.out


@hostile
def test_complaints(stockade, bytes_):
    """Words on the command line, names on the disk."""
    for argv in (["x" + bytes_], ["run", "--x" + bytes_], ["log", bytes_],
                 ["log", "--x" + bytes_], ["runs", bytes_],
                 ["run", "--", "none" + bytes_], ["trust", "x" + bytes_],
                 ["run", "--policy", "x" + bytes_, "--", "true"],
                 ["run", "--read", "./x" + bytes_, "--", "true"],
                 ["run", "--allow", "GET x" + bytes_ + "/", "--", "true"],
                 ["run", "--env", "set A" + bytes_ + "=1", "--", "true"],
                 ["run", "--profile", "x" + bytes_, "--", "true"],
                 ["check", "read x" + bytes_], ["check", bytes_],
                 ["check", "GET", "https://x" + bytes_ + "/"],
                 ["policy", "--hide", "./x" + bytes_],
                 ["policy", "--json", "--hide", "./x" + bytes_]):
        said = say(stockade, *argv).is_clean()
        assert said.out or said.err, argv


@hostile
def test_a_policy_that_a_repository_brings(stockade, bytes_):
    folder = stockade.cwd / ("repo" + bytes_.replace("/", ""))
    folder.mkdir()
    text = f"read ./sub{bytes_}\nallow GET a{bytes_}.test/**\nfoo{bytes_}\n"
    policy = folder / "stockade.policy"
    for kept in (text, text.splitlines()[0] + "\n", "read? ./sub\n"):
        policy.write_bytes(os.fsencode(kept))
        for argv in (["run", "--", "true"], ["policy"], ["trust"],
                     ["policy"], ["policy", "--json"], ["run", "--", "true"],
                     ["run", "--explain", "--", "true"],
                     ["check", "read ./sub"]):
            say(stockade, *argv, cwd=folder).is_clean()
    assert "trusted" in say(stockade, "trust", cwd=folder).is_clean().out


def test_what_ends_a_run(stockade):
    """The name of a file that the host replaced."""
    name = ".x\x1b]52;c;ZXZpbA==\x07\u202e"
    path = stockade.cwd / name
    path.write_text("x")
    run = stockade.start("sh", "-c", "echo up; sleep 20")
    assert run.stdout.readline() == b"up\n"
    (stockade.cwd / "new").write_text("y")
    (stockade.cwd / "new").rename(path)
    out, err = run.communicate(timeout=10)
    text = err.decode()
    assert "no longer hidden" in text and "\\x1b]52" in text
    assert not SPEAKS.search(text), repr(text)
    for verb in ("log", "runs"):
        say(stockade, verb).is_clean()


def test_the_output_of_the_command_is_its_own(stockade):
    """The control: what the command itself writes to a pipe is not touched."""
    said = say(stockade, "run", "--", "printf", r"\033]52;c;ZXZpbA==\007")
    assert said.out == "\x1b]52;c;ZXZpbA==\x07"


def test_a_socket_gets_no_more(stockade):
    """Nothing of stockade's own goes where the command's output goes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = subprocess.run(
            [PROGRAM, "run", "--", "printf", "x"], cwd=stockade.cwd,
            env=stockade.env, stdin=subprocess.DEVNULL, stdout=theirs,
            stderr=subprocess.PIPE, timeout=30)
        theirs.close()
        assert done.returncode == 0 and ours.recv(100) == b"x"
        assert ours.recv(100) == b""
