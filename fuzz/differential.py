#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our reading of request heads with that of python-h11 and Node.

    fuzz/differential.py [--seconds N] [--seed N]

Heads are made from the seeds of h1_request by splicing, doubling and
corrupting.  For each that our parser accepts, a body and a second request are
put behind the head.  Then:

 * what we write for the origin must be read by every peer as exactly that
   request, with that body, followed by exactly that second request;
 * the agent's own bytes, where a peer takes them as well, must have the same
   method and end at the same byte (otherwise agent and proxy would disagree
   about where the next request begins).

Prints counts; status 1 and the offending bytes when a reading differs.
"""
import argparse
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

import h11

FUZZ = pathlib.Path(__file__).resolve().parent
TOP = FUZZ.parent
SENTINEL = b"GET /sentinel HTTP/1.1\r\nhost: s.test\r\n\r\n"
BODY = b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n0\r\n\r\n"
NONE, LENGTH, CHUNKED = 0, 1, 2
# Node knows a closed list of methods and refuses all others.
METHODS = {b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"}


def build(folder):
    program = folder / "reader"
    sources = [FUZZ / "peers/reader.c", *(TOP / "src/http").glob("*.c")]
    sources += [TOP / f"src/base/{name}.c" for name in
                ("arena", "buf", "cur", "err", "sv", "base64")]
    subprocess.run(
        ["cc", "-std=gnu17", "-O1", "-g", "-D_GNU_SOURCE", "-iquote",
         TOP / "src/base", "-iquote", TOP / "src/http", "-o", program,
         *sources], check=True)
    return program


def words():
    lines = (FUZZ / "h1_request.dict").read_text().splitlines()
    return [line[1:-1].encode().decode("unicode_escape").encode("latin-1")
            for line in lines if line.startswith('"')]


def mutate(rng, seeds, tokens):
    """One head: a face byte and text."""
    seed = rng.choice(seeds)
    face, text = seed[0] % 3, bytearray(seed[2:])
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5))):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text[at:at] = rng.choice(tokens)
        elif kind == 1:
            text[at:at + rng.randrange(4)] = b""
        elif kind == 2:
            text[at:at] = bytes([rng.choice(b"\r\n\t \0:,;/%_\x0b\x85\xa0a0")])
        elif kind == 3:
            lines = text.split(b"\r\n")
            lines.insert(rng.randrange(len(lines)), rng.choice(lines))
            text = bytearray(b"\r\n".join(lines))
        elif kind == 4:
            other = rng.choice(seeds)[2:].split(b"\r\n")
            lines = text.split(b"\r\n")
            lines.insert(1 + rng.randrange(len(lines)), rng.choice(other))
            text = bytearray(b"\r\n".join(lines))
        elif at < len(text):
            text[at] = rng.randrange(256)
    return bytes([face]) + bytes(text)


def body_of(framing, length):
    """The bytes of a body, and what they stand for; None: too long."""
    if framing == CHUNKED:
        return b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY), BODY
    if framing == LENGTH and length > 4096:
        return None
    data = (BODY * 100)[:length] if framing == LENGTH else b""
    return data, data


def read_h11(data):
    """The requests in data as h11 sees them."""
    seen = []
    peer = h11.Connection(h11.SERVER)
    try:
        peer.receive_data(data)
        while True:
            event = peer.next_event()
            if isinstance(event, h11.Request):
                seen.append({"method": event.method, "target": event.target,
                             "fields": list(event.headers), "body": b""})
            elif isinstance(event, h11.Data):
                seen[-1]["body"] += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                peer.send(h11.Response(status_code=200, headers=[
                    ("content-length", "0")]))
                peer.send(h11.EndOfMessage())
                if peer.our_state is not h11.DONE:
                    return seen
                peer.start_next_cycle()
            else:
                return seen
    except h11.ProtocolError:
        return seen


def read_node(node, data):
    node.stdin.write(struct.pack("<I", len(data)) + data)
    node.stdin.flush()
    seen = json.loads(node.stdout.readline())
    for one in seen:
        raw = [text.encode("latin-1") for text in one["fields"]]
        one["fields"] = list(zip(raw[::2], raw[1::2]))
        for key in ("method", "target", "body"):
            one[key] = one[key].encode("latin-1")
    return seen


def expected(head, data):
    lines = head[:-4].split(b"\r\n")
    method, target, _ = lines[0].split(b" ")
    fields = [tuple(line.split(b": ", 1)) for line in lines[1:]]
    return {"method": method, "target": target, "fields": fields, "body": data}


def differs(seen, want):
    """Why what a peer saw is not want and then the sentinel, or None."""
    if not seen and want["method"] not in METHODS:
        return None
    if len(seen) != 2:
        return f"{len(seen)} requests"
    for key in ("method", "target", "body"):
        if seen[0][key] != want[key]:
            return f"{key} is {seen[0][key]!r}"
    fields = [(name.lower(), value.strip(b" \t"))
              for name, value in seen[0]["fields"]]
    if sorted(fields) != sorted(want["fields"]):
        return f"fields are {fields!r}"
    if seen[1]["target"] != b"/sentinel":
        return f"the next request is {seen[1]!r}"
    return None


def disagrees(seen, want):
    """The agent's own bytes: other method or other end."""
    if len(seen) < 2:
        return None     # the peer is stricter
    if seen[0]["method"] != want["method"] or seen[0]["body"] != want["body"]:
        return f"read as {seen[0]!r}"
    if seen[1]["target"] != b"/sentinel":
        return f"the next request is {seen[1]!r}"
    return None


def compare(case, answer, node):
    line, head = answer.split(b"\n", 1)
    taken, framing, length = (int(word) for word in line.split())
    body = body_of(framing, length)
    if body is None:
        return []
    want = expected(head, body[1])
    written = head + body[0] + SENTINEL
    own = case[1:1 + taken] + body[0] + SENTINEL
    found = [("h11, written", differs(read_h11(written), want)),
             ("h11, own", disagrees(read_h11(own), want))]
    if node:
        found.append(("node, written", differs(read_node(node, written), want)))
        found.append(("node, own", disagrees(read_node(node, own), want)))
    return [(who, why) for who, why in found if why]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--no-node", action="store_true")
    args = options.parse_args()
    rng = random.Random(args.seed)
    seeds = [path.read_bytes() for path in
             sorted((FUZZ / "corpus/h1_request").iterdir())]
    tokens, tried, accepted, failed = words(), 0, 0, 0
    pipe = subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        reader = subprocess.Popen([build(pathlib.Path(folder))], stdin=pipe,
                                  stdout=pipe)
        node = None if args.no_node else subprocess.Popen(
            ["node", FUZZ / "peers/node.js"], stdin=pipe, stdout=pipe)
        end = time.monotonic() + args.seconds
        while time.monotonic() < end and failed < 5:
            case = mutate(rng, seeds, tokens)
            tried += 1
            reader.stdin.write(struct.pack("<I", len(case)) + case)
            reader.stdin.flush()
            size, = struct.unpack("<I", reader.stdout.read(4))
            if size == 0:
                continue
            accepted += 1
            for who, why in compare(case, reader.stdout.read(size), node):
                failed += 1
                print(f"{who}: {why}\n  {case!r}")
        reader.stdin.close()
        if node:
            node.stdin.close()
    print(f"{tried} heads, {accepted} accepted, {failed} read differently")
    return 1 if failed or not accepted else 0


if __name__ == "__main__":
    sys.exit(main())
