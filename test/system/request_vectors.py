# SPDX-License-Identifier: Apache-2.0
"""Requests as an agent should not write them, as data for test_vectors.py.

all_vectors() gives (name, bytes, first, second): at most so many requests may
arrive for the one that is written first, and for one that is hidden behind it.
A name that begins with "ok" must arrive exactly so often.

In the bytes {U} is the scheme and authority of an absolute form, empty inside
a tunnel; {H} is host:port, {P} the port, {W} the port and 65536.  {V} and {S}
mark the first request and the hidden one, so that what arrives can be told.
"""

HOST = "Host: {H}\r\n"
GET = "GET {U}/allowed/{V} HTTP/1.1\r\n" + HOST
POST = "POST {U}/allowed/{V} HTTP/1.1\r\n" + HOST
HIDDEN = "GET {U}/allowed/{S} HTTP/1.1\r\n" + HOST + "\r\n"
END = "\r\n"
CHUNKED = POST + "Transfer-Encoding: chunked\r\n\r\n"


def line(text):
    return text + "\r\n" + HOST + END


def plain_ones():
    yield "ok get", GET + END, 1, 0
    yield "ok post", POST + "Content-Length: 5\r\n\r\nhello", 1, 0
    yield "ok chunked", CHUNKED + "5\r\nhello\r\n0\r\n\r\n", 1, 0
    yield "ok two", GET + END + HIDDEN, 1, 1
    yield "ok after a body", POST + "Content-Length: 2\r\n\r\nab" + HIDDEN, 1, 1
    yield "ok query", line("GET {U}/allowed/{V}?a=/../b&c=//x HTTP/1.1"), 1, 0
    yield "ok escapes", line("GET {U}/allowed/{V}/%7ea%c3%bc HTTP/1.1"), 1, 0
    yield "ok blank line first", END + GET + END, 1, 0
    yield "ok get with a body", GET + "Content-Length: 3\r\n\r\nabc", 1, 0
    yield "ok expect", (POST + "Expect: 100-continue\r\n"
                        "Content-Length: 5\r\n\r\nhello"), 1, 0
    yield "ok case of host", ("GET {U}/allowed/{V} HTTP/1.1\r\n"
                              "HOST: REC.test:{P}\r\n\r\n"), 1, 0


def lengths():
    for value in ("+5", "-1", "-0", "0x5", "5 5", "5,5", "5, 5", "", " ", "5;",
                  "1e1", "5.0", "5\x0b", "\x0b5", "\xa05", "five", "5\0",
                  "18446744073709551616", "99999999999999999999",
                  "36893488147419103237", "4294967301" * 3):
        yield f"length {value!r}", POST + f"Content-Length: {value}\r\n\r\n", 0
    for name, fields in {
            "two lengths": "Content-Length: 0\r\nContent-Length: 40\r\n",
            "two equal lengths": "Content-Length: 0\r\nContent-Length: 0\r\n",
            "length in two cases": "Content-Length: 0\r\n"
                                   "CONTENT-LENGTH: 40\r\n",
            "length, then chunked": "Content-Length: 40\r\n"
                                    "Transfer-Encoding: chunked\r\n",
            "chunked, then length": "Transfer-Encoding: chunked\r\n"
                                    "Content-Length: 4\r\n",
            "chunked and no length": "Content-Length: 0\r\n"
                                     "Transfer-Encoding: chunked\r\n",
            "a space before the colon": "Content-Length : 40\r\n",
            "a tab before the colon": "Content-Length\t: 40\r\n",
            "a length that is folded": "Content-Length:\r\n 40\r\n",
            "a length behind a bare LF": "X: a\nContent-Length: 40\r\n",
            "a length behind a bare CR": "X: a\rContent-Length: 40\r\n",
            "a length behind a NUL": "X: a\0Content-Length: 40\r\n"}.items():
        yield name, POST + fields + "\r\n0\r\n\r\n", 0


