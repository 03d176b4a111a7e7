# SPDX-License-Identifier: Apache-2.0
"""A person who goes wrong is told what would be right."""
import os
import pty
import shutil
import subprocess

import pytest

from conftest import PROGRAM, read_terminal

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@a"]


def on_terminal(stockade, *command, flags, cwd):
    """What a person reads on standard error."""
    master, slave = pty.openpty()
    done = subprocess.run(stockade.argv(*command, flags=flags), cwd=cwd,
                          env=stockade.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=slave,
                          timeout=40, check=False)
    os.close(slave)
    return done.returncode, read_terminal(master).decode()


@pytest.fixture
def tree(stockade):
    main, tree = stockade.home / "main", stockade.home / "tree"
    subprocess.run(["git", "init", "-q", str(main)], check=True)
    for words in (["commit", "-qm", "one", "--allow-empty"],
                  ["worktree", "add", "-q", str(tree)]):
        subprocess.run([*GIT, *words], cwd=main, check=True, env=stockade.env)
    (tree / "sub").mkdir()
    return tree


def test_a_worktree_without_its_repository(stockade, tree):
    git = stockade.home / "main" / ".git"
    for flags, word in (["--write", "."], "write"), ([], "read"):
        for cwd in tree, tree / "sub":
            status, said = on_terminal(stockade, "git", "log", flags=flags,
                                       cwd=cwd)
            assert status and f"`--{word} {git}` grants" in said, said
    status, said = on_terminal(stockade, "git", "log", cwd=tree,
                               flags=["--write", ".", "--write", str(git)])
    assert status == 0 and "worktree" not in said, said


def test_a_file_of_the_agents_proposes_no_directory(stockade, tree):
    keys = stockade.home / "keys"
    keys.mkdir()
    (keys / "commondir").write_text(".\n")
    (keys / "gitdir").write_text("/elsewhere/.git\n")
    (tree / ".git").write_text(f"gitdir: {keys}\n")
    _, said = on_terminal(stockade, "true", flags=[], cwd=tree)
    assert said == ""


def test_a_guard_that_git_runs_into_is_on_record(stockade):
    """It replaces the file, and the kernel says that this is busy."""
    subprocess.run(["git", "init", "-q", "."], cwd=stockade.cwd, check=True)
    result = stockade.sh("touch n && mv n m && git config a.b c",
                         flags=["--write", "."])
    assert result.status, result
    log = stockade.call("log", "--denied").ok().out
    assert f"{stockade.cwd}/.git/config\n" in log, log
    assert "guarded by default" in log and log.count("deny") == 1, log


@pytest.mark.parametrize("absent", ["edge", "vault", "dial", "resolve"])
def test_a_part_of_stockade_is_missing(stockade, absent):
    place = stockade.base / "place"
    place.mkdir()
    shutil.copy(PROGRAM, place)
    for name in {"edge", "vault", "dial", "resolve"} - {absent}:
        (place / f"stockade-{name}").write_bytes(b"")
        (place / f"stockade-{name}").chmod(0o755)
    done = subprocess.run(
        [place / "stockade", "run", "--allow", "GET api.test/**", "touch",
         "ran"], cwd=stockade.cwd, env=stockade.env, text=True,
        stderr=subprocess.PIPE, timeout=40, check=False)
    assert done.returncode == 125 and done.stderr.count("\n") == 1, done
    assert f"find stockade-{absent} beside the program" in done.stderr, done


@pytest.mark.parametrize("argv, words", [
    (["rnu", "true"], "did you mean `run`?"),
    (["claude"], "stockade run -- COMMAND"),
    (["run", "--limit", "mem 1G", "true"], "did you mean `memory`?"),
    (["run", "--hide", "a{b,c}", "true"], "braces are not expanded"),
    (["run", "--hide", "!a", "true"], "takes nothing back"),
    (["run", "--reach", "unix:/run/docker.sock", "true"],
     "equals access to the host"),
])
def test_what_is_written_by_habit(stockade, argv, words):
    result = stockade.call(*argv)
    assert result.status == 125 and words in result.text, result
