# SPDX-License-Identifier: Apache-2.0
"""A credential works at its host, and is nowhere else."""
import base64
import os
import subprocess
import threading
import urllib.parse

import pytest

from conftest import eventually, processes, PATIENCE
from listener import Listener, everywhere

VALUE = "s3cr3t+value/with=odd?chars-0123456789"
SECRET = "secret TOKEN from env for api.test as bearer\n"
ALLOW = "allow * api.test/**\nallow * other.test/**\nallow * plain.test/**\n"
BEARER = '-H "Authorization: Bearer $TOKEN"'
ENV = {"TOKEN": VALUE}


def test_the_placeholder_becomes_the_value_at_its_host(stockade, net, api):
    stockade.sh(f"curl -sS -o /dev/null {BEARER} https://api.test/x",
                policy=net + ALLOW + SECRET, env=ENV).ok()
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE]


@pytest.mark.parametrize("place", [
    '-H "X-Other: $TOKEN" https://api.test/x',
    '"https://api.test/$TOKEN"',
    '"https://api.test/x?token=$TOKEN"',
    '-d "token=$TOKEN" https://api.test/x',
    '-H "Cookie: t=$TOKEN" https://api.test/x',
    '-u "user:$TOKEN" https://api.test/x',
    BEARER + ' https://other.test/x',
    BEARER + ' http://plain.test/x',
])
def test_the_placeholder_is_inert_elsewhere(stockade, net, api, other, plain,
                                            place):
    result = stockade.sh(f"curl -sS {place}; true",
                         policy=net + ALLOW + SECRET, env=ENV)
    encoded = base64.b64encode(VALUE.encode()).decode().rstrip("=")
    for origin in (api, other, plain):
        for form in (VALUE, encoded, urllib.parse.quote(VALUE, safe="")):
            assert not origin.saw(form), place
    assert VALUE not in result.text


def test_a_placeholder_elsewhere_is_a_violation_on_record(stockade, net,
                                                          other):
    stockade.sh(f"curl -sS {BEARER} https://other.test/x",
                policy=net + ALLOW + SECRET, env=ENV)
    violation, = [r for r in stockade.log() if r["event"] == "violation"]
    assert (violation["where"], violation["name"], violation["host"]) == \
        ("field", "authorization", "other.test")


def test_two_secrets_and_two_hosts(stockade, net, api, other):
    """Of the four combinations two are swapped; the others are on record, each with
    its place, and so is every other place of one request."""
    two = (net + ALLOW + "secret ONE from env for api.test as bearer\n"
           "secret TWO from env for other.test as header x-key\n")
    values = {"ONE": "value-number-one", "TWO": "value-number-two"}
    stockade.sh("""
        for host in api.test other.test; do
            curl -sS -H "Authorization: Bearer $ONE" \
                -o /dev/null https://$host/1
            curl -sS -H "X-Key: $TWO" -o /dev/null https://$host/2
        done
        curl -sS -H "X-A: $ONE" -H "X-B: $TWO.$ONE" -b "c=$TWO" \
            -o /dev/null "https://api.test/p$ONE?q=$TWO"
    """, policy=two, env=values).ok()
    assert [[bool(origin.saw(value)) for value in values.values()]
            for origin in (api, other)] == [[True, False], [False, True]]
    assert sorted((r["secret"], r["host"], r["where"], r.get("name"))
                  for r in stockade.log() if r["event"] == "violation") == [
        ("ONE", "api.test", "field", "x-a"),
        ("ONE", "api.test", "field", "x-b"),
        ("ONE", "api.test", "path", None),
        ("ONE", "other.test", "field", "authorization"),
        ("TWO", "api.test", "field", "cookie"),
        ("TWO", "api.test", "field", "x-b"),
        ("TWO", "api.test", "field", "x-key"),
        ("TWO", "api.test", "query", "q")]


