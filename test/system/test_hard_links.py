# SPDX-License-Identifier: Apache-2.0
"""Names of one file with `workspace overlay`: what the agent has linked is one
file on the host as well, and nothing that is guarded or masked gets a name by
it.  Judged by inode numbers on the host."""
import json
import os
import shutil
import signal
import stat
import subprocess
import time

import pytest

from conftest import as_root, git, needs_overlay
from test_workspace import OVERLAY, STOP, apply, diff, held

pytestmark = needs_overlay
KEEP = ["--keep", "demo"]


def run(stockade, script, *flags):
    """The host is as it was before, link counts and times included."""
    before = snapshot(stockade.cwd)
    result = stockade.sh(script, flags=[*OVERLAY, *flags])
    assert snapshot(stockade.cwd) == before
    return result


def snapshot(top):
    """Everything below, and which names are one file."""
    seen = {}
    for folder, folders, names in os.walk(top):
        for name in folders + names:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            what = st.st_mtime_ns if stat.S_ISLNK(st.st_mode) else None
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    what = st.st_mtime_ns, file.read()
            seen[os.path.relpath(path, top)] = (
                st.st_mode, st.st_ino, st.st_nlink, what)
    return seen


def inode(path):
    return os.lstat(path).st_ino


def links(path):
    return os.lstat(path).st_nlink


@pytest.fixture
def tree(stockade):
    cwd = stockade.cwd
    (cwd / "host").write_text("host\n")
    (cwd / "other").write_text("other\n")
    (cwd / "twin").write_text("host\n")
    (cwd / "dir").mkdir()
    (cwd / "dir" / "one").write_text("1\n")
    (cwd / "dir" / "link").symlink_to("one")
    time.sleep(0.02)    # a coarse clock: what is here is older than the run
    return cwd


def test_new_names_of_one_file(stockade, tree):
    run(stockade, "echo x > a; mkdir d shut; ln a d/c; ln a b; echo x > alone;"
        "echo y > shut/p; ln shut/p q; chmod 640 q; ln -s there s; ln -P s d/s;"
        "chmod 0 shut").ok()
    assert diff(stockade) == [
        "A  a", "A  alone", "A  b  (linked to a)", "A  d/",
        "A  d/c  (linked to a)", "A  d/s", "A  q", "A  s  (linked to d/s)",
        "A  shut/", "A  shut/p  (linked to q)"]
    changes = json.loads(stockade.call("diff", "--json").ok().out)["changes"]
    assert {c["path"]: c["linked"] for c in changes if "linked" in c} == {
        f"{tree}/b": f"{tree}/a", f"{tree}/d/c": f"{tree}/a",
        f"{tree}/s": f"{tree}/d/s", f"{tree}/shut/p": f"{tree}/q"}
    assert "A  b  (linked to a)" in apply(stockade)
    assert inode(tree / "a") == inode(tree / "b") == inode(tree / "d" / "c")
    assert links(tree / "a") == 3 and links(tree / "alone") == 1
    assert inode(tree / "s") == inode(tree / "d" / "s")
    assert os.readlink(tree / "s") == "there"
    (tree / "shut").chmod(0o700)
    assert inode(tree / "q") == inode(tree / "shut" / "p")
    assert stat.S_IMODE((tree / "q").stat().st_mode) == 0o640
    assert held(stockade) == []
    assert not [n for n in os.listdir(tree) if n.startswith(".stockade")]


def test_a_tree_of_links(stockade, tree):
    """`cp -al` of what is new, and of what is the host's."""
    run(stockade, "mkdir -p new/in; echo 1 > new/in/f; echo 2 > new/g;"
        "ln -s g new/l; cp -al new copy; cp -al dir mine").ok()
    apply(stockade)
    for name in ("in/f", "g", "l"):
        assert inode(tree / "new" / name) == inode(tree / "copy" / name)
    for name in ("one", "link"):
        assert inode(tree / "dir" / name) == inode(tree / "mine" / name)
        assert links(tree / "dir" / name) == 2
    assert inode(tree / "copy") != inode(tree / "new")


