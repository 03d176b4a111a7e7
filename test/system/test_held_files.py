# SPDX-License-Identifier: Apache-2.0
"""`write` of a single file with `workspace overlay`: that file can be written
and is held, and nothing else of its directory is there.  Judged by the host's
files."""
import json
import os
import shutil
import subprocess
import time

import pytest

from conftest import as_root, as_user, needs_overlay
from test_workspace import OVERLAY, apply, diff, held

pytestmark = needs_overlay
KEEP = ["--keep", "demo"]


@pytest.fixture
def folder(stockade):
    """A directory outside of the working directory, with files."""
    folder = stockade.base / "folder"
    folder.mkdir()
    (folder / "file").write_text("old\n")
    (folder / "beside").write_text("CANARY\n")
    (folder / ".env").write_text("CANARY\n")
    (stockade.cwd / "host").write_text("host\n")
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    return folder


def run(stockade, folder, script, *flags, **more):
    """The host is as it was before."""
    before = {n: (folder / n).read_bytes() for n in os.listdir(folder)}
    result = stockade.sh(f"cd {folder}\n{script}",
                         flags=[*OVERLAY, "--write", str(folder / "file"),
                                *flags], **more)
    assert {n: (folder / n).read_bytes() for n in os.listdir(folder)} == before
    return result


def test_it_is_written_and_held(stockade, folder):
    path = folder / "file"
    result = run(stockade, folder, "cat file; echo new >> file; cat file; ls -A;"
                 "echo y > ~/y; chmod 600 file").ok()
    assert result.out == "old\nold\nnew\nfile\n"
    assert "holds changes" in result.err
    assert diff(stockade) == [f"M  {path}"]
    answer = json.loads(stockade.call("diff", "--json").ok().out)
    assert [c["path"] for c in answer["changes"]] == [str(path)]
    assert "+new" in stockade.call("diff", "--patch").ok().out
    assert apply(stockade, "--", str(path)) == [f"M  {path}"]
    assert path.read_text() == "old\nnew\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_uid == os.geteuid()
    assert sorted(os.listdir(folder)) == [".env", "beside", "file"]
    assert held(stockade) == []


def test_nothing_of_its_directory_is_there(stockade, folder):
    result = run(stockade, folder, "ls -A; cat beside .env; echo z > new;"
                 "rm file; mv file other; ln file linked;"
                 "ln -s /etc/passwd file; mkdir d; cat /proc/self/mountinfo;"
                 f"cat {folder}/file/../beside; ls -A ..")
    assert result.out.startswith("file\n") and "CANARY" not in result.text
    assert "/held" not in result.out
    assert held(stockade) == [] and (folder / "file").read_text() == "old\n"


def test_what_is_not_changed_is_not_held(stockade, folder):
    run(stockade, folder, "cat file; touch file; echo old > file").ok()
    assert held(stockade) == []
    # With the other workspace it is written at once.
    stockade.sh(f"echo now > {folder}/file",
                flags=["--write", str(folder / "file")]).ok()
    assert (folder / "file").read_text() == "now\n"


def test_discard_forgets_it(stockade, folder):
    run(stockade, folder, "echo new > file").ok()
    stockade.call("discard", "--", str(folder / "file")).ok()
    assert held(stockade) == [] and (folder / "file").read_text() == "old\n"


def test_what_the_host_changed_meanwhile_is_left_alone(stockade, folder):
    run(stockade, folder, "echo new > file; echo x > ~/x").ok()
    (folder / "file").write_text("the user's\n")
    lines = apply(stockade, status=1)
    assert "conflict" in lines[-1]
    assert (folder / "file").read_text() == "the user's\n"


def test_two_of_one_directory_and_the_working_directory(stockade, folder):
    beside = str(folder / "beside")
    run(stockade, folder, f"echo 1 > file; echo 2 > beside; echo 3 >"
        f"{stockade.cwd}/host", "--write", beside).ok()
    assert sorted(diff(stockade)) == [f"M  {folder}/beside",
                                      f"M  {folder}/file", "M  host"]
    apply(stockade)
    assert (folder / "file").read_text() == "1\n"
    assert (folder / "beside").read_text() == "2\n"
    assert (stockade.cwd / "host").read_text() == "3\n"


