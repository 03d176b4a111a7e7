# SPDX-License-Identifier: Apache-2.0
"""The wire format, for tests that play the neighbours of one helper.

The codecs are made from the table in src/wire/messages.h, so that a message
means here what it means in the program.
"""
import array
import os
import re
import resource
import socket
import struct
import subprocess

TREE = os.environ.get("STOCKADE_TREE") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("STOCKADE_BUILD") or os.path.join(TREE, "build")
FAST_CLOCK = os.path.join(BUILD, "test", "probe", "fast-clock.so")
INTEGERS = {"U8": "<B", "U16": "<H", "U32": "<I", "U64": "<Q"}


def read_table():
    with open(os.path.join(TREE, "src/wire/messages.h")) as source:
        text = source.read().replace("\\\n", " ")
    names = re.findall(r"\bM\((\w+), \w+, \w+, \d+, \w+\)", text)
    fields = {}
    for name, body in re.findall(
            r"#define WIRE_FIELDS_(\w+)\(F\)([^\n]*)", text):
        for inner in re.findall(r"WIRE_FIELDS_(\w+)\(F\)", body):
            fields[name] = list(fields[inner])
        fields.setdefault(name, [])
        fields[name] += re.findall(r"\bF\((\w+), (\w+), \d+\)", body)
    return names, fields


NAMES, FIELDS = read_table()


class Message:
    """A message: its kind, its fields as attributes, its descriptors."""

    def __init__(self, kind, fds=(), **values):
        self.kind, self.fds = kind, list(fds)
        self.__dict__.update(values)

    def __repr__(self):
        return f"<{self.kind} {self.__dict__}>"


def encode(kind, **values):
    out = bytes([NAMES.index(kind) + 1])
    for form, name in FIELDS[kind]:
        value = values.pop(name, 0 if form in INTEGERS else b"")
        if form in INTEGERS:
            out += struct.pack(INTEGERS[form], value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += struct.pack("<I", len(value)) + value
    assert not values, f"{kind} has no {list(values)}"
    return out


def decode(data, fds=()):
    message, at = Message(NAMES[data[0] - 1], fds), 1
    for form, name in FIELDS[message.kind]:
        code = INTEGERS.get(form, "<I")
        value = struct.unpack_from(code, data, at)[0]
        at += struct.calcsize(code)
        if form == "SV":
            value, at = data[at:at + value], at + value
        setattr(message, name, value)
    return message, data[at:]


def pair():
    """Both ends of a channel."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Channel:
    def __init__(self, end, timeout=20):
        self.end, self.rest = end, b""
        end.settimeout(timeout)

    def send(self, kind, fds=(), **values):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                   array.array("i", fds))] if fds else []
        self.end.sendmsg([encode(kind, **values)], rights)

    def _receive(self):
        return self.end.recvmsg(1 << 18, socket.CMSG_SPACE(16),
                                socket.MSG_CMSG_CLOEXEC)

    def receive(self):
        """The next message, or None at the end."""
        if self.rest:   # of a packet with several
            message, self.rest = decode(self.rest)
            return message
        try:
            data, control, flags, _ = self._receive()
        except ConnectionResetError:
            # Said once, by a helper that ended with a message of ours unread;
            # its own last words are still there.
            data, control, flags, _ = self._receive()
        assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
        fds = array.array("i")
        for _, _, payload in control:
            fds.frombytes(payload)
        if not data:
            return None
        message, self.rest = decode(data, fds)
        return message

    def expect(self, kind):
        message = self.receive()
        assert message is not None and message.kind == kind, message
        return message

    def close(self):
        self.end.close()


def start_helper(role, descriptors=None, hasty=False):
    """Starts stockade-ROLE as warden does; the process and warden's end.
    descriptors: the most that it may hold.  hasty: its clock runs 40 times as
    fast."""
    ours, theirs = pair()
    program = os.path.join(BUILD, "src", "stockade-" + role)

    def arrange():
        os.dup2(theirs.fileno(), 3)
        os.set_inheritable(3, True)
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE,
                               (descriptors, descriptors))

    helper = subprocess.Popen(
        [program], env={"LD_PRELOAD": FAST_CLOCK} if hasty else {}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("STOCKADE_TEST_STDERR")
        else subprocess.DEVNULL, preexec_fn=arrange, close_fds=True,
        pass_fds=(3,))
    theirs.close()
    return helper, Channel(ours)


def start_resolve():
    """The process, and warden's and dial's ends."""
    process, warden = start_helper("resolve")
    ours, theirs = pair()
    warden.send("RESOLVE_START", [theirs.fileno()])
    theirs.close()
    return process, warden, Channel(ours)


def fields(*pairs):
    """What the table calls `fields`."""
    out = b""
    for name, value in pairs:
        for text in (name, value):
            text = text.encode() if isinstance(text, str) else text
            out += struct.pack("<I", len(text)) + text
    return out


def read_fields(data):
    texts, at = [], 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        texts.append(data[at + 4:at + 4 + size])
        at += 4 + size
    return list(zip(texts[::2], texts[1::2]))


def edit(form, field, placeholder, prefix, secret):
    """One element of what the table calls `edits`."""
    out = bytes([form])
    for text in (field, placeholder, prefix):
        text = text.encode() if isinstance(text, str) else text
        out += struct.pack("<I", len(text)) + text
    return out + struct.pack("<I", secret)


def secrets_of(edits):
    """The number in each of them."""
    numbers, at = [], 0
    while at < len(edits):
        at += 1
        for _ in range(3):
            at += 4 + struct.unpack_from("<I", edits, at)[0]
        numbers.append(struct.unpack_from("<I", edits, at)[0])
        at += 4
    return numbers
