# SPDX-License-Identifier: Apache-2.0
"""Clients that know nothing of a sandbox, with no proxy variable set."""
import pytest

pytestmark = pytest.mark.whoever

PERL = r"""
use IO::Socket::SSL;
my $s = IO::Socket::SSL->new(PeerAddr => "api.test:443",
	SSL_verify_mode => SSL_VERIFY_PEER) or die "tls: $SSL_ERROR";
print $s "GET /headers HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n";
print while <$s>;
"""
OPENSSL = (r"printf 'GET /headers HTTP/1.1\r\nHost: api.test\r\n"
           r"Connection: close\r\n\r\n' | openssl s_client -quiet "
           r"-verify_return_error -verify_hostname api.test "
           r"-connect api.test:443 2>&1")
CLIENTS = {
    "curl": ["curl", "-sS", "https://api.test/headers"],
    "wget": ["wget", "-q", "--content-on-error", "-O", "-",
             "https://api.test/headers"],
    "python": ["/usr/bin/python3", "-c", """
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen("https://api.test/headers").read().decode())
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
"""],
    "node": ["node", "-e", """
fetch("https://api.test/headers").then(async r =>
    console.log(r.status, await r.text()),
    e => { console.log(e, e.cause); process.exit(1) })
"""],
    "openssl": ["sh", "-c", OPENSSL],
    "perl": ["perl", "-e", PERL],
}


@pytest.mark.parametrize("client", CLIENTS)
def test_client_with_a_rule_reaches_the_origin(stockade, net, api, client):
    result = stockade.run(*CLIENTS[client],
                          policy=net + "allow GET api.test/**\n")
    assert '"origin": "api"' in result.out, result
    assert api.targets == ["GET /headers"]
    assert result.status == 0, result


@pytest.mark.parametrize("client", CLIENTS)
def test_client_without_a_rule_is_stopped_and_told(stockade, net, api, client):
    result = stockade.run(*CLIENTS[client],
                          policy=net + "allow GET api.test/elsewhere\n")
    assert api.requests == []
    assert api.connections == 0
    assert "allow_with" in result.text and "/headers" in result.text, result
    denied = stockade.log("--denied")
    assert denied, "a denial without a record"


@pytest.mark.parametrize("client", ["curl", "python", "node"])
def test_client_over_plain_http(stockade, net, plain, client):
    argv = [a.replace("https://api.test", "http://plain.test")
            for a in CLIENTS[client]]
    denied = stockade.run(*argv, policy=net)
    assert plain.requests == [], denied
    result = stockade.run(*argv, policy=net + "allow GET plain.test/**\n")
    assert '"origin": "plain"' in result.out, result


GIT = """
set -e
git clone -q https://api.test/git/project.git copy
cd copy
cat README
echo more >> README
git -c user.name=a -c user.email=a@a commit -q -a -m second
git push -q origin HEAD:{branch}
"""


def test_git_clone_and_push(stockade, net, api, git_root):
    import subprocess
    result = stockade.sh(GIT.format(branch="topic"), policy=net +
                         "write .\nallow GET,POST api.test/git/**\n").ok()
    assert "hello" in result.out
    log = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", git_root + "/project.git",
         "log", "--format=%s", "topic"], stdout=subprocess.PIPE, check=True)
    assert log.stdout.decode().split() == ["second", "first"]


def test_git_push_without_a_rule_is_stopped(stockade, net, api, git_root):
    result = stockade.sh(
        GIT.format(branch="stolen"), policy=net + "write .\n"
        "allow GET api.test/git/project.git/info/refs?service=git-upload-pack"
        "\nallow POST api.test/git/project.git/git-upload-pack\n")
    assert "hello" in result.out, result
    assert result.status != 0
    assert "403" in result.err, result
    assert not any("receive-pack" in t for t in api.targets)


def test_git_clone_without_a_rule_is_stopped(stockade, net, api):
    result = stockade.sh("git clone -q https://api.test/git/project.git copy",
                         policy=net + "write .\nallow GET api.test/x\n")
    assert result.status == 128
    assert "403" in result.err, result
    assert api.requests == []


def test_explicit_proxy_is_served(stockade, net, api, plain):
    policy = net + "allow GET api.test/**\nallow GET plain.test/**\n"
    result = stockade.sh(
        "curl -sS -x http://proxy.stockade:3128 https://api.test/headers &&"
        "curl -sS -x http://proxy.stockade:3128 http://plain.test/headers &&"
        # CONNECT also for what has no TLS.
        "curl -sS -p -x http://proxy.stockade:3128 http://plain.test/tunnel",
        policy=policy).ok()
    assert '"origin": "api"' in result.out
    assert '"origin": "plain"' in result.out
    assert plain.targets == ["GET /headers", "GET /tunnel"]


