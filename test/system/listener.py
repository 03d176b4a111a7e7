# SPDX-License-Identifier: Apache-2.0
"""What servers of the tests have in common: a thread that accepts, and an end."""
import socket
import ssl
import threading


def everywhere(port=0):
    """A socket for every address of this namespace."""
    return socket.create_server(("::", port), family=socket.AF_INET6,
                                dualstack_ipv6=True, backlog=128)


class Listener:
    """serve(s) has each connection, in a thread of its own unless `in_turn`; an
    OSError is one's end like any other.  With tls, a certificate's and a key's
    path, s has shaken hands."""
    in_turn = False

    def __init__(self, listener, tls=None):
        self.listener, self.context, self.connections = listener, None, 0
        if tls:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*tls)
        if listener.family != socket.AF_UNIX:
            self.port = listener.getsockname()[1]
            self.via = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # A thread waits in accept(): this wakes it, so that the port is free.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.in_turn:
                self.handle(s)
            else:
                threading.Thread(target=self.handle, args=(s,),
                                 daemon=True).start()

    def handle(self, s):
        try:
            if self.context:
                s = self.context.wrap_socket(s, server_side=True)
            with s:
                self.serve(s)
        except OSError:
            pass
