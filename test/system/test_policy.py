# SPDX-License-Identifier: Apache-2.0
"""The verbs policy, check and trust, and where a policy is looked for."""
import json
import os
import re

import pytest

from conftest import TREE

PROFILES = sorted(name for name in os.listdir(os.path.join(TREE, "policies"))
                  if name != "meson.build")


# What is the profile about, where it takes an argument?
ABOUT = {"github-write": "octo/app", "gitlab-write": "group/sub/app"}
FLAGS = {name: f"{name} {ABOUT[name]}" if name in ABOUT else name
         for name in PROFILES}


@pytest.fixture(autouse=True)
def clients(stockade):
    """Stand in for those that some profiles ask."""
    stockade.env["PATH"] = (f"{TREE}/test/data/profiles/clients:"
                            + stockade.env["PATH"])


def examples():
    """Each block of docs/credentials.md: a policy."""
    with open(os.path.join(TREE, "docs", "credentials.md"),
              encoding="utf-8") as page:
        blocks = re.findall(r"(?:^    .*\n)+", page.read(), re.M)
    return [re.sub(r"^    ", "", block, flags=re.M) for block in blocks]


@pytest.mark.parametrize("text", examples(), ids=lambda text: re.findall(
    r"^secret (\w+)", text, re.M)[0])
def test_the_examples_of_credentials_are_policies(stockade, text):
    said = stockade.call("policy", "--policy", stockade.policy(text)).ok().out
    for name in re.findall(r"^secret (\w+)", text, re.M):
        assert re.search(rf"^secret +{name} ", said, re.M)
    broken = text.replace(" as ", " as no-such-form ")
    assert stockade.call("policy", "--policy",
                         stockade.policy(broken)).status != 0


def test_there_are_profiles():
    assert {"claude", "codex", "gemini-cli", "opencode"} < set(PROFILES)


@pytest.mark.parametrize("path", [
    "man/stockade-policy.5", "packaging/stockade.bash", "packaging/_stockade",
    "packaging/stockade.fish"])
def test_every_statement_is_described_and_completed(path):
    with open(os.path.join(TREE, "src/policy/words.c"),
              encoding="utf-8") as file:
        words = re.findall(r'{ SV\("(\w+)"\), word_', file.read())
    with open(os.path.join(TREE, path), encoding="utf-8") as file:
        known = set(re.findall(r"\w+", file.read()))
    assert len(words) > 20
    assert [word for word in words if word not in known] == []


@pytest.mark.parametrize("name", PROFILES)
def test_a_shipped_profile_and_its_json_form(stockade, name):
    text = stockade.call("policy", "--profile", FLAGS[name]).ok().out
    assert f"# profile {FLAGS[name]}:" in text
    form = stockade.call("policy", "--json", "--profile",
                         FLAGS[name]).ok().out
    path = stockade.policy(form)
    again = stockade.call("policy", "--json", "--policy", path).ok().out
    assert json.loads(again) == json.loads(form)
    assert stockade.call("policy", "--policy", path).ok().out == text


@pytest.mark.parametrize("name", PROFILES)
def test_all_profiles_merge_with_claude(stockade, name):
    name = FLAGS[name]
    one = stockade.call("policy", "--profile", "claude", "--profile", name)
    other = stockade.call("policy", "--profile", name, "--profile", "claude")
    assert one.ok().out == other.ok().out


def test_registries_are_pull_only(stockade):
    for name in ("npm", "pypi", "crates", "go", "debian", "maven",
                 "rubygems", "docker"):
        form = stockade.call("policy", "--json", "--profile", name).ok().out
        for rule in json.loads(form)["rules"]:
            if rule["word"] == "allow":
                assert set(rule["methods"]) <= {"GET", "HEAD"}, rule


def test_every_statement_is_a_flag(stockade):
    flags = ["--write", ".", "--read?=~/x", "--allow", "GET a.test/**",
             "--env=set CI=1", "--limit", "time 30m", "--hide", "'a b'"]
    out = stockade.call("policy", *flags).ok().out
    assert "limit time 30m" in out and "# --limit" in out
    assert f'hide "{stockade.cwd}/a b"' in out
    assert f"read? {stockade.home}/x" in out


def test_an_unknown_flag_names_the_nearest(stockade):
    result = stockade.call("policy", "--alow", "GET a.test")
    assert result.status == 125 and "--allow" in result.err


