# SPDX-License-Identifier: Apache-2.0
"""`workspace overlay`, `diff`, `apply` and `discard`.

Judged by the host's files: what is there after a run, after an apply, after an
apply that was killed.
"""
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import (BUILD, IS_ROOT, as_root, as_user, eventually,
                      needs_overlay)

pytestmark = needs_overlay
OVERLAY = ["--workspace", "overlay"]
STOP = os.path.join(BUILD, "test", "probe", "apply-stop")
LAUNCH_FAULT = os.path.join(BUILD, "test", "probe", "launch-fault")


def snapshot(top):
    """{path: type, mode, contents} of everything below."""
    seen = {}
    for folder, folders, names in os.walk(os.fsencode(top)):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            if stat.S_ISLNK(st.st_mode):
                what = os.readlink(path)
            elif stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    what = file.read()
            else:
                what = None
            seen[path] = (oct(st.st_mode), what)
    return seen


def held(stockade):
    """What is in the store of held changes, the dot-files left out."""
    store = stockade.state() / "held"
    return sorted(n for n in os.listdir(store) if not n.startswith(".")) \
        if store.exists() else []


def run(stockade, script, *flags, **more):
    """A run that holds what it wrote; the host is as it was before."""
    before = snapshot(stockade.cwd)
    result = stockade.sh(script, flags=[*OVERLAY, *flags], **more)
    assert snapshot(stockade.cwd) == before
    return result


def diff(stockade, *arguments):
    return stockade.call("diff", *arguments).ok().out.splitlines()


def apply(stockade, *arguments, status=0):
    result = stockade.call("apply", *arguments)
    assert result.status == status, str(result)
    return result.out.splitlines()


@pytest.fixture
def tree(stockade):
    """A working directory with something in it."""
    cwd = stockade.cwd
    (cwd / "keep").write_text("keep\n")
    (cwd / "change").write_text("old\n")
    (cwd / "remove").write_text("gone soon\n")
    (cwd / "dir" / "sub").mkdir(parents=True)
    (cwd / "dir" / "one").write_text("1\n")
    (cwd / "dir" / "sub" / "two").write_text("2\n")
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    return cwd


CHANGE = ("echo new >> change; rm remove; mkdir made; echo x > made/file;"
          "ln -s ../keep made/link; cat keep > /dev/null; chmod 750 dir")


def test_the_host_sees_nothing_until_apply(stockade, tree):
    result = run(stockade, CHANGE + "; cat change; ls").ok()
    assert result.out.startswith("old\nnew\n") and "remove" not in result.out
    assert "holds changes" in result.err
    assert diff(stockade) == ["M  change", "M  dir/", "A  made/",
                              "A  made/file", "A  made/link", "D  remove"]
    assert apply(stockade) == diff_of_all()
    assert (tree / "change").read_text() == "old\nnew\n"
    assert not (tree / "remove").exists()
    assert (tree / "made" / "file").read_text() == "x\n"
    assert os.readlink(tree / "made" / "link") == "../keep"
    assert stat.S_IMODE((tree / "dir").stat().st_mode) == 0o750
    assert (tree / "change").stat().st_uid == os.geteuid()
    assert held(stockade) == [] and diff(stockade) == []
    assert not [n for n in os.listdir(tree) if n.startswith(".stockade")]


def diff_of_all():
    return ["M  change", "M  dir/", "A  made/", "A  made/file",
            "A  made/link", "D  remove"]


def test_discard_forgets_it(stockade, tree):
    before = snapshot(tree)
    run(stockade, CHANGE).ok()
    stockade.call("discard").ok()
    assert snapshot(tree) == before
    assert held(stockade) == [] and diff(stockade) == []
    assert stockade.call("apply").status == 125


def test_a_run_that_changes_nothing_holds_nothing(stockade, tree):
    result = run(stockade, "cat change; touch keep; cp keep x && rm x").ok()
    assert "holds" not in result.err
    assert held(stockade) == []


def test_direct_is_the_default_and_writes_at_once(stockade, tree):
    stockade.sh("echo now > change",
                flags=["--write", ".", "--workspace", "direct"]).ok()
    assert (tree / "change").read_text() == "now\n"
    assert held(stockade) == []


