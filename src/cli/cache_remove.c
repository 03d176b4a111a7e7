/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removing a cache, whose content the agent has arranged (entry_remove()).  Its
 * own directory goes last, so that one of which the removal was interrupted is
 * still listed, and is removed by the next.
 */
#include "cache_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "dir.h"
#include "entry.h"
#include "own.h"

static int remove_all(int top_fd, struct err *e)
{
	auto_dir DIR *dir = fdopendir(dup(top_fd));
	const struct dirent *entry;

	if (!dir)
		return err_sys(e, "read the cache");
	while ((entry = dir_next(dir)) != NULL)
		if (entry_remove(top_fd, entry->d_name, e) < 0)
			return -1;
	return errno ? err_sys(e, "read the cache") : 0;
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