def holds(pid, value):
    """Is it in what the process can write to?"""
    with open(f"/proc/{pid}/maps") as maps, \
            open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(n, 16) for n in line.split()[0].split("-"))
            if "w" not in line.split()[1]:
                continue
            memory.seek(start)
            if value in memory.read(end - start):
                return True
    return False


def test_no_process_but_vault_keeps_the_value(stockade, net, api):
    run = stockade.start("sh", "-c", "echo up; sleep 30",
                         policy=net + ALLOW + SECRET, env=ENV)
    try:
        assert run.stdout.readline() == b"up\n"
        ours = {pid: name for pid, (name, _) in processes().items()
                if name.startswith("stockade")}
        assert {"stockade", "stockade-vault",
                "stockade-init"} <= set(ours.values())
        holders = set()
        for pid, name in ours.items():
            # Not even to the user who started it.
            if os.geteuid():
                with pytest.raises(PermissionError):
                    open(f"/proc/{pid}/mem", "rb")
            elif holds(pid, VALUE.encode()):
                holders.add(name)
    finally:
        run.kill()
        run.communicate()
    assert holders == (set() if os.geteuid() else {"stockade-vault"})


def test_the_agent_never_holds_the_value(stockade, net, api):
    script = f"""
curl -sS {BEARER} https://api.test/echo
env
cat /proc/*/environ /proc/*/cmdline 2>/dev/null
grep -rasl -e '{VALUE[:10]}' / --exclude-dir=proc --exclude-dir=sys \
    --exclude-dir=usr 2>/dev/null | sed s/^/FOUND:/
"""
    path = stockade.cwd / "script"
    path.write_text(script.replace(VALUE[:10], VALUE[:9] + "[+]"))
    result = stockade.run("/bin/sh", str(path), policy=net + ALLOW + SECRET,
                          env=ENV)
    assert VALUE not in result.text
    assert "FOUND:" not in result.out, result
    assert "TOKEN=" in result.out
    assert api.requests and api.saw(VALUE)


@pytest.mark.parametrize("form", ["raw", "base64", "hex", "url"])
@pytest.mark.parametrize("cut", [0, 1, 7, 33])
def test_an_echo_is_scrubbed(stockade, net, api, form, cut):
    result = stockade.sh(
        f"curl -sS {BEARER} 'https://api.test/mirror?form={form}&cut={cut}'",
        policy=net + ALLOW + SECRET, env=ENV).ok()
    forms = {
        "raw": VALUE, "url": urllib.parse.quote(VALUE, safe=""),
        "hex": VALUE.encode().hex().upper(),
        "base64": base64.b64encode(VALUE.encode()).decode()}
    assert api.saw(VALUE)
    assert forms[form].rstrip("=")[:-2] not in result.out, result
    # A mask of exactly that length, so that framing stays true.
    assert len(result.out) == len(forms[form]) + 4, result
    assert result.out.startswith("<<") and result.out.endswith(">>")


def test_an_echo_in_a_field_is_scrubbed(stockade, net, api):
    result = stockade.sh(
        f"curl -sSi {BEARER} 'https://api.test/mirror?form=header'",
        policy=net + ALLOW + SECRET, env=ENV).ok()
    assert "x-mirror" in result.out.lower()
    assert VALUE not in result.out
    said = "the origin sent a secret's value back"
    assert said in stockade.call("log").ok().out
    stockade.sh(f"curl -sS {BEARER} https://api.test/x",
                policy=net + ALLOW + SECRET, env=ENV).ok()
    assert said not in stockade.call("log").ok().out


def test_a_value_that_the_origin_kept_is_masked_later(stockade, net, api):
    """Also at a path where the secret is not for, on another connection."""
    scoped = SECRET.replace("api.test", "api.test/v1/**")
    result = stockade.sh(
        f"curl -sS -o /dev/null {BEARER} https://api.test/v1/store; "
        "curl -sS https://api.test/recall",
        policy=net + ALLOW + scoped, env=ENV).ok()
    assert api.requests[0].get("authorization") == "Bearer " + VALUE
    assert api.requests[1].get("authorization") is None
    assert result.out.startswith("kept: Bearer ***"), result
    assert VALUE not in result.out


