# SPDX-License-Identifier: Apache-2.0
"""Real clients with no flag and no proxy variable: each fetches, uploads, is
given a stream while it comes, and is refused with a reason that can be read.

One run for each; what they got is judged by the origin, which sees no request
that is refused.  SSH, psql and redis-cli are in test_relay.py.
"""
import glob
import os
import shutil
import subprocess
import threading

import pytest

from matrix import HOST, UPLOAD, Matrix

CURL = """
u=https://matrix.test
curl -sS {flags} -w '%{{http_version}}\\n' $u/fetch
curl -sS {flags} --data-binary @up $u/upload
curl -sSN {flags} $u/live
curl -sS {flags} $u/refused
"""
WGET = """
u=https://matrix.test
wget -qO - $u/fetch
wget -qO - --post-file up $u/upload
wget -qO - $u/live
wget -O - $u/refused
"""
OPENSSL = r"""
ask() {
    { printf '%s HTTP/1.1\r\nHost: matrix.test\r\nConnection: close\r\n' "$1"
      printf 'Content-Length: %s\r\n\r\n' "$2"; head -c "$2" up; } |
    openssl s_client -quiet -verify_return_error -verify_hostname matrix.test \
        -connect matrix.test:443
}
ask 'GET /fetch' 0; ask 'POST /upload' $(stat -c %s up)
ask 'GET /live' 0; ask 'GET /refused' 0
"""
# The large push not over HTTP/2: see docs/edge.md.
GIT = """
u=https://matrix.test/git
git clone -q $u/project.git copy && cat copy/README && cd copy
commit() { git add . && git -c user.name=a -c user.email=a@a commit -q -m $1; }
echo small > small && commit small && git push -q origin HEAD:small && echo small
head -c 1500000 /dev/urandom > big && commit big &&
    git -c http.version=HTTP/1.1 push -q origin HEAD:pushed && echo pushed
git clone -q $u/refused.git other
"""
URLLIB = """
import sys
from urllib.error import HTTPError
from urllib.request import urlopen
u = "https://matrix.test"
print(urlopen(u + "/fetch").read().decode())
print(urlopen(u + "/upload", open("up", "rb").read()).read().decode())
for line in urlopen(u + "/live"):
    print(line.decode(), flush=True)
try:
    urlopen(u + "/refused")
except HTTPError as e:
    print(e.read().decode())
    raise
"""
REQUESTS = """
import requests
u, s = "https://matrix.test", requests.Session()
print(s.get(u + "/fetch").text)
print(s.post(u + "/upload", data=open("up", "rb")).text)
for line in s.get(u + "/live", stream=True).iter_lines(chunk_size=1):
    print(line.decode(), flush=True)
r = s.get(u + "/refused")
print(r.text)
r.raise_for_status()
"""
HTTPX = """
import httpx
u, s = "https://matrix.test", httpx.Client(http2=True)
r = s.get(u + "/fetch")
print(r.http_version, r.text)
print(s.post(u + "/upload", content=open("up", "rb").read()).text)
with s.stream("GET", u + "/live") as r:
    for line in r.iter_lines():
        print(line, flush=True)
r = s.get(u + "/refused")
print(r.text)
r.raise_for_status()
"""
PIP = """
export HOME=/tmp PIP_INDEX_URL=https://matrix.test/simple PIP_RETRIES=0
pip="/usr/bin/python3 -m pip --disable-pip-version-check"
$pip download --no-deps -d /tmp/got thing more
"""
FETCH = """
const u = "https://matrix.test"
const text = async (...a) => console.log(await (await fetch(...a)).text())
await text(u + "/fetch")
await text(u + "/upload", { method: "POST",
    body: (await import("fs")).readFileSync("up") })
for await (const piece of (await fetch(u + "/live")).body)
    console.log(Buffer.from(piece).toString())
await text(u + "/refused")
"""
HTTPS = """
import https from "https"
import fs from "fs"
const ask = (path, options, body) => new Promise((done, fail) => {
    const r = https.request("https://matrix.test" + path, options, async a => {
        console.log(a.statusMessage)
        for await (const piece of a) console.log(piece.toString())
        done()
    })
    r.on("error", fail)
    r.end(body)
})
await ask("/fetch", {})
await ask("/upload", { method: "POST" }, fs.readFileSync("up"))
await ask("/live", {})
await ask("/refused", {})
"""
UNDICI = """
const { request } = require("undici")
const ask = async (path, options) => {
    const answer = await request("https://matrix.test" + path, options)
    for await (const piece of answer.body)
        console.log(piece.toString())
}
(async () => {
    await ask("/fetch")
    await ask("/upload", { method: "POST",
        body: require("fs").createReadStream("up") })
    await ask("/live")
    await ask("/refused")
})()
"""
WS = """
const WebSocket = require("ws")
const u = "wss://matrix.test"
const socket = new WebSocket(u + "/ws")
socket.on("open", () => socket.send(require("fs").readFileSync("up")))
socket.on("message", text => console.log(text.toString()))
socket.on("close", code => {
    console.log("closed", code)
    new WebSocket(u + "/refused").on("unexpected-response", (request, answer) =>
        console.log(answer.statusCode, answer.statusMessage))
})
"""
NPM = """
export HOME=/tmp npm_config_registry=https://matrix.test/npm/
export npm_config_update_notifier=false npm_config_fetch_retries=0
echo '{"name":"mine","version":"1.0.0"}' > package.json
npm publish --//matrix.test/npm/:_authToken=x
npm install --no-audit --no-fund thing refused
"""
# The second line: before 1.68 it read such an index only when asked to.
CARGO = """
export CARGO_HOME=/tmp/cargo PATH=${CARGO%/*}:$PATH
export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true
fetch() {
    mkdir -p $1/src && touch $1/src/lib.rs &&
    printf '[package]\\nname="%s"\\nversion="0.1.0"\\n[dependencies]\\n%s="1"\\n' \\
        mine $1 > $1/Cargo.toml
    "$CARGO" fetch -q --manifest-path $1/Cargo.toml \\
        --config 'source.crates-io.replace-with="m"' \\
        --config 'source.m.registry="sparse+https://matrix.test/index/"'
}
fetch thing && ls /tmp/cargo/registry/cache/*
fetch refused
"""
GO = """
./client
export HOME=/tmp GOPROXY=https://matrix.test/go GOSUMDB=off
go mod download thing.test/thing@v1.0.0 && ls /tmp/go/pkg/mod/thing.test
go mod download refused.test/thing@v1.0.0
"""
GO_SOURCE = """
package main

import ("fmt"; "io"; "net/http"; "os")

func show(r *http.Response, err error) {
	if err != nil { panic(err) }
	fmt.Println(r.Proto, r.Status)
	io.Copy(os.Stdout, r.Body)
}

func main() {
	u := "https://matrix.test"
	show(http.Get(u + "/fetch"))
	up, _ := os.Open("up")
	show(http.Post(u + "/upload", "application/octet-stream", up))
	show(http.Get(u + "/live"))
	show(http.Get(u + "/refused"))
}
"""
JAVA_SOURCE = """
import java.net.URI;
import java.net.http.*;
import java.nio.file.Path;

class Client {
	static HttpClient client = HttpClient.newHttpClient();

	static void show(String path, HttpRequest.BodyPublisher up)
			throws Exception {
		var b = HttpRequest.newBuilder(
			URI.create("https://matrix.test" + path));
		var r = client.send(up == null ? b.build() : b.POST(up).build(),
				    HttpResponse.BodyHandlers.ofLines());
		System.out.println(r.version() + " " + r.statusCode());
		r.body().forEach(System.out::println);
	}

	public static void main(String[] a) throws Exception {
		show("/fetch", null);
		show("/upload", HttpRequest.BodyPublishers.ofFile(Path.of("up")));
		show("/live", null);
		show("/refused", null);
	}
}
"""
MAVEN = """
artifact() { printf '<groupId>test</groupId><artifactId>%s</artifactId>
    <version>1.0</version>' "$1"; }
cat > pom.xml <<END
<project>
<modelVersion>4.0.0</modelVersion>
<parent>$(artifact thing)<relativePath/></parent>
<artifactId>mine</artifactId><packaging>pom</packaging>
<repositories>
  <repository><id>central</id><url>https://matrix.test/maven</url></repository>
</repositories>
<dependencyManagement><dependencies><dependency>$(artifact refused)
  <type>pom</type><scope>import</scope>
</dependency></dependencies></dependencyManagement>
</project>
END
MAVEN_OPTS=-XX:TieredStopAtLevel=1 mvn -B -Dmaven.repo.local=/tmp/m2 validate
"""
PERL = r"""
use HTTP::Tiny;
$| = 1;
my ($h, $u) = (HTTP::Tiny->new(verify_SSL => 1), "https://matrix.test");
sub show { my $r = shift; print "$r->{status} $r->{reason} $r->{content}\n"; }
open my $f, "<", "up"; binmode $f; my $up = do { local $/; <$f> };
show($h->get("$u/fetch"));
show($h->post("$u/upload", { content => $up }));
show($h->get("$u/live", { data_callback => sub { print shift } }));
show($h->get("$u/refused"));
"""
RUBY = """
require "net/http"
$stdout.sync = true
Net::HTTP.start("matrix.test", 443, use_ssl: true) do |h|
  puts h.get("/fetch").body
  puts h.post("/upload", File.binread("up")).body
  h.request_get("/live") { |r| r.read_body { |piece| puts piece } }
  r = h.get("/refused")
  puts r.message, r.body
end
"""
PHP = """
$u = "https://matrix.test";
echo file_get_contents("$u/fetch");
$c = curl_init("$u/upload");
curl_setopt($c, CURLOPT_POSTFIELDS, file_get_contents("up"));
curl_exec($c);
$f = fopen("$u/live", "r");
while (($line = fgets($f)) !== false) echo $line;
file_get_contents("$u/refused");
"""