def codings():
    for value in ("xchunked", "chunkedx", "chunked, identity", "identity",
                  "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked",
                  "\x0bchunked", "chunked\x0b", "\x0cchunked", "chunked;q=1",
                  '"chunked"', "'chunked'", "chun ked", "chunked,", ",chunked",
                  "", "\xffchunked", "chunked\0", "cow"):
        yield f"coding {value!r}", (
            POST + f"Transfer-Encoding: {value}\r\n\r\n0\r\n\r\n"), 0
    for name in ("Transfer-Encoding ", " Transfer-Encoding",
                 "Transfer-Encoding\t", "\0Transfer-Encoding",
                 "Transfer-Encoding\0", "Transfer\rEncoding",
                 "X\r\n\tTransfer-Encoding", "X: y\nTransfer-Encoding",
                 "X: y\rTransfer-Encoding", "Transfer-Encoding:\r\n",
                 "Transfer-Encoding\r\n"):
        yield f"coding as {name!r}", (
            POST + f"{name}: chunked\r\n\r\n0\r\n\r\n"), 0
    yield "two codings", (POST + "Transfer-Encoding: chunked\r\n" * 2
                          + "\r\n0\r\n\r\n"), 0
    yield "coding twice, one unknown", (
        POST + "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n"
        "\r\n0\r\n\r\n"), 0
    yield "coding in 1.0", ("POST {U}/allowed/{V} HTTP/1.0\r\n" + HOST
                            + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 0
    # Unknown fields: no coding, for us and, without one, for the origin.
    for name in "Transfer_Encoding", "X-Transfer-Encoding":
        yield f"no coding: {name}", GET + f"{name}: chunked\r\n\r\n0\r\n\r\n", 1


def chunks():
    """The head stands, its body is never completed: one may arrive."""
    for size in ("+5", "-5", "0x5", "5_0", "", " ", "5 5", "g", "5\0",
                 "10000000000000005", "fffffffffffffffffb", "5;a=\"x\n\"",
                 "5;a\nb", "5;\0", "5\n", "5\r", "\r\n5", "5" + ";" * 9000):
        yield f"chunk size {size[:12]!r}", (
            CHUNKED + size + "\r\nhello\r\n0\r\n\r\n"), 1
    for name, body in {
            "bare LF in chunks": "5\nhello\n0\n\n",
            "bare CR in chunks": "5\rhello\r0\r\r",
            "chunk too long": "4\r\nhello\r\n0\r\n\r\n",
            "chunk too short": "6\r\nhello\r\n0\r\n\r\n",
            "chunk without an end": "5\r\nhello0\r\n\r\n",
            "trailer with a bare LF": "0\r\nX: a\nY: b\r\n\r\n",
            "trailer without a colon": "0\r\nX\r\n\r\n",
            "trailer that is folded": "0\r\nX: a\r\n b\r\n\r\n"}.items():
        yield name, CHUNKED + body, 1
    # In place of a trailer: then the next request is one, and allowed.
    yield "last chunk is odd", CHUNKED + "000\r\n\r\n", 1, 1
    for field in ("Host: other.test", "Content-Length: 40",
                  "Transfer-Encoding: chunked", "Authorization: Bearer x"):
        yield f"trailer {field}", CHUNKED + f"0\r\n{field}\r\n\r\n", 1, 1


def request_lines():
    for version in ("HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/9", "http/1.1",
                    "HTTP/1.1 x", "HTTP/1.1\t", "HTTP/01.1", "HTTP/1.10",
                    "HTTP/+1.1", "HTTP /1.1", "HTTP/1.1\0", "ICAP/1.0", ""):
        yield f"version {version!r}", line("GET {U}/allowed/{V} " + version), 0
    for text in ("GET  {U}/allowed/{V} HTTP/1.1", "GET\t{U}/allowed/{V} HTTP/1.1",
                 " GET {U}/allowed/{V} HTTP/1.1", "GET {U}/allowed/{V}  HTTP/1.1",
                 "GET {U}/allowed/{V}", "GET", "{U}/allowed/{V} HTTP/1.1",
                 "GET {U}/allowed/{V}\0 HTTP/1.1", "GET {U}/allowed/{V}\x0bHTTP/1.1",
                 "GET {U}/allowed/{V} x HTTP/1.1", "GET {U}/allowed/{V}\tHTTP/1.1",
                 "GET {U}/allowed/{V}\xa0HTTP/1.1"):
        yield f"line {text!r}", line(text), 0
    for ends in "\n", "\r", "\n\r", "\r\r\n", "\v\r\n":
        yield f"lines end in {ends!r}", (
            "GET {U}/allowed/{V} HTTP/1.1" + ends + "Host: {H}" + ends + ends), 0
    yield "three blank lines first", END * 3 + GET + END, 0
    yield "a blank and a NUL first", "\0\r\n" + GET + END, 0


def fields():
    for text in ("X: a\r\n b", " X: a", "X : a", "X\t: a", "X", ": a", "X: a\0b",
                 "X: a\nb", "X: a\rb", "X: a\x01b", "X: a\x0bb", "X: a\x7fb",
                 "X(: a", "X@: a", "X Y: a", "X\xff: a", "\xef\xbb\xbfX: a",
                 "X\0: a", "{}: a", "\"X\": a", "X: a\r\n\tb"):
        yield f"field {text!r}", GET + text + "\r\n\r\n", 0
    yield "a field of 70,000 bytes", GET + "X: " + "a" * 70000 + "\r\n\r\n", 0
    yield "5,000 fields", GET + "X: a\r\n" * 5000 + "\r\n", 0
    yield "200 fields", GET + "X: a\r\n" * 200 + "\r\n", 0
    # Nominated or not, what framing and routing need is ours.
    for value in ("Host", "Content-Length", "Authorization, Host", "close, X",
                  "Transfer-Encoding", "{S}"):
        yield f"connection {value}", GET + f"Connection: {value}\r\n\r\n", 1, 1
    for text in ("X-Forwarded-Host: other.test", "X-Original-URL: /secret",
                 "X-Rewrite-URL: /secret", "X-HTTP-Method-Override: DELETE",
                 "X-HTTP-Method: DELETE", "X-Method-Override: PUT",
                 "Forwarded: host=other.test", "Proxy-Authorization: Basic x",
                 "Keep-Alive: timeout=1", "Upgrade: h2c\r\nHTTP2-Settings: AA\r\n"
                 "Connection: Upgrade, HTTP2-Settings"):
        yield f"passes: {text[:24]}", GET + text + "\r\n\r\n", 1, 1


def hosts():
    first = "GET {U}/allowed/{V} HTTP/1.1\r\n"
    for value in ("other.test", "other.test:{P}", "rec.test", "rec.test:1",
                  "{H}, other.test", "{H},{H}", "u@{H}", "{H}/", "{H}/allowed",
                  "{H}\0", "{H} other.test", "", " ", "rec.test:", "rec.test:+{P}",
                  "rec.test:0{P}", "rec.test:{W}", "rec..test:{P}", ".rec.test:{P}",
                  "rec.test.evil.test:{P}", "evilrec.test:{P}", "rec.test@x:{P}",
                  "rec%2etest:{P}", "rec.test%00.x:{P}", "127.0.0.1:{P}",
                  "[::1]:{P}", "http://{H}", "{H}?x", "{H}#x", "{H}\\x",
                  "rec.test:{P}:{P}", "rec\xe3\x80\x82test:{P}"):
        yield f"host {value!r}", first + f"Host: {value}\r\n\r\n", 0
    for name, text in {
            "no host": "", "two hosts": HOST + "Host: other.test\r\n",
            "two equal hosts": HOST * 2, "host twice, other first":
            "Host: other.test\r\n" + HOST, "a host that is folded":
            "Host:\r\n {H}\r\n", "a host with a blank": "Host : {H}\r\n",
            "a host behind a bare LF": "X: a\nHost: other.test\r\n" + HOST,
            }.items():
        yield name, first + text + END, 0


def targets():
    """Absolute forms: for the proxy; a tunnel takes none of another place."""
    for text in ("http:{H}/allowed/{V}", "http:/{H}/allowed/{V}",
                 "http:///{H}/allowed/{V}", "http://u@{H}/allowed/{V}",
                 "http://u:p@{H}/allowed/{V}", "http://other.test@{H}/allowed/{V}",
                 "http://{H}#@other.test/allowed/{V}", "http://{H}\\@x/allowed/{V}",
                 "http:\\\\{H}\\allowed\\{V}", "http://{H}?/allowed/{V}",
                 "ftp://{H}/allowed/{V}", "file:///allowed/{V}",
                 "javascript://{H}/allowed/{V}", "//{H}/allowed/{V}",
                 "http://rec.test:/allowed/{V}", "http://rec.test:+{P}/allowed/{V}",
                 "http://rec.test:0{P}/allowed/{V}", "http://rec.test:{W}/allowed/{V}",
                 "http://rec.test:http/allowed/{V}", "http://rec.test:-1/allowed/{V}",
                 "http://rec.test:{P}:{P}/allowed/{V}", "http://rec..test:{P}/allowed/{V}",
                 "http://.rec.test:{P}/allowed/{V}", "http://rec.test..:{P}/allowed/{V}",
                 "http://rec%2etest:{P}/allowed/{V}", "http://rec.test%00:{P}/allowed/{V}",
                 "http://rec.test\0.x:{P}/allowed/{V}",
                 "http://rec\xe3\x80\x82test:{P}/allowed/{V}",
                 "http://rec\xc2\xadtest:{P}/allowed/{V}",
                 "http://xn--rec-.test:{P}/allowed/{V}",
                 "http://[rec.test]:{P}/allowed/{V}",
                 "http://" + "a" * 64 + ".rec.test:{P}/allowed/{V}",
                 "http://" + "a." * 127 + "rec.test:{P}/allowed/{V}",
                 "*", "rec.test:{P}", "allowed/{V}", "?x", ""):
        yield f"target {text[:40]!r}", line(f"GET {text} HTTP/1.1"), 0
    for address in ("127.0.0.1", "127.1", "0", "0.0.0.0", "2130706433",
                    "0177.0.0.1", "0x7f.1", "0x7f000001", "127.0.0.1.",
                    "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]",
                    "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
                    "[::1%25lo]", "[v1.x]", "[[::1]]", "169.254.169.254",
                    "localhost", "x.localhost", "metadata.google.internal",
                    "[fd00:ec2::254]", "100.100.100.200"):
        yield f"literal {address}", (
            f"GET http://{address}:{{P}}/allowed/{{V}} HTTP/1.1\r\n"
            f"Host: {address}:{{P}}\r\n\r\n"), 0, 1


def paths():
    for text in ("../{V}", "./{V}", "{V}/..", "{V}/../../secret", "{V}/.",
                 "{V}/%2e%2e/%2e%2e/secret", "{V}/%2E%2e/x", "{V}/.%2e/x",
                 "{V}/..%2fsecret", "{V}%2f..%2f..%2fsecret", "{V}/%252e%252e/x",
                 "{V}/%25252e%25252e/x", "{V}/..;/x", "{V}/..;a=b/x", "{V}/.;/x",
                 "{V}/..%3b/x", "{V}/..%20/x", "{V}/..+/x", "{V}/...",
                 "{V}\\..\\x", "{V}%5c..%5cx", "{V}//x", "/{V}", "{V}/%2f/x",
                 "{V}/%c0%ae%c0%ae/x", "{V}/%e0%80%ae/x", "{V}/%u002e%u002e/x",
                 "{V}/%ef%bc%8e%ef%bc%8e/x", "{V}/\xef\xbc\x8e/x", "{V}/%00",
                 "{V}%0d%0aX:y", "{V}%0a", "{V}/%7f", "{V}#x", "{V}/#/../x",
                 "{V}/%", "{V}/%2", "{V}/%zz", "{V}/%%32e%%32e/x", "{V}/%%32fx",
                 "{V}/\xff", "{V}/<x>", "{V}/a b", "{V}/a\tb", "{V}/a\x7fb",
                 "{V}/{{}}", "{V}/a^b", "{V}?a#b", "{V}?a b", "{V}?\xff",
                 "{V}?%", "{V}/" + "a" * 9000, "{V}?" + "a" * 17000):
        yield f"path {text[:24]!r}", line(f"GET {{U}}/allowed/{text} HTTP/1.1"), 0
    for text in ("/allowedx/{V}", "/Allowed/{V}", "/secret/{V}", "/{V}/allowed/",
                 "/allow%65d/../{V}", "/%61llowed%2f{V}", "/"):
        yield f"elsewhere {text!r}", line(f"GET {{U}}{text} HTTP/1.1"), 0, 1
    yield "an escape of ours", line("GET {U}/%61llowed/{V} HTTP/1.1"), 1, 1


def methods():
    for name in ("get", "GeT", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS",
                 "PROPFIND", "A" * 31):
        yield f"method {name[:9]}", line(name + " {U}/allowed/{V} HTTP/1.1"), 0, 1
    for name in ("TRACE", "TRACK", "CONNECT", "GET,POST", "GET\0", "\0GET", "G(T",
                 "", "A" * 300, "GET/", "G\xcbT"):
        yield f"method {name[:9]!r}", line(name + " {U}/allowed/{V} HTTP/1.1"), 0
    for target in ("rec.test:22", "rec.test:{P}", "127.0.0.1:{P}", "[::1]:{P}",
                   "other.test:{P}", "rec.test", "rec.test:0{P}", "u@{H}",
                   "http://{H}/", "{H}/", "rec.test:{W}", "localhost:{P}"):
        yield f"connect {target}", (
            f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"), 0
    yield "connect with a body", ("CONNECT {H} HTTP/1.1\r\n" + HOST
                                  + "Content-Length: 40\r\n\r\n"), 0


def strangers():
    for name, data in {
            "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "TLS": "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
            "SSL 2": "\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10",
            "SOCKS 5": "\x05\x01\x00\x05\x01\x00\x03\x08rec.test\x00\x50",
            "SOCKS 4": "\x04\x01\x00\x50\x00\x00\x00\x01\x00rec.test\x00",
            "SMTP": "EHLO x\r\nMAIL FROM:<a@b>\r\n", "SSH": "SSH-2.0-x\r\n",
            "NULs": "\0" * 300, "high": "\xff" * 300, "a PROXY line":
            "PROXY TCP4 127.0.0.1 127.0.0.1 1 {P}\r\n"}.items():
        yield f"speaks {name}", data, 0
    yield "websocket", (GET + "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                        "AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"), 1
    yield "expects what nobody knows", POST + (
        "Expect: 200-ok\r\nContent-Length: 40\r\n\r\n"), 1


def all_vectors():
    found = list(plain_ones())
    for group in (lengths, codings, chunks, request_lines, fields, hosts,
                  targets, paths, methods, strangers):
        for name, data, first, *second in group():
            found.append((name, data + HIDDEN, first, *(second or [0])))
    return found