@pytest.mark.parametrize("rule,field,wants", [
    ("as bearer add", "authorization", "Bearer " + VALUE),
    ("as header x-api-key add", "x-api-key", VALUE),
    ("as header x-auth prefix 'tok ' add", "x-auth", "tok " + VALUE),
    ("as basic me add", "authorization",
     "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode()),
])
def test_add_supplies_the_field(stockade, net, api, rule, field, wants):
    stockade.sh("curl -sS -o /dev/null https://api.test/x", policy=net + ALLOW
                + f"secret TOKEN from env for api.test {rule}\n",
                env=ENV).ok()
    assert [r.get(field) for r in api.requests] == [wants]


def test_without_add_nothing_is_supplied(stockade, net, api):
    stockade.sh("curl -sS -o /dev/null https://api.test/x",
                policy=net + ALLOW + SECRET, env=ENV).ok()
    assert [r.get("authorization") for r in api.requests] == [None]


def test_header_form_swaps(stockade, net, api):
    stockade.sh('curl -sS -o /dev/null -H "x-api-key: $TOKEN" '
                'https://api.test/x', policy=net + ALLOW +
                "secret TOKEN from env for api.test as header x-api-key\n",
                env=ENV).ok()
    assert [r.get("x-api-key") for r in api.requests] == [VALUE]


def test_basic_form_swaps(stockade, net, api):
    stockade.sh('curl -sS -o /dev/null -u "me:$TOKEN" https://api.test/x',
                policy=net + ALLOW +
                "secret TOKEN from env for api.test as basic me\n",
                env=ENV).ok()
    assert [r.get("authorization") for r in api.requests] == [
        "Basic " + base64.b64encode(f"me:{VALUE}".encode()).decode()]


QUERY = "secret TOKEN from env for api.test as query key"
COOKIE = "secret TOKEN from env for api.test as cookie sid"
IN_QUERY = urllib.parse.quote(VALUE, safe="")


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_query_form_swaps(stockade, net, api, version):
    done = stockade.sh(
        f'curl -sS {version} "https://api.test/echo?a=1&key=$TOKEN&b=2"; '
        f'curl -sS {version} -o /dev/null https://api.test/x?a=1',
        policy=net + ALLOW + QUERY, env=ENV).ok()
    assert [r.query for r in api.requests] == [
        f"a=1&key={IN_QUERY}&b=2", "a=1"]
    # The origin says what it was asked for.
    assert VALUE not in done.out and IN_QUERY not in done.out
    assert "*" * len(IN_QUERY) in done.out


def test_query_form_adds(stockade, net, api):
    stockade.sh("curl -sS https://api.test/x; curl -sS https://api.test/x?a=1;"
                'curl -sS "https://api.test/x?key=$TOKEN"',
                policy=net + ALLOW + QUERY + " add", env=ENV).ok()
    assert [r.query for r in api.requests] == [
        f"key={IN_QUERY}", f"a=1&key={IN_QUERY}", f"key={IN_QUERY}"]


@pytest.mark.parametrize("form, what", [
    (QUERY, '"https://api.test/x?key=own"'),
    (QUERY, '"https://api.test/x?key=$TOKEN&key=own"'),
    (QUERY, '"https://api.test/x?key=$TOKEN&Key=own"'),
    (QUERY, '"https://api.test/x?key=$TOKEN&%6bey=own"'),
    (QUERY, '"https://api.test/x?key=$TOKEN&access_token=own"'),
    (QUERY, '-H "X-Api-Key: own" "https://api.test/x?key=$TOKEN"'),
    (QUERY + " add", '"https://api.test/x?key=own"'),
    (SECRET.strip(), BEARER + ' "https://api.test/x?access_token=own"'),
    (COOKIE, '-b "sid=own" https://api.test/x'),
    (COOKIE, '-b "sid=$TOKEN; sid=own" https://api.test/x'),
    (COOKIE, '-b "other=own; sid=$TOKEN" https://api.test/x'),
    (COOKIE, '-b "sid=$TOKEN" -H "Authorization: Bearer own" https://api.test/x'),
])
def test_nobody_else_s_credential_is_sent_beside(stockade, net, api, form,
                                                 what):
    done = stockade.sh(f"curl -sS -w '%{{http_code}}' -o page {what}; cat page",
                       policy=net + ALLOW + "write .\n" + form, env=ENV).ok()
    assert done.out.startswith("403") and "its own credential" in done.out
    assert not api.requests


@pytest.mark.parametrize("what", [
    '"https://api.test/x?kei=$TOKEN"', '"https://api.test/$TOKEN?a=1"',
    '-H "key: $TOKEN" https://api.test/x', '-d "key=$TOKEN" https://api.test/x',
    '"https://other.test/x?key=$TOKEN"', '"http://plain.test/x?key=$TOKEN"',
])
def test_query_form_is_for_one_key_of_one_host(stockade, net, api, other,
                                               plain, what):
    stockade.sh(f"curl -sS -o /dev/null {what}", policy=net + ALLOW + QUERY,
                env=ENV).ok()
    for origin in (api, other, plain):
        for value in (VALUE, IN_QUERY):
            assert not origin.saw(value)
    assert sum(map(len, (api.requests, other.requests, plain.requests))) == 1
    violation, = [r for r in stockade.log() if r["event"] == "violation"]
    assert violation["secret"] == "TOKEN"


@pytest.mark.parametrize("add, cookies", [
    ("", '-b "sid=$TOKEN"'), (" add", ""), (" add", '-b "sid=own; a=1"')])
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_cookie_form(stockade, net, api, version, add, cookies):
    done = stockade.sh(f"curl -sS {version} {cookies} https://api.test/echo",
                       policy=net + ALLOW + COOKIE + add, env=ENV).ok()
    assert [r.get("cookie") for r in api.requests] == ["sid=" + VALUE]
    assert VALUE not in done.out and "*" * len(VALUE) in done.out


def test_a_credential_of_the_clients_own_does_not_pass(stockade, net, api):
    """An allowed host is no way out to somebody else's account, whatever the
    field that its origin would go by."""
    result = stockade.sh(
        "for field in 'Authorization: Bearer somebody-elses' "
        "\"Authorization: Bearer somebody-elses $TOKEN\" "
        "'X-Api-Key: somebody-elses'; do "
        "curl -sS -H \"$field\" https://api.test/x; done; "
        f"curl -sS {BEARER} https://api.test/good",
        policy=net + ALLOW + SECRET, env=ENV)
    assert not api.saw("somebody-elses"), result
    assert [r.target for r in api.requests] == ["/good"], result


def test_only_the_named_path_gets_it(stockade, net, api):
    stockade.sh(f"curl -sS -o /dev/null {BEARER} https://api.test/v1/x "
                "-o /dev/null https://api.test/v2/x",
                policy=net + ALLOW +
                "secret TOKEN from env for api.test/v1/** as bearer\n",
                env=ENV)
    seen = {r.target: r.get("authorization") for r in api.requests}
    assert seen.get("/v1/x") == "Bearer " + VALUE
    assert VALUE not in (seen.get("/v2/x") or "")


def test_sources(stockade, net, api):
    path = stockade.base / "token"
    path.write_text(VALUE + "\n")
    os.chmod(path, 0o600)
    for source in (f"file {path}", f'command "cat {path}"'):
        api.clear()
        stockade.sh(
            f"curl -sS -o /dev/null {BEARER} https://api.test/x; "
            f"cat {path} 2>&1", policy=net + ALLOW +
            f"secret TOKEN from {source} for api.test as bearer\n")
        assert [r.get("authorization") for r in api.requests] == [
            "Bearer " + VALUE], source


# The name of the file, what it holds, and the key of VALUE in it.
SIBLING = "sibling-of-the-token-in-one-file"
ENTRIES = {
    "JSON": ("config.json", f"""{{"auths": {{
        "images.example": {{"auth": "{VALUE.replace("/", chr(92) + "/")}"}},
        "other.example": {{"auth": "{SIBLING}"}}}}}}""", "/auths/images.example/auth"),
    "INI": (".npmrc", f"//registry.test/:_authToken = {VALUE}\n"
            f"[other]\n//registry.test/:_authToken={SIBLING}\n",
            "//registry.test/:_authToken"),
    "a section": ("credentials", f"[default]\nkey = {SIBLING}\n[a.b]\n"
                  f"key={VALUE}\n", "a.b.key"),
    "netrc": (".netrc", f"machine other.test login u password {SIBLING}\n"
              f"machine api.test\n\tlogin u\n\tpassword {VALUE}\n",
              "api.test"),
    "dotenv": (".env", f"OTHER={SIBLING}\nexport KEY='{VALUE}' # here\n",
               "KEY"),
}


def entry_of(stockade, form):
    name, text, key = ENTRIES[form]
    path = stockade.cwd / name
    path.write_text(text)
    path.chmod(0o600)
    return path, key


def entry_rule(path, key, name="TOKEN", optional=""):
    return (f"secret{optional} {name} from file {path} key '{key}' "
            "for api.test as bearer\n")


@pytest.mark.parametrize("form", ENTRIES)
def test_an_entry_of_a_file_is_all_that_leaves_it(stockade, net, api, form):
    path, key = entry_of(stockade, form)
    result = stockade.sh(
        f"curl -sS {BEARER} https://api.test/echo; env; cat {path}",
        policy=net + ALLOW + "write .\n" + entry_rule(path, key))
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE]
    assert not api.saw(SIBLING)
    # Both are of a file that the command is not shown.
    assert "TOKEN=" in result.out
    assert VALUE not in result.text and SIBLING not in result.text
    assert SIBLING not in stockade.call("log", "--json").text


