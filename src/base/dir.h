/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a directory. */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include <dirent.h>
#include <stdbool.h>

/* A stream of the directory *fd, which it takes: *fd becomes -1.  NULL and errno
 * when there is no memory; also, with errno as it is, when *fd is negative, so
 * that one check does for this and the openat() before it. */
DIR *dir_take(int *fd);
/* Another one of the directory fd, from its beginning, whatever was read of it;
 * NULL and errno. */
DIR *dir_again(int fd);

static inline bool dir_is_dots(const char *name)
{
	return name[0] == '.' &&
	       (!name[1] || (name[1] == '.' && !name[2]));
}

/* The next entry that is neither "." nor "..".  NULL at the end, with errno 0,
 * and when it cannot be read, with errno. */
const struct dirent *dir_next(DIR *dir);

#endif
