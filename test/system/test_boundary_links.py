# SPDX-License-Identifier: Apache-2.0
"""Second names, made before the run, of files that are masked or guarded."""
import os
import subprocess

import pytest

from conftest import IS_ROOT

WRITE = ["--write", "."]


def file(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def second_name(path, other):
    other.parent.mkdir(parents=True, exist_ok=True)
    os.link(path, other)
    return other


PLACES = ["plain", "sub/deep/plain", "node_modules/pkg/plain",
          ".git/objects/plain", ".vscode/plain", ".gitignore"]


@pytest.mark.parametrize("flags", [[], WRITE], ids=["read", "write"])
@pytest.mark.parametrize("place", PLACES)
def test_a_masked_file_has_no_second_name(stockade, place, flags):
    env = file(stockade.cwd / ".env", "CANARY")
    other = second_name(env, stockade.cwd / place)
    beside = file(other.parent / "beside", "seen")
    # The control: a name of a file that nobody masks is read by the same way.
    open_file = file(stockade.cwd / "open", "open")
    again = second_name(open_file, other.parent / "again")
    result = stockade.sh(
        f"cat {beside} {again}; cat {other} .env; mv {other} x; cat x;"
        f"ln {other} y; cat y; grep -rs CANARY .; true", flags=flags).ok()
    assert result.out == "seenopen", result
    assert other.read_text() == "CANARY" and env.read_text() == "CANARY"


def test_hide_covers_other_names_even_where_show_names_them(stockade):
    key = file(stockade.cwd / "key", "CANARY")
    other = second_name(key, stockade.cwd / "shown")
    outside = file(stockade.home / "token", "CANARY")
    named = second_name(outside, stockade.cwd / "named")
    policy = f"show shown\nread {named}\nhide key\nhide {outside}\n"
    result = stockade.sh("cat key shown named; ls", policy=policy)
    assert "CANARY" not in result.out and "shown" in result.out
    # The control: without `hide` they are there.
    result = stockade.sh("cat key shown named", policy="show shown\n")
    assert result.out == "CANARY" * 3
    assert other.exists()


def test_show_shows_one_name_of_a_dot_file(stockade):
    env = file(stockade.cwd / ".env", "VALUE")
    second_name(env, stockade.cwd / "one")
    second_name(env, stockade.cwd / "two")
    result = stockade.sh("cat one; cat two .env", policy="show one\n")
    assert result.out == "VALUE", result


def test_the_file_of_a_secret_has_no_second_name(stockade):
    token = file(stockade.home / "token", "CANARY-of-the-file")
    second_name(token, stockade.cwd / "copy")
    result = stockade.sh("cat copy; echo T=$T", policy=(
        f"secret T from file {token} for api.test as bearer\n"
        "allow GET api.test/x\n"))
    assert "CANARY" not in result.text and "T=" in result.out


@pytest.mark.parametrize("name", [".git/config", ".git/hooks/pre-commit",
                                  ".vscode/tasks.json"])
@pytest.mark.parametrize("place", ["plain", "node_modules/plain"])
def test_a_guarded_file_is_not_written_by_another_name(stockade, name, place):
    subprocess.run(["git", "init", "-q", str(stockade.cwd)], check=True)
    guarded = file(stockade.cwd / name, "[core]\n")
    second_name(guarded, stockade.cwd / place)
    free = file(stockade.cwd / "free", "old\n")
    second_name(free, stockade.cwd / "free2")
    result = stockade.sh(
        f"cat {place}; echo evil >> {place}; mv {place} m; echo evil >> m;"
        f"mkdir -p d; mv node_modules d/n; echo evil >> d/n/plain;"
        "echo new > free2; true", flags=WRITE).ok()
    assert result.out == "[core]\n"
    assert guarded.read_text() == "[core]\n"
    assert free.read_text() == "new\n"


@pytest.mark.parametrize("where", ["work/own.policy", "own.policy"])
def test_the_policy_is_not_written_by_another_name(stockade, where):
    """Also where the policy itself lies outside of every grant."""
    policy = file(stockade.home / where, "write .\n")
    second_name(policy, stockade.cwd / "sub" / "other")
    free = second_name(file(stockade.home / "free", ""), stockade.cwd / "free")
    stockade.call("run", "--policy", policy, "--write", ".", "--", "sh", "-c",
                  "echo 'read /' >> sub/other; echo x > free").ok()
    assert policy.read_text() == "write .\n"
    assert free.read_text() == "x\n"


def test_more_than_can_be_looked_through_is_refused(stockade):
    env = file(stockade.cwd / ".env", "CANARY")
    elsewhere = second_name(env, stockade.home / "elsewhere")
    deep = stockade.cwd
    for _ in range(230):
        deep = deep / "d"
    os.makedirs(deep)
    (stockade.cwd / "d").rename(stockade.cwd / "node_modules")
    refused = stockade.sh("echo ran")
    assert refused.status == 125 and refused.out == ""
    assert "hard link" in refused.err and ".env" in refused.err
    elsewhere.unlink()
    assert stockade.sh("echo ran").ok().out == "ran\n"
    subprocess.run(["rm", "-r", str(stockade.cwd / "node_modules")],
                   check=True)


def test_a_guarded_directory_that_cannot_be_read_is_refused(stockade):
    """Who is root reads it."""
    closed = stockade.cwd / ".vscode" / "closed"
    closed.mkdir(parents=True)
    closed.chmod(0)
    done = stockade.sh("echo ran", flags=WRITE)
    if IS_ROOT:
        assert done.ok().out == "ran\n"
    else:
        assert done.status == 125 and done.out == ""
        assert ".vscode is guarded" in done.err and "`write`" in done.err
        assert stockade.sh("echo ran", flags=[
            *WRITE, "--write", ".vscode"]).ok().out == "ran\n"
    closed.chmod(0o755)
    assert stockade.sh("echo ran", flags=WRITE).ok().out == "ran\n"


def test_explain_says_why(stockade):
    env = file(stockade.cwd / ".env", "x")
    second_name(env, stockade.cwd / "plain")
    out = stockade.call("run", "--explain", "--", "true").ok().out
    (line,) = [one for one in out.splitlines() if "/plain" in one]
    assert "cover" in line and "another name of" in line
    assert line.endswith("/.env: dot-file")