def test_every_write_grant_is_held(stockade, tree):
    other = stockade.base / "other"
    other.mkdir()
    result = run(stockade, f"echo x > {other}/new; echo y > here",
                 "--write", str(other)).ok()
    assert os.listdir(other) == []
    assert sorted(diff(stockade)) == [f"A  {other}/new", "A  here"]
    assert "holds" in result.err
    apply(stockade)
    assert (other / "new").read_text() == "x\n"


def test_a_read_grant_stays_as_it_is(stockade, tree):
    other = stockade.base / "other"
    other.mkdir()
    result = run(stockade, f"echo x > {other}/new", "--read", str(other))
    assert result.status != 0 and held(stockade) == []


def test_runs_says_which_hold_something(stockade, tree):
    run(stockade, "echo x > a").ok()
    run(stockade, "true").ok()
    runs = [json.loads(line) for line in
            stockade.call("runs", "--json").ok().out.splitlines()]
    is_held = {r["held"]: r["run"] for r in runs}
    assert len(runs) == 2 and set(is_held) == {True, False}
    assert stockade.call("runs").out.count("[held]") == 1
    assert diff(stockade, is_held[True]) == ["A  a"]
    refused = stockade.call("diff", is_held[False])
    assert refused.status == 125 and "holds no changes" in refused.err


def test_the_newest_run_is_meant(stockade, tree):
    run(stockade, "echo 1 > first").ok()
    run(stockade, "echo 2 > second").ok()
    assert diff(stockade) == ["A  second"]
    apply(stockade)
    assert diff(stockade) == ["A  first"]


def test_paths_choose_changes(stockade, tree):
    run(stockade, CHANGE).ok()
    assert diff(stockade, "--", "made") == ["A  made/", "A  made/file",
                                            "A  made/link"]
    assert apply(stockade, "--", "made/file") == ["A  made/", "A  made/file"]
    assert sorted(os.listdir(tree / "made")) == ["file"]
    assert (tree / "remove").exists()
    assert diff(stockade) == ["M  change", "M  dir/", "A  made/link",
                              "D  remove"]
    stockade.call("discard", "--", "remove", "dir").ok()
    assert diff(stockade) == ["M  change", "A  made/link"]
    wrong = stockade.call("apply", "--", "keep")
    assert wrong.status == 125 and "no change" in wrong.err
    apply(stockade)
    assert held(stockade) == [] and (tree / "remove").exists()
    assert os.readlink(tree / "made" / "link") == "../keep"


def test_what_the_host_changed_meanwhile_is_left_alone(stockade, tree):
    run(stockade, "echo a >> change; echo b > fresh; rm remove; rm -r dir;"
        "echo c >> keep").ok()
    (tree / "change").write_text("the user's\n")
    (tree / "fresh").write_text("also the user's\n")
    (tree / "dir" / "one").write_text("and this\n")
    lines = apply(stockade, status=1)
    assert lines[:3] == ["M  keep", "D  remove",
                         "left as it is on the host:"]
    assert [line.split("  ")[1] for line in lines[3:]] == ["change", "dir/",
                                                           "fresh"]
    assert all("conflict" in line for line in lines[3:])
    assert (tree / "change").read_text() == "the user's\n"
    assert (tree / "fresh").read_text() == "also the user's\n"
    assert (tree / "dir" / "sub" / "two").read_text() == "2\n"
    assert (tree / "keep").read_text() == "keep\nc\n"
    assert len(held(stockade)) == 1


def test_the_host_removed_what_was_changed(stockade, tree):
    run(stockade, "echo a >> change; echo b >> dir/one; rm remove").ok()
    (tree / "change").unlink()
    (tree / "remove").unlink()
    subprocess.run(["rm", "-r", tree / "dir"], check=True)
    lines = apply(stockade, status=1)
    assert lines[0] == "left as it is on the host:"
    assert not (tree / "change").exists() and not (tree / "dir").exists()


# What the agent may make all the same: what a `write` names, and in repositories
# of its own.
LIFTED = ["--write?", ".envrc", "--write", ".vscode"]