# Packages of the distribution, for a node that may not be of it.
NODE = ["env", "NODE_PATH=/usr/share/nodejs", "node", "-e"]
ALL = ["GET /fetch", "POST /upload", "GET /live"]
# client: what has to be there, the script, what arrives at the origin, what
# else is printed.
CLIENTS = {
    "curl": ("curl", CURL.format(flags="--http1.1"), ALL, ["1.1"]),
    "curl-h2": ("curl", CURL.format(flags="--http2"), ALL, ["it\n2\n"]),
    "wget": ("wget", WGET, ALL, []),
    "openssl": ("openssl", OPENSSL, ALL, []),
    "git": ("git", GIT, ["POST /git/project.git/git-receive-pack"], ["hello", "small", "pushed"]),
    "urllib": ("python3", ["/usr/bin/python3", "-c", URLLIB], ALL, []),
    "requests": ("python3:requests", ["/usr/bin/python3", "-c", REQUESTS], ALL,
                 []),
    "httpx": ("python3:httpx python3:h2", ["/usr/bin/python3", "-c", HTTPX],
              ALL, ["HTTP/2 fetched"]),
    "pip": ("python3:pip", PIP, [
        "GET /simple/thing/", "GET /files/thing-1.0-py3-none-any.whl",
        "GET /simple/more/"], []),
    "node-fetch": ("node", ["node", "--input-type=module", "-e", FETCH], ALL,
                   []),
    "node-https": ("node", ["node", "--input-type=module", "-e", HTTPS], ALL,
                   []),
    "undici": ("node:undici", [*NODE, UNDICI], ALL, []),
    "ws": ("node:ws", [*NODE, WS], ["GET /ws"], ["closed 1000", "403"]),
    "npm": ("npm", NPM, ["GET /npm/thing", "PUT /npm/mine"], ["+ mine@1.0.0"]),
    "cargo": ("cargo", CARGO, [
        "GET /index/config.json", "GET /index/th/in/thing",
        "GET /crates/thing/1.0.0/download"], ["thing-1.0.0."]),
    "go": ("go", GO, ALL + [
        f"GET /go/thing.test/thing/@v/v1.0.0.{kind}"
        for kind in ("info", "mod", "zip")], ["HTTP/2.0 200", "thing@v1.0.0"]),
    "java": ("java javac", ["java", "-XX:TieredStopAtLevel=1", "Client"], ALL,
             ["HTTP_2 200"]),
    "maven": ("mvn java", MAVEN, ["GET /maven/test/thing/1.0/thing-1.0.pom"],
              []),
    "perl": ("perl:IO::Socket::SSL", ["perl", "-e", PERL], ALL, []),
    "ruby": ("ruby", ["ruby", "-e", RUBY], ALL, []),
    "php": ("php:curl", ["php", "-r", PHP], ALL, []),
    "chromium": ("chromium", [
        "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
        "--dump-dom", "https://matrix.test/page"], ALL, []),
    # A second browser is too large to be installed for this: where it is.
    "firefox": ("firefox-esr", [
        "firefox-esr", "--headless", "--screenshot", "/tmp/page.png",
        "https://matrix.test/page"], ALL, []),
}


