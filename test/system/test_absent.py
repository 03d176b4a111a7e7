# SPDX-License-Identifier: Apache-2.0
"""Guards of names that do not exist: by patterns, and below names that would be
patterns if they were not escaped."""
import pytest

from test_keeper import WRITE, repository

# What it starts with, the guard, what is done, what must not and what must be.
CASES = {
    "a directory is renamed to where the pattern holds": (
        "src", "src/**/*.sh", "mkdir t; touch t/x.sh t/fine; mv -T t src/t",
        "src/t/x.sh", "src/t/fine"),
    "... in two parts": (
        "src", "src/**/sub/*.sh", "mkdir -p t/sub; touch t/sub/x.sh t/fine;"
        "mv -T t src/t", "src/t/sub/x.sh", "src/t/fine"),
    "one becomes the place itself": (
        ".", "lib/**/*.sh", "mkdir t; touch t/x.sh; mv -T t lib; mv -T t lab",
        "lib/x.sh", "lab/x.sh"),
    "a link becomes it": (
        ".", "lib/**/*.sh", "mkdir t; touch t/x.sh; ln -s t lib; ln -s t lab",
        "lib/x.sh", "lab/x.sh"),
    "a wildcard in front of two stars": (
        "ab", "a*/**/*.sh", "mkdir ab/c; touch ab/x.sh ab/c/x.sh ab/fine",
        "ab/c/x.sh", "ab/fine"),
    "two stars on both sides": (
        ".", "**/made/**", "mkdir -p a/b a/made a/b/made; touch a/b/fine",
        "a/b/made", "a/b/fine"),
    "two stars at the end": (
        ".", "made/**", "mkdir made made2; touch made/x made2/fine", "made",
        "made2/fine"),
    "a special character that is meant": (
        ".", "q[[]1]", "touch 'q[1]' q1", "q[1]", "q1"),
}


@pytest.mark.parametrize("case", CASES)
def test_by_a_pattern(stockade, case):
    folder, guard, script, held, made = CASES[case]
    (stockade.cwd / folder).mkdir(exist_ok=True)
    stockade.sh(script, flags=[*WRITE, "--guard?", guard])
    assert not (stockade.cwd / held).exists()
    assert (stockade.cwd / made).exists()


@pytest.mark.parametrize("folder", ["[id]", "a[1]", "a*"])
def test_in_a_folder_that_looks_like_a_pattern(stockade, folder):
    mine = repository(stockade.cwd / folder) / ".git"
    (stockade.cwd / folder / "sub").mkdir()
    stockade.call("run", *WRITE, "--guard?", "sub/run", "--guard", "**/*.sh",
                  "--", "sh", "-c", "touch .git/commondir .git/fine sub/run "
                  "sub/fine x.sh sub/x.sh", cwd=stockade.cwd / folder)
    assert (mine / "fine").exists() and (mine / "../sub/fine").exists()
    assert not (mine / "commondir").exists()
    assert not (mine / "../sub/run").exists()
    assert not (mine / "../x.sh").exists()
    assert not (mine / "../sub/x.sh").exists()


@pytest.mark.parametrize("below", ["there", "not/there"])
def test_named_through_a_link(stockade, below):
    (stockade.cwd / "real" / "there").mkdir(parents=True)
    (stockade.cwd / "way").symlink_to("real")
    stockade.sh(f"cd real; mkdir -p {below}; cd {below}; touch run fine",
                flags=["--write", str(stockade.cwd / "way"), "--guard?",
                       str(stockade.cwd / "way" / below / "run")])
    assert not (stockade.cwd / "real" / below / "run").exists()
    assert (stockade.cwd / "real" / below / "fine").exists()