def test_guarded_paths_need_the_word(stockade, tree):
    (tree / ".vscode").mkdir()
    time.sleep(0.02)
    script = ("mkdir -p deep/.git/hooks sub/.Git/Hooks x/.git/modules/y z;"
              "echo 1 > .vscode/tasks.json; echo 2 > sub/.Git/Hooks/pre;"
              "echo 3 > deep/.git/config; echo 4 > .envrc; echo 5 > plain;"
              "echo 6 > x/.git/modules/y/config; echo 7 > z/.git;"
              "echo 8 > deep/.git/HEAD; echo 9 > deep/.git/hooks/pre-push")
    run(stockade, script, *LIFTED).ok()
    lines = apply(stockade, status=1)
    left = lines[lines.index("left as it is on the host:") + 1:]
    assert all(line.endswith("(guarded)") for line in left)
    assert (tree / "plain").exists() and (tree / "deep/.git/HEAD").exists()
    guarded = [".vscode/tasks.json", "sub/.Git/Hooks", "deep/.git/config",
               ".envrc", "x/.git/modules/y/config", "z/.git",
               "deep/.git/hooks"]
    assert not [name for name in guarded if (tree / name).exists()]
    apply(stockade, "--guarded")
    assert (tree / ".vscode" / "tasks.json").read_text() == "1\n"
    assert not [name for name in guarded if not (tree / name).exists()]
    assert held(stockade) == []


def test_what_leads_to_guarded_names_needs_the_word(stockade, tree):
    """In a directory of its own the agent may make links to whole directories,
    and repositories that git finds by what is in them."""
    run(stockade, "mkdir -p own/x/workflows own/.git/modules own/fine own/re;"
        "cd own; touch x/settings.json x/workflows/ci.yml x/config;"
        "ln -s x .claude; ln -s x .GitHub; ln -s ../../x .git/modules/sub;"
        "ln -s x plain; ln -s x .git/info; ln -s ../objects fine/HEAD.md;"
        "mkdir re/objects re/refs; touch re/HEAD re/config .config").ok()
    apply(stockade, status=1)
    guarded = [".claude", ".GitHub", ".git/modules/sub", ".git/info", "re/HEAD"]
    own = tree / "own"
    assert not [name for name in guarded if os.path.lexists(own / name)]
    for name in ("plain", "fine/HEAD.md", ".config", "x/settings.json",
                 "re/config"):
        assert os.path.lexists(own / name)
    apply(stockade, "--guarded")
    assert not [name for name in guarded if not os.path.lexists(own / name)]


def test_masks_and_guards_hold_on_an_overlay(stockade, tree):
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".env").write_text("CANARY")
    (tree / "secret.pem").write_text("CANARY")
    result = run(stockade, "cat .env secret.pem; echo x > .git/hooks/post-merge;"
                 "mv .git elsewhere; rm -rf .git/hooks; echo y > .git/plain",
                 "--hide", "**/*.pem")
    assert "CANARY" not in result.text
    assert diff(stockade) == ["A  .git/plain"]
    apply(stockade)
    assert (tree / ".git" / "plain").exists()


def test_links_are_never_followed(stockade, tree):
    outside = stockade.base / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    run(stockade, f"rm -r dir; ln -s {outside} dir; ln -s /etc/passwd pw;"
        f"rm change; ln -s {outside}/file change").ok()
    # ... and the host plants one where a directory of the change was.
    apply(stockade)
    assert os.readlink(tree / "dir") == str(outside)
    assert os.readlink(tree / "change") == f"{outside}/file"
    assert (outside / "file").read_text() == "outside\n"
    assert os.listdir(outside) == ["file"]


def test_a_link_that_the_host_plants_is_not_followed(stockade, tree):
    outside = stockade.base / "outside"
    outside.mkdir()
    run(stockade, "echo x > dir/new; echo y >> dir/one").ok()
    subprocess.run(["rm", "-r", tree / "dir"], check=True)
    (tree / "dir").symlink_to(outside)
    lines = apply(stockade, status=1)
    assert lines[0].startswith("left as it is")
    assert os.listdir(outside) == [] and (tree / "dir").is_symlink()


def test_a_directory_that_the_host_exchanged(stockade, tree):
    (tree / "other").mkdir()
    (tree / "other" / "one").write_text("other\n")
    time.sleep(0.02)
    run(stockade, "echo x >> dir/one; echo y > dir/new; rm -r dir/sub").ok()
    (tree / "dir").rename(tree / "away")
    (tree / "other").rename(tree / "dir")
    (tree / "dir" / "more").write_text("")
    lines = apply(stockade, status=1)
    assert lines[0].startswith("left as it is")
    assert (tree / "dir" / "one").read_text() == "other\n"
    assert sorted(os.listdir(tree / "dir")) == ["more", "one"]