@pytest.fixture(scope="module")
def matrix_session(authority, git_root):
    server = Matrix(authority.leaf(HOST), git_root)
    yield server
    server.close()


@pytest.fixture
def matrix(matrix_session):
    matrix_session.clear()
    return matrix_session


def has(stockade, what):
    """A program, or a module of it, where a command would find it."""
    program, _, module = what.partition(":")
    path = shutil.which(program, path=stockade.env["PATH"])
    if not path or not module:
        return path
    test = {"python3": ["-c", f"import {module}"],
            "perl": ["-M" + module, "-e1"],
            "node": ["-e", f"require('{module}')"],
            "php": ["-r", f"exit(extension_loaded('{module}') ? 0 : 1);"],
            }[program]
    return subprocess.run([*NODE[:2], path, *test], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False,
                          ).returncode == 0


def cargo(stockade):
    """Of the distribution, or rustup's where it can be granted."""
    found = has(stockade, "cargo")
    kept = sorted(glob.glob(os.path.expanduser(
        "~/.rustup/toolchains/stable*/bin/cargo")))
    return found or (kept[0] if kept else None)


def prepare(client, stockade):
    """What is compiled, outside; more lines of a policy."""
    cwd, environ = stockade.cwd, {**os.environ, "HOME": str(stockade.home),
                                  "GO111MODULE": "off"}
    (cwd / "up").write_bytes(UPLOAD)
    if client == "go":
        (cwd / "client.go").write_text(GO_SOURCE)
        subprocess.run(["go", "build", "-ldflags=-s -w", "client.go"], cwd=cwd, env=environ,
                       check=True)
    if client == "java":
        (cwd / "Client.java").write_text(JAVA_SOURCE)
        # The second flag: no directory of its own in /tmp.
        subprocess.run(["javac", "-J-XX:TieredStopAtLevel=1",
                        "-J-XX:-UsePerfData", "Client.java"],
                       cwd=cwd, check=True)
    if client == "cargo":
        path = cargo(stockade)
        top = os.path.dirname(os.path.dirname(path))
        return f"env set CARGO={path}\n" + ("" if top == "/usr" else
                                        f"read {top}\n")
    return ""


