# SPDX-License-Identifier: Apache-2.0
"""The shipped profiles, request by request: test/data/profiles/NAME.rows.

A row is a verdict, a request, and the secrets that are put into it.  Rows stand
in groups, so that what is refused has beside it what is allowed.  The clients
that some profiles ask are stood in for by test/data/profiles/clients.
"""
import json
import os

import pytest

from conftest import TREE

DATA = os.path.join(TREE, "test", "data", "profiles")
CLIENTS = os.path.join(DATA, "clients")
PROFILES = sorted(name for name in os.listdir(os.path.join(TREE, "policies"))
                  if name != "meson.build")


@pytest.fixture(autouse=True)
def clients(stockade):
    stockade.env["PATH"] = CLIENTS + ":" + stockade.env["PATH"]


def groups(name):
    """(the profile's argument, [[(verdict, question, secrets)]])"""
    found, argument = [[]], None
    with open(os.path.join(DATA, name + ".rows"), encoding="utf-8") as file:
        for line in file.read().splitlines():
            words = line.split()
            if not words:
                found.append([])
            elif words[0] == "argument":
                argument = words[1]
            elif words[0] != "#":
                verdict, method, url, *secrets = words
                found[-1].append((verdict, f"{method} {url}", secrets))
    return argument, [group for group in found if group]


@pytest.mark.parametrize("name", PROFILES)
def test_rows(stockade, name):
    argument, table = groups(name)
    rows = [row for group in table for row in group]
    assert len(rows) >= 30
    for group in table:
        assert {verdict for verdict, _, _ in group} == {"allow", "deny"}, group
    profile = f"{name} {argument}" if argument else name
    result = stockade.call("check", "--json", "--profile", profile,
                           *(question for _, question, _ in rows))
    assert result.status == 1, result
    wrong = []
    for (verdict, question, secrets), answer in zip(
            rows, json.loads(result.out), strict=True):
        said = ("allow" if answer["allowed"] else "deny", question,
                sorted(answer.get("secrets", "").split()))
        if said != (verdict, question, sorted(secrets)):
            wrong.append((*said, answer["reason"]))
    assert wrong == []


def stand_in(stockade, name, script):
    """A client that writes down where and how often it is asked."""
    folder = stockade.base / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\npwd >> {stockade.base}/asked\n{script}\n")
    program.chmod(0o755)
    yesterday = os.stat("/").st_mtime - 10
    os.utime(program, (yesterday, yesterday))
    stockade.env["PATH"] = f"{folder}:/usr/bin:/bin"


def asked(stockade):
    record = stockade.base / "asked"
    return record.read_text().split() if record.exists() else []


def lines(result):
    return {line.split(" # ")[0].rstrip()
            for line in result.ok().out.splitlines()}


NPM = """
url=$(/usr/bin/sed -n s/^registry=//p ~/.npmrc 2>/dev/null)
/usr/bin/cat <<END
{ "registry": "${url:-https://default.test/}", "_auth": null,
  "userconfig": "$HOME/.npmrc", "globalconfig": "/nowhere/npmrc",
  "@corp:registry": "https://u:p@corp.test:8443/api/npm/x%2fy/",
  "@old:registry": "http://old.test:80//", "long": ["a"] }
END
"""


def test_npm_is_asked_for_its_registries(stockade):
    stand_in(stockade, "npm", NPM)
    found = lines(stockade.call("policy", "--client", "npm"))
    assert found == {
        f"guard? {stockade.home}/.npmrc",
        "allow GET,HEAD default.test/**",
        "allow GET,HEAD corp.test:8443/api/npm/x%2Fy/**",
        "allow GET,HEAD old.test/**"} | {
            f"deny * {base}/-/{account}"
            for base in ("default.test", "corp.test:8443/api/npm/x%2Fy",
                         "old.test")
            for account in ("user/**", "npm/v1/tokens/**", "npm/v1/user")}
    assert asked(stockade) == ["/"]


def test_the_answer_is_kept_until_the_settings_change(stockade):
    stand_in(stockade, "npm", NPM)
    npmrc = stockade.home / ".npmrc"
    npmrc.write_text("registry=https://one.test/npm/\n")
    os.utime(npmrc, (1, 1))
    # The project's settings are the agent's.
    (stockade.cwd / ".npmrc").write_text("registry=https://evil.test/\n")
    for _ in range(3):
        found = lines(stockade.call("policy", "--profile", "npm"))
        assert "allow GET,HEAD one.test/npm/**" in found
        assert "env set npm_config_registry=https://one.test/npm/" in found
        assert not any("evil" in line for line in found)
    assert len(asked(stockade)) == 1
    npmrc.write_text("registry=https://two.test\n")
    os.utime(npmrc, (1, 1))
    found = lines(stockade.call("policy", "--profile", "npm"))
    assert "allow GET,HEAD two.test/**" in found
    assert not any("one.test" in line for line in found)
    assert len(asked(stockade)) == 2
    # A variable of npm's is a setting, too.
    stockade.call("policy", "--profile", "npm",
                  env={"NPM_CONFIG_REGISTRY": "x"}).ok()
    assert len(asked(stockade)) == 3
    kept = stockade.state() / "clients" / "npm"
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text(kept.read_text().replace("two.test", "evil.test"))
    found = lines(stockade.call("policy", "--profile", "npm"))
    assert "allow GET,HEAD two.test/**" in found