@pytest.mark.parametrize("form", ENTRIES)
@pytest.mark.parametrize("file_is_there", [True, False])
def test_an_entry_that_is_not_there(stockade, net, form, file_is_there):
    """An error that names the file and the key, unless it may be missing."""
    path, key = entry_of(stockade, form)
    if file_is_there:
        key += "2"
    else:
        path.unlink()
    show = "echo ${TOKEN-none}"
    result = stockade.sh(show, policy=net + ALLOW + entry_rule(path, key))
    assert result.status == 125 and not result.out, result
    assert len(result.complaints()) == 1, result
    assert "secret? TOKEN" in result.err and path.name in result.err
    assert key in result.err or not file_is_there
    assert VALUE not in result.err and SIBLING not in result.err
    assert "unrecorded" not in result.err
    result = stockade.sh(show, policy=net + ALLOW
                         + entry_rule(path, key, optional="?")).ok()
    assert result.out == "none\n"


@pytest.mark.parametrize("form", ENTRIES)
def test_nobody_keeps_the_rest_of_the_file(stockade, net, form):
    path, key = entry_of(stockade, form)
    run = stockade.start("sh", "-c", "echo up; sleep 30",
                         policy=net + ALLOW + entry_rule(path, key))
    try:
        assert run.stdout.readline() == b"up\n"
        ours = {pid: name for pid, (name, _) in processes().items()
                if name.startswith("stockade")}
        # Only root may look.
        if os.geteuid() == 0:
            assert {name for pid, name in ours.items()
                    if holds(pid, VALUE.encode())} == {"stockade-vault"}
            assert not any(holds(pid, SIBLING.encode()) for pid in ours)
        assert "stockade-vault" in ours.values()
    finally:
        run.kill()
        run.communicate()


