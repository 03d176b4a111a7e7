# SPDX-License-Identifier: Apache-2.0
"""An origin that speaks HTTP/2, for the tests of dial: the other end of one
connection.  What it reads is judged by python3-h2; what it writes is whatever a
test has it write.
"""
import h2.config
import h2.connection
import h2.events

from h2_agent import END_HEADERS, HEADERS, frame
from h2_agent import block as plain_block


def block(fields):
    """Behind the change of the table's size that was asked for."""
    return b"\x20" + plain_block(fields)


class Request:
    def __init__(self, fields):
        self.fields, self.body = fields, b""
        self.ended, self.error = False, None

    def get(self, name):
        return dict(self.fields).get(name.encode())


class H2Peer:
    def __init__(self, sock, settings=None):
        self.sock, self.requests, self.fresh = sock, {}, []
        self.settings, self.goaway = {}, None
        self.credit = True      # give back windows
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding=None,
            validate_outbound_headers=False))
        self.h2.initiate_connection()
        if settings:
            self.h2.update_settings(settings)
        self.flush()

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def raw(self, data):
        self.sock.sendall(data)

    def pump(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        for event in self.h2.receive_data(data):
            self.on(event)
        self.flush()

    def on(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = Request(event.headers)
            self.fresh.append(event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            self.requests[event.stream_id].body += event.data
            if self.credit and event.flow_controlled_length:
                self.h2.acknowledge_received_data(
                    event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.requests[event.stream_id].ended = True
        elif isinstance(event, h2.events.StreamReset):
            self.requests[event.stream_id].error = event.error_code
        elif isinstance(event, h2.events.RemoteSettingsChanged):
            self.settings.update({int(key): setting.new_value for key, setting
                                  in event.changed_settings.items()})
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.goaway = event.error_code

    def until(self, condition):
        while not condition():
            self.pump()

    def head(self):
        """The next request whose head has come: (id, Request)."""
        self.until(lambda: self.fresh)
        number = self.fresh.pop(0)
        return number, self.requests[number]

    def request(self):
        """The same, with its body."""
        number, request = self.head()
        self.until(lambda: request.ended)
        return number, request

    def respond(self, number, *fields, status="200", end=False):
        self.h2.send_headers(number, [(":status", status), *fields],
                             end_stream=end)
        self.flush()

    def data(self, number, body, end=False):
        while True:
            n = min(len(body), self.h2.local_flow_control_window(number),
                    self.h2.max_outbound_frame_size)
            last = n == len(body)
            if n or last:
                self.h2.send_data(number, body[:n], end and last)
                self.flush()
            body = body[n:]
            if last:
                return
            if not n:
                self.pump()

    def trailers(self, number, *fields):
        self.h2.send_headers(number, fields, end_stream=True)
        self.flush()

    def ok(self, number, body, *fields):
        self.respond(number, *fields)
        self.data(number, body, end=True)

    def reset(self, number, error):
        self.h2.reset_stream(number, error)
        self.flush()

    def headers(self, number, fields, flags=END_HEADERS):
        """Whatever the fields are."""
        self.raw(frame(HEADERS, flags, number, block(fields)))
