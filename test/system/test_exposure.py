# SPDX-License-Identifier: Apache-2.0
"""A secret's value that the agent could read beside its placeholder."""
import base64
import os
import shutil
import subprocess

import pytest

from conftest import Result

VALUE = "s3cr3t-value-0123456789"
ALLOW = "allow GET api.test/**\n"
SECRET = ALLOW + "secret TOKEN from env for api.test as bearer\n"
RAN = "it ran\n"


def tree(stockade, name, content):
    path = stockade.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def go(stockade, policy="", *command, **more):
    return stockade.run(*(command or ("echo", "it ran")),
                        policy=SECRET + policy,
                        env={"TOKEN": VALUE, **more.pop("env", {})}, **more)


def refused(result, where):
    assert result.status == 125 and result.out == "", result
    line, = result.complaints()
    assert f"secret TOKEN: its value is also in {where}, which the agent" in line
    assert VALUE not in result.text


DOCKER = base64.b64encode(f"user:{VALUE}".encode()).decode()


@pytest.mark.parametrize("name, grant, content", [
    (".netrc", "read ~/.netrc", f"machine h login u password {VALUE}\n"),
    (".bash_history", "read ~\nshow ~/.bash_history", f"curl -H {VALUE}\n"),
    (".docker/config.json", "read ~/.docker", f'{{"auth": "{DOCKER}"}}'),
    ("work/.env", "show .env", f"A=1\nTOKEN={VALUE}"),
    ("work/config.yaml", "", f"token: {VALUE}\n"),
    ("other/secrets.json", "write ~/other", f'["{VALUE}"]'),
])
def test_a_value_in_what_is_granted_is_refused(stockade, name, grant, content):
    path = tree(stockade, name, content)
    refused(go(stockade, grant), path)
    # As the message says.
    assert go(stockade, f"{grant}\nhide {path}\n").ok().out == RAN
    path.write_text(content.replace(VALUE, "another").replace(DOCKER, "x"))
    assert go(stockade, grant).ok().out == RAN


@pytest.mark.parametrize("name", [".netrc", "work/.env", "other/secrets.json"])
def test_what_is_not_shown_is_nobodys_concern(stockade, name):
    tree(stockade, name, VALUE)
    assert go(stockade).ok().out == RAN


def test_where_a_link_leads_to(stockade):
    """As those make it who keep their dot-files in a repository."""
    kept = tree(stockade, "dotfiles/netrc", VALUE)
    (stockade.home / ".netrc").symlink_to("dotfiles/netrc")
    refused(go(stockade, "read ~/dotfiles"), kept)
    assert go(stockade).ok().out == RAN


def test_the_values_own_file_is_hidden(stockade):
    tree(stockade, "work/config.json", f'{{"token": "{VALUE}"}}')
    policy = ("secret OTHER from file config.json key /token "
              "for api.test as header x-key\n")
    assert go(stockade, policy).ok().out == RAN


def test_variables_and_arguments(stockade):
    refused(go(stockade, "env pass COPY", env={"COPY": VALUE}),
            "the variable COPY")
    refused(go(stockade, "", "echo", f"--token={VALUE}"),
            "the command's arguments")
    # What is not passed on is not there, and the placeholder is not the value.
    assert go(stockade, env={"COPY": VALUE}).ok().out == RAN
    assert go(stockade, "", "sh", "-c", "test ${#TOKEN} -gt 20").status == 0


def test_of_a_command_and_of_a_file(stockade):
    """Vault has read the source when it looks, however late that is."""
    tree(stockade, "work/config.json", VALUE)
    kept = tree(stockade, "kept", VALUE)
    for source in (f"file {kept}", f"command 'sleep 0.3; cat {kept}'"):
        result = stockade.run("echo", "it ran", policy=ALLOW + (
            f"secret TOKEN from {source} for api.test as bearer\n"))
        refused(result, stockade.cwd / "config.json")
    (stockade.cwd / "config.json").unlink()
    assert stockade.run("echo", "it ran", policy=ALLOW + (
        f"secret TOKEN from file {kept} for api.test as bearer\n")).ok()


def test_odd_files_are_passed_over(stockade):
    """None of them makes the start wait, or fail."""
    os.mkfifo(stockade.cwd / "config.json")
    (stockade.cwd / "config.yaml").symlink_to("nowhere")
    (stockade.cwd / "secrets.json").mkdir()
    large = tree(stockade, "work/auth.json", "x" * (1 << 20) + VALUE)
    unreadable = tree(stockade, "work/settings.py", "x")
    unreadable.chmod(0)
    assert go(stockade).ok().out == RAN
    large.write_text("x" * ((1 << 20) - len(VALUE)) + VALUE)
    refused(go(stockade), large)


def test_a_short_value_is_not_looked_for(stockade):
    tree(stockade, "work/config.json", "secret1")
    assert stockade.run("echo", "it ran", policy=SECRET,
                        env={"TOKEN": "secret1"}).ok().out == RAN
    tree(stockade, "work/config.json", "secret12")
    assert stockade.run("echo", "it ran", policy=SECRET,
                        env={"TOKEN": "secret12"}).status == 125


def traced(stockade, *flags):
    """Every process of a run, but for what the command does."""
    done = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", *map(str, flags),
         *stockade.argv("echo", "it ran", policy=SECRET)], cwd=stockade.cwd,
        env={**stockade.env, "TOKEN": VALUE}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60)
    return Result(done.returncode, done.stdout, done.stderr, 0)


@pytest.mark.parametrize("call, error", [
    ("openat", "EMFILE"), ("openat", "ENOMEM"), ("read", "EIO"),
    ("openat", None)])
def test_what_cannot_be_looked_at_is_not_shown(stockade, call, error):
    """A place that is there, and could not be searched, ends the run."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    path = tree(stockade, "work/config.json", "nothing of note")
    inject = ["-e", f"inject={call}:error={error}"] if error else []
    result = traced(stockade, "-e", f"trace={call}", *inject, "-P", path)
    if error:
        assert result.status == 125 and result.out == "", result
        assert "config.json" in result.err
    else:
        assert result.ok().out == RAN
