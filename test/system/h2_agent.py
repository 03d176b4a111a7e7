# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client for the tests of edge: what a client says, and what none may.

Frames go out as they are asked for, right or wrong; what comes back is read by
python3-h2, which refuses what it should not be.
"""
import ssl
import struct

import h2.config
import h2.connection
import h2.events
import hpack

MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, UPDATE, MORE = \
    range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIO = 1, 1, 4, 8, 32


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(
        ">BBI", kind, flags, stream) + payload


def head(host, path="/", method="GET", *more, scheme="https"):
    return [(":method", method), (":scheme", scheme), (":authority", host),
            (":path", path), *more]


def block(fields):
    """A field block that never touches the dynamic table."""
    out = b""
    for name, value in fields:
        out += b"\0"
        for text in (name, value):
            text = text.encode("latin-1") if isinstance(text, str) else text
            out += hpack.hpack.encode_integer(len(text), 7) + text
    return bytes(out)


class Answer:
    def __init__(self):
        self.fields, self.body, self.interim = {}, bytearray(), []
        self.ended, self.error = False, None

    @property
    def status(self):
        return int(self.fields.get(":status", 0))


class H2Agent:
    """Over an Agent of edge_alone whose TLS has chosen h2."""

    def __init__(self, agent, host, settings=b"", reads=True):
        agent.socket.settimeout(4)
        self.agent, self.host, self.next = agent, host, 1
        self.answers, self.goaway, self.settings = {}, None, {}
        self.credit = reads      # give back windows
        self.window = {0: 65535}
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, header_encoding="utf-8",
            validate_inbound_headers=True))
        self.h2.initiate_connection()
        self.h2.data_to_send()
        agent.send(MAGIC + frame(SETTINGS, payload=settings))

    def send(self, data):
        self.agent.send(data)

    def get(self, path="/", *more, method="GET", body=None, host=None):
        """A whole request; body None: none, False: it is still to come."""
        return self.request(head(host or self.host, path, method, *more), body)

    def request(self, fields, body=None):
        stream, data = self.open(body is not False), block(fields)
        pieces = [data[at:at + 16384] for at in range(0, len(data), 16384)]
        for i, piece in enumerate(pieces or [b""]):
            flags = END_STREAM if body is None and i == 0 else 0
            if i + 1 >= len(pieces):
                flags |= END_HEADERS
            self.send(frame(MORE if i else HEADERS, flags, stream, piece))
        if body:
            self.data(stream, body, True)
        return stream

    def open(self, whole=True):
        """A stream that the library knows, whatever is then sent on it."""
        stream, self.next = self.next, self.next + 2
        self.h2.send_headers(stream, head("x.test"), end_stream=whole)
        self.h2.data_to_send()
        self.answers[stream] = Answer()
        self.window[stream] = 65535
        return stream

    def data(self, stream, body, end=False):
        for at in range(0, len(body), 16384):
            piece = body[at:at + 16384]
            self.send(frame(DATA, END_STREAM if end and
                            at + 16384 >= len(body) else 0, stream, piece))

    def upload(self, stream, total):
        """As the windows of the other side allow."""
        while total:
            n = min(self.window[stream], self.window[0], 16384, total)
            if n == 0:
                assert self.pump(), f"ended: goaway {self.goaway}"
                continue
            total -= n
            self.window[stream] -= n
            self.window[0] -= n
            self.data(stream, b"u" * n, total == 0)

    def give(self, n, stream=None):
        """Lets the other side send n bytes more."""
        self.h2.increment_flow_control_window(n, stream)
        self.send(self.h2.data_to_send())

    def reset(self, stream, error=8):
        self.send(frame(RST, 0, stream, struct.pack(">I", error)))

    def read(self):
        try:
            return self.agent.socket.recv(1 << 16)
        except (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
            return b""

    def pump(self):
        """Reads once; False at the end of the connection."""
        data = self.read()
        if not data:
            return False
        for event in self.h2.receive_data(data):
            self.take(event)
        self.h2.data_to_send()
        return True

    def take(self, event):
        answer = self.answers.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.settings.update({int(k): v.new_value for k, v
                                  in event.changed_settings.items()})
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code
        elif isinstance(event, h2.events.WindowUpdated):
            self.window[event.stream_id or 0] += event.delta
        elif answer is None:
            return
        elif isinstance(event, h2.events.ResponseReceived):
            answer.fields = dict(event.headers)
        elif isinstance(event, h2.events.InformationalResponseReceived):
            answer.interim.append(dict(event.headers))
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            n = event.flow_controlled_length
            if n and self.credit:
                self.h2.acknowledge_received_data(n, event.stream_id)
                self.send(self.h2.data_to_send())
        elif isinstance(event, h2.events.StreamEnded):
            answer.ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.error = event.error_code

    def answer(self, stream):
        """Whole, or reset."""
        answer = self.answers[stream]
        while not answer.ended and answer.error is None:
            assert self.pump(), f"ended: goaway {self.goaway}"
        return answer

    def until(self, condition):
        while not condition():
            assert self.pump(), f"ended: goaway {self.goaway}"

    def rest(self):
        """Whatever comes up to the end of the connection."""
        while self.read():
            pass


def connect(edge, host, **more):
    agent = edge.connect_tls(host, alpn=["h2"])
    assert agent.socket.selected_alpn_protocol() == "h2"
    return H2Agent(agent, host, **more)