def test_a_clone_of_the_same_disk(stockade, tree):
    run(stockade, "export HOME=$PWD GIT_CONFIG_COUNT=0; mkdir in; cd in;"
        "git init -q first; cd first; echo 1 > file; git add file;"
        "git -c user.name=a -c user.email=a@b commit -q -m one;"
        "git clone -q --local . ../second; cp -al . ../third").ok()
    apply(stockade, "--guarded")
    objects = [os.path.join(folder, name) for folder, _, names in
               os.walk(tree / "in" / "first" / ".git" / "objects")
               for name in names]
    assert len(objects) == 3
    for path in objects:
        below = os.path.relpath(path, tree / "in" / "first")
        assert inode(path) == inode(tree / "in" / "second" / below), path
        assert links(path) == 3
    for name in ("first", "second", "third"):
        assert "one" in git(tree / "in" / name, "log", "--oneline")
        # What runs something later is no link, whatever it was inside.
        assert links(tree / "in" / name / ".git" / "config") == 1
    assert inode(tree / "in/first/file") == inode(tree / "in/third/file")


def test_a_new_name_of_a_file_of_the_hosts(stockade, tree):
    before = os.stat(tree / "host")
    run(stockade, "ln host new; mkdir d; ln host d/too; cp other copy").ok()
    assert diff(stockade) == ["A  copy", "A  d/", "A  d/too  (linked to host)",
                              "A  new  (linked to host)"]
    apply(stockade)
    now = os.stat(tree / "host")
    assert (now.st_ino, now.st_mtime_ns, now.st_mode, now.st_uid) == (
        before.st_ino, before.st_mtime_ns, before.st_mode, before.st_uid)
    assert inode(tree / "new") == inode(tree / "d" / "too") == now.st_ino
    assert now.st_nlink == 3 and links(tree / "copy") == 1
    assert held(stockade) == []


def test_both_were_changed_after_that(stockade, tree):
    old = inode(tree / "host")
    run(stockade, "ln host new; echo more >> new; chmod 600 host").ok()
    assert diff(stockade) == ["M  host", "A  new  (linked to host)"]
    apply(stockade)
    assert (tree / "host").read_text() == "host\nmore\n"
    assert inode(tree / "host") == inode(tree / "new") != old
    assert links(tree / "new") == 2


def test_one_that_takes_the_place_of_another(stockade, tree):
    """Also of one that had the same contents: it was two files, and is one."""
    run(stockade, "ln -f host other; ln -f host twin; cp dir/one dir/two;"
        "ln -sf x dir/link; rm dir/one; ln dir/two dir/one").ok()
    assert diff(stockade) == ["M  dir/link", "A  dir/two  (linked to dir/one)",
                              "M  other  (linked to host)",
                              "M  twin  (linked to host)"]
    apply(stockade)
    assert inode(tree / "host") == inode(tree / "other") == inode(tree / "twin")
    assert inode(tree / "dir" / "one") == inode(tree / "dir" / "two")
    assert (tree / "other").read_text() == "host\n"
    assert held(stockade) == []


def test_two_of_the_hosts_that_were_made_one_can_stay_two(stockade, tree):
    before = snapshot(tree)
    run(stockade, "ln -f host twin").ok()
    assert diff(stockade) == ["M  twin  (linked to host)"]
    stockade.call("discard", "--", "twin").ok()
    assert snapshot(tree) == before and held(stockade) == []
    # Copied alone they are no change.
    assert "holds" not in run(stockade, "cat host > twin").ok().err


def test_what_is_chosen_alone_is_a_file_of_its_own(stockade, tree):
    run(stockade, "echo x > a; ln a b; ln a c; ln host new; echo y >> host"
        ).ok()
    assert diff(stockade, "--", "b") == ["A  b"]
    assert apply(stockade, "--", "b") == ["A  b"]
    assert links(tree / "b") == 1 and not (tree / "a").exists()
    assert apply(stockade, "--", "new") == ["A  new"]
    assert links(tree / "new") == 1 and links(tree / "host") == 1
    assert (tree / "host").read_text() == "host\n"
    assert (tree / "new").read_text() == "host\ny\n"
    assert diff(stockade) == ["A  a", "A  c  (linked to a)", "M  host"]
    apply(stockade)
    assert inode(tree / "a") == inode(tree / "c") != inode(tree / "b")
    assert (tree / "b").read_text() == (tree / "c").read_text() == "x\n"


