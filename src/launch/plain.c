/* SPDX-License-Identifier: Apache-2.0 */
/* Names for plain files alone: see plain.h. */
#include "plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fold.h"
#include "own.h"

enum { TRIES_MAX = 100 };

static bool is_plain(int rc, const struct stat *st)
{
	return rc == 0 && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode);
}

bool plain_is_reserved(const struct descent *d)
{
	char folded[FOLD_MAX];

	return sv_starts(fold_name(sv_str(d->name), folded), SV(PLAIN_NAME));
}

int plain_link(const struct descent *from, const struct descent *to)
{
	auto_fd int fd = openat(from->dir_fd, from->name,
				O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[32];
	struct stat st;

	if (fd < 0)
		return errno;
	if (!is_plain(fstat(fd, &st), &st))
		return EACCES;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, to->dir_fd, to->name,
		      AT_SYMLINK_FOLLOW) < 0 ? errno : 0;
}

/* Gives it a reserved name beside the new one. */
static int set_aside(const struct descent *from, int dir_fd,
		     char ret[NAME_MAX])
{
	for (int i = 0; i < TRIES_MAX; i++) {
		(void)snprintf(ret, NAME_MAX, PLAIN_NAME "%d", i);
		if (renameat2(from->dir_fd, from->name, dir_fd, ret,
			      RENAME_NOREPLACE) == 0)
			return 0;
		/* Not every file system knows that; the file can be copied. */
		if (errno != EEXIST)
			return errno == EINVAL ? EXDEV : errno;
	}
	return EXDEV;
}

int plain_rename(const struct descent *from, const struct descent *to,
		 unsigned flags)
{
	char name[NAME_MAX];
	struct stat st;
	int error = set_aside(from, to->dir_fd, name);

	if (error)
		return error;
	if (!is_plain(fstatat(to->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW),
		      &st))
		error = EACCES;
	else if (renameat2(to->dir_fd, name, to->dir_fd, to->name, flags) < 0)
		error = errno;
	if (error)
		(void)renameat2(to->dir_fd, name, from->dir_fd, from->name,
				RENAME_NOREPLACE);
	return error;
}
