# SPDX-License-Identifier: Apache-2.0
"""Every way to make a name, and what comes of it: run natively and inside, the
lines that it prints must be the same.  Standard library only."""
import ctypes
import errno
import os
import resource
import stat
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100


def tell(what, function, *arguments, **more):
    try:
        result = function(*arguments, **more)
    except OSError as e:
        result = errno.errorcode[e.errno]
    print(what, "->", result)
    return result


def opened(path, flags, mode=0o666, **more):
    fd = os.open(path, flags, mode, **more)
    st, now = os.fstat(fd), os.get_inheritable(fd)
    os.close(fd)
    return f"{stat.filemode(st.st_mode)} {st.st_size} {now}"


def raw(call, *arguments):
    if getattr(libc, call)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
    return "done"


def read(path):
    with open(path) as text:
        return text.read()


def files():
    new = os.O_CREAT | os.O_WRONLY
    tell("new", opened, "a", new)
    tell("there", opened, "a", new)
    tell("exclusive", opened, "a", new | os.O_EXCL)
    tell("exclusive, new", opened, "b", new | os.O_EXCL, 0o600)
    tell("directory", opened, "d", new)
    tell("directory to read", opened, "d", os.O_CREAT)
    tell("slash", opened, "c/", new)
    tell("dot", opened, "d/.", new)
    tell("up", opened, "d/../e", new)
    tell("below a file", opened, "a/x", new)
    tell("nowhere", opened, "no/x", new)
    tell("empty", opened, "", new)
    tell("long name", opened, "n" * 256, new)
    tell("longest name", opened, "n" * 255, new)
    tell("long path", opened, "d/" * 2100 + "x", new)
    tell("not inherited", opened, "f", new | os.O_CLOEXEC)
    tell("directory flag", opened, "g", new | os.O_DIRECTORY)
    with open("a", "w") as out:
        out.write("text")
    tell("append", opened, "a", new | os.O_APPEND)
    tell("truncate", opened, "a", new | os.O_TRUNC)
    tell("path", opened, "a", os.O_PATH | os.O_CREAT)
    tell("path, absent", opened, "h", os.O_PATH | os.O_CREAT)
    os.chmod("b", 0o400)
    tell("read-only file", opened, "b", new)
    os.umask(0o077)
    tell("umask", opened, "u", new)
    os.umask(0o022)
    tell("absolute", opened, os.path.abspath("abs"), new)
    tell("proc", opened, "/proc/x", new)
    tell("null", opened, "/dev/null", new | os.O_TRUNC)
    tell("creat", raw, "creat", b"creat", 0o640)
    print(stat.filemode(os.stat("creat").st_mode))


def links():
    new = os.O_CREAT | os.O_WRONLY
    os.symlink("target", "dangling")
    tell("through a link", opened, "dangling", new)
    tell("made there", os.path.exists, "target")
    tell("link, not followed", opened, "dangling", new | os.O_NOFOLLOW)
    tell("link, exclusive", opened, "dangling", new | os.O_EXCL)
    os.symlink("loop", "loop")
    tell("loop", opened, "loop", new)
    tell("loop on the way", opened, "loop/x", new)
    os.symlink("d", "ld")
    tell("by a link to a directory", opened, "ld/y", new)
    os.symlink(os.path.abspath("d"), "labs")
    tell("by an absolute one", opened, "labs/z", new)
    os.symlink("ld", "lld")
    tell("by two", opened, "lld/zz", new)
    os.symlink("a", "la")
    tell("by one to a file", opened, "la/x", new)
    tell("slash behind one", opened, "dangling/", new)
    tell("symlink exists", os.symlink, "x", "la")
    tell("symlink, empty", os.symlink, "", "empty")
    tell("symlink, nowhere", os.symlink, "x", "no/x")
    tell("hard link", os.link, "a", "hard")
    print(os.stat("a").st_nlink)
    tell("hard link exists", os.link, "a", "hard")
    tell("hard link to a link", os.link, "la", "hl", follow_symlinks=False)
    print(os.path.islink("hl"))
    tell("hard link through one", os.link, "la", "hl2", follow_symlinks=True)
    print(os.path.islink("hl2"))
    tell("hard link to a directory", os.link, "d", "hd")
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o600)
    tell("of a file without a name", raw, "linkat", AT_FDCWD,
         f"/proc/self/fd/{fd}".encode(), AT_FDCWD, b"tmp", 0x400)
    print(stat.filemode(os.stat("tmp").st_mode))
    os.close(fd)