def test_check_answers_with_rule_reason_and_line(stockade):
    (stockade.cwd / ".env").touch()
    result = stockade.call(
        "check", "--json", "--write", ".", "--allow", "GET a.test/x",
        "write", "y", "read .env", "GET https://a.test/x",
        "POST https://a.test/x")
    assert result.status == 1
    write, read, get, post = json.loads(result.out)
    assert write["allowed"] and write["origin"] == "--write"
    assert not read["allowed"]
    assert read["allow_with"] == f"show {stockade.cwd}/.env"
    assert get["allowed"] and get["rule"] == "allow GET a.test/x"
    assert not post["allowed"]
    assert post["allow_with"] == "allow POST a.test/x"
    assert stockade.call("check", "--write", ".", "write y").status == 0


def test_check_answers_for_websockets_and_endpoints(stockade):
    """As in a run: by the rules for GET, or by those for what is not read."""
    rules = ("allow GET a.test/feed\nallow POST a.test/**\n"
             "allow GET a.test:8080/**\ndeny GET a.test:8080/no\n"
             "allow tls pin.test\nallow tcp db.test:5432\n"
             "secret? TOKEN from env for a.test as bearer\n")
    expected = {
        "wss://a.test/feed": True, "GET wss://a.test/feed": True,
        "WSS://A.test:443/feed": True, "POST wss://a.test/feed": False,
        "wss://a.test/other": False, "ws://a.test/feed": True,
        "ws://a.test:8080/x?y=1": True, "wss://a.test:8080/no": False,
        "wss://a.test/../feed": False, "wss://192.0.2.1/feed": False,
        "wss://pin.test/any": True, "ws://pin.test/any": False,
        "ws://db.test:5432/any": True, "GET https://pin.test/any": True,
        "tcp://db.test:5432": True, "tcp://db.test:5433": False,
        "tls://pin.test": True, "tls://pin.test:444": False,
        "tcp://db.test": False, "tls://pin.test:443/x": False}
    policy = stockade.policy(rules)
    result = stockade.call("check", "--json", "--policy", policy, *expected)
    answers = json.loads(result.out)
    assert {a["question"]: a["allowed"] for a in answers} == expected
    said = {a["question"]: a for a in answers}
    assert said["wss://a.test/feed"]["upgrade"] == "websocket"
    assert said["wss://a.test/other"]["allow_with"] == "allow GET a.test/other"
    assert said["wss://pin.test/any"]["rule"] == "allow tls pin.test:443"
    assert said["tcp://db.test:5433"]["allow_with"] == "allow tcp db.test:5433"
    result = stockade.call("check", "--policy", policy, "https://a.test/feed")
    assert result.status == 125 and "METHOD" in result.err
    assert stockade.call("check", "--policy", policy, "--explain",
                         "wss://a.test/%66eed").out.count(
                             "GET https://a.test/feed") == 1


def test_explain_says_rule_by_rule_what_does_not_fit(stockade):
    flags = ("--json", "--explain", "--allow", "GET h.example.com/p/*?x=1&y=*",
             "--allow", "GET o.example.com", "--deny",
             "* *.example.com/**?admin=1")
    result = stockade.call("check", *flags,
                           "GET https://h.example.com/p/%7Ea?y=2&x=1",
                           "POST https://h.example.com:444/p/a%2Fb?x=1;admin=1")
    assert result.status == 1, result
    one, two = json.loads(result.out)
    assert one["decided_as"] == "GET https://h.example.com/p/~a?y=2&x=1"
    assert one["paths"] == ["/p/~a"] and "query_doubt" not in one
    assert [(r["rule"].split()[0], r["matches"], r["differs"])
            for r in one["rules"]] == [("deny", False, ["query"]),
                                       ("allow", True, [])]
    assert two["paths"] == ["/p/a%2Fb", "/p/a/b"] and "`;`" in two["query_doubt"]
    assert [(r["matches"], r["differs"]) for r in two["rules"]] == [
        (True, []), (False, ["method", "port", "path_other", "query"])]
    assert two["differs_from_first"] == ["method", "port", "path", "query"]
    assert [r["matches"] for r in two["decided_otherwise_by"]] == [True, False]