def test_explicit_proxy_decides_the_same(stockade, net, api, plain):
    policy = net + "allow GET api.test/elsewhere\n"
    result = stockade.sh(
        "curl -sS -x http://proxy.stockade:3128 https://api.test/headers;"
        "curl -sS -x http://proxy.stockade:3128 http://plain.test/headers;"
        "curl -sS -p -x http://proxy.stockade:3128 http://plain.test/tunnel;"
        "curl -sS -x http://proxy.stockade:3128 http://127.0.0.1:%d/x"
        % plain.port, policy=policy)
    assert api.requests == [] and plain.requests == []
    assert result.out.count("allow_with") >= 3, result


def test_no_proxy_variables_inside(stockade):
    result = stockade.sh("env", env={"http_proxy": "http://x:1",
                                     "HTTPS_PROXY": "http://x:1"}).ok()
    assert "_proxy=" not in result.out.lower()


def test_keep_alive_decides_each_request(stockade, net, api):
    result = stockade.run(
        "curl", "-sS", "https://api.test/headers", "https://api.test/no",
        "https://api.test/headers", policy=net +
        "allow GET api.test/headers\n").ok()
    assert api.targets == ["GET /headers", "GET /headers"]
    assert result.out.count('"origin": "api"') == 2


def test_streams_are_not_buffered(stockade, net, api):
    script = """
import time, urllib.request
r = urllib.request.urlopen("https://api.test/slow")
while (line := r.readline()):
    if line.strip():
        print("%.2f" % time.monotonic(), line.decode().strip(), flush=True)
"""
    result = stockade.run("/usr/bin/python3", "-c", script,
                          policy=net + "allow GET api.test/**\n").ok()
    times = [float(line.split()[0]) for line in result.out.splitlines()]
    assert len(times) == 5, result
    assert times[-1] - times[0] > 0.5, "the stream came all at once"


def test_large_bodies_both_ways(stockade, net, api):
    result = stockade.sh(
        "head -c 20000000 /dev/zero > /tmp/up &&"
        "curl -sS --data-binary @/tmp/up -o /dev/null -w '%{http_code}\\n' "
        "https://api.test/upload &&"
        "curl -sS -H 'Transfer-Encoding: chunked' --data-binary @/tmp/up "
        "-o /dev/null -w '%{http_code}\\n' https://api.test/upload &&"
        "curl -sS https://api.test/bytes?n=30000000 | sha256sum",
        policy=net + "allow GET,POST api.test/**\n").ok()
    import hashlib
    block = (bytes(range(256)) * (30000000 // 256 + 1))[:30000000]
    assert result.out.split()[:3] == [
        "200", "200", hashlib.sha256(block).hexdigest()]
    assert [len(r.body) for r in api.requests] == [20000000, 20000000, 0]


@pytest.mark.parametrize("path,text", [
    ("/chunked", "one two three\n"), ("/close", "until the end\n"),
    ("/status/404", "status\n"), ("/status/500", "status\n")])
def test_responses_come_through(stockade, net, api, path, text):
    result = stockade.run("curl", "-sS", "https://api.test" + path,
                          policy=net + "allow GET api.test/**\n").ok()
    assert result.out == text


def test_head_and_continue_and_empty_answers(stockade, net, api):
    result = stockade.sh(
        "curl -sS -I https://api.test/x | head -n 1;"
        "curl -sS -H 'Expect: 100-continue' -d data https://api.test/echo;"
        "curl -sS -w '%{http_code}\\n' -o /dev/null https://api.test/status/204",
        policy=net + "allow * api.test/**\n").ok()
    assert "200" in result.out and '"body": "data"' in result.out
    assert result.out.rstrip().endswith("204")


PARTS = """
w='-sS --http%s -w :%%{http_code}:%%header{content-range}\\n'
u=https://api.test/part
curl $w -r 2-5 $u
curl $w -r 2-5 -H 'If-Range: "old"' $u
curl $w -H 'If-None-Match: "ten"' $u $u
curl $w -r 2-5 $u/denied
"""


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_parts_and_what_has_not_changed(stockade, net, api, version):
    """A part comes as it was asked for.  Of a host with a secret, which must be
    found if it comes back, it is the whole."""
    policy = net + "allow GET api.test/part\n"
    lines = stockade.sh(PARTS % version, policy=policy).ok().out.splitlines()
    assert lines[:4] == ["2345:206:bytes 2-5/10", "0123456789:200:"] + [":304:"] * 2
    assert "allow GET api.test/part/denied" in lines[-4], lines
    assert [r.get("range") for r in api.requests] == ["bytes=2-5"] * 2 + [None] * 2
    result = stockade.sh(
        PARTS % version, env={"TOKEN": "sk-live-0123456789abcdef"}, policy=policy
        + "secret TOKEN from env for api.test as bearer\n").ok()
    assert result.out.startswith("0123456789:200:\n" * 2 + ":304:\n"), result


def test_a_redirect_is_a_new_request(stockade, net, api, other):
    result = stockade.run(
        "curl", "-sSL", "https://api.test/redirect?to=https://other.test/x",
        policy=net + "allow GET api.test/**\n")
    assert "allow_with" in result.out, result
    assert other.requests == []