def test_another_directory_of_that_name_is_refused(stockade, tree):
    run(stockade, "echo x > new").ok()
    tree.rename(stockade.base / "moved")
    tree.mkdir()
    refused = stockade.call("apply", cwd=stockade.base)
    assert refused.status == 125 and "no longer the directory" in refused.err
    assert os.listdir(tree) == []
    stockade.call("discard", cwd=stockade.base).ok()
    assert held(stockade) == []


ODD = ["a\nM  evil", "b\x1b[2Kb", "c\u202egpj", "d\xad", "-rf", "e\\x1b",
       "f g", "*"]


def test_odd_names_are_shown_and_applied(stockade, tree):
    (tree / "names").write_text("\0".join(ODD))
    time.sleep(0.02)
    run(stockade, "python3 -c \"for n in open('names').read().split('\\0'):"
        " open(n, 'w').write(n)\"").ok()
    lines = diff(stockade)
    assert len(lines) == len(ODD)
    assert not any(c in line for line in lines for c in "\x1b\u202e\n\r")
    changes = json.loads(stockade.call("diff", "--json").ok().out)["changes"]
    assert {c["path"] for c in changes} == {f"{tree}/{n}" for n in ODD}
    apply(stockade)
    for name in ODD:
        assert (tree / name).read_text() == name


def test_bytes_that_are_no_text_are_names_as_well(stockade, tree):
    run(stockade, "python3 -c \"open(b'\\xff\\xfe', 'w')\"").ok()
    assert diff(stockade) == ["A  \\xff\\xfe"]
    apply(stockade)
    assert b"\xff\xfe" in os.listdir(os.fsencode(tree))


def test_a_patch_is_one(stockade, tree):
    """What patch(1) would make of the tree is what apply makes."""
    (tree / "text").write_text("".join(f"{i}\n" for i in range(100)))
    time.sleep(0.02)
    run(stockade, "sed -i -e 7d -e 50s/$/x/ -e '$d' text; printf new > fresh;"
        "rm remove; printf 'a\\0b' > binary; chmod 755 keep; ln -s x l").ok()
    out = stockade.call("diff", "--patch").ok().out
    assert "Binary" in out and "mode 644 -> 755" in out
    assert "A  l\n+x\n" in out
    copy = stockade.base / "copy"
    subprocess.run(["cp", "-a", tree, copy], check=True)
    applied = subprocess.run(["git", "apply", "-p1", "-"], cwd=copy, text=True,
                             input=out, stderr=subprocess.PIPE)
    assert applied.returncode == 0, applied.stderr + out
    apply(stockade)
    for name in ("text", "fresh", "remove"):
        assert (tree / name).exists() == (copy / name).exists(), name
        if (tree / name).exists():
            assert (tree / name).read_text() == (copy / name).read_text()
    assert stockade.call("diff", "--patch", "--json").status == 125


def test_kinds_that_change(stockade, tree):
    run(stockade, "rm change; mkdir change; echo 1 > change/in;"
        "rm -r dir; echo 2 > dir; rm keep; ln -s nowhere keep").ok()
    assert diff(stockade) == ["T  change/", "A  change/in", "T  dir",
                              "T  keep"]
    apply(stockade)
    assert (tree / "change" / "in").read_text() == "1\n"
    assert (tree / "dir").read_text() == "2\n"
    assert os.readlink(tree / "keep") == "nowhere"


def test_a_directory_that_is_made_anew(stockade, tree):
    before = snapshot(tree / "dir" / "sub")
    run(stockade, "rm -r dir; mkdir dir; echo 3 > dir/three;"
        "mkdir dir/sub; echo 4 > dir/sub/four").ok()
    assert diff(stockade) == ["D  dir/one", "A  dir/sub/four",
                              "D  dir/sub/two", "A  dir/three"]
    stockade.call("discard", "--", "dir/sub").ok()
    apply(stockade)
    assert snapshot(tree / "dir" / "sub") == before
    assert sorted(os.listdir(tree / "dir")) == ["sub", "three"]


def test_names_that_were_exchanged_and_moved(stockade, tree):
    run(stockade, "mv change x; mv keep change; mv x keep; mv dir elsewhere",
        ).ok()
    apply(stockade)
    assert (tree / "change").read_text() == "keep\n"
    assert (tree / "keep").read_text() == "old\n"
    assert (tree / "elsewhere" / "sub" / "two").read_text() == "2\n"
    assert not (tree / "dir").exists()