def directories():
    tell("mkdir", os.mkdir, "m")
    tell("mkdir exists", os.mkdir, "m")
    tell("mkdir slash", os.mkdir, "m2/")
    tell("mkdir dot", os.mkdir, "m/.")
    tell("mkdir root", os.mkdir, "/")
    tell("mkdir mode", os.mkdir, "m3", 0o750)
    print(stat.filemode(os.stat("m3").st_mode))
    tell("fifo", os.mkfifo, "fifo", 0o600)
    tell("regular by mknod", os.mknod, "node", 0o644 | stat.S_IFREG)
    tell("rename", os.rename, "m2", "m4")
    tell("rename over", os.replace, "u", "f")
    tell("rename onto a full directory", os.rename, "m4", "d")
    tell("rename a file onto a directory", os.rename, "f", "m4")
    tell("rename nothing", os.rename, "nothing", "x")
    tell("rename below itself", os.rename, "m", "m/x")
    tell("rename dot", os.rename, "m/.", "x")
    tell("exchange", raw, "renameat2", AT_FDCWD, b"m3", AT_FDCWD, b"f", 2)
    print(os.path.isdir("f"), os.path.isfile("m3"))
    tell("no replace", raw, "renameat2", AT_FDCWD, b"m3", AT_FDCWD, b"a", 1)
    tell("unknown flag", raw, "renameat2", AT_FDCWD, b"m3", AT_FDCWD, b"a", 64)
    fd = os.open("d", os.O_RDONLY)
    tell("by a descriptor", opened, "byfd", os.O_CREAT | os.O_WRONLY,
         dir_fd=fd)
    tell("mkdir by one", os.mkdir, "byfd2", dir_fd=fd)
    tell("by one that is a file", opened, "x", os.O_CREAT | os.O_WRONLY,
         dir_fd=os.open("a", os.O_RDONLY))
    tell("by none", raw, "mkdirat", 999, b"x", 0o755)
    tell("by none, absolute", raw, "mkdirat", 999,
         os.path.abspath("m9").encode(), 0o755)
    tell("by proc", opened, f"/proc/self/fd/{fd}/p", os.O_CREAT | os.O_WRONLY)
    tell("by the working directory", opened, "/proc/self/cwd/pc",
         os.O_CREAT | os.O_WRONLY)
    tell("of this thread", opened, "/proc/thread-self/cwd/pt",
         os.O_CREAT | os.O_WRONLY)
    print(sorted(os.listdir("d")), sorted(os.listdir(".")))


def memory():
    tell("bad address", raw, "mkdir", ctypes.c_void_p(8), 0o755)
    tell("bad address, open", raw, "open", ctypes.c_void_p(0),
         os.O_CREAT | os.O_WRONLY, 0o600)
    page = ctypes.create_string_buffer(3 * 4096)
    start = (ctypes.addressof(page) + 4095) & ~4095
    ctypes.memmove(start + 4090, b"across-a-page\0", 14)
    tell("across a page", raw, "mkdir", ctypes.c_void_p(start + 4090), 0o755)
    print(os.path.isdir("across-a-page"))


def open_files():
    r, w = os.pipe()
    out = os.open(f"/dev/fd/{w}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.write(out, b"through a pipe")
    print(os.read(r, 100))
    got = []
    writer = threading.Thread(target=lambda: got.append(
        os.open("fifo", os.O_CREAT | os.O_WRONLY)))
    writer.start()
    time.sleep(0.15)
    print("the writer waits:", not got)
    reader = os.open("fifo", os.O_RDONLY)
    writer.join()
    os.write(got[0], b"through a fifo")
    print(os.read(reader, 100))
    os.close(got[0])
    os.close(reader)
    tell("nobody reads", opened, "fifo",
         os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK)
    tell("both ways", opened, "fifo", os.O_CREAT | os.O_RDWR)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    last = os.open("a", os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (last + 1, hard))
    tell("no more descriptors", opened, "many", os.O_CREAT | os.O_WRONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # The one difference: inside the file is made before that is known.
    if os.path.exists("many"):
        os.unlink("many")


def threads():
    def make(prefix):
        for i in range(50):
            with open(f"t/{prefix}-{i}", "w") as out:
                out.write("x")
            os.rename(f"t/{prefix}-{i}", f"t/{prefix}-{i}.done")

    os.mkdir("t")
    all_of_them = [threading.Thread(target=make, args=(n,)) for n in range(6)]
    for one in all_of_them:
        one.start()
    for one in all_of_them:
        one.join()
    print(len(os.listdir("t")))


os.umask(0o022)
os.mkdir("d")
for part in (files, links, directories, memory, open_files, threads):
    print("==", part.__name__)
    part()
sys.stdout.flush()
