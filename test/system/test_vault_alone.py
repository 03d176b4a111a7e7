# SPDX-License-Identifier: Apache-2.0
"""stockade-vault among stand-ins for warden, edge and dial: the whole process,
confined, from its start to its end.
"""
import base64
import os
import re
import signal
import ssl
import struct
import subprocess
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import wire

pytestmark = pytest.mark.whoever

SECRET = b"sk-live-0123456789-of-the-user"
HOST, PORT = "api.test", 443
EDGE, VAULT, DIAL = 2, 3, 4


def pipe_of(value):
    """The read end of a finished source."""
    read_end, write_end = os.pipe()
    os.write(write_end, value)
    os.close(write_end)
    return read_end


class Run:
    """A vault, and warden's, edge's and dial's ends of its channels."""

    def __init__(self, want_ca=1, secrets=(("TOKEN", SECRET + b"\n"),)):
        self.process, self.warden = wire.start_helper("vault")
        self.warden.send("VAULT_START", want_ca=want_ca, sources=len(secrets))
        for number, (name, value) in enumerate(secrets):
            fd = value if isinstance(value, int) else pipe_of(value)
            self.warden.send("SOURCE", [fd], secret=number, name=name)
            os.close(fd)
        self.edge, self.dial = self.peer(EDGE), self.peer(DIAL)
        self.number = 0

    def peer(self, role):
        ours, theirs = wire.pair()
        try:
            self.warden.send("VAULT_PEER", [theirs.fileno()], role=role)
        except BrokenPipeError:
            pass    # a source was at fault: what it said is still to be read
        theirs.close()
        return wire.Channel(ours)

    def ready(self):
        self.ca_pem = self.warden.expect("READY").ca_pem
        return self

    def fault(self):
        text = self.warden.expect("FAULT").text.decode()
        assert self.process.wait(10) == 1
        return text

    def leaf_key(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.edge.send("LEAF_KEY", spki=self.key.public_key().public_bytes(
            serialization.Encoding.DER,
            serialization.PublicFormat.SubjectPublicKeyInfo))

    def sign(self, name):
        self.edge.send("SIGN", name=name)
        return self.edge.expect("CERTIFICATE").der

    def grant(self, *secrets, version=0):
        """The values that dial is leased for it, of that version."""
        self.number += 1
        self.warden.send("GRANT", conn=self.number, id=7,
                         secrets=b"".join(struct.pack("<2I", secret, version)
                                          for secret in secrets))
        values, self.others = [], []
        for secret in secrets:
            lease = self.dial.expect("LEASE")
            self.others.append(lease.others.split())
            assert (lease.conn, lease.id, lease.secret) == (
                self.number, 7, secret)
            assert lease.ok or not lease.value
            values.append(lease.value if lease.ok else None)
        return values


@pytest.fixture
def start():
    runs = []

    def begin(*args, of=Run, **values):
        runs.append(of(*args, **values))
        return runs[-1]
    yield begin
    for run in runs:
        run.warden.close()
        try:
            run.process.wait(10)
        except subprocess.TimeoutExpired:
            run.process.kill()
            run.process.wait()
            raise


def status(run, field):
    with open(f"/proc/{run.process.pid}/status") as lines:
        return re.search(rf"^{field}:\s*(.*)$", lines.read(), re.M).group(1)


def test_certificate_verifies_with_the_run_s_ca(start, tmp_path):
    run = start().ready()
    run.leaf_key()
    der = run.sign(HOST)
    leaf = x509.load_der_x509_certificate(der)
    names = leaf.extensions.get_extension_for_class(
        x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [HOST]
    (tmp_path / "ca.pem").write_bytes(run.ca_pem)
    (tmp_path / "leaf.pem").write_text(ssl.DER_cert_to_PEM_cert(der))
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver",
               "-auth_level", "2", "-CAfile", tmp_path / "ca.pem"]
    good = command + ["-verify_hostname", HOST, tmp_path / "leaf.pem"]
    bad = command + ["-verify_hostname", "b.test", tmp_path / "leaf.pem"]
    assert subprocess.run(good, capture_output=True).returncode == 0
    assert subprocess.run(bad, capture_output=True).returncode != 0


def test_certificate_for_a_name_that_is_none_is_empty(start):
    run = start().ready()
    run.leaf_key()
    for name in ("*.test", "", "127.0.0.1", "A.test", "a.test.", "a\0b.test"):
        assert run.sign(name) == b""
    assert run.sign(HOST) != b""


def test_two_runs_do_not_trust_each_other(start):
    assert start().ready().ca_pem != start().ready().ca_pem


def test_a_second_leaf_key_ends_the_vault(start):
    run = start().ready()
    run.leaf_key()
    run.leaf_key()
    assert "already set" in run.fault()


def test_no_ca_unless_wanted(start):
    run = start(want_ca=0).ready()
    assert run.ca_pem == b""
    assert run.grant(0) == [SECRET]
    run.leaf_key()
    assert "no CA" in run.fault()


def test_what_is_granted_is_leased_to_dial(start):
    run = start(secrets=[("ONE", b"first"), ("TWO", b"second")]).ready()
    assert run.grant(1, 0) == [b"second", b"first"]
    assert run.grant(1) == [b"second"]
    assert run.grant() == []
    # Nothing came that was not granted.
    run.dial.end.settimeout(.2)
    with pytest.raises(TimeoutError):
        run.dial.receive()


def test_unknown_secret_is_not_leased(start):
    assert start().ready().grant(1, 0, 2**32 - 1) == [None, SECRET, None]


def test_many_of_the_largest_are_leased_as_dial_takes_them(start):
    """More at once than a channel queues: nobody is refused for it."""
    values = [bytes([65 + i]) * 16384 for i in range(8)]
    run = start(secrets=[(f"S{i}", value) for i, value in
                         enumerate(values)]).ready()
    for number in range(1, 33):
        run.warden.send("GRANT", conn=number, id=1,
                        secrets=struct.pack("<16I", *sorted([*range(8)] * 2)))
    for number in range(1, 33):
        for secret, value in enumerate(values):
            lease = run.dial.expect("LEASE")
            assert (lease.conn, lease.secret, lease.ok, lease.value) == (
                number, secret, 1, value)
    assert run.grant(3) == [values[3]]


def test_a_malformed_grant_ends_the_vault(start):
    run = start().ready()
    run.warden.send("GRANT", conn=1, id=1, secrets=b"\0\0\0\0\0")
    assert "malformed GRANT" in run.fault()


# Another value.

def renew(run, version, value, under_way=1, secret=0):
    """What vault says of it."""
    fd = value if isinstance(value, int) else pipe_of(value)
    run.warden.send("RENEW", [fd], secret=secret, version=version,
                    under_way=under_way)
    os.close(fd)
    answer = run.warden.expect("RENEWED")
    assert answer.secret == secret
    return answer.changed, answer.fault.decode()


def mask(run):
    message = run.dial.expect("MASK")
    return message.secret, message.values.split()


def test_a_request_has_the_value_of_when_it_was_decided(start):
    run = start(secrets=[("ONE", b"first"), ("TWO", b"other")]).ready()
    assert run.grant(0, 1) == [b"first", b"other"]
    assert run.others == [[], []]
    assert renew(run, 1, b"second\n") == (1, "")
    assert mask(run) == (0, [b"second", b"first"])
    assert run.grant(0, 1) == [b"first", b"other"]
    assert run.others == [[b"second"], []]
    assert run.grant(0, 1, version=1) == [b"second", b"other"]
    assert run.others == [[b"first"], []]
    # Where nothing is under way dial is told that there is another, and not it.
    assert renew(run, 7, b"third", under_way=0) == (1, "")
    assert mask(run) == (0, [])
    assert run.grant(0, version=6) == [b"second"]
    assert run.grant(0, version=7) == [b"third"]
    assert run.others == [[b"second", b"first"]]


def test_three_values_from_before_are_kept(start):
    run = start(secrets=[("ONE", b"value-0")]).ready()
    for i in range(1, 6):
        assert renew(run, i, b"value-%d" % i) == (1, "")
        mask(run)
    assert run.grant(0, version=9) == [b"value-5"]
    assert run.others == [[b"value-4", b"value-3", b"value-2"]]
    assert run.grant(0, version=2) == [b"value-2"]
    # What a request was decided with is gone: it is refused, not told another.
    assert run.grant(0, version=1) == [None]


@pytest.mark.parametrize("value, why", [
    (b"", "empty"), (b"two\nlines\n", "not one line"), (b"abc", "shorter than 4"),
    (b"x" * 16385, "longer than 16384")])
def test_what_is_no_value_leaves_the_one_that_is(start, value, why):
    run = start().ready()
    changed, fault = renew(run, 1, value)
    assert changed == 0 and why in fault
    assert run.grant(0, version=1) == [SECRET]
    assert renew(run, 2, SECRET + b"\n") == (0, "")
    assert run.grant(0, version=2) == [SECRET] and run.others == [[]]


def test_an_output_that_is_not_finished_is_not_waited_for(start):
    run = start().ready()
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.write(write_end, b"half")
    changed, fault = renew(run, 1, read_end)
    assert changed == 0 and "goes on after its output" in fault
    os.close(write_end)
    assert run.grant(0, version=1) == [SECRET]


@pytest.mark.parametrize("values", [
    {"secret": 1, "version": 1}, {"secret": 0, "version": 0}])
def test_a_renewal_that_warden_never_asks_for_ends_the_vault(start, values):
    run = start().ready()
    fd = pipe_of(b"another")
    run.warden.send("RENEW", [fd], **values)
    os.close(fd)
    assert "malformed RENEW" in run.fault()


@pytest.mark.parametrize("kind", ["CLAIM", "GRANT", "LEASE", "MASK", "NEED",
                                  "RENEW", "SIGN"])
def test_dial_has_nothing_to_say(start, kind):
    """Whoever captures it cannot even ask."""
    run = start().ready()
    assert run.grant(0) == [SECRET]
    run.dial.send(kind)
    run.fault()


@pytest.mark.parametrize("value", [
    b"", b"\n", b"two\nlines\n", b"two words", b"caf\xc3\xa9", b"a\0b",
    b"x" * 16385])
def test_unfit_source_is_a_fault_that_does_not_tell_it(start, value):
    text = start(secrets=[("GOOD", b"fine"), ("TOKEN", value)]).fault()
    assert text.startswith("secret TOKEN: ")
    assert value.strip() == b"" or value.decode("latin-1") not in text


def test_source_may_be_a_file_or_come_slowly(start, tmp_path):
    path = tmp_path / "token"
    path.write_bytes(b"from-a-file\n")
    slow_read, slow_write = os.pipe()
    run = start(secrets=[("FILE", os.open(path, os.O_RDONLY)),
                         ("SLOW", slow_read)])
    os.write(slow_write, b"in-two-")
    time.sleep(.05)
    os.write(slow_write, b"parts\n")
    os.close(slow_write)
    run.ready()
    assert run.grant(0, 1) == [b"from-a-file", b"in-two-parts"]


class Entry(Run):
    """Its one secret is an entry of a file."""

    def __init__(self, fd, **values):
        self.process, self.warden = wire.start_helper("vault")
        self.warden.send("VAULT_START", sources=1)
        self.warden.send("SOURCE", [fd], name="TOKEN", **values)
        os.close(fd)
        self.dial, self.number = self.peer(DIAL), 0


DOTENV, UNKNOWN = 4, 5


@pytest.mark.parametrize("key, optional, value", [
    ("A", 0, b"first"), ("B", 1, b"second"), ("C", 1, None)])
def test_one_entry_of_a_file(start, tmp_path, key, optional, value):
    path = tmp_path / "env"
    path.write_bytes(b"A=first\nB=second\n")
    run = start(os.open(path, os.O_RDONLY), of=Entry, key=key,
                format=DOTENV, optional=optional)
    absent = run.warden.expect("READY").absent
    assert absent == (b"" if value else b"\0\0\0\0")
    assert run.grant(0) == [value]


@pytest.mark.parametrize("kind", ["a pipe", "a format that is none"])
def test_an_entry_that_warden_never_asks_for(start, tmp_path, kind):
    path = tmp_path / "env"
    path.write_bytes(b"A=first\n")
    run = start(pipe_of(b"A=first\n") if kind == "a pipe" else
                os.open(path, os.O_RDONLY), of=Entry, key="A",
                format=DOTENV if kind == "a pipe" else UNKNOWN)
    text = run.fault()
    assert "no regular file" in text or "no known format" in text


def test_vault_ends_with_warden_even_while_a_source_hangs(start):
    hanging_read, hanging_write = os.pipe()
    run = start(secrets=[("SLOW", hanging_read)])
    time.sleep(.05)
    assert run.process.poll() is None
    run.warden.close()
    assert run.process.wait(10) == 0
    os.close(hanging_write)


def test_nobody_is_answered_before_ready(start):
    hanging_read, hanging_write = os.pipe()
    run = start(secrets=[("SLOW", hanging_read)])
    run.leaf_key()
    run.edge.send("SIGN", name=HOST)
    run.edge.end.settimeout(.2)
    with pytest.raises(TimeoutError):
        run.edge.receive()
    os.write(hanging_write, b"value")
    os.close(hanging_write)
    run.ready()
    run.edge.end.settimeout(10)
    assert run.edge.expect("CERTIFICATE").der


def test_message_of_another_role_ends_the_vault(start):
    run = start().ready()
    run.edge.send("GRANT")
    run.fault()


def test_vault_is_confined_and_its_memory_locked(start):
    run = start().ready()
    assert status(run, "Seccomp") == "2"
    assert status(run, "NoNewPrivs") == "1"
    assert int(status(run, "CapEff"), 16) == 0
    assert int(status(run, "VmLck").split()[0]) >= 4
    assert not status(run, "Uid").startswith("0\t") or os.getuid() != 0


def test_who_does_not_read_its_certificates_is_not_asked_for_more(start):
    """More than the vault would keep for it: it waits, and goes on."""
    run = start().ready()
    run.leaf_key()
    sent = []

    def ask():
        for i in range(4000):
            run.edge.send("SIGN", name=f"host-{i}.test")
            sent.append(i)

    asker = threading.Thread(target=ask, daemon=True)
    run.edge.end.settimeout(None)
    asker.start()
    before = -1
    while len(sent) != before:
        before = len(sent)
        time.sleep(0.5)
    assert run.process.poll() is None
    for i in range(4000):
        assert run.edge.expect("CERTIFICATE").name == b"host-%d.test" % i
    asker.join()


def text_of(content):
    """As warden gives it: a file that has no name."""
    fd = os.memfd_create("search")
    os.write(fd, content)
    return fd


def search(run, content):
    fd = text_of(content)
    run.warden.send("SEARCH", [fd], size=len(content))
    os.close(fd)


@pytest.mark.parametrize("content, at", [
    (b"a" + SECRET + b"b", 1), (b"x" * 5000 + SECRET, 5000),
    (base64.b64encode(b"u:" + SECRET), 3), (base64.b64encode(SECRET), 0),
    (base64.b64encode(b"u" + SECRET), 2), (SECRET[1:], None), (b"\0", None),
])
def test_a_value_is_found_in_what_is_searched(start, content, at):
    run = start().ready()
    search(run, content)
    answer = run.warden.expect("FOUND")
    assert (answer.found, answer.secret) == (at is not None, 0)
    assert answer.at == (at or 0)
    assert run.grant(0) == [SECRET]


def test_it_is_searched_when_the_values_are_there(start):
    read_end, write_end = os.pipe()
    run = start(secrets=[("ONE", b"first-value"), ("TWO", read_end)])
    search(run, b"not this; second-value")
    os.write(write_end, b"second-value\n")
    os.close(write_end)
    run.ready()
    answer = run.warden.expect("FOUND")
    assert (answer.found, answer.secret, answer.at) == (1, 1, 10)


def test_a_second_search_ends_the_vault(start):
    run = start().ready()
    search(run, SECRET)
    assert run.warden.expect("FOUND").found
    search(run, SECRET)
    assert "malformed SEARCH" in run.fault()


def test_who_else_asks_for_a_search_ends_the_vault(start):
    for role in "edge", "dial":
        run = start().ready()
        fd = text_of(SECRET)
        getattr(run, role).send("SEARCH", [fd], size=len(SECRET))
        os.close(fd)
        run.fault()
