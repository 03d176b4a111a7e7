# SPDX-License-Identifier: Apache-2.0
"""`reach localhost:PORT`: a service of the host at the sandbox's own loopback."""
import socket

import pytest

from conftest import needs_cell
from listener import Listener

pytestmark = needs_cell

INSIDE = 5432


class Service(Listener):
    """Speaks first, then answers lines, on one address of the host."""

    def __init__(self, address="127.0.0.1"):
        self.heard = []
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__(socket.create_server((address, 0), family=family))
        host = f"[{address}]" if ":" in address else address
        self.via = f"{host}:{self.port}"

    def serve(self, s):
        with s.makefile("rb") as lines:
            s.sendall(b"ready\n")
            for line in lines:
                self.heard.append(line)
                s.sendall(b"you said " + line)


@pytest.fixture(params=["127.0.0.1", "::1"])
def service(request):
    one = Service(request.param)
    yield one
    one.close()


@pytest.fixture
def four():
    one = Service()
    yield one
    one.close()


TALK = """
import socket, sys
def talk(host, port, say=b"hello\\n"):
    try:
        with socket.create_connection((host, port), 5) as s:
            s.settimeout(5)
            s.sendall(say)
            f = s.makefile("rb")
            return (f.readline() + f.readline()).decode()
    except OSError as e:
        return type(e).__name__
"""


def talk(stockade, policy, script, **more):
    return stockade.run("python3", "-c", TALK + script, policy=policy,
                        **more).ok().out.splitlines()


def test_it_is_there_by_each_of_its_names(stockade, service):
    lines = talk(stockade, f"reach localhost:{INSIDE} via {service.via}\n"
                 f"allow tcp localhost:{INSIDE}\n", f"""
for host in "localhost", "127.0.0.1", "::1":
    print(repr(talk(host, {INSIDE})))
# Only that port, and that address of the loopback.
print(talk("127.0.0.1", {service.port}), talk("127.0.0.1", {INSIDE + 1}),
      talk("127.0.0.2", {INSIDE}))
""")
    assert lines == [r"'ready\nyou said hello\n'"] * 3 + [
        "ConnectionRefusedError " * 2 + "ConnectionRefusedError"], lines
    assert service.heard == [b"hello\n"] * 3
    seen = stockade.log()
    assert [r["host"] for r in seen if r["event"] == "relay"] == \
        ["localhost"] * 3
    assert {r["address"] for r in seen if r["event"] == "connect"} == \
        {service.via}


@pytest.mark.parametrize("rules", [
    "", "allow tcp localhost:5433\n", "allow tcp *:5433\n",
    f"allow * localhost:{INSIDE}/**\n",
    f"allow tcp localhost:{INSIDE}\ndeny tcp localhost\n"])
def test_it_needs_a_rule(stockade, four, rules):
    lines = talk(stockade, f"reach localhost:{INSIDE} via {four.via}\n{rules}",
                 f"print(talk('localhost', {INSIDE}))")
    assert "ready" not in lines[0] and four.heard == [], lines


def test_a_rule_alone_opens_no_port(stockade, four):
    """Neither inside, where nobody listens, nor by the proxy's name for it."""
    lines = talk(stockade, f"allow tcp localhost:{four.port}\n", f"""
print(talk("localhost", {four.port}))
print(talk("proxy.stockade", 3128,
           b"CONNECT localhost:{four.port} HTTP/1.1\\r\\n"
           b"Host: localhost:{four.port}\\r\\n\\r\\n"))
""")
    assert four.heard == [] and lines[0] == "ConnectionRefusedError", lines


def test_the_agents_own_services_stay(stockade, four):
    """On other ports as ever; on this one nobody inside is asked."""
    lines = talk(stockade, f"reach localhost:{INSIDE} via {four.via}\n"
                 f"allow tcp localhost:{INSIDE}\n", f"""
import threading
def serve(port):
    l = socket.create_server(("127.0.0.1", port))
    def one():
        while True:
            s, _ = l.accept()
            s.sendall(b"mine\\nall\\n")
    threading.Thread(target=one, daemon=True).start()
serve({INSIDE}); serve({INSIDE + 1})
print(repr(talk("127.0.0.1", {INSIDE + 1})), repr(talk("127.0.0.1", {INSIDE})))
""")
    assert lines == [r"'mine\nall\n' 'ready\nyou said hello\n'"], lines


def test_requests_are_decided_as_ever(stockade, plain):
    """By any spelling of the host that a client may write; the service hears the
    one name."""
    result = stockade.sh("""
for host in localhost 127.0.0.1 '[::1]'; do
    curl -sSg -m 10 "http://$host:11434/api/tags"
    curl -sSg -m 10 "http://$host:11434/closed"
done
for host in other.test 127.0.0.2 127.0.0.1:80 '[::2]' '[::1]x' 127.0.0.1.; do
    curl -sSg -m 10 -H "Host: $host" http://127.0.0.1:11434/api/wrong
done
""", policy=f"reach localhost:11434 via {plain.via}\n"
        "allow GET localhost:11434/api/**\n")
    assert plain.targets == ["GET /api/tags"] * 3, result
    for request in plain.requests:
        assert request.get("host") == "localhost:11434"
