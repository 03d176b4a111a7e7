/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a directory: see dir.h. */
#include "dir.h"

#include <errno.h>
#include <stdbool.h>

#include "own.h"

DIR *dir_take(int *fd)
{
	DIR *dir = *fd < 0 ? NULL : fdopendir(*fd);

	if (dir)
		(void)steal_fd(fd);
	return dir;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' &&
	       (!name[1] || (name[1] == '.' && !name[2]));
}

const struct dirent *dir_next(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && is_dots(entry->d_name));
	return entry;
}