def test_inside_what_may_be_read(stockade, folder):
    result = run(stockade, folder, "cat beside; echo new > file; echo x > beside;"
                 "echo y > made; cat .env", "--read", str(folder))
    assert "CANARY" in result.out and result.out.count("CANARY") == 1
    assert diff(stockade) == [f"M  {folder}/file"]
    apply(stockade)
    assert (folder / "file").read_text() == "new\n"


def test_inside_what_may_be_written_it_is_a_part_of_that(stockade, folder):
    stockade.sh("echo x > host; echo y > more",
                flags=[*OVERLAY, "--write", "host"]).ok()
    assert sorted(diff(stockade)) == ["A  more", "M  host"]


def test_a_file_of_the_home(stockade):
    """The state, with the upper layer, is below the directory of the file."""
    path = stockade.home / "notes"
    path.write_text("old\n")
    time.sleep(0.02)
    result = stockade.sh("cat ~/notes; echo new >> ~/notes; ls -A ~; "
                         "ls -A ~/.local", flags=[*OVERLAY, "--write",
                                                  "~/notes"])
    assert "old" in result.out and "stockade" not in result.out
    apply(stockade)
    assert path.read_text() == "old\nnew\n"


def test_one_that_runs_something_later_needs_the_word(stockade):
    path = stockade.home / ".bashrc"
    path.write_text("# mine\n")
    time.sleep(0.02)
    stockade.sh("echo evil >> ~/.bashrc",
                flags=[*OVERLAY, "--write", "~/.bashrc"]).ok()
    assert diff(stockade) == [f"M  {path}  (guarded)"]
    apply(stockade, status=1)
    assert path.read_text() == "# mine\n"
    apply(stockade, "--guarded")
    assert path.read_text() == "# mine\nevil\n"


def test_what_is_hidden_or_guarded_stays_so(stockade, folder):
    path = str(folder / "file")
    result = run(stockade, folder, "cat file; echo x > file", "--hide", path)
    assert "old" not in result.out and held(stockade) == []
    result = run(stockade, folder, "cat file; echo x > file", "--guard", path)
    assert result.out == "old\n" and held(stockade) == []


def test_its_other_names_keep_the_old(stockade, folder):
    os.link(folder / "file", stockade.base / "other")
    run(stockade, folder, "echo new > file").ok()
    apply(stockade)
    assert (folder / "file").read_text() == "new\n"
    assert (stockade.base / "other").read_text() == "old\n"


def test_a_link_to_one(stockade, folder):
    """It is followed, once, at the start."""
    link = stockade.base / "link"
    link.symlink_to(folder / "file")
    run(stockade, folder, f"echo new > {link}", "--write", str(link)).ok()
    apply(stockade)
    assert link.is_symlink() and (folder / "file").read_text() == "new\n"


@as_user
def test_a_directory_that_cannot_be_written_is_refused(stockade, folder):
    folder.chmod(0o555)
    try:
        refused = run(stockade, folder, "echo ran")
        assert refused.status == 125 and "applied" in refused.err
        assert "ran" not in refused.out and "workspace direct" in refused.err
        assert held(stockade) == []
        stockade.sh(f"echo now > {folder}/file",
                    flags=["--write", str(folder / "file")]).ok()
    finally:
        folder.chmod(0o755)
    run(stockade, folder, "echo ran > file").ok()


@as_root
def test_one_that_is_mounted_is_refused(stockade, folder):
    """The overlay would show what is below."""
    script = (f"mount --bind {folder}/beside {folder}/file && exec \"$0\" run "
              f"--workspace overlay --write {folder}/file -- cat {folder}/file")
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, stockade.argv("true")[0]],
        cwd=stockade.cwd, env=stockade.env, capture_output=True, text=True)
    assert result.returncode == 125 and "is mounted there" in result.stderr


