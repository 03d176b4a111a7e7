/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts at files. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_read(char **args)
{
	char byte;
	int fd = open(args[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	/* A directory opens too: that is reading enough. */
	if (read(fd, &byte, 1) < 0 && errno != EISDIR && errno != EAGAIN)
		return -errno;
	return 0;
}

/* Without changing anything. */
static int open_write(char **args)
{
	return probe_result(open(args[0], O_WRONLY | O_CLOEXEC | O_NONBLOCK));
}

static int append(char **args)
{
	int fd = open(args[0], O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : probe_result(write(fd, "probe\n", 6));
}

static int create(char **args)
{
	return probe_result(open(args[0], O_WRONLY | O_CREAT | O_EXCL |
				 O_CLOEXEC, 0600));
}

static int look(char **args)
{
	struct stat st;

	return probe_result(lstat(args[0], &st));
}

static int list(char **args)
{
	DIR *d = opendir(args[0]);

	if (!d)
		return -errno;
	errno = 0;
	return readdir(d) || errno == 0 ? 0 : -errno;
}

static int execute(char **args)
{
	execl(args[0], args[0], (char *)NULL);
	return -errno;
}

static int truncate_it(char **args)
{
	return probe_result(truncate(args[0], 0));
}

static int remove_file(char **args)
{
	return probe_result(unlink(args[0]));
}

static int make_dir(char **args)
{
	return probe_result(mkdir(args[0], 0700));
}

static int remove_dir(char **args)
{
	return probe_result(rmdir(args[0]));
}

static int change_mode(char **args)
{
	return probe_result(chmod(args[0], 0777));
}

static int set_attribute(char **args)
{
	return probe_result(setxattr(args[0], "user.probe", "x", 1, 0));
}

static int rename_it(char **args)
{
	return probe_result(rename(args[0], args[1]));
}

static int exchange(char **args)
{
	return probe_result(renameat2(AT_FDCWD, args[0], AT_FDCWD, args[1],
				      RENAME_EXCHANGE));
}

static int link_it(char **args)
{
	return probe_result(link(args[0], args[1]));
}

static int symlink_it(char **args)
{
	return probe_result(symlink(args[0], args[1]));
}

static int make_device(char **args)
{
	return probe_result(mknod(args[0], S_IFCHR | 0666, makedev(1, 3)));
}

static int make_fifo(char **args)
{
	return probe_result(mkfifo(args[0], 0600));
}

/* Descriptor N again, for writing: what was passed for reading must stay so. */
static int reopen_write(char **args)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%.20s", args[0]);
	return probe_result(open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK));
}

const struct probe_verb probe_files[] = {
	{ "open-read", 1, open_read },	 { "open-write", 1, open_write },
	{ "append", 1, append },	 { "create", 1, create },
	{ "stat", 1, look },		 { "list", 1, list },
	{ "exec", 1, execute },		 { "truncate", 1, truncate_it },
	{ "unlink", 1, remove_file },	 { "mkdir", 1, make_dir },
	{ "rmdir", 1, remove_dir },	 { "chmod", 1, change_mode },
	{ "setxattr", 1, set_attribute }, { "rename", 2, rename_it },
	{ "exchange", 2, exchange },	 { "link", 2, link_it },
	{ "symlink", 2, symlink_it },	 { "mknod", 1, make_device },
	{ "mkfifo", 1, make_fifo },	 { "reopen-write", 1, reopen_write },
	{ 0 },
};
