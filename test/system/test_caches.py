# SPDX-License-Identifier: Apache-2.0
"""`cache PATH`: kept between runs of one policy, and never the host's own."""
import json
import os
import subprocess

import pytest

from conftest import PROGRAM, eventually


@pytest.fixture
def npm(stockade):
    """A policy with a cache whose place the host has, too."""
    host = stockade.home / ".npm"
    host.mkdir()
    (host / "host").write_text("CANARY")
    return stockade.policy("cache ~/.npm\n")


def keys(stockade):
    store = stockade.state() / "caches"
    return sorted(os.listdir(store)) if store.exists() else []


def listed(stockade):
    return json.loads(stockade.call("caches", "--json").ok().out)


def test_it_is_kept_and_is_not_the_hosts(stockade, npm):
    flags = ["--policy", npm]
    first = stockade.sh("ls -A ~/.npm; mkdir ~/.npm/d; echo kept > ~/.npm/d/f",
                        flags=flags).ok()
    assert first.out == ""
    again = stockade.sh("cat ~/.npm/d/f; echo more >> ~/.npm/d/f", flags=flags)
    assert again.ok().out == "kept\n"
    assert os.listdir(stockade.home / ".npm") == ["host"]
    [key] = keys(stockade)
    kept = stockade.state() / "caches" / key / "data" / "d" / "f"
    assert kept.read_text() == "kept\nmore\n"
    assert kept.stat().st_uid == os.geteuid()
    assert (stockade.state() / "caches" / key).stat().st_mode & 0o77 == 0
    # Without the statement, nothing of either.
    assert stockade.sh("ls -A ~").ok().out == "work\n"


def test_another_policy_has_another(stockade, npm):
    stockade.sh("echo one > ~/.npm/f", flags=["--policy", npm]).ok()
    other = stockade.policy("cache ~/.npm\n")
    for flags in (["--policy", other], ["--cache", "~/.npm"]):
        assert stockade.sh("cat ~/.npm/f", flags=flags).status == 1
    # With flags alone the working directory tells them apart.
    stockade.sh("echo two > ~/.npm/f", flags=["--cache", "~/.npm"]).ok()
    assert stockade.sh("cat ~/.npm/f",
                       flags=["--cache", "~/.npm"]).out == "two\n"
    elsewhere = stockade.home / "elsewhere"
    elsewhere.mkdir()
    assert stockade.sh("cat ~/.npm/f", flags=["--cache", "~/.npm"],
                       cwd=elsewhere).status == 1
    # A link to the policy is the same policy.
    link = stockade.base / "link"
    link.symlink_to(npm)
    assert stockade.sh("cat ~/.npm/f",
                       flags=["--policy", link]).out == "one\n"


def test_nothing_special_can_be_made_there(stockade, npm):
    seen = stockade.sh("grep ' /[^ ]*/.npm ' /proc/self/mountinfo;"
                       "mknod ~/.npm/null c 1 3; cp /bin/true ~/.npm/t &&"
                       "chmod u+s ~/.npm/t && ~/.npm/t; rm ~/.npm/t",
                       flags=["--policy", npm])
    assert "nosuid" in seen.out and "nodev" in seen.out and "rw" in seen.out
    [key] = keys(stockade)
    assert not os.listdir(stockade.state() / "caches" / key / "data")


def test_two_runs_share_it_and_neither_loses_it(stockade, npm):
    flags = ["--policy", npm]
    one = stockade.start("sh", "-c", "echo x > ~/.npm/a; until [ -e ~/.npm/b ];"
                         "do sleep 0.05; done; cat ~/.npm/b", flags=flags)
    data = None
    try:
        assert eventually(lambda: keys(stockade))
        data = stockade.state() / "caches" / keys(stockade)[0] / "data"
        assert eventually(lambda: (data / "a").exists())
        busy = stockade.call("caches", "remove", "--all")
        assert busy.status == 125 and "in use" in busy.err
        stockade.sh("cat ~/.npm/a; echo y > ~/.npm/b.n; mv ~/.npm/b.n ~/.npm/b",
                    flags=flags).ok()
        assert one.communicate(timeout=20)[0] == b"y\n"
    finally:
        one.kill()
        one.wait()
    assert (data / "a").exists()


def test_caches_lists_and_removes(stockade, npm):
    assert listed(stockade) == []
    stockade.sh("head -c 200000 /dev/urandom > ~/.npm/big",
                flags=["--policy", npm]).ok()
    stockade.sh("true", flags=["--cache", "~/.npm"]).ok()
    found = {tuple(c["policy"]): c for c in listed(stockade)}
    named = found[(f"policy {npm}",)]
    assert named["path"] == str(stockade.home / ".npm")
    assert 200000 <= named["bytes"] < 300000 and not named["partial"]
    assert named["last_use"].startswith("20")
    assert (f"directory {stockade.cwd}",) in found
    text = stockade.call("caches").ok().out
    assert str(stockade.home / ".npm") in text and "KiB" in text
    for wrong in ("../runs", "zz", named["key"][:3], ""):
        refused = stockade.call("caches", "remove", wrong)
        assert refused.status == 125 and "no cache" in refused.err
    assert len(keys(stockade)) == 2
    stockade.call("caches", "remove", named["key"][:8]).ok()
    assert named["key"] not in keys(stockade) and len(keys(stockade)) == 1
    stockade.call("caches", "remove", "--all").ok()
    assert keys(stockade) == [] and (stockade.state() / "runs").exists()
    assert stockade.call("caches", "gone").status == 125


