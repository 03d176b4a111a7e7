# SPDX-License-Identifier: Apache-2.0
"""Bad input: one line that helps, status 125, and the command did not run."""
import os

import pytest

from conftest import PROGRAM

POLICIES = {
    # policy, words that the complaint must have
    "an unknown word": ("allwo GET api.test/**\n", ["allwo", "allow"]),
    "a missing argument": ("read\n", ["read"]),
    "a missing path": ("read /nonexistent/place\n", ["/nonexistent/place"]),
    "a missing write path": ("write /nonexistent/place\n",
                             ["/nonexistent/place"]),
    "a bad host": ("allow GET http://api.test/\n", ["api.test"]),
    "a bad port": ("allow GET api.test:99999/x\n", ["99999"]),
    "a bad method": ("allow G(T api.test/x\n", []),
    "an open quote": ("read \"/tmp\n", []),
    "a bad reach": ("reach api.test 127.0.0.1:80\n", ["via"]),
    "a bad address": ("reach api.test via nowhere\n", ["nowhere"]),
    "a bad limit": ("limit time soon\n", ["soon"]),
    "an unknown limit": ("limit tiem 5s\n", ["tiem", "time"]),
    "an unknown profile": ("profile no-such-profile\n", ["no-such-profile"]),
    "missing roots": ("roots /nonexistent/ca.pem\n",
                      ["/nonexistent/ca.pem"]),
    "a secret without a host": ("secret T from env as bearer\n", []),
    "a secret for any host": ("secret T from env for * as bearer\n", []),
    "a secret of an unknown form": (
        "secret T from env for api.test as cookei\n", ["cookei"]),
    "a secret without an allow": ("secret T from env for api.test as bearer\n"
                                  "read /nonexistent/x\n", []),
    "a control character": ("read /tmp/a\x01b\n", []),
    "an ambiguous path": ("allow GET api.test/a/../b\n", []),
    "env without a value": ("env set CI\n", []),
    "a bad variable": ("env pass A=B\n", []),
}


def refused(stockade, result, marker):
    assert result.status == 125, result
    assert result.err.startswith("stockade:"), result
    assert not marker.exists(), "the command ran"
    assert result.out == ""


@pytest.mark.parametrize("case", POLICIES)
def test_a_bad_policy(stockade, case):
    text, words = POLICIES[case]
    marker = stockade.cwd / "ran"
    result = stockade.run("touch", str(marker),
                          policy="write .\n" + text, env={"T": "value"})
    refused(stockade, result, marker)
    for word in words:
        assert word in result.err, result
    # With the control: the same without the bad line does run.
    assert stockade.run("touch", str(marker), policy="write .\n").status == 0
    assert marker.exists()


@pytest.mark.parametrize("case", ["an unknown word", "a bad limit"])
def test_a_policy_error_shows_the_place(stockade, case):
    result = stockade.run("true", policy="# first\nwrite .\n"
                          + POLICIES[case][0])
    assert ":3:" in result.err or "line 3" in result.err, result
    assert "^" in result.err, result


@pytest.mark.parametrize("flags", [
    ["--no-such-flag"], ["--alow", "GET api.test/**"], ["--allow"],
    ["--policy"], ["--policy", "/nonexistent/policy"], ["--policy", "/etc"],
    ["--read", "/nonexistent/x"], ["--limit", "time never"],
    ["--profile", "nobody"]])
def test_bad_flags(stockade, flags):
    marker = stockade.cwd / "ran"
    result = stockade.run("touch", str(marker), flags=["--write", ".", *flags])
    refused(stockade, result, marker)
    assert len(result.complaints()) == 1


@pytest.mark.parametrize("argv", [
    [], ["rnu", "--", "true"], ["run"], ["run", "--"],
    ["run", "--write", "."]])
def test_bad_command_lines(stockade, argv):
    result = stockade.call(PROGRAM, *argv)
    assert result.status == 125, result
    assert result.err.startswith("stockade:"), result


def test_a_policy_that_cannot_be_read(stockade):
    if os.geteuid() == 0:
        target = stockade.base / "folder"
        target.mkdir()
    else:
        target = stockade.base / "unreadable"
        target.write_text("write .\n")
        os.chmod(target, 0)
    result = stockade.run("true", flags=["--policy", str(target)])
    assert result.status == 125 and len(result.complaints()) == 1, result


