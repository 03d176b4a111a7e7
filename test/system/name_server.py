# SPDX-License-Identifier: Apache-2.0
"""A name server for the cell: answers what a test says, and records who was
asked for.  UDP only; what it does not know does not exist."""
import socket
import struct
import threading

A, CNAME, AAAA = 1, 5, 28
SERVFAIL, NXDOMAIN = 2, 3
SILENCE = object()


def wire_name(name):
    return b"".join(bytes([len(label)]) + label.encode()
                    for label in name.split(".") if label) + b"\0"


class NameServer:
    """names: {name: value or function of how often it was asked}, where value is
    a list of addresses and, for aliases, names; a status; or SILENCE."""

    def __init__(self, **names):
        self.names, self.asked = names, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                query, client = self.socket.recvfrom(4096)
            except OSError:
                return
            if query == b"end":
                return
            answer = self.answer(query)
            if answer:
                self.socket.sendto(answer, client)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        question = query[12:at + 5]
        kind, name = struct.unpack_from(">H", query, at + 1)[0], ".".join(labels)
        value = self.names.get(name, NXDOMAIN)
        if value is SILENCE:  # asked again and again
            return None
        times = self.asked.count((name, kind))
        self.asked.append((name, kind))
        if callable(value):
            value = value(times)
        records, status = [], 0
        if isinstance(value, int):
            status = value
        else:
            records = self.records(name, kind, value)
        return (query[:2] + struct.pack(">HHHHH", 0x8180 | status, 1,
                                        len(records), 0, 0)
                + question + b"".join(records))

    @staticmethod
    def records(name, kind, value):
        records = []
        for item in value:
            if ":" in item:
                form, data = AAAA, socket.inet_pton(socket.AF_INET6, item)
            elif item[0].isdigit():
                form, data = A, socket.inet_aton(item)
            else:
                form, data = CNAME, wire_name(item)
            if form in (kind, CNAME):
                # Nobody may keep it: the next question is a new one.
                records.append(wire_name(name) + struct.pack(
                    ">HHIH", form, 1, 0, len(data)) + data)
            if form == CNAME:
                name = item
        return records

    def names_asked(self):
        return {name for name, _ in self.asked}

    def close(self):
        self.socket.sendto(b"end", ("127.0.0.1", 53))
        self.thread.join()
        self.socket.close()