def run(stockade, matrix, command, policy):
    """The second half of the stream is sent when the first has come out."""
    if isinstance(command, str):
        command = ["/bin/sh", "-c", command]
    child = stockade.start(*command, policy=policy)
    errors = []
    reader = threading.Thread(
        target=lambda: errors.append(child.stderr.read()))
    reader.start()
    out = []
    for line in child.stdout:
        out.append(line.decode("utf-8", "replace"))
        if "first event" in out[-1]:
            matrix.seen.set()
    child.wait(30)
    reader.join()
    return child.returncode, "".join(out), errors[0].decode("utf-8", "replace")


@pytest.mark.parametrize("client", CLIENTS)
def test_client(stockade, matrix, authority, client):
    needs, command, arrives, prints = CLIENTS[client]
    if not (cargo(stockade) if client == "cargo" else
            all(has(stockade, what) for what in needs.split())):
        pytest.skip("a client that is not installed")
    policy = (f"roots {authority.pem}\nreach {HOST} via {matrix.via}\n"
              f"write .\nallow * {HOST}/**\n"
              + prepare(client, stockade))
    # What is refused has a name of its own in each client's way of asking.
    policy += "".join(f"deny * {HOST}/{path}\n" for path in (
        "refused", "refused/**", "simple/refused/", "npm/refused", "index/re/fu/refused",
        "go/refused.test/**", "maven/test/refused/**", "git/refused.git/**"))
    status, out, err = run(stockade, matrix, command, policy)
    out += "".join(r.body.decode() for r in matrix.requests
                   if r.path == "/report")
    said = f"{status}\n{out}\n{err}\n{matrix.targets}"
    assert set(arrives) <= set(matrix.targets), said
    assert not any("refused" in target for target in matrix.targets), said
    if arrives[:3] == ALL or client == "ws":
        assert "fetched it" in out and "second event" in out, said
        assert f'"took": {len(UPLOAD)}' in out, said
        assert next(r for r in matrix.requests
                    if r.path in ("/upload", "/ws")).body == UPLOAD
        assert matrix.held, "the stream came when it was whole\n" + said
    for text in prints:
        assert text in out, said
    if client == "git":	# too long for a length to be known before
        assert any(r.get("transfer-encoding") and len(r.body) > 1500000
                   for r in matrix.requests), said
    if client == "go":		# the command, after the client
        out = ""
    assert "denied by: deny * matrix.test/" in out + err, said


