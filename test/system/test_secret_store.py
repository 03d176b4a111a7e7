# SPDX-License-Identifier: Apache-2.0
"""The store of secrets: `stockade secret set`, and `from store`."""
import ctypes
import fcntl
import json
import os
import pty
import select
import signal
import stat
import subprocess
import termios
import time

import pytest

from conftest import PATIENCE, PROGRAM, eventually

pytestmark = pytest.mark.whoever

VALUE = "st0red-value/with=odd+chars-42"
PASSPHRASE = "correct horse"
ALLOW = "allow * api.test/**\n"
SECRET = "secret TOKEN from store for api.test as bearer\n"
CURL = ('curl -sS -o /dev/null -H "Authorization: Bearer $TOKEN" '
        "https://api.test/x")


class Person:
    """A command with a terminal of its own, and who sits at it."""

    def __init__(self, stockade, *argv, stdin=None, env=None):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.name = argv

        def lead():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(
            [PROGRAM, *argv], cwd=stockade.cwd,
            env={**stockade.env, **(env or {})},
            stdin=self.slave if stdin is None else subprocess.PIPE,
            stdout=self.slave, stderr=self.slave, preexec_fn=lead,
            pass_fds=[self.slave])
        if stdin is not None:
            self.child.stdin.write(stdin)
            self.child.stdin.close()

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def until(self, text):
        end = time.monotonic() + 30 * PATIENCE
        while text.encode() not in self.seen:
            assert self.read(max(0, end - time.monotonic())), self.seen
        self.seen = self.seen.partition(text.encode())[2]

    def type(self, text):
        os.write(self.master, text.encode())

    def is_quiet(self):
        return not termios.tcgetattr(self.slave)[3] & termios.ECHO

    def answer(self, *dialogue):
        for asked, answer in dialogue:
            self.until(asked)
            assert self.is_quiet()
            self.type(answer + "\n")
        return self.end()

    def end(self):
        """The status, and all that was on the screen since the last question."""
        end = time.monotonic() + 40 * PATIENCE
        try:
            while self.child.poll() is None and time.monotonic() < end:
                self.read(0.05)
            status = self.child.wait(1)
            while self.read(0):
                pass
        finally:
            self.child.kill()
            self.child.wait()
        # However it ended.
        assert termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return status, self.seen.decode()


NEW = [("New passphrase", PASSPHRASE), ("The same again", PASSPHRASE)]
KNOWN = [("Passphrase of the store", PASSPHRASE)]


@pytest.fixture
def store(stockade):
    """One with TOKEN, locked; the keyring is left as it was."""
    status, said = Person(stockade, "secret", "set", "TOKEN").answer(
        ("Value of TOKEN", VALUE), *NEW)
    assert status == 0 and said.endswith("set: TOKEN\r\n"), said
    yield stockade.state() / "secrets" / "store"
    stockade.call("secret", "lock").ok()


def unlock(stockade, *flags):
    status, said = Person(stockade, "secret", "unlock", *flags).answer(*KNOWN)
    assert status == 0 and "unlocked for" in said


def names(stockade):
    return [entry["name"] for entry in
            json.loads(stockade.call("secret", "list", "--json").ok().out)]


def test_the_file_is_the_users_and_has_no_value(stockade, store):
    seen = store.stat()
    assert (stat.S_IMODE(seen.st_mode), seen.st_uid) == (0o600, os.geteuid())
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    assert VALUE.encode() not in store.read_bytes()
    assert os.listdir(store.parent) == ["store"]
    assert stockade.call("secret", "list").ok().out == "TOKEN\n"
    assert names(stockade) == ["TOKEN"]


def test_an_origin_receives_the_stored_value(stockade, store, net, api):
    unlock(stockade)
    result = stockade.sh(CURL + "; env", policy=net + ALLOW + SECRET).ok()
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE]
    assert VALUE not in result.text and "TOKEN=" in result.out
    assert VALUE not in json.dumps(stockade.log())


def test_a_run_asks_for_the_passphrase(stockade, store, net, api):
    status, said = Person(stockade, *stockade.argv(
        "sh", "-c", CURL, policy=net + ALLOW + SECRET)[1:]).answer(
            ("Passphrase of the store", "wrong"),
            ("That is not it", PASSPHRASE))
    assert status == 0, said
    assert api.saw(VALUE)
    assert PASSPHRASE not in said and VALUE not in said