def test_what_is_kept_of_a_file(stockade, tree):
    script = """
import os
open("empty", "w").close()
with open("sparse", "wb") as f:
    f.write(b"head"); f.truncate(1 << 30); f.seek(512 << 20); f.write(b"mid")
with open("tool", "w") as f: f.write("#!/bin/sh\\n")
os.chmod("tool", 0o755)
os.setxattr("tool", "user.note", b"kept")
os.utime("tool", (1000000000, 1000000001))
open("a", "w").write("linked"); os.link("a", "b")
os.mkdir("closed"); open("closed/in", "w"); os.chmod("closed", 0o500)
open("mine", "w").write("mine"); os.chmod("mine", 0)
os.mkdir("shut"); open("shut/in", "w"); os.chmod("shut", 0)
"""
    (tree / "make.py").write_text(script)
    time.sleep(0.02)
    run(stockade, "python3 make.py").ok()
    apply(stockade)
    assert (tree / "empty").stat().st_size == 0
    sparse = (tree / "sparse").stat()
    assert sparse.st_size == 1 << 30 and sparse.st_blocks * 512 < 1 << 20
    with open(tree / "sparse", "rb") as file:
        assert file.read(4) == b"head"
        file.seek(512 << 20)
        assert file.read(4) == b"mid\0"
    tool = (tree / "tool").stat()
    assert stat.S_IMODE(tool.st_mode) == 0o755
    assert tool.st_mtime == 1000000001
    assert os.getxattr(tree / "tool", "user.note") == b"kept"
    assert (tree / "a").read_text() == (tree / "b").read_text() == "linked"
    assert stat.S_IMODE((tree / "closed").stat().st_mode) == 0o500
    assert stat.S_IMODE((tree / "mine").stat().st_mode) == 0
    assert held(stockade) == []
    for name in ("closed", "mine", "shut"):
        (tree / name).chmod(0o700)
    assert (tree / "mine").read_text() == "mine"
    assert (tree / "shut" / "in").exists()


def test_marks_of_overlayfs_cannot_be_forged(stockade, tree):
    run(stockade, """python3 -c "
import os
def set(path, name, value):
    try: os.setxattr(path, name, value)
    except OSError: pass
for name, value in (('opaque', b'y'), ('redirect', b'/etc'), ('whiteout', b'y'),
                    ('metacopy', b'')):
    set('dir', 'user.overlay.' + name, value)
    set('keep', 'user.overlay.' + name, value)
try: os.mknod('remove', 0o020000, 0); print('MADE')
except FileExistsError: os.unlink('change'); os.mknod('change', 0o020000, 0)
except OSError: pass
" """)
    lines = diff(stockade)
    assert not [line for line in lines if "dir/one" in line or "two" in line]
    before = snapshot(tree / "dir")
    stockade.call("apply")
    assert snapshot(tree / "dir") == before
    assert (tree / "keep").read_text() == "keep\n"
    assert not [n for n in os.listxattr(tree / "dir") if "overlay" in n]


def test_sockets_and_pipes_are_never_applied(stockade, tree):
    run(stockade, "mkfifo pipe; echo x > plain").ok()
    lines = apply(stockade, status=1)
    assert lines == ["A  plain", "left as it is on the host:",
                     "A  pipe  (never applied: it is neither a file, a "
                     "directory nor a link)"]
    assert not (tree / "pipe").exists()


def test_very_deep_trees_are_refused_and_can_be_discarded(stockade, tree):
    (tree / "make.py").write_text(
        "import os\nfor i in range(250): os.mkdir('d'); os.chdir('d')\n")
    time.sleep(0.02)
    run(stockade, "python3 make.py").ok()
    assert stockade.call("apply").status == 125
    stockade.call("discard").ok()
    assert held(stockade) == []