def test_a_setting_just_written_is_not_kept(stockade):
    stand_in(stockade, "npm", NPM)
    (stockade.home / ".npmrc").write_text("registry=https://one.test/\n")
    stockade.call("policy", "--profile", "npm").ok()
    stockade.call("policy", "--profile", "npm").ok()
    assert len(asked(stockade)) == 2


def test_apt_is_asked_for_its_archives(stockade):
    mirrors = stockade.base / "mirrors.list"
    mirrors.write_text("# near\nhttp://near.test/debian/\tpriority:1\n"
                       "file:/srv/debian\n\nhttps://far.test/d\n")
    sources = (
        "http://a.test/debian/dists/stable/InRelease",
        "http://a.test/debian/dists/stable/main/binary-amd64/Packages.xz",
        "https://u:p@b.test:8443/flat/./InRelease",
        "https://c.test/x/y/InRelease", "file:/srv/x/./InRelease",
        "cdrom://Disc/dists/stable/InRelease",
        "http://odd.test/dists/odd/dists/stable/InRelease",
        f"mirror+file:{mirrors}/dists/stable/InRelease")
    said = "\n".join(f"'{url}' name 0" for url in sources)
    stand_in(stockade, "apt-get", f"cat <<END\n{said}\nEND\nexit 100")
    assert lines(stockade.call("policy", "--profile", "debian")) == {
        f"allow GET,HEAD {base}/**" for base in (
            "a.test/debian", "b.test:8443/flat", "c.test/x/y",
            "odd.test/dists/odd", "near.test/debian", "far.test/d")}
    os.utime(mirrors, (1, 1))
    for _ in range(2):
        stockade.call("policy", "--profile", "debian").ok()
    assert len(asked(stockade)) == 2
    mirrors.write_text("http://other.test/debian\n")
    os.utime(mirrors, (1, 1))
    assert "allow GET,HEAD other.test/debian/**" in lines(
        stockade.call("policy", "--profile", "debian"))


@pytest.mark.parametrize("name,script,message", [
    ("npm", None, "there is no npm outside"),
    ("npm", "exit 1", "ask npm"),
    ("npm", "echo nonsense", "ask npm"),
    ("npm", "echo '{}'", "names no registry"),
    ("npm", """echo '{"registry": "ftp://a.test/"}'""", "no address"),
    ("npm", """echo '{"registry": "https://a.test/*/"}'""", "no address"),
    ("npm", """echo '{"registry": "https://a.test/?x"}'""", "no address"),
    ("npm", """printf %s '{"registry": "https://a.test/\\n"}'""",
     "no registry"),
    ("npm", """echo '{"registry": "http://127.0.0.1:4873/"}'""",
     "a literal address"),
    ("apt-get", None, "there is no apt-get outside"),
    ("apt-get", "exit 1", "name no host"),
    ("apt-get", "echo \"'file:/srv/x/./InRelease' name 0\"", "name no host"),
    ("apt-get", "echo \"'mirror+file:/nowhere/l/dists/x' name 0\"",
     "/nowhere/l")])
def test_a_client_that_says_nothing_is_an_error(stockade, name, script,
                                                message):
    stand_in(stockade, name, script or "")
    if script is None:
        stockade.env["PATH"] = f".:{stockade.cwd}/bin:/nowhere"
        (stockade.cwd / "bin").mkdir()
        for place in (stockade.cwd, stockade.cwd / "bin"):
            (stockade.base / "bin" / name).rename(place / name)
            stand_in(stockade, name, "")
            stockade.env["PATH"] = f".:{stockade.cwd}/bin:/nowhere"
    profile = "npm" if name == "npm" else "debian"
    result = stockade.call("policy", "--profile", profile)
    assert result.status == 125 and message in result.err
    assert f"profile {profile}:" in result.err
    if "literal" not in message:
        assert "allow GET,HEAD HOST/PATH/**" in result.err
    if script is None:
        assert asked(stockade) == []


