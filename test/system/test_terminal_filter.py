# SPDX-License-Identifier: Apache-2.0
"""`terminal filter`: what a person's terminal is told, judged by its bytes."""
import json

import pytest

from test_terminal import Terminal, terminal  # noqa: F401

PASSES = [
    b"\x1b[?1049h", b"\x1b[2J\x1b[1;1H", b"\x1b[1;38;5;200mred\x1b[0m",
    b"\x1b[?25l", b"\x1b[?2004h", b"\x1b[?1002;1006h", b"\x1b[>4;2m",
    b"\x1b[2 q", b"\x1b(0lqk\x1b(B", "\u271d \U0001f600 \xdb".encode(),
    b"\x1b]8;;https://h.example/\x1b\\link\x1b]8;;\x1b\\", b"\x1b[?1049l",
]
LEFT_OUT = [
    b"\x1b]52;c;ZXZpbA==\a", b"\x1b]0;title\a", b"\x1b]2;title\x1b\\",
    b"\x1b[21t", b"\x1b[c", b"\x1b[6n", b"\x1b]11;?\a", b"\x1bP$qm\x1b\\",
    b"\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\", b"\x1b_Gt=f;eA==\x1b\\",
    b"\x1b]50;?\a", b"\x1b]1337;File=:eA==\a", b"\x1bP0|17/41\x1b\\",
    b"\x1b[5i", b"\x1b[?5i", b"\xc2\x9b5i", b"\xc2\x9d52;c;eA==\xc2\x9c",
    b"\x1b[?2l", b"\x1b%@", b"\x05",
]
ALL = b"".join(a + b for a, b in
               zip(PASSES * 2, LEFT_OUT)) + b"".join(PASSES)
FILTERED = b"".join(a for a, _ in
                    zip(PASSES * 2, LEFT_OUT)) + b"".join(PASSES)
FILTER = ["--terminal", "filter"]

SAY = """
import os, sys, time
step = int(sys.argv[2])
data = bytes.fromhex(sys.argv[1])
os.write(1, b"<begin>")
for at in range(0, len(data), step):
    os.write(1, data[at:at + step])
    if step < 100:
        time.sleep(0.001)
os.write(1, b"<end>")
"""


def say(data, step=1 << 20):
    return "/usr/bin/python3", "-c", SAY, data.hex(), str(step)


def whole(t):
    """All that the terminal got between the two words."""
    assert t.wait() == 0
    return t.seen.partition(b"<begin>")[2].partition(b"<end>")[0]


def test_by_default_all_passes_exactly(terminal):
    assert whole(terminal(*say(ALL))) == ALL
    assert whole(terminal(*say(ALL), flags=["--terminal", "exact"])) == ALL


@pytest.mark.parametrize("step", [1 << 20, 1, 7])
def test_what_makes_a_terminal_act_is_left_out(terminal, step):
    assert whole(terminal(*say(ALL, step), flags=FILTER)) == FILTERED


def test_bytes_that_are_no_text(terminal):
    assert whole(terminal(*say(b"a\x9b5ib\xffc\xe2\x9b6nd"),
                          flags=FILTER)) == b"a?5ib?c?6nd"


def test_the_terminal_is_never_asked(terminal):
    """With the control: a command that asks, and a terminal that answers."""
    ask = ("sh", "-c", "stty raw -echo min 0 time 10; printf '\\033[6n'; "
           "a=$(dd bs=1 count=6 2>/dev/null | od -An -tx1); "
           "stty sane; echo \"answer <$a>\"")
    t = terminal(*ask)
    t.until("\x1b[6n")
    t.send("\x1b[1;1R")
    t.until("answer < 1b 5b 31 3b 31 52>")
    t = terminal(*ask, flags=FILTER)
    assert "\x1b[6n" not in t.until("answer <>")


def test_errors_are_filtered_too_but_no_pipe(terminal):
    """Standard error is the terminal, standard output is not."""
    def shell(argv):
        return ["sh", "-c", '"$@" | od -An -c', "sh", *argv]
    t = terminal("sh", "-c", "printf '<\\033[5i>' >&2; printf '\\033[5i'",
                 shell=shell, flags=FILTER)
    t.wait()
    assert b"<>" in t.seen and b"033   [   5   i" in t.seen


def test_a_pipe_and_a_file_are_not_filtered(stockade):
    out = stockade.run("sh", "-c", "printf '\\033[5i'", flags=FILTER).ok().out
    assert out == "\x1b[5i"
    stockade.run("sh", "-c", "printf '\\033[5i' > file",
                 flags=[*FILTER, "--write", "."]).ok()
    assert (stockade.cwd / "file").read_bytes() == b"\x1b[5i"


def test_what_is_typed_is_not_filtered(terminal):
    t = terminal("sh", "-c", "stty raw -echo; echo ready; "
                 "dd bs=1 count=7 2>/dev/null | od -An -c; stty sane",
                 flags=FILTER)
    t.until("ready")
    t.send("\x1b[24;1R")
    t.until("033   [   2   4   ;   1   R")


def test_nothing_is_lost_behind_much_that_is_left_out(terminal):
    assert whole(terminal("sh", "-c", "printf '<begin>'; head -c 400000 "
                          "/dev/zero | sed 's/\\x00/\\x1b[5i/g'; "
                          "printf 'last<end>'", flags=FILTER)) == b"last"


def test_it_is_told_in_every_form(stockade):
    text = stockade.call("policy", "--json", *FILTER).ok().out
    assert json.loads(text)["terminal"] == [
        {"word": "filter", "origin": "--terminal"}]
    again = stockade.call("policy", "--policy", stockade.policy(text)).ok()
    assert again.out.startswith("terminal filter")
    refused = stockade.run("true", flags=["--terminal", "none"])
    assert refused.status == 125 and "`exact` or `filter`" in refused.err