def test_all_or_nothing(stockade, tree):
    """One place cannot be written: nothing is."""
    run(stockade, "echo x > dir/sub/new; echo y >> change").ok()
    before = snapshot(tree)
    if IS_ROOT:
        subprocess.run(["chattr", "+i", tree / "dir" / "sub"], check=True)
    else:
        (tree / "dir" / "sub").chmod(0o500)
        before = snapshot(tree)
    try:
        refused = stockade.call("apply")
    finally:
        if IS_ROOT:
            subprocess.run(["chattr", "-i", tree / "dir" / "sub"], check=True)
    assert refused.status == 125 and "nothing was applied" in refused.err
    assert snapshot(tree) == before
    (tree / "dir" / "sub").chmod(0o755)
    apply(stockade)
    assert (tree / "change").read_text() == "old\ny\n"


def test_an_apply_that_was_undone_leaves_no_conflict(stockade, tree):
    run(stockade, BUSY).ok()
    run_id, before = held(stockade)[0], snapshot(tree)
    for step in range(1, 100):
        child = subprocess.run([STOP, str(stockade.state() / "held"), run_id,
                                "fail", str(step)], stderr=subprocess.DEVNULL)
        assert child.returncode == 1
        if snapshot(tree) != before:
            break       # a failure to clear away is not one to apply
        assert not os.path.exists(stockade.state() / "held" / ".apply")
    assert step > 15
    stockade.call("runs").ok()
    assert after_busy(tree)
    assert diff(stockade) == []


def test_a_running_run_is_left_alone(stockade, tree):
    child = stockade.start("/bin/sh", "-c", "echo x > new; echo up; read _",
                           flags=OVERLAY, stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    run_id = held(stockade)[0]
    for verb in ("diff", "apply", "discard"):
        refused = stockade.call(verb, run_id)
        assert refused.status == 125 and "not over" in refused.err
    child.communicate(b"\n", timeout=20)
    assert diff(stockade) == ["A  new"]


def test_what_a_killed_run_wrote_is_held(stockade, tree):
    child = stockade.start("/bin/sh", "-c", "echo x > new; echo up; read _",
                           flags=OVERLAY, stdin=subprocess.PIPE)
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=20)
    assert not (tree / "new").exists()
    assert diff(stockade) == ["A  new"]
    apply(stockade)
    assert (tree / "new").read_text() == "x\n"


def test_a_failed_launch_leaves_nothing(stockade, tree):
    assert stockade.run("/no/such/command", flags=OVERLAY).status == 127
    assert held(stockade) == []


def test_the_mount_says_nothing_of_the_state(stockade, tree):
    result = run(stockade, "cat /proc/self/mountinfo")
    lines = [line for line in result.out.splitlines() if "overlay" in line]
    assert lines and not [line for line in lines if "/held" in line]


@as_root
def test_a_tree_with_a_mount_is_refused(stockade, tree):
    script = ("mount -t tmpfs none dir && exec \"$0\" run --workspace overlay"
              " -- true")
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, stockade.argv("true")[0]],
        cwd=tree, env=stockade.env, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 125 and "is mounted at" in result.stderr


@as_root
def test_root_writes_for_the_owner(stockade, tree):
    os.chown(tree, 1234, 1234)
    os.chown(tree / "change", 1234, 1234)
    run(stockade, "echo new >> change; echo x > made").ok()
    apply(stockade)
    assert (tree / "change").stat().st_uid == 1234
    assert (tree / "made").stat().st_uid == 1234


@as_user
def test_the_agent_is_the_user(stockade, tree):
    result = run(stockade, "id -u; stat -c %u change; echo x > made")
    assert result.out.split() == [str(os.geteuid())] * 2


def test_a_file_renamed_into_a_new_directory_is_no_conflict(stockade, tree):
    """But it is one where the host has removed a directory that it had."""
    run(stockade, "mkdir -p new/in; mv dir/one new/in; echo x >> dir/sub/two"
        ).ok()
    shutil.rmtree(tree / "dir" / "sub")
    assert diff(stockade) == [
        "D  dir/one", "A  dir/sub/  (conflict: changed on the host meanwhile)",
        "A  dir/sub/two  (conflict: changed on the host meanwhile)",
        "A  new/", "A  new/in/", "A  new/in/one"]
    apply(stockade, "--", "new", "dir/one")
    assert (tree / "new" / "in" / "one").read_text() == "1\n"
    assert not (tree / "dir" / "one").exists()