def test_two_entries_of_one_file(stockade, net, api):
    path, key = entry_of(stockade, "dotenv")
    stockade.sh(
        f"curl -sS -o /dev/null {BEARER} https://api.test/1; "
        'curl -sS -o /dev/null -H "Authorization: Bearer $MORE" '
        "https://api.test/2", policy=net + ALLOW + entry_rule(path, key, "TOKEN", "?")
        + entry_rule(path, "OTHER", "MORE")).ok()
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE, "Bearer " + SIBLING]


@pytest.mark.parametrize("name, text, key, why", [
    ("a.json", f'{{"a": "{VALUE}", "a": "{SIBLING}"}}', "/a", "second time"),
    ("a.json", f'{{"a": "{VALUE}", }}', "/a", "line 1: malformed JSON"),
    ("a.json", f'{{"a": "{VALUE}\\n"}}', "/a", "visible ASCII"),
    ("a.json", '{"a": ""}', "/a", "is empty"),
    ("a.json", f'{{"a": ["{VALUE}"]}}', "/a", "not a string"),
    ("a.json", f'{{"a": "{VALUE}"}}' + " " * (1 << 18), "/a", "longer than"),
    (".npmrc", f"a = {VALUE}\na = {SIBLING}\n", "a", "line 2"),
    (".npmrc", f'a = "{VALUE}"\n', "a", "read differently"),
    (".npmrc", "a = ${TOKEN}\n", "a", "read differently"),
    ("hub", f"api.test:\n- oauth_token: {VALUE}\n", "oauth_token", "line 1"),
    (".env", f'A="$B{VALUE}"\n', "A", "read differently"),
    (".netrc", f"machine a password {VALUE} {SIBLING}", "a", "netrc"),
])
@pytest.mark.parametrize("optional", ["", "?"])
def test_an_entry_that_is_not_plain_is_125(stockade, net, name, text, key,
                                           why, optional):
    """Also where it might be missing; and the contents are not told."""
    path = stockade.base / name
    path.write_text(text)
    marker = stockade.cwd / "ran"
    result = stockade.run("touch", str(marker), policy=net + ALLOW +
                          "write .\n" + entry_rule(path, key,
                                                   optional=optional))
    assert result.status == 125 and not marker.exists(), result
    assert len(result.complaints()) == 1, result
    for words in ("secret TOKEN", f"key {key}", name, why):
        assert words in result.err, result
    assert VALUE not in result.err and SIBLING not in result.err
    assert "unrecorded" not in result.err