def test_who_brings_its_own_roots_is_named_a_rule(stockade, matrix, authority):
    """It fails, and what the record proposes makes it work."""
    shutil.copy(authority.pem, stockade.cwd / "pin.pem")
    # What edge says at the very end of a run may come too late for the record.
    command = ["/bin/sh", "-c", "curl -sS --cacert pin.pem "
               f"https://{HOST}/fetch; status=$?; sleep 0.7; exit $status"]
    reach = f"roots {authority.pem}\nreach {HOST} via {matrix.via}\n"
    result = stockade.run(*command, policy=reach + f"allow * {HOST}/**\n")
    assert result.status and not matrix.requests, result
    reason = next(r["reason"] for r in stockade.log()
                  if r["event"] == "refused")
    assert "own roots" in reason
    result = stockade.run(*command,
                          policy=reach + reason.split("`")[1] + "\n").ok()
    assert result.out == "fetched it\n"


JAVAS = """
cd /etc/stockade
openssl pkcs12 -in java.p12 -nokeys -nomacver -passin pass: | grep -c ^-----BEGIN
cmp java.p12 "$(readlink -f /usr/bin/java | xargs dirname)/../lib/security/cacerts" &&
    cmp java.p12 ~/sdk/lib/security/cacerts && echo same
"""


def test_java_has_the_hosts_roots_as_well(stockade):
    """Each certificate of the bundle, and the run's; also where a Java is by
    PATH alone, and never where the agent can write."""
    if not all(has(stockade, what) for what in ("java", "openssl")):
        pytest.skip("a client that is not installed")
    own = stockade.cwd / "jdk/lib/security/cacerts"
    theirs = stockade.home / "sdk/lib/security/cacerts"
    for store in (own, theirs):
        store.parent.mkdir(parents=True)
        store.write_text("mine")
    policy = (f"write .\nread ~/sdk\nallow * {HOST}/**\n"
              f"env set JAVA_HOME={own.parents[2]}\n")
    path = f"{stockade.home}/sdk/bin:{stockade.env['PATH']}"
    result = stockade.sh(JAVAS + f"cat {own}", policy=policy,
                         env={"PATH": path}).ok()
    assert theirs.read_text() == "mine"
    with open("/etc/ssl/certs/ca-certificates.crt", encoding="ascii") as roots:
        n = roots.read().count("BEGIN CERTIFICATE")
    assert result.out.split() == [str(n + 1), "same", "mine"], result