def test_a_directory_that_is_replaced_and_closed(stockade, tree):
    run(stockade, "rm -r dir; mkdir -p dir/sub; echo y > dir/sub/three;"
        "chmod 555 dir/sub").ok()
    assert diff(stockade) == ["D  dir/one", "M  dir/sub/", "A  dir/sub/three",
                              "D  dir/sub/two"]
    apply(stockade)
    assert os.listdir(tree / "dir" / "sub") == ["three"]
    assert stat.S_IMODE((tree / "dir" / "sub").stat().st_mode) == 0o555
    (tree / "dir" / "sub").chmod(0o755)


BUSY = ("echo new >> change; rm remove; mkdir -p made/in; echo x > made/in/f;"
        "ln -s keep link; rm -r dir/sub; chmod 711 dir; rm keep; mkdir keep;"
        "echo y > keep/z")


def after_busy(tree):
    return ((tree / "change").read_text() == "old\nnew\n"
            and not (tree / "remove").exists()
            and (tree / "made/in/f").read_text() == "x\n"
            and os.readlink(tree / "link") == "keep"
            and not (tree / "dir/sub").exists()
            and stat.S_IMODE((tree / "dir").stat().st_mode) == 0o711
            and (tree / "keep/z").read_text() == "y\n")


def test_an_apply_killed_anywhere_is_all_or_nothing(stockade, tree):
    """Before each change of the disk; then the next command ends it."""
    store = stockade.state() / "held"
    pristine = stockade.base / "pristine"
    run(stockade, BUSY).ok()
    run_id = held(stockade)[0]
    before = snapshot(tree)
    subprocess.run(["cp", "-a", store, pristine], check=True)
    outcomes, step = set(), 0
    while True:
        step += 1
        child = subprocess.run([STOP, str(store), run_id, "kill", str(step)],
                               stderr=subprocess.PIPE, text=True)
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL
        assert step < 100, child.stderr
        stockade.call("runs").ok()
        left = [n for n in os.listdir(tree) if n.startswith(".stockade")]
        assert not left, (step, left)
        assert not (store / ".apply").exists()
        done = snapshot(tree) != before
        outcomes.add(done)
        if done:
            assert after_busy(tree), step
            put_back(tree, before)
            subprocess.run(["rm", "-rf", store], check=True)
            subprocess.run(["cp", "-a", pristine, store], check=True)
            set_clock_back(store / run_id)
        assert snapshot(tree) == before, step
    assert after_busy(tree) and step > 20
    assert outcomes == {True, False}


def set_clock_back(run_dir):
    """The host's files are made anew, so the run has to begin later."""
    meta = bytearray((run_dir / "meta").read_bytes())
    time.sleep(0.02)
    now = time.time_ns()
    meta[4:16] = (now // 10**9).to_bytes(8, "little") + (
        now % 10**9).to_bytes(4, "little")
    (run_dir / "meta").write_bytes(meta)


def put_back(tree, before):
    subprocess.run("rm -rf -- change remove made link dir keep",
                   shell=True, cwd=tree, check=True)
    for path, (mode, what) in sorted(before.items()):
        mode = int(mode, 8)
        if stat.S_ISDIR(mode):
            os.mkdir(path)
        else:
            with open(path, "wb") as file:
                file.write(what)
        os.chmod(path, stat.S_IMODE(mode))