def test_a_locked_store_and_no_terminal(stockade, store, net, api):
    for word in "secret", "secret?":
        policy = net + ALLOW + SECRET.replace("secret", word)
        result = stockade.sh(CURL, policy=policy)
        assert result.status == 125
        assert "locked" in result.err and "secret unlock" in result.err
    assert not api.requests
    unlock(stockade)
    stockade.sh(CURL, policy=policy).ok()
    assert api.saw(VALUE)


def test_three_wrong_passphrases_end_it(stockade, store):
    status, said = Person(stockade, "secret", "set", "OTHER",
                          stdin=b"v\n").answer(
        ("Passphrase", "a"), ("That is not it", "b"), ("That is not it", "c"))
    assert status == 125 and "3 wrong passphrases" in said
    assert names(stockade) == ["TOKEN"]


def test_a_key_names_the_entry(stockade, store, net, api):
    unlock(stockade)
    stockade.call("secret", "set", "me/other@x", stdin=b"second-value\n").ok()
    policy = ("secret TOKEN from store key me/other@x for api.test as bearer\n")
    stockade.sh(CURL, policy=net + ALLOW + policy).ok()
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer second-value"]
    shown = stockade.call("policy", "--policy", stockade.policy(
        ALLOW + policy)).ok().out
    assert "from store key me/other@x for" in shown


def test_what_is_not_there(stockade, net, api):
    optional = "secret? TOKEN from store for api.test as bearer\n"
    result = stockade.sh("true", policy=net + ALLOW + SECRET)
    assert result.status == 125
    assert "secret set TOKEN" in result.err
    has_none = 'test -z "${TOKEN+set}"'
    stockade.sh(has_none, policy=net + ALLOW + optional).ok()


def test_an_entry_that_is_not_there(stockade, store, net, api):
    other = "secret TOKENS from store for api.test as bearer\n"
    result = stockade.sh("true", policy=net + ALLOW + other)
    assert result.status == 125
    assert "did you mean TOKEN?" in result.err
    # Nothing of the store is needed: it stays locked.
    stockade.sh('test -z "${TOKENS+set}"', policy=net + ALLOW +
                other.replace("secret ", "secret? ")).ok()
    unlock(stockade)
    both = other.replace("secret ", "secret? ") + SECRET
    stockade.sh('test -z "${TOKENS+set}" && ' + CURL,
                policy=net + ALLOW + both).ok()
    assert api.saw(VALUE)


def test_a_value_is_never_an_argument(stockade):
    for argv in (["TOKEN", VALUE], ["TOKEN=" + VALUE]):
        result = stockade.call("secret", "set", *argv, stdin=b"x\n")
        assert result.status == 125
        assert "never an argument" in result.err and VALUE not in result.text
    assert not (stockade.state() / "secrets" / "store").exists()


@pytest.mark.parametrize("value", [b"", b"\n", b"two\nlines\n", b"a b\n",
                                   b"v\n\n", b"caf\xc3\xa9\n", b"a\0b",
                                   b"v" * 16385])
def test_an_unfit_value_is_refused(stockade, store, value):
    before = store.read_bytes()
    unlock(stockade)
    result = stockade.call("secret", "set", "BAD", stdin=value)
    assert result.status == 125 and "value" in result.err
    assert store.read_bytes() == before
    stockade.call("secret", "set", "GOOD", stdin=b"v" * 16384 + b"\n").ok()
    assert names(stockade) == ["GOOD", "TOKEN"]


def test_set_replaces_and_remove_takes_away(stockade, store, net, api):
    unlock(stockade)
    stockade.call("secret", "set", "TOKEN", stdin=b"newer").ok()
    stockade.sh(CURL, policy=net + ALLOW + SECRET).ok()
    assert [r.get("authorization") for r in api.requests] == ["Bearer newer"]
    stockade.call("secret", "remove", "TOKEN").ok()
    assert names(stockade) == []
    again = stockade.call("secret", "remove", "TOKEN")
    assert again.status == 125 and "has no TOKEN" in again.err