def test_what_the_host_changed_meanwhile_is_no_partner(stockade, tree):
    run(stockade, "ln host new; ln other too; echo z >> other; ln twin last"
        ).ok()
    (tree / "host").write_text("the user's\n")
    (tree / "other").write_text("also the user's\n")
    os.utime(tree / "twin")
    lines = apply(stockade, status=1)
    assert lines == ["A  last", "A  new", "A  too",
                     "left as it is on the host:",
                     "M  host  (conflict: changed on the host meanwhile)",
                     "M  other  (conflict: changed on the host meanwhile)"]
    for name in ("host", "new", "other", "too", "twin", "last"):
        assert links(tree / name) == 1, name
    assert (tree / "new").read_text() == "host\n"
    assert (tree / "host").read_text() == "the user's\n"
    assert (tree / "other").read_text() == "also the user's\n"
    assert (tree / "too").read_text() == "other\nz\n"


LIFTED = ["--write", ".vscode", "--write?", ".envrc"]


def test_a_guarded_name_is_never_one_of_others(stockade, tree):
    """Whoever may write the other name would write what runs later."""
    (tree / ".vscode").mkdir()
    (tree / ".vscode" / "tasks.json").write_text("mine\n")
    (tree / ".vscode" / "launch.json").write_text("also mine\n")
    time.sleep(0.02)
    run(stockade, "ln .vscode/tasks.json out; echo x > a; ln a b; ln a .envrc;"
        "ln .vscode/launch.json known; echo y >> known; ln host "
        ".vscode/settings.json", *LIFTED).ok()
    assert diff(stockade) == [
        "A  .envrc  (guarded)", "M  .vscode/launch.json  (guarded)",
        "A  .vscode/settings.json  (guarded)", "A  a", "A  b  (linked to a)",
        "A  known", "A  out"]
    apply(stockade, status=1)
    assert (tree / ".vscode" / "launch.json").read_text() == "also mine\n"
    assert not (tree / ".envrc").exists()
    assert inode(tree / "a") == inode(tree / "b")
    apply(stockade, "--guarded")
    for name in ("tasks.json", "launch.json", "settings.json"):
        assert links(tree / ".vscode" / name) == 1, name
    assert links(tree / ".envrc") == links(tree / "out") == 1
    assert links(tree / "known") == links(tree / "host") == 1
    assert (tree / "out").read_text() == "mine\n"
    with open(tree / "out", "a") as file:
        file.write("evil")
    assert (tree / ".vscode" / "tasks.json").read_text() == "mine\n"


def test_guarded_and_applied_at_once(stockade, tree):
    run(stockade, "echo x > a; ln a .envrc; mkdir -p in/.vscode; ln a c;"
        "ln a in/.vscode/b", "--write?", ".envrc").ok()
    apply(stockade, "--guarded")
    assert links(tree / ".envrc") == links(tree / "in/.vscode/b") == 1
    assert inode(tree / "a") == inode(tree / "c") != inode(tree / ".envrc")