@pytest.mark.parametrize("source", [
    "env", "file /nonexistent/token", 'command "exit 3"',
    'command "cat /dev/null"', "command /nonexistent/program",
    'command "echo a-value; exit 4"',
    'command "echo a-value; exec >&- sleep 4"'])
def test_a_source_that_fails_is_125(stockade, net, source):
    marker = stockade.cwd / "ran"
    result = stockade.run("touch", str(marker), policy=net + ALLOW +
                          "write .\n"
                          f"secret TOKEN from {source} for api.test as "
                          "bearer\n")
    assert result.status == 125, result
    assert len(result.complaints()) == 1, result
    assert "TOKEN" in result.err
    assert not marker.exists()


def test_the_value_is_in_no_process_and_no_file(stockade, net, api):
    """While it runs: vault alone may hold it, and shows it to nobody."""
    path = stockade.base / "token"
    path.write_text(VALUE)
    child = stockade.start(
        "sh", "-c", f"curl -sS -o /dev/null {BEARER} https://api.test/x; "
        "echo ready; sleep 30", policy=net + ALLOW +
        f"secret TOKEN from file {path} for api.test as bearer\n")
    try:
        assert child.stdout.readline() == b"ready\n"
        shown = subprocess.run(
            "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline", shell=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        assert VALUE.encode() not in shown
    finally:
        child.terminate()
        child.wait(10)
    for folder, _, names in os.walk(stockade.home):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                assert VALUE not in os.readlink(path)
                continue
            with open(path, "rb") as text:
                assert VALUE.encode() not in text.read(), name


def test_placeholders_differ_from_run_to_run(stockade, net):
    seen = {stockade.sh("echo $TOKEN", policy=net + ALLOW + SECRET,
                        env=ENV).ok().out for _ in range(3)}
    assert len(seen) == 3
    assert all(len(line) > 20 for line in seen)


def test_the_placeholder_of_another_run(stockade, net, api):
    """It is worth nothing in this one, and is known for what it is."""
    first = stockade.sh('printf %s "$TOKEN"', policy=net + ALLOW + SECRET,
                        env=ENV).ok().out
    stockade.sh(f'curl -sS -o /dev/null -H "X-Other: {first}" '
                f'https://api.test/1; curl -sS -o /dev/null {BEARER} '
                'https://api.test/2', policy=net + ALLOW + SECRET,
                env=ENV).ok()
    one, two = api.requests
    assert one.get("x-other") == first and not one.get("authorization")
    assert two.get("authorization") == "Bearer " + VALUE
    violation, = [r for r in stockade.log() if r["event"] == "violation"]
    assert violation["name"] == "x-other" and "TOKEN" not in violation.values()


def test_tls_that_does_not_verify_gets_nothing(stockade, authority, api,
                                               other):
    """other's certificate is not api.test's: the credential stays."""
    result = stockade.sh(
        f"curl -sS {BEARER} https://api.test/x",
        policy=f"roots {authority.pem}\nreach api.test via {other.via}\n"
        + ALLOW + SECRET, env=ENV)
    assert other.requests == []
    assert VALUE not in result.text
    assert '"error"' in result.out or result.status != 0


AT_ONCE = 360
ASK_AT_ONCE = f"""
import os, socket, ssl
context = ssl.create_default_context()
ends = []
for _ in range({AT_ONCE}):
    end = context.wrap_socket(socket.create_connection(("api.test", 443)),
                              server_hostname="api.test")
    end.sendall(("GET / HTTP/1.1\\r\\nHost: api.test\\r\\nAuthorization: Bearer "
                 + os.environ["TOKEN"] + "\\r\\n\\r\\n").encode())
    ends.append(end)
print("asked", flush=True)
print(sum(end.recv(4096).startswith(b"HTTP/1.1 200 ") for end in ends))
"""


class Held(Listener):
    """Answers nobody until told; how many came with the value."""

    def __init__(self, pair):
        self.told, self.bearers = threading.Event(), 0
        super().__init__(everywhere(), pair)

    def serve(self, s):
        while head := s.recv(65536):
            self.bearers += b"Bearer " + VALUE.encode() + b"\r" in head
            self.told.wait(60)
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def test_many_that_wait_all_get_it(stockade, authority):
    """Far more than there are connections to a host at once."""
    origin = Held(authority.leaf("api.test"))
    run = stockade.start(
        "python3", "-c", ASK_AT_ONCE, env=ENV,
        policy=f"roots {authority.pem}\nreach api.test via {origin.via}\n"
        + ALLOW + SECRET)
    try:
        assert run.stdout.readline() == b"asked\n", run.stderr.read()
        assert eventually(lambda: len(
            [line for line in stockade.log() if line["event"] == "request"])
            == AT_ONCE, 20 * PATIENCE)
        origin.told.set()
        out, err = run.communicate(timeout=20 * PATIENCE)
        assert (out.strip(), err) == (b"%d" % AT_ONCE, b"")
        assert origin.bearers == AT_ONCE
    finally:
        run.kill()
        run.communicate()
        origin.close()