def test_a_client_below_the_project_is_not_run(stockade):
    """Also when a name outside leads there."""
    stand_in(stockade, "npm", NPM)
    inside = stockade.cwd / "npm"
    (stockade.base / "bin" / "npm").rename(inside)
    (stockade.base / "bin" / "npm").symlink_to(inside)
    (stockade.base / "link").symlink_to(stockade.cwd)
    stockade.env["PATH"] = f"{stockade.base}/bin:{stockade.base}/link"
    assert stockade.call("policy", "--profile", "npm").status == 125
    assert asked(stockade) == []
    elsewhere = stockade.base / "elsewhere"
    elsewhere.mkdir()
    stockade.call("policy", "--profile", "npm", cwd=elsewhere).ok()
    assert asked(stockade) == ["/"]


def test_the_agent_cannot_change_the_answer(stockade):
    stand_in(stockade, "npm", NPM)
    flags = ("--profile", "npm", "--write", "~")
    for place in ("STATE", "CONFIG"):
        stockade.env[f"XDG_{place}_HOME"] = f"{stockade.base}/{place}"
    script = ("echo registry=https://evil.test/ > ~/.npmrc; "
              "echo x > ~/free && echo written; echo $npm_config_registry")
    result = stockade.sh(script, flags=flags, cwd=stockade.home)
    assert result.out.split() == ["written"], result
    assert not (stockade.home / ".npmrc").exists()
    npmrc = stockade.home / ".npmrc"
    npmrc.write_text("registry=https://one.test/\n")
    result = stockade.sh(script, flags=flags, cwd=stockade.home)
    assert result.out.split() == ["written", "https://one.test/"], result
    assert npmrc.read_text() == "registry=https://one.test/\n"


def test_a_mirror_is_downloaded_from(stockade, net, api, other):
    stand_in(stockade, "npm", """echo '{"registry": "https://api.test/npm/"}'""")
    base = "https://api.test/npm"
    result = stockade.sh(
        f"for url in {base}/left-pad {base}/-/user/me https://api.test/x "
        "https://other.test/npm/left-pad; do curl -s -o /dev/null -w '%{http_code} '"
        f" $url; done; curl -s -X PUT -o /dev/null -w '%{{http_code}}' {base}/mine",
        policy=net + "client npm\n")
    assert result.out.split() == ["200", "403", "403", "403", "403"], result
    assert api.targets == ["GET /npm/left-pad"] and other.requests == []


PUSH = """
git clone -q https://api.test/git/project.git {branch} && cd {branch}
git push -q origin HEAD:{branch}
"""


def test_a_profile_writes_to_the_repository_it_is_given(stockade, net, api):
    folder = stockade.home / ".config" / "stockade" / "policies"
    folder.mkdir(parents=True)
    (folder / "writer").write_text(
        "takes FOLDER/REPO\n"
        "allow GET  api.test/**?service=git-upload-pack\n"
        "allow POST api.test/**/git-upload-pack\n"
        "allow GET  api.test/{}.git/info/refs?service=git-receive-pack\n"
        "allow POST api.test/{}.git/git-receive-pack\n")
    refused = stockade.sh(PUSH.format(branch="other"), policy=net +
                          "write .\nprofile writer git/projec\n")
    assert "403" in refused.err, refused
    assert not any("receive-pack" in target for target in api.targets)
    stockade.sh(PUSH.format(branch="given"), policy=net +
                "write .\nprofile writer git/project\n").ok()
    assert any("POST" in target and "receive-pack" in target
               for target in api.targets)


def test_a_token_is_for_the_repository_alone(stockade):
    """As the manual has it."""
    policy = stockade.policy(
        "profile github-write octo/app\n"
        "secret GITHUB_TOKEN from command false"
        " for api.github.com/repos/octo/app/** as bearer add like gho_\n"
        "secret GIT_TOKEN from command false"
        " for github.com/octo/app/**,github.com/octo/app.git/**"
        " as basic x-access-token add\n")
    questions = {
        "POST https://api.github.com/repos/octo/app/issues": "GITHUB_TOKEN",
        "GET https://api.github.com/repos/octo/app/pulls": "GITHUB_TOKEN",
        "POST https://github.com/octo/app.git/git-receive-pack": "GIT_TOKEN",
        "POST https://github.com/octo/app/git-upload-pack": "GIT_TOKEN",
        "GET https://api.github.com/repos/octo/other/pulls": None,
        "POST https://github.com/octo/other.git/git-upload-pack": None,
        "GET https://api.github.com/user": None}
    said = stockade.call("check", "--json", "--policy", policy,
                         *questions).ok()
    assert [answer.get("secrets") for answer in json.loads(said.out)] == list(
        questions.values())
