# SPDX-License-Identifier: Apache-2.0
"""What is covered and guarded in a tree, beside a slow and simple reference."""
import fnmatch
import json
import os
import random
import socket
import subprocess

import pytest

SHOWN = [".git", ".gitignore", ".github", ".venv"]
MASKED = [".env", ".secret", ".netrc", ".a", "..b"]
GUARDED = ["Jenkinsfile", "mise.toml", "a.code-workspace", ".vscode"]
PLAIN = ["a", "b.c", "readme.md", "mise.tom", "Jenkins", "x.pe", "pem", "HEAD"]
HIDDEN = ["a.pem", ".pem", "id_rsa", "id_"]
HIDE = ["*.pem", "id_*"]
OPEN = [".git", ".venv", "node_modules"]


def grow(dice, top, depth=0, below_open=False):
    """A random tree of all kinds of names."""
    names = PLAIN + HIDDEN + MASKED + SHOWN[1:3]
    names += [] if below_open else GUARDED
    for name in dice.sample(names, 8):
        path = os.path.join(top, name)
        kind = dice.choice(["file", "file", "link", "socket", "directory"])
        if name in (*GUARDED, "HEAD") and kind == "link":
            kind = "file"
        if kind == "directory" and depth < 3:
            os.mkdir(path)
            grow(dice, path, depth + 1, below_open)
            if dice.random() < 0.05:
                os.chmod(path, 0)
        elif kind == "link":
            os.symlink(dice.choice(["gone", "/usr", "b.c", "a"]), path)
        elif kind == "socket" and len(path) < 100:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path)
        else:
            with open(path, "w", encoding="ascii"):
                pass
    for name in dice.sample(OPEN, 1) if depth < 2 else []:
        os.mkdir(os.path.join(top, name))
        grow(dice, os.path.join(top, name), depth + 1, True)


def kind_of(path):
    if os.path.islink(path):
        return "link"
    if os.path.isdir(path):
        return "directory"
    return "file" if os.path.isfile(path) else "socket"


def expect(top, write, patterns, found, dots=True):
    """found: {path: step}."""
    for name in sorted(os.listdir(top)):
        path = os.path.join(top, name)
        kind = kind_of(path)
        if any(fnmatch.fnmatchcase(name, one) for one in patterns):
            to = os.path.realpath(path)
            if kind != "link" or (os.path.exists(to) and
                                  not to.startswith("/usr")):
                found[to] = "cover"
        elif kind == "socket":
            found[path] = "cover"
        elif dots and name[0] == "." and name not in SHOWN + GUARDED:
            if kind != "link":
                found[path] = "cover"
        else:
            if write and name in GUARDED:
                found[path] = "guard"
            if kind == "directory":
                below(path, write, patterns, found, dots)


def below(path, write, patterns, found, dots):
    if not os.stat(path).st_mode & 0o100:
        found[path] = "cover"
    elif os.path.basename(path) not in OPEN:
        expect(path, write, patterns, found, dots)
    elif patterns:
        expect(path, write, patterns, found, False)
    else:
        for name in os.listdir(path):
            if kind_of(os.path.join(path, name)) == "socket":
                found[os.path.join(path, name)] = "cover"


def is_covered(path, found):
    """Is one of its directories covered?"""
    above = os.path.dirname(path)
    return above != "/" and (found.get(above) == "cover" or
                             is_covered(above, found))


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("patterns", [[], HIDE])
def test_the_same_is_found_as_by_looking_at_everything(stockade, write, patterns):
    dice = random.Random(f"{write}{patterns}")
    for turn in range(3):
        top = stockade.cwd / str(turn)
        top.mkdir()
        grow(dice, str(top))
    flags = ["--write", "."] if write else []
    for one in patterns:
        flags += ["--hide", f"**/{one}"]
    plan = json.loads(stockade.run("/bin/true", flags=[
        *flags, "--explain", "--json"]).ok().out)
    cwd, found, expected = str(stockade.cwd), {}, {}
    for step in plan["steps"]:
        if step["step"] in ("cover", "guard") and \
                step["target"].startswith(cwd + "/"):
            # A cover of what is guarded lies over the guard.
            if found.get(step["target"]) != "cover":
                found[step["target"]] = step["step"]
    expect(cwd, write, patterns, expected)
    # A link that is hidden has covered where it leads to: nothing is there, below.
    expected = {path: what for path, what in expected.items()
                if not is_covered(path, expected)}
    assert len(expected) > 20
    assert found == expected, {
        path: (found.get(path), expected.get(path))
        for path in {*found, *expected}
        if found.get(path) != expected.get(path)}
    subprocess.run(["chmod", "-R", "u+rwx", cwd], check=True)


@pytest.mark.parametrize("guarded", ["Jenkinsfile", "c/.github/workflows/x.yml",
                                     ".git/hooks/x", "HEAD"])
def test_what_is_guarded_below_a_hidden_link(stockade, guarded):
    """It leads to a directory, of which nothing is there any more."""
    for name in f"b/{guarded}", f"d/{guarded}":
        stockade.cwd.joinpath(name).parent.mkdir(parents=True)
        stockade.cwd.joinpath(name).write_text("CANARY\n")
    (stockade.cwd / "id_x").symlink_to("b")
    result = stockade.sh(f"ls -A b d; cat b/{guarded}; cat d/{guarded}; "
                         f"echo x > b/made; echo x > made; mv b z",
                         flags=["--write", ".", "--hide", "**/id_*"])
    assert result.out == f"d:\n{guarded.split('/')[0]}\nCANARY\n", result
    assert sorted(os.listdir(stockade.cwd)) == ["b", "d", "id_x", "made"]
    assert os.listdir(stockade.cwd / "b") == [guarded.split("/")[0]]


def test_past_a_budget_nothing_is_shown(stockade):
    deep = stockade.cwd.joinpath(*["d"] * 199)
    deep.mkdir(parents=True)
    stockade.run("/bin/true").ok()
    (deep / "d").mkdir()
    refused = stockade.run("/bin/true")
    assert refused.status == 125 and f"{stockade.cwd} " in refused.err
    assert "directories that are too deep" in refused.err
    (deep / "d").rmdir()
    for i in range(20001):
        os.mknod(stockade.cwd / f".x{i}")
    refused = stockade.run("/bin/true")
    assert refused.status == 125 and "20000 names would have" in refused.err
    stockade.run("/bin/true", flags=["--show", "./.x*"]).ok()
