/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing a cache, whose content the agent has arranged.
 *
 * No link is followed, and no name leads anywhere but one step below an open
 * directory.  However deep it is, two directories are open at a time and
 * nothing recurses: a directory that is not empty gives its own directories to
 * the top, where their turn comes.
 */
#include "cache_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own.h"

/* Names at the top that nothing else has: the agent never sees the top. */
#define MOVED ".gone-"

/* Its owner may have taken the rights from himself. */
static int open_dir(int at_fd, const char *name, struct err *e)
{
	auto_fd int path_fd = openat(at_fd, name, O_PATH | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
	char link[64];
	int fd;

	if (path_fd < 0)
		return err_sys(e, "open %.100s", name);
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", path_fd);
	if (chmod(link, 0700) < 0)
		return err_sys(e, "set the mode of %.100s", name);
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open %.100s", name) : fd;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Of what is below: files go, directories move to the top. */
static int empty_entry(int dir_fd, const char *name, int top_fd,
		       uint64_t *moved, struct err *e)
{
	char to[48];
	auto_fd int fd = -1;

	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return err_sys(e, "remove %.100s", name);
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	/* To move a directory is to write to it: its "..". */
	fd = open_dir(dir_fd, name, e);
	if (fd < 0)
		return -1;
	/* A removal that was interrupted has left such names. */
	do {
		(void)snprintf(to, sizeof to, MOVED "%" PRIu64, ++*moved);
		if (renameat(dir_fd, name, top_fd, to) == 0)
			return 0;
	} while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
	return err_sys(e, "move %.100s", name);
}

static int empty_dir(int fd, int top_fd, uint64_t *moved, struct err *e)
{
	auto_dir DIR *dir = fdopendir(dup(fd));
	const struct dirent *entry;

	if (!dir)
		return err_sys(e, "read a directory");
	rewinddir(dir);
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0)
		if (!is_dots(entry->d_name) &&
		    empty_entry(fd, entry->d_name, top_fd, moved, e) < 0)
			return -1;
	return errno ? err_sys(e, "read a directory") : 0;
}

/* One entry of the top: a file, or a directory with what is in it. */
static int remove_entry(int top_fd, const char *name, uint64_t *moved,
			struct err *e)
{
	auto_fd int fd = -1;

	if (unlinkat(top_fd, name, 0) == 0 || errno == ENOENT ||
	    unlinkat(top_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	fd = open_dir(top_fd, name, e);
	if (fd < 0 || empty_dir(fd, top_fd, moved, e) < 0)
		return -1;
	if (unlinkat(top_fd, name, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove %.100s", name);
	return 0;
}

/* Until a whole pass finds nothing: what is moved to the top comes later. */
static int remove_all(int top_fd, struct err *e)
{
	uint64_t moved = 0;
	bool found;

	do {
		auto_dir DIR *dir = fdopendir(dup(top_fd));
		const struct dirent *entry;

		if (!dir)
			return err_sys(e, "read the cache");
		rewinddir(dir);
		found = false;
		while ((entry = readdir(dir)) != NULL) {
			if (is_dots(entry->d_name))
				continue;
			found = true;
			if (remove_entry(top_fd, entry->d_name, &moved, e) < 0)
				return -1;
		}
	} while (found);
	return 0;
}

int cache_remove(int store_fd, const char *key, struct err *e)
{
	auto_fd int fd = openat(store_fd, key, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_kind(e, ERR_POLICY, "there is no cache %.40s; "
				"`stockade caches` lists them", key);
	if (fd < 0)
		return err_sys(e, "open the cache %.40s", key);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ?
			err_kind(e, ERR_DENIED, "the cache %.40s is in use by "
				 "a run", key) :
			err_sys(e, "lock the cache %.40s", key);
	if (remove_all(fd, e) < 0)
		return err_ctx(e, "the cache %.40s", key);
	if (unlinkat(store_fd, key, AT_REMOVEDIR) < 0)
		return err_sys(e, "remove the cache %.40s", key);
	return 0;
}
