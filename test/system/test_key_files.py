# SPDX-License-Identifier: Apache-2.0
"""Files with placeholders, for clients that read their credentials from one: in the
sandbox only, and worth nothing but at their secret's host."""
import base64
import os
import shutil

import pytest

from conftest import eventually

VALUE = "s3cr3t-value-0123456789"
ENV = {"TOKEN": VALUE}
ALLOW = "allow * api.test/**\nallow * other.test/**\n"
SECRET = ALLOW + "secret TOKEN from env for api.test as {} in {}\n"
NETRC = SECRET.format("basic me", "~/.netrc key api.test")
# The same file, for another host: the agent's own doing.
REWRITE = "sed -i s/api.test/other.test/ {}\n"


def basic(request):
    scheme, text = request.get("authorization").split()
    assert scheme == "Basic"
    return base64.b64decode(text).decode()


def violations(stockade):
    return [(r["secret"], r["host"], r["where"]) for r in stockade.log()
            if r["event"] == "violation"]


def nothing_is_there(stockade):
    assert sorted(os.listdir(stockade.home)) == [".local", "work"]
    assert os.listdir(stockade.cwd) == []


def test_curl_reads_a_netrc(stockade, net, api, other):
    stockade.sh("curl -sS --netrc -o /dev/null https://api.test/x\n" +
                REWRITE.format("~/.netrc") +
                "curl -sS --netrc -o /dev/null https://other.test/x",
                policy=net + NETRC, env=ENV).ok()
    assert [basic(r) for r in api.requests] == ["me:" + VALUE]
    user, password = basic(*other.requests).split(":")
    assert user == "me" and password.startswith("stockade_placeholder_")
    assert violations(stockade) == [("TOKEN", "other.test", "field")]
    nothing_is_there(stockade)


def test_git_reads_a_netrc(stockade, net, api, other):
    script = """
        git ls-remote https://api.test/locked/git/project.git
        sed -i s/api.test/other.test/ ~/.netrc
        git ls-remote https://other.test/locked/git/project.git
    """
    result = stockade.sh(script, policy=net + NETRC, env=ENV).ok()
    assert result.out.count("refs/heads/main") == 2
    assert {basic(r) for r in api.requests if r.get("authorization")} == {
        "me:" + VALUE}
    assert other.requests and not other.saw(
        base64.b64encode(b"me:" + VALUE.encode()))
    assert ("TOKEN", "other.test", "field") in violations(stockade)


@pytest.mark.skipif(not shutil.which("npm", path="/usr/bin:/usr/local/bin"),
                    reason="no npm")
def test_npm_reads_an_npmrc(stockade, net, api, other):
    script = """
        npm whoami --registry=https://api.test/
        sed -i s/api.test/other.test/ ~/.npmrc
        npm whoami --registry=https://other.test/; true
    """
    stockade.sh(script, policy=net + SECRET.format(
        "bearer like npm_", "~/.npmrc key //api.test/:_authToken"), env=ENV)
    assert {r.get("authorization") for r in api.requests} == {
        "Bearer " + VALUE}
    sent, = {r.get("authorization") for r in other.requests}
    assert sent.startswith("Bearer npm_STOCKADE")
    assert ("TOKEN", "other.test", "field") in violations(stockade)


def test_a_configuration_of_docker(stockade, net, api):
    """As its clients read it, whose part python plays here."""
    script = """
        auth=$(python3 -c '
import json, os
path = os.path.expanduser("~/.docker/config.json")
print(json.load(open(path))["auths"]["api.test"]["auth"])')
        curl -sS -o /dev/null -H "Authorization: Basic $auth" \
            https://api.test/v2/
    """
    stockade.sh(script, policy=net + SECRET.format(
        "basic bob", "~/.docker/config.json key /auths/api.test/auth base64"),
        env=ENV).ok()
    assert [basic(r) for r in api.requests] == ["bob:" + VALUE]


def test_a_pypirc_and_several_of_one_file(stockade, net, api):
    script = """
        python3 - <<'.' > found
import configparser, os
c = configparser.RawConfigParser()
c.read(os.path.expanduser("~/.pypirc"))
for name in "pypi", "testpypi":
    print(c[name]["username"] + ":" + c[name]["password"])
.
        while read pair; do
            curl -sS -o /dev/null -u "$pair" https://api.test/
        done < found
    """
    policy = net + ALLOW + "write .\n" + "".join(
        f"secret {name} from env for api.test as basic __token__"
        f" in ~/.pypirc key {key}.password\n"
        for name, key in (("ONE", "pypi"), ("TWO", "testpypi")))
    stockade.sh(script, policy=policy,
                env={"ONE": "value-one", "TWO": "value-two"}).ok()
    assert [basic(r) for r in api.requests] == ["__token__:value-one",
                                                "__token__:value-two"]


def test_it_is_private_and_the_agents(stockade, net):
    result = stockade.sh(
        "stat -c '%a %U' ~/.netrc; id -un; echo '# more' >> ~/.netrc;"
        "rm ~/.netrc; ls -A ~", policy=net + NETRC, env=ENV).ok()
    mode, me, *left = result.out.splitlines()
    assert mode == "600 " + me
    assert ".netrc" not in left
    nothing_is_there(stockade)


