# SPDX-License-Identifier: Apache-2.0
"""The origin of the matrix of clients, and the packages that are fetched from it.

/fetch and /upload answer in a word, /live waits between its two events until the
test has seen the first one come out of the client, /git/ is git's own server, and
what `packages()` returns is served as it is: registries of a package, `thing`.
/page does for a browser what the others have a script for, and /report gets what it
has read; the page is whole, and the browser ends, when that has come.  /ws is all of it
in messages of a WebSocket.
"""
import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile

import ws_origin
from origin import Origin

HOST = "matrix.test"
UPLOAD = bytes(range(251)) * 1200
PAGE = b"""<!doctype html><img src=/whole><script>
(async () => {
    let seen = ""
    const text = async (...a) => seen += await (await fetch(...a)).text()
    await text("/fetch")
    await text("/upload", { method: "POST",
        body: Uint8Array.from({ length: 301200 }, (_, i) => i % 251) })
    const live = (await fetch("/live")).body.getReader()
    for (let piece; !(piece = await live.read()).done;) {
        seen += new TextDecoder().decode(piece.value)
        fetch("/seen")
    }
    await text("/refused")
    fetch("/report", { method: "POST", body: seen })
})()
</script>"""


class Matrix(Origin):
    def __init__(self, *arguments, **more):
        self.seen, self.held = threading.Event(), None
        self.reported = threading.Event()
        self.files = packages()
        super().__init__("matrix", *arguments, **more)

    def clear(self):
        super().clear()
        self.seen.clear()
        self.reported.clear()
        self.held = None

    def _one(self, connection):
        request = connection.request(self)
        path = request.path
        if path == "/live":
            self._live(connection)
        elif path == "/ws":
            self._messages(connection, request)
            return False
        elif path == "/upload" or request.method == "PUT":
            connection.answer(b'{"took": %d}\n' % len(request.body))
        elif path.startswith("/git/"):
            self._git(connection, request)
        elif path == "/fetch":
            connection.answer(b"fetched it\n")
        elif path == "/whole":
            self.reported.wait(15)
            connection.answer(b"", 404)
        elif path in ("/seen", "/report"):
            (self.seen if path == "/seen" else self.reported).set()
            connection.answer(b"")
        elif path in self.files:
            connection.answer(self.files[path], fields=[
                "Content-Type: text/html"])
        else:
            connection.answer(b"not here\n", 404)
        return True

    def _live(self, connection):
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                        b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send(b"14\r\ndata: first event  \n\r\n")
        self.held = self.seen.wait(8)
        connection.send(b"14\r\ndata: second event \n\r\n0\r\n\r\n")

    def _messages(self, connection, request):
        key = request.get("sec-websocket-key").encode()
        connection.send(b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n"
                        b"Connection: Upgrade\r\nSec-WebSocket-Accept: "
                        + ws_origin.accept_of(key) + b"\r\n\r\n")
        pipe = ws_origin.Pipe(connection.sock)
        pipe.got = bytes(connection.buffer)

        def say(text):
            pipe.send(ws_origin.frame(text, ws_origin.TEXT))

        say(b"fetched it")
        request.body = pipe.frame()[1]
        say(b'"took": %d' % len(request.body))
        say(b"first event")
        self.held = self.seen.wait(8)
        say(b"second event")
        pipe.send(ws_origin.frame(b"\3\xe8", ws_origin.CLOSE))
        pipe.frame()


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return out.getvalue()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def of_python():
    info = "thing-1.0.dist-info/"
    names = ["thing.py", info + "METADATA", info + "WHEEL", info + "RECORD"]
    wheel = zipped(dict(zip(names, [
        "", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "".join(f"{name},,\n" for name in names)])))
    digest = hashlib.sha256(wheel).hexdigest()
    name, more = "thing-1.0-py3-none-any.whl", "more-1.0-py3-none-any.whl"
    return {"/files/" + name: wheel, "/simple/thing/":
            f'<a href="/files/{name}#sha256={digest}">{name}</a>'.encode(),
            "/simple/more/": f'<a href="/refused/{more}">{more}</a>'.encode()}


def of_node():
    about = {"name": "thing", "version": "1.0.0"}
    ball = tar({"package/package.json": json.dumps(about).encode()})
    digest = base64.b64encode(hashlib.sha512(ball).digest()).decode()
    where = "/npm/thing/-/thing-1.0.0.tgz"
    about["dist"] = {"tarball": f"https://{HOST}{where}",
                     "integrity": "sha512-" + digest}
    return {where: ball, "/npm/thing": json.dumps({
        "name": "thing", "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": about}}).encode()}


def of_rust():
    packed = tar({"thing-1.0.0/Cargo.toml":
                 b'[package]\nname = "thing"\nversion = "1.0.0"\n',
                 "thing-1.0.0/src/lib.rs": b""})
    return {"/index/config.json": json.dumps(
                {"dl": f"https://{HOST}/crates"}).encode(),
            "/index/th/in/thing": json.dumps({
                "name": "thing", "vers": "1.0.0", "deps": [], "features": {},
                "cksum": hashlib.sha256(packed).hexdigest(),
                "yanked": False}).encode(),
            "/crates/thing/1.0.0/download": packed}


def of_go():
    module, top = b"module thing.test/thing\n", "/go/thing.test/thing/@v/v1.0.0"
    return {top + ".info": b'{"Version":"v1.0.0"}', top + ".mod": module,
            top + ".zip": zipped({"thing.test/thing@v1.0.0/go.mod": module})}


def of_maven():
    return {"/maven/test/thing/1.0/thing-1.0.pom": b"""<project>
<modelVersion>4.0.0</modelVersion><groupId>test</groupId>
<artifactId>thing</artifactId><version>1.0</version><packaging>pom</packaging>
</project>"""}


def packages():
    return {"/page": PAGE, **of_python(), **of_node(), **of_rust(), **of_go(), **of_maven()}