@as_root
def test_the_owner_is_whose_the_file_is(stockade, folder):
    os.chown(folder / "file", 1234, 1234)
    time.sleep(0.02)
    run(stockade, folder, "echo new > file").ok()
    apply(stockade)
    assert (folder / "file").stat().st_uid == 1234
    assert folder.stat().st_uid == os.geteuid()


def test_a_pipe_cannot_be_held(stockade, folder):
    os.mkfifo(stockade.base / "pipe")
    refused = stockade.sh("true", flags=[*OVERLAY, "--write",
                                         str(stockade.base / "pipe")])
    assert refused.status == 125 and "neither a directory" in refused.err


def test_a_kept_one_is_continued(stockade, folder):
    run(stockade, folder, "echo 1 > file", *KEEP).ok()
    result = run(stockade, folder, "cat file; echo 2 >> file", *KEEP).ok()
    assert result.out == "1\n"
    # Another file of that directory is another grant.
    other = stockade.sh("true", flags=[*OVERLAY, *KEEP, "--write",
                                       str(folder / "beside")])
    assert other.status == 125 and "have not done" in other.err
    whole = stockade.sh("true", flags=[*OVERLAY, *KEEP, "--write", str(folder)])
    assert whole.status == 125 and "have not done" in whole.err
    apply(stockade, "demo")
    assert (folder / "file").read_text() == "1\n2\n"


def test_another_directory_of_that_name(stockade, folder):
    run(stockade, folder, "echo 1 > file", *KEEP).ok()
    folder.rename(stockade.base / "moved")
    folder.mkdir()
    (folder / "file").write_text("other\n")
    refused = run(stockade, folder, "echo ran", *KEEP)
    assert refused.status == 125 and "another directory" in refused.err
    assert stockade.call("apply", "demo").status == 125
    assert (folder / "file").read_text() == "other\n"


needs_strace = pytest.mark.skipif(shutil.which("strace") is None,
                                  reason="strace is not installed")


def injected(stockade, folder, call, error, number):
    """A run in which one call fails; None when there are fewer."""
    log = stockade.base / "strace"
    result = subprocess.run(
        ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call},umount2", "-e",
         f"inject={call}:error={error}:when={number}",
         *stockade.argv("/bin/sh", "-c", f"echo ran; ls -A {folder};"
                        f"echo new > {folder}/file; cat /proc/self/mountinfo",
                        flags=[*OVERLAY, "--write", str(folder / "file")])],
        cwd=stockade.cwd, env=stockade.env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60)
    return result if "(INJECTED)" in log.read_text(errors="replace") else None


@needs_strace
def test_each_call_fails_closed(stockade, folder):
    stockade.sh("true").ok()      # the template is made
    hit = 0
    for call, most in (("open_tree", 6), ("fsmount", 3), ("move_mount", 4),
                       ("mkdirat", 3)):
        for number in range(1, most + 1):
            result = injected(stockade, folder, call, "EIO", number)
            if result is None:
                break
            hit += 1
            assert result.returncode == 125, (call, number, result)
            assert "ran" not in result.stdout
            assert held(stockade) == [], (call, number)
    assert hit > 8
    assert (folder / "file").read_text() == "old\n"


@as_user
@needs_strace
def test_a_kernel_that_copies_only_what_is_attached(stockade, folder):
    """Before 6.15.  Whichever copy is refused, nothing more is there."""
    stockade.sh("true").ok()
    detached = 0
    for number in range(1, 20):
        result = injected(stockade, folder, "open_tree", "EINVAL", number)
        if result is None:
            break
        log = (stockade.base / "strace").read_text(errors="replace")
        # Once more than for the old root.
        if log.count("umount2(") == 2:
            detached += 1
            assert result.returncode == 0, result
        if result.returncode == 0:
            assert result.stdout.startswith("ran\nfile\n")
            assert result.stdout.count(" overlay ") == 2
            assert diff(stockade) == [f"M  {folder}/file"]
            stockade.call("discard").ok()
        assert held(stockade) == []
    assert number > 2 and detached >= 1