def test_a_secret_that_is_absent_makes_none(stockade, net):
    policy = net + NETRC.replace("secret ", "secret? ")
    assert stockade.sh("ls -A ~", policy=policy).ok().out.split() == ["work"]
    both = policy + ("secret MORE from env for api.test as basic you"
                     " in ~/.netrc key other.test\n")
    result = stockade.sh("cat ~/.netrc", policy=both,
                         env={"MORE": "more-value"}).ok()
    assert "machine other.test login you" in result.out
    assert "api.test" not in result.out and "more-value" not in result.out


HOSTS = "machine api.test login h password p\n"


@pytest.mark.parametrize("grants, home", [
    ("", True), ("", False), ("write .\n", False),
    ("write .\nworkspace overlay\n", False)])
def test_it_stands_before_the_hosts(stockade, net, api, grants, home):
    """Also in a directory that is hidden but for it, in the home where that is the
    working directory; and nothing of it is held."""
    folder = stockade.home if home else stockade.cwd
    (folder / ".netrc").write_text(HOSTS)
    (folder / ".docker").mkdir()
    (folder / ".docker/config.json").write_text("{}")
    (folder / ".docker/other").write_text("of the host's")
    policy = (net + NETRC.replace("~", str(folder)) + grants +
              "secret DOCKER from env for api.test as basic bob in "
              f"{folder}/.docker/config.json key /auths/api.test/auth base64\n")
    result = stockade.sh("""
        cat .netrc .docker/config.json
        cat .docker/other; echo x >> .netrc; rm -f .netrc
        mv .docker/config.json x
        curl -sS --netrc-file .netrc -o /dev/null https://api.test/x
        """, policy=policy, cwd=folder,
        env={**ENV, "DOCKER": "docker-value"}).ok()
    assert "login me password stockade_placeholder_" in result.out
    assert '"api.test"' in result.out
    assert "of the host's" not in result.out and "password p" not in result.out
    assert [basic(r) for r in api.requests] == ["me:" + VALUE]
    assert (folder / ".netrc").read_text() == HOSTS
    assert (folder / ".docker/config.json").read_text() == "{}"
    assert {".docker", ".netrc"} == set(os.listdir(folder)) - {".local", "work"}
    if "overlay" in grants:
        assert stockade.call("diff").ok().out.strip() in (
            "", "nothing is held")


def test_the_file_that_the_value_is_from(stockade, net, api):
    """Which is hidden: its own name has the placeholder."""
    path = stockade.cwd / ".npmrc"
    path.write_text(f"//api.test/:_authToken={VALUE}\n")
    result = stockade.sh(
        "cat .npmrc; curl -sS -o /dev/null -H"
        ' "Authorization: Bearer $(cut -d= -f2 .npmrc)" https://api.test/x',
        policy=net + ALLOW + "secret TOKEN from file .npmrc key "
        "//api.test/:_authToken for api.test as bearer"
        " in .npmrc key //api.test/:_authToken\n").ok()
    assert VALUE not in result.out and "stockade_placeholder_" in result.out
    assert [r.get("authorization") for r in api.requests] == [
        "Bearer " + VALUE]
    assert VALUE in path.read_text()


def test_the_value_in_a_file_that_would_be_shown(stockade, net, api):
    """The run is refused unless the placeholder's file stands before it."""
    (stockade.cwd / "config.json").write_text(f'{{"key": "{VALUE}"}}')
    policy = net + SECRET.format("bearer", "{}/config.json key /key")
    refused = stockade.sh("echo ran", policy=policy.format("~"), env=ENV)
    assert refused.status == 125 and "config.json" in refused.err
    result = stockade.sh("cat config.json",
                         policy=policy.format(stockade.cwd), env=ENV).ok()
    assert '"key": "stockade_placeholder_' in result.out
    assert VALUE not in result.out


@pytest.mark.parametrize("place, says", [
    (".netrc", "the host has no such file"),
    ("/opt/nowhere/.netrc", "neither in the home nor in what the policy"),
    ("/etc/netrc", "neither in the home nor in what the policy"),
])
def test_where_nothing_can_be_made(stockade, net, place, says):
    result = stockade.sh("echo ran", policy=net + NETRC.replace(
        "~/.netrc", place), env=ENV)
    assert result.status == 125 and says in result.err
    assert "ran" not in result.out
    nothing_is_there(stockade)
    (stockade.cwd / ".netrc").touch()
    stockade.sh("grep -q stockade_placeholder_ .netrc", policy=net +
                NETRC.replace("~/.netrc", ".netrc"), env=ENV).ok()


@pytest.mark.parametrize("grant", ["read ~/.netrc", "show ~/.netrc",
                                   "write ~/.netrc", "hide ~"])
def test_what_shows_the_hosts_contradicts(stockade, net, grant):
    result = stockade.sh("echo ran", policy=net + NETRC + grant + "\n",
                         env=ENV)
    assert result.status == 125 and "contradicts" in result.err
    stockade.sh("cat ~/.netrc", policy=net + NETRC + "read? ~/.config\n",
                env=ENV).ok()


def test_a_host_that_replaces_its_file_ends_the_run(stockade, net):
    """The mount is gone with the name: the host's would be seen."""
    path = stockade.cwd / ".netrc"
    path.write_text("old")
    run = stockade.start("sh", "-c", "echo up; while :; do sleep 1; done",
                         policy=net + NETRC.replace("~/.netrc", ".netrc"),
                         env=ENV)
    try:
        assert run.stdout.readline() == b"up\n"
        (stockade.cwd / "new").write_text("new")
        os.rename(stockade.cwd / "new", path)
        assert eventually(lambda: run.poll() is not None)
    finally:
        run.kill()
    assert b"was replaced on the host" in run.stderr.read()