def test_removing_follows_nothing(stockade, npm):
    """The agent's links, depth and modes lead nowhere and stop nothing."""
    outside = stockade.home / "outside"
    outside.mkdir()
    (outside / "f").write_text("stays")
    os.chmod(outside, 0o755)
    script = f"""
import os, socket
os.chdir(os.path.expanduser("~/.npm"))
os.symlink("{outside}", "link")
os.symlink("{outside}/f", ".gone-1")
os.mkdir(".gone-2"); os.symlink("..", ".gone-2/up")
os.symlink("/", "d-root")
socket.socket(socket.AF_UNIX).bind("s")
os.mkfifo("p")
for i in range(300):
    os.mkdir("deep"); open("f", "w").close()
    os.symlink("{outside}", "l"); os.chdir("deep")
os.chdir(os.path.expanduser("~/.npm"))
os.makedirs("shut/in"); os.chmod("shut/in", 0); os.chmod("shut", 0)
os.chmod(".", 0)
"""
    stockade.run("/usr/bin/python3", "-c", script,
                 flags=["--policy", npm]).ok()
    stockade.call("caches").ok()
    # Fewer descriptors than levels: nothing recurses.
    subprocess.run(["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", PROGRAM,
                    "caches", "remove", "--all"], env=stockade.env, check=True)
    assert keys(stockade) == []
    assert (outside / "f").read_text() == "stays"
    assert outside.stat().st_mode & 0o777 == 0o755


def test_the_place_is_never_made_on_the_host(stockade):
    refused = stockade.sh("true", flags=["--write", ".", "--cache", "c"])
    assert refused.status == 125 and "make the directory" in refused.err
    assert list(stockade.cwd.iterdir()) == []
    place = stockade.cwd / "c"
    place.mkdir()
    (place / "host").write_text("CANARY")
    (place / ".env").write_text("CANARY")
    seen = stockade.sh("ls -A c; echo x > c/.env; cat c/.env; mv c d;"
                       "cat .env 2>&1", flags=["--write", ".", "--cache", "c"])
    assert seen.out.startswith("x\n") and "CANARY" not in seen.text
    assert sorted(os.listdir(place)) == [".env", "host"]
    assert (place / ".env").read_text() == "CANARY"
    # The cache that was made is there again: its dot-files are the agent's own.
    assert stockade.sh("cat c/.env", flags=["--cache", "c"]).ok().out == "x\n"


def test_a_home_can_be_kept(stockade):
    stockade.cwd.rmdir()
    where = stockade.base / "project"
    where.mkdir()
    for expected in ("", "kept\n"):
        result = stockade.sh("cat ~/.config/f 2>/dev/null;"
                             "mkdir -p ~/.config; echo kept > ~/.config/f",
                             flags=["--cache", "~"], cwd=where).ok()
        assert result.out == expected
    assert not (stockade.home / ".config").exists()


@pytest.mark.parametrize("flags, words", [
    (["--cache", "~/.npm", "--read", "~/.npm"], "contradicts"),
    (["--cache", "~/.npm", "--write", "~/.npm/x"], "contradicts"),
    (["--cache", "~/.npm", "--hide", "~"], "contradicts"),
    (["--cache", "~/a", "--cache", "~/a/b"], "contradicts"),
    (["--cache", "~/*"], "without wildcards"),
    (["--cache", "/"], "without wildcards"),
    (["--cache", "/etc/x"], "sandbox's own"),
    (["--cache", "/dev/x"], "sandbox's own"),
    (["--cache", "/proc/x"], "sandbox's own"),
    (["--cache", "/run/x"], "sandbox's own"),
    (["--cache", "/sys/x"], "never writable"),
    (["--cache", "."], "there already"),
    (["--cache", ".."], "there already"),
    (["--cache?", "~/.npm"], "cannot be optional"),
    (["--cache", "/usr/share/no-such"], "make the directory"),
])
def test_what_cannot_be_a_cache(stockade, flags, words):
    result = stockade.run("true", flags=flags)
    assert result.status == 125 and words in result.err, result


def test_links_of_the_host_put_nothing_into_it(stockade):
    (stockade.home / "real").mkdir()
    (stockade.home / "real" / "f").write_text("CANARY")
    (stockade.home / "link").symlink_to("real")
    result = stockade.sh("cat ~/real/f",
                         flags=["--cache", "~/real", "--read", "~/link"])
    assert result.status == 125 and "there already" in result.err


def test_check_explain_and_policy_speak_of_it(stockade):
    flags = ["--cache", "~/.npm"]
    yes = stockade.call("check", *flags, "write ~/.npm/x", "read ~/.npm/.env")
    assert yes.ok().out.count("kept for this policy") == 2
    assert stockade.call("check", *flags, "write ~/.npmrc").status == 0
    assert stockade.call("check", *flags, "read ~/.npmrc").status == 1
    plan = stockade.call("run", *flags, "--explain", "true").ok().out
    assert "write " + str(stockade.home / ".npm") in plan
    assert keys(stockade) == []
    text = stockade.call("policy", "--json", *flags).ok().out
    assert {"word": "cache", "path": str(stockade.home / ".npm"),
            "origin": "--cache"} in json.loads(text)["grants"]
    again = stockade.call("policy", "--policy", stockade.policy(text)).ok()
    assert again.out.startswith("cache " + str(stockade.home / ".npm"))


def test_the_lock_ends_with_the_run(stockade, npm):
    child = stockade.start("sleep", "100", flags=["--policy", npm])
    assert eventually(lambda: keys(stockade))
    assert eventually(lambda: "in use" in stockade.call(
        "caches", "remove", "--all").err)
    child.kill()
    child.wait()
    assert eventually(
        lambda: stockade.call("caches", "remove", "--all").status == 0)
    assert subprocess.run(["ls", stockade.state() / "caches"],
                          capture_output=True).stdout == b""