def test_each_step_of_the_launch_fails_closed(stockade, tree):
    store, place = stockade.base / "store", stockade.base / "held"
    store.mkdir(mode=0o700)
    base = [LAUNCH_FAULT, "--store", str(store), *OVERLAY]
    command = ["--", "/bin/sh", "-c", "echo x > marker"]
    env = {**stockade.env}
    lines = subprocess.run([*base, "--explain", *command], cwd=tree, env=env,
                           stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    number = [line.split()[0] for line in lines
              if line.split()[1:2] == ["overlay"]]
    assert len(number) == 1 and str(tree) in "".join(lines)

    def remove():
        # The kernel's own directory is closed to everybody.
        if place.exists():
            subprocess.run(["chmod", "-R", "u+rwx", place], check=True)
        subprocess.run(["rm", "-rf", place], check=True)

    def launch(*more):
        remove()
        place.mkdir(mode=0o700)
        return subprocess.run([*base, "--held", str(place), *more, *command],
                              cwd=tree, env=env, stderr=subprocess.PIPE,
                              text=True)
    failed = launch("--fail", number[0])
    assert failed.returncode == 125 and "made to fail" in failed.stderr
    assert os.listdir(place / "0" / "upper") == []
    assert launch().returncode == 0
    assert os.listdir(place / "0" / "upper") == ["marker"]
    assert not (tree / "marker").exists()
    remove()


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
def test_each_call_that_makes_an_overlay_fails_closed(stockade, tree):
    """Each in turn, in whichever process makes it: nothing runs or is held."""
    log = stockade.base / "strace"
    run(stockade, "true").ok()      # the template is made
    before = snapshot(tree)
    missed = 0
    for call, most in (("fsopen", 2), ("fsconfig", 12), ("fsmount", 2),
                       ("mkdirat", 4), ("fsetxattr", 1), ("fchmod", 2),
                       ("flock", 3), ("renameat", 1)):
        for n in range(1, most + 1):
            result = subprocess.run(
                ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={call}",
                 "-e", f"inject={call}:error=EIO:when={n}",
                 *stockade.argv("/bin/sh", "-c", "echo ran; echo x > new",
                                flags=OVERLAY)],
                cwd=tree, env=stockade.env, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                timeout=60)
            assert snapshot(tree) == before
            if "(INJECTED)" not in log.read_text(errors="replace"):
                missed += 1
                stockade.call("discard").ok()
                continue
            assert result.returncode == 125, (call, n, result)
            assert "ran" not in result.stdout, (call, n, result)
            assert held(stockade) == [], (call, n, result)
    assert missed < 6


NODUMP, GET_FLAGS, SET_FLAGS = 0x40, 0x80086601, 0x40086602
FLAGS = f"""python3 -c "
import contextlib, fcntl, os
with contextlib.suppress(OSError):  # a file system may have none
    fd = os.open('.', os.O_RDONLY)
    now = int.from_bytes(fcntl.ioctl(fd, {GET_FLAGS}, bytes(8)), 'little')
    fcntl.ioctl(fd, {SET_FLAGS}, (now | {NODUMP}).to_bytes(8, 'little'))
"
"""


def flags(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        got = fcntl.ioctl(fd, GET_FLAGS, bytes(8))
    except OSError:
        return 0
    finally:
        os.close(fd)
    return int.from_bytes(got, "little")


def test_empty_directories_are_left_for_the_next_run(stockade, tree):
    """... but nothing that the agent has put on them."""
    spare = stockade.state() / "held" / ".spare" / "0"
    run(stockade, "true").ok()
    number = os.stat(spare / "upper").st_ino
    assert os.listdir(spare / "work") == os.listxattr(spare / "upper") == []
    result = run(stockade, "chmod 2770 .; python3 -c \"import os;"
                 "os.setxattr('.', 'user.note', b'CANARY')\"").ok()
    assert "holds changes" not in result.err
    assert not spare.exists()
    run(stockade, "touch -d @305419896 .").ok()
    assert os.stat(spare / "upper").st_mtime > 305419896
    run(stockade, FLAGS).ok()
    assert not spare.exists() or not flags(spare / "upper") & NODUMP
    run(stockade, "echo 1 > new").ok()
    assert not spare.exists()
    stockade.call("discard").ok()
    run(stockade, "true").ok()
    number = os.stat(spare / "upper").st_ino
    tree.chmod(0o711)
    result = run(stockade, "stat -c %a .; python3 -c \"import os;"
                 "print(os.listxattr('.'))\"").ok()
    assert result.out == "711\n[]\n"
    assert os.stat(spare / "upper").st_ino == number
    first = stockade.start("/bin/sh", "-c", "echo 1 > one; read x",
                           flags=OVERLAY, stdin=subprocess.PIPE)
    assert eventually(lambda: list((stockade.state() / "held").glob(
        "*/0/upper/one")))
    run(stockade, "test ! -e one && echo 2 > two").ok()
    first.communicate(b"\n", timeout=10)
    assert len(held(stockade)) == 2


def test_what_is_left_for_the_next_run_is_not_what_a_killed_one_held(
        stockade, tree):
    run(stockade, "true").ok()
    first = stockade.start("/bin/sh", "-c", "echo 1 > one; read x",
                           flags=OVERLAY, stdin=subprocess.PIPE)
    assert eventually(lambda: list((stockade.state() / "held").glob(
        "*/0/upper/one")))
    first.kill()
    first.wait()
    assert "one" not in run(stockade, "ls").ok().out.split()
    assert diff(stockade) == ["A  one"]