@pytest.mark.parametrize("content", [
    b"\xff\xfe", b"write .\0\n", b"read /tmp" + b"x" * 70000 + b"\n",
    b"#" * (2 << 20)], ids=["utf-8", "nul", "long path", "long file"])
def test_hostile_policy_files(stockade, content):
    path = stockade.base / "hostile"
    path.write_bytes(content)
    result = stockade.run("true", flags=["--policy", str(path)])
    assert result.status == 125, result
    assert result.err.startswith("stockade:")


def test_a_removed_working_directory(stockade):
    result = stockade.call("run", "--", "true", cwd=stockade.cwd)
    assert result.status == 0
    gone = stockade.base / "gone"
    gone.mkdir()
    import subprocess
    result = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; exec {PROGRAM} run -- true"], cwd=gone,
        env=stockade.env, stderr=subprocess.PIPE, timeout=20)
    assert result.returncode == 125, result
    assert result.stderr.startswith(b"stockade:")


def test_a_policy_in_the_working_directory_needs_trust(stockade):
    """A repository can propose a policy, never impose one."""
    (stockade.cwd / "stockade.policy").write_text("env set IMPOSED=1\n")
    first = stockade.sh("env")
    assert "IMPOSED" not in first.out, first
    trusted = stockade.call("trust", "stockade.policy")
    assert trusted.status == 0, trusted
    assert "IMPOSED=1" in stockade.sh("env").out
    (stockade.cwd / "stockade.policy").write_text("env set IMPOSED=2\n")
    assert "IMPOSED" not in stockade.sh("env").out


def test_version_and_help(stockade):
    version = stockade.call("--version").ok()
    assert version.out.startswith("stockade ")
    usage = stockade.call("--help").ok()
    for verb in ("run", "check", "log", "policy", "doctor"):
        assert verb in usage.out


def test_policy_prints_each_line_with_its_origin(stockade):
    path = stockade.policy("write .\nallow GET api.test/**\n")
    result = stockade.call("policy", "--policy", path).ok()
    assert "allow GET api.test/**" in result.out
    assert os.path.basename(path) in result.out


def test_policy_as_json_is_a_policy(stockade):
    import json
    path = stockade.policy("write .\nallow GET api.test/**\n"
                           "deny * *.internal.test/**\n")
    first = stockade.call("policy", "--json", "--policy", path).ok()
    json.loads(first.out)
    again = stockade.base / "again.json"
    again.write_text(first.out)
    second = stockade.call("policy", "--json", "--policy", str(again)).ok()
    assert '"api.test"' in second.out and '"*.internal.test"' in second.out
    stockade.run("touch", "made", flags=["--policy", str(again)]).ok()
    assert (stockade.cwd / "made").exists()


CHECKS = [
    ("read .", 0), ("write .", 1), ("read ~/.ssh/id_rsa", 1),
    ("GET https://api.test/a/b", 0), ("POST https://api.test/a/b", 1),
    ("GET https://api.test/b", 1), ("GET http://api.test/a/b", 0),
    ("GET https://other.test/a/b", 1)]


@pytest.mark.parametrize("question,status", CHECKS)
def test_check(stockade, question, status):
    path = stockade.policy("read .\nallow GET api.test/a/**\n")
    verb, _, what = question.partition(" ")
    argv = [verb, what] if verb in ("read", "write") else [question]
    one = stockade.call("check", "--policy", path, question)
    two = stockade.call("check", "--policy", path, *argv)
    assert status in (one.status, two.status), (one, two)
    assert one.text.strip()


def test_doctor(stockade):
    result = stockade.call("doctor")
    assert result.status == 0, result
    for word in ("user", "Landlock", "seccomp"):
        assert word.lower() in result.out.lower(), result


def test_explain_prints_the_plan_and_runs_nothing(stockade):
    marker = stockade.cwd / "ran"
    result = stockade.run("touch", str(marker),
                          flags=["--explain", "--write", "."])
    assert result.status == 0, result
    assert str(stockade.cwd) in result.text
    assert not marker.exists()
