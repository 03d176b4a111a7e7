/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a directory: see dir.h. */
#include "dir.h"

#include <errno.h>
#include <fcntl.h>

#include "own.h"

DIR *dir_take(int *fd)
{
	DIR *dir = *fd < 0 ? NULL : fdopendir(*fd);

	if (dir)
		(void)steal_fd(fd);
	return dir;
}

DIR *dir_again(int fd)
{
	auto_fd int again_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY |
				      O_CLOEXEC);

	return dir_take(&again_fd);
}

const struct dirent *dir_next(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && dir_is_dots(entry->d_name));
	return entry;
}