def test_what_is_masked_or_guarded_gets_no_name(stockade, tree):
    (tree / ".env").write_text("CANARY")
    (tree / "secret.pem").write_text("CANARY")
    (tree / "fixed").write_text("fixed\n")
    (tree / ".git" / "hooks").mkdir(parents=True)
    (tree / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    time.sleep(0.02)
    run(stockade, "for n in .env secret.pem fixed .git/hooks/pre-push host;"
        "do ln $n linked-$(basename $n); done; ln host .git/hooks/post-merge;"
        "ln host .envrc; true", "--hide", "**/*.pem", "--guard", "fixed").ok()
    assert diff(stockade) == ["A  linked-host  (linked to host)"]
    apply(stockade)
    for name in (".env", "secret.pem", "fixed", ".git/hooks/pre-push"):
        assert links(tree / name) == 1
    assert links(tree / "host") == 2


def test_a_file_with_names_that_nobody_knows_is_copied(stockade, tree):
    """One of them may be guarded, or lie elsewhere."""
    elsewhere = stockade.base / "elsewhere"
    os.link(tree / "host", elsewhere)
    os.link(tree / "other", tree / "same")
    time.sleep(0.02)
    run(stockade, "ln host new; ln other more; ln twin third").ok()
    assert diff(stockade) == ["A  more", "A  new", "A  third  (linked to twin)"]
    apply(stockade)
    assert links(elsewhere) == 2 and links(tree / "other") == 2
    assert links(tree / "new") == links(tree / "more") == 1
    assert inode(tree / "third") == inode(tree / "twin")


def test_a_name_that_was_linked_after_the_run(stockade, tree):
    run(stockade, "ln host new").ok()
    os.link(tree / "host", stockade.base / "elsewhere")
    assert apply(stockade) == ["A  new"]
    assert links(tree / "host") == 2 and links(tree / "new") == 1


def test_what_gives_rights_gets_no_name(stockade, tree):
    (tree / "host").chmod(0o4755)
    (tree / "other").chmod(0o2755)
    (tree / "twin").chmod(0o755)
    time.sleep(0.02)
    run(stockade, "ln host new; ln other more; ln twin third").ok()
    apply(stockade)
    assert links(tree / "host") == links(tree / "other") == 1
    assert stat.S_IMODE((tree / "new").stat().st_mode) == 0o755
    assert links(tree / "twin") == 2


@as_root
def test_capabilities_of_files_get_no_name(stockade, tree):
    value = bytes.fromhex("0100000200040000000000000000000000000000")
    os.setxattr(tree / "host", "security.capability", value)
    time.sleep(0.02)
    run(stockade, "ln host new; ln twin third").ok()
    apply(stockade)
    assert links(tree / "host") == 1 and links(tree / "twin") == 2
    assert "security.capability" not in os.listxattr(tree / "new")


@as_root
def test_the_owner_is_whose_the_file_is(stockade, tree):
    for path in (tree, tree / "host", tree / "dir"):
        os.chown(path, 1234, 1234)
    time.sleep(0.02)
    run(stockade, "ln host new; echo x > a; ln a dir/b").ok()
    apply(stockade)
    assert inode(tree / "host") == inode(tree / "new")
    assert inode(tree / "a") == inode(tree / "dir" / "b")
    assert os.stat(tree / "a").st_uid == os.stat(tree / "new").st_uid == 1234


def test_a_kept_sandbox_goes_on_with_them(stockade, tree):
    """A new name changes the host's file's ctime: that is no conflict."""
    run(stockade, "ln host new; echo x > a; ln a b; echo rest > rest",
        *KEEP).ok()
    apply(stockade, "demo", "--", "new", "a", "b")
    assert links(tree / "host") == links(tree / "a") == 2
    time.sleep(0.02)
    run(stockade, "echo 1 >> host; echo 2 >> b; ln a c", *KEEP).ok()
    assert diff(stockade) == ["M  b", "A  c", "M  host", "A  rest"]
    apply(stockade, "demo")
    assert (tree / "host").read_text() == "host\n1\n"
    assert (tree / "new").read_text() == "host\n"
    assert (tree / "a").read_text() == (tree / "c").read_text() == "x\n"


def test_links_of_the_hosts_stay_where_nothing_is_written(stockade, tree):
    os.link(tree / "host", tree / "same")
    time.sleep(0.02)
    run(stockade, "cat host same > both; chmod 600 other").ok()
    apply(stockade)
    assert inode(tree / "host") == inode(tree / "same")


@pytest.mark.skipif(shutil.which("strace") is None,
                    reason="strace is not installed")
@pytest.mark.parametrize("error", ["EXDEV", "EMLINK"])
def test_what_the_file_system_cannot_link_is_copied(stockade, tree, error):
    run(stockade, "echo x > a; ln a b; ln a c; ln host new; ln host d").ok()
    log = stockade.base / "strace"
    subprocess.run(["strace", "-f", "-qq", "-o", str(log), "-e",
                    "trace=linkat", "-e", f"inject=linkat:error={error}:when=2",
                    stockade.argv("true")[0], "apply"], cwd=tree,
                   env=stockade.env, check=True, stdin=subprocess.DEVNULL,
                   capture_output=True)
    assert "(INJECTED)" in log.read_text()
    assert links(tree / "a") == 2 and links(tree / "host") == 3 or (
        links(tree / "a") == 3 and links(tree / "host") == 2)
    for name in ("a", "b", "c"):
        assert (tree / name).read_text() == "x\n"
    for name in ("host", "new", "d"):
        assert (tree / name).read_text() == "host\n"
    assert held(stockade) == []


BUSY = ("mkdir -p made/in; echo x > made/in/f; ln made/in/f a; ln a z;"
        "ln host new; ln host made/host; ln -f host twin; echo 2 >> other;"
        "ln other dir/other; rm dir/one; chmod 500 made/in")


def is_done(tree):
    if not (tree / "a").exists():
        return False
    names = [inode(tree / name) for name in ("made/in/f", "a", "z")]
    hosts = [inode(tree / name) for name in ("new", "made/host", "twin")]
    return (len(set(names)) == 1 and set(hosts) == {inode(tree / "host")}
            and links(tree / "host") == 4 and links(tree / "a") == 3
            and inode(tree / "other") == inode(tree / "dir" / "other")
            and links(tree / "other") == 2
            and (tree / "other").read_text() == "other\n2\n"
            and (tree / "host").read_text() == "host\n"
            and not (tree / "dir" / "one").exists())


def stop(stockade, run_id, how, step):
    return subprocess.run([STOP, str(stockade.state() / "held"), run_id, how,
                           str(step)], stderr=subprocess.PIPE, text=True)


def test_an_apply_with_links_killed_anywhere(stockade, tree):
    """All or nothing; undone, it can be tried again, and is no conflict."""
    run(stockade, BUSY).ok()
    run_id, before, step, undone = held(stockade)[0], snapshot(tree), 0, 0
    lines = diff(stockade)
    pristine = stockade.base / "pristine"
    store = stockade.state() / "held" / run_id
    subprocess.run(["cp", "-a", store, pristine], check=True)
    while True:
        step += 1
        child = stop(stockade, run_id, "kill", step)
        assert child.returncode == -signal.SIGKILL and step < 100, child.stderr
        stockade.call("runs").ok()
        assert not [n for n in os.listdir(tree) if n.startswith(".stockade")]
        if is_done(tree):
            break
        undone += 1
        assert snapshot(tree) == before, step
        assert diff(stockade) == lines, step
    assert undone > 10
    while child.returncode:
        assert is_done(tree), step
        restore(tree, store, pristine)
        step += 1
        child = stop(stockade, run_id, "kill", step)
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        stockade.call("runs").ok()
        assert not [n for n in os.listdir(tree) if n.startswith(".stockade")]
    assert is_done(tree) and step > undone + 15


def restore(tree, store, pristine):
    """As it was before the apply.  The host's files are made anew, so the run
    has to begin later."""
    subprocess.run(["chmod", "-R", "u+rwx", tree / "made", store], check=True)
    subprocess.run("rm -rf made a z new host twin other dir/other",
                   shell=True, cwd=tree, check=True)
    for name, text in (("host", "host\n"), ("twin", "host\n"),
                       ("other", "other\n"), ("dir/one", "1\n")):
        (tree / name).write_text(text)
    subprocess.run(["rm", "-rf", store], check=True)
    subprocess.run(["cp", "-a", pristine, store], check=True)
    time.sleep(0.02)
    meta, now = bytearray((store / "meta").read_bytes()), time.time_ns()
    meta[4:16] = (now // 10**9).to_bytes(8, "little") + (
        now % 10**9).to_bytes(4, "little")
    (store / "meta").write_bytes(meta)
def test_an_apply_with_links_that_fails_anywhere(stockade, tree):
    run(stockade, BUSY).ok()
    run_id, before = held(stockade)[0], snapshot(tree)
    lines = diff(stockade)
    for step in range(1, 100):
        assert stop(stockade, run_id, "fail", step).returncode == 1
        if snapshot(tree) != before:
            break       # a failure to clear away is not one to apply
        assert diff(stockade) == lines, step
    assert step > 20
    stockade.call("runs").ok()
    assert is_done(tree) and diff(stockade) == []