def test_two_that_set_at_once_lose_none(stockade, store):
    unlock(stockade)
    sets = [subprocess.Popen([PROGRAM, "secret", "set", f"N{i}"],
                             cwd=stockade.cwd, env=stockade.env,
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for i in range(8)]
    for child in sets:
        child.communicate(b"v\n", timeout=60 * PATIENCE)
    assert [child.returncode for child in sets] == [0] * 8
    assert names(stockade) == [f"N{i}" for i in range(8)] + ["TOKEN"]


def test_a_changed_file_is_noticed(stockade, store, net, api):
    unlock(stockade)
    whole = store.read_bytes()
    for damaged in (whole[:-1], whole + b"x", b"", whole[:-1] + bytes(
            [whole[-1] ^ 1])):
        store.write_bytes(damaged)
        result = stockade.sh("true", policy=net + ALLOW + SECRET)
        assert result.status == 125, damaged
    store.write_bytes(whole)
    stockade.sh(CURL, policy=net + ALLOW + SECRET).ok()


def test_a_file_that_others_can_read_is_refused(stockade, store, net):
    unlock(stockade)
    store.chmod(0o640)
    result = stockade.sh("true", policy=net + ALLOW + SECRET)
    assert result.status == 125 and "chmod 600" in result.err
    store.chmod(0o600)
    stockade.sh("true", policy=net + ALLOW + SECRET).ok()


@pytest.mark.whoever(False)
def test_the_file_is_hidden_in_a_granted_tree(stockade, store):
    look = f"cat {store}; ls {stockade.state()}; cat {stockade.home}/seen"
    (stockade.home / "seen").write_text("granted")
    result = stockade.sh(look, policy=f"read {stockade.home}\n")
    assert "granted" in result.out and "stkseal" not in result.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM,
                                    signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_at_the_prompt_restores_the_terminal(stockade, store, number):
    person = Person(stockade, "secret", "unlock")
    person.until("Passphrase of the store")
    assert person.is_quiet()
    person.child.send_signal(number)
    status, _ = person.end()	# which compares the terminal's mode
    assert status == -number


def test_ctrl_c_before_a_run_ends_it(stockade, store, net):
    person = Person(stockade, *stockade.argv(
        "touch", "ran", policy="write .\n" + net + ALLOW + SECRET)[1:])
    person.until("Passphrase of the store")
    person.type("\x03")
    status, _ = person.end()
    assert status == -signal.SIGINT
    assert not (stockade.cwd / "ran").exists()


def test_a_stop_at_the_prompt_asks_again(stockade, store):
    person = Person(stockade, "secret", "unlock")
    person.until("Passphrase of the store")
    person.child.send_signal(signal.SIGTSTP)
    # An orphaned group is not stopped by the terminal: it is asked at once.
    person.until("Passphrase of the store")
    assert person.is_quiet()
    person.type(PASSPHRASE + "\n")
    assert person.end()[0] == 0


def test_two_new_passphrases_that_differ_make_nothing(stockade):
    status, said = Person(stockade, "secret", "set", "A", stdin=b"v\n").answer(
        ("New passphrase", "one"), ("The same again", "two"))
    assert status == 125 and "differ" in said
    assert names(stockade) == []


def test_no_argument_and_no_environment_has_it(stockade):
    person = Person(stockade, "secret", "set", "TOKEN")
    person.until("Value of TOKEN")
    person.type(VALUE + "\n")
    person.until("New passphrase")
    person.type(PASSPHRASE + "\n")
    person.until("The same again")
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for file in "cmdline", "environ":
            try:
                with open(f"/proc/{pid}/{file}", "rb") as text:
                    content = text.read()
            except OSError:
                continue
            assert VALUE.encode() not in content
            assert PASSPHRASE.encode() not in content
    person.type(PASSPHRASE + "\n")
    assert person.end()[0] == 0



@pytest.mark.whoever(False)
def test_seal_is_confined(stockade, store):
    person = Person(stockade, "secret", "unlock")
    person.until("Passphrase of the store")
    parent = person.child.pid
    with open(f"/proc/{parent}/task/{parent}/children") as text:
        seal, = text.read().split()
    with open(f"/proc/{seal}/status") as text:
        status = dict(line.split(":\t", 1) for line in
                      text.read().splitlines() if ":\t" in line)
    assert status["Name"] == "stockade-seal"
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert int(status["CapPrm"], 16) == 0
    if os.geteuid() == 0:
        assert status["Uid"].split()[0] != "0"
    person.type("\x03")
    person.end()
    assert eventually(lambda: not os.path.exists(f"/proc/{seal}"))


# What reads the key as stockade does, and by every number in /proc/keys.
READ_KEY = r"""
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
add_key, request_key, keyctl = {numbers}
room = ctypes.create_string_buffer(64)
name = sys.argv[1].encode()

def call(*args):
    got = libc.syscall(*[ctypes.c_long(a) if isinstance(a, int) else a
                         for a in args])
    return got if got >= 0 else -ctypes.get_errno()

SEARCH, READ, LINK, JOIN = 10, 11, 8, 1
USER, PROCESS, SESSION, USER_SESSION = -4, -2, -3, -5
got = []
for ring in USER, SESSION, USER_SESSION:
    key = call(keyctl, SEARCH, ring, b"user", name, PROCESS)
    got.append(call(keyctl, READ, key, room, 64) if key > 0 else key)
got.append(call(request_key, b"user", name, None, PROCESS))
got.append(call(keyctl, LINK, USER, SESSION))
# By numbers as well: somebody could have told them.
for number in map(int, sys.argv[2:]):
    got.append(call(keyctl, READ, number, room, 64))
print("READ" if 32 in got else "CLOSED", *got)
"""


def key_numbers(name):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    number = libc.syscall(NUMBERS[2], 10, ctypes.c_long(-4), b"user",
                          name.encode(), ctypes.c_long(0))
    return [number] if number > 0 else []


NUMBERS = {"x86_64": (248, 249, 250),
           "aarch64": (217, 218, 219)}[os.uname().machine]


@pytest.mark.whoever(False)
def test_the_agent_cannot_read_the_key(stockade, store, tmp_path):
    import hashlib
    name = "stockade:secrets:" + hashlib.sha256(
        str(stockade.state()).encode()).hexdigest()
    script = READ_KEY.replace("{numbers}", str(NUMBERS))
    python = ["/usr/bin/python3", "-c", script, name]

    def outside():
        return subprocess.run(python, capture_output=True, text=True,
                              check=True).stdout.split()[0]

    assert outside() == "CLOSED"		# there is none yet
    unlock(stockade)
    assert outside() == "READ"
    result = stockade.run(*python, *key_numbers(name)).ok()
    assert result.out.split()[0] == "CLOSED", result
    assert set(result.out.split()[1:]) == {"-1"}
    result = stockade.sh("cat /proc/keys /proc/key-users; echo end")
    assert "stockade:" not in result.out and "end" in result.out
    stockade.call("secret", "lock").ok()
    assert outside() == "CLOSED"


@pytest.mark.whoever(False)
def test_the_key_is_for_its_possessor_and_for_a_time(stockade, store):
    unlock(stockade, "--for", "90s")
    with open("/proc/keys") as keys:
        lines = [line for line in keys if "stockade:secrets" in line]
    # Not viewed by who does not possess it: not even its name.
    for line in lines:
        assert line.split()[4] == "3f000000"
    for text in "0s", "31d", "soon", "":
        result = stockade.call("secret", "unlock", "--for", text)
        assert result.status == 125 and "30d" in result.err
    assert stockade.call("secret", "lock").ok().out == "locked\n"
    assert stockade.call("secret", "lock").ok().out == "it was locked\n"


def test_the_key_of_a_former_store_opens_nothing(stockade, store, net, api):
    unlock(stockade)
    store.unlink()
    status, _ = Person(stockade, "secret", "set", "TOKEN",
                       stdin=b"another\n").answer(*NEW)
    assert status == 0
    result = stockade.sh(CURL, policy=net + ALLOW + SECRET)
    assert result.status == 125 and "locked" in result.err
    unlock(stockade)
    stockade.sh(CURL, policy=net + ALLOW + SECRET).ok()
    assert api.saw("another")