def test_explain_knows_the_same_request_in_two_spellings(stockade):
    ask = ("check", "--explain", "--allow", "GET h.example.com")
    same = stockade.call(*ask, "GET h.example.com/%7e",
                         "GET https://H.example.com:443/~").ok()
    assert same.out.endswith("these are the same request\n")
    other = stockade.call(*ask, "GET h.example.com/%7e",
                          "GET https://h.example.com/~~").ok()
    assert other.out.endswith("these differ in: path\n")
    assert stockade.call(*ask, "read /etc").status == 125
    assert stockade.call(*ask, *["GET h.example.com/"] * 3).status == 125


def test_a_query_that_does_not_fit_is_the_reason(stockade):
    rule = "GET h.example.com/info/refs?service=git-upload-pack"
    result = stockade.call("check", "--json", "--allow", rule,
                           "GET https://h.example.com/info/refs?service=x&v=2")
    answer = json.loads(result.out)[0]
    assert "with this query: a key has another value" in answer["reason"]
    assert answer["allow_with"] == ("allow GET h.example.com/info/refs"
                                    "?service=x&v=2")


def test_a_project_proposes_and_the_user_decides(stockade):
    project = stockade.cwd / "stockade.policy"
    project.write_text("env set PROJECT=1\n")
    refused = stockade.run("true")
    assert refused.status == 125 and "stockade trust" in refused.err
    # Naming another policy is an answer, too.
    assert "PROJECT" not in stockade.call(
        "policy", "--policy", "/dev/null").ok().out
    stockade.call("trust").ok()
    assert stockade.sh('test "$PROJECT" = 1').ok()
    project.write_text("env set PROJECT=2\n")
    changed = stockade.run("true")
    assert changed.status == 125 and "changed" in changed.err
    # Trust is for this place, not for these bytes anywhere.
    stockade.call("trust").ok()
    copy = stockade.home / "copy"
    copy.mkdir()
    (copy / "stockade.policy").write_text(project.read_text())
    assert stockade.run("true", cwd=copy).status == 125


def test_a_project_that_is_no_file_is_refused(stockade):
    os.mkfifo(stockade.cwd / "stockade.policy")
    result = stockade.run("true", timeout=10)
    assert result.status == 125 and "no regular file" in result.err


def test_the_users_policy_and_profiles(stockade):
    config = stockade.home / ".config" / "stockade"
    (config / "policies").mkdir(parents=True)
    (config / "policy").write_text("env set USER_POLICY=1\nprofile mine\n")
    (config / "policies" / "mine").write_text("env set MINE=1\n")
    out = stockade.call("policy").ok().out
    assert "env set USER_POLICY=1" in out
    assert "# profile mine:1" in out
    (config / "policies" / "claude").write_text("env set MY_CLAUDE=1\n")
    assert "MY_CLAUDE" in stockade.call("policy", "--profile",
                                        "claude").ok().out


def test_an_error_shows_the_line_and_a_caret(stockade):
    path = stockade.policy("read /usr\nallow GET a.test/../x\n")
    result = stockade.call("policy", "--policy", path)
    assert result.status == 125
    lines = result.err.splitlines()
    assert lines[0].startswith("stockade: ") and ":2: " in lines[0]
    assert lines[1] == "  allow GET a.test/../x"
    assert lines[2] == "            ^"
    assert lines[3].startswith("  expected: allow METHODS HOST")


SUFFIXES = "/usr/share/publicsuffix/public_suffix_list.dat"


def test_policy_names_wildcards_that_cover_strangers(stockade):
    """Beside what it prints, which is a policy as before; a run says nothing.
    Without a list nobody can know."""
    path = stockade.policy(
        "allow GET *.github.io/**\nallow * *.example.co.uk\nask * *.co.uk\n"
        "deny * *.github.io/x\nallow * me.github.io/**\n"
        "allow tcp *.compute.amazonaws.com:22\n")
    result = stockade.call("policy", "--json", "--policy", path).ok()
    assert len(json.loads(result.out)) > 1
    lines = result.err.splitlines()
    if not os.path.exists(SUFFIXES):
        assert lines == []
        return
    # Of a long path the end is shown.
    name = os.path.basename(path)
    assert {tuple(re.split("[/`]", line.partition(" covers")[0])[-3:-1])
            for line in lines} == {
        (f"{name}:{n}: ", host) for n, host in (
            (1, "*.github.io"), (3, "*.co.uk"),
            (6, "*.compute.amazonaws.com"))}, lines
    assert len(lines) == 3
    assert stockade.run("true", flags=["--policy", path]).text == ""
