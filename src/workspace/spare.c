/* SPDX-License-Identifier: Apache-2.0 */
/* Directories for the next run: see spare.h. */
#include "spare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir.h"
#include "entry.h"
#include "own.h"

#define SPARE ".spare"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

bool spare_take(int store_fd, const char *id)
{
	return renameat2(store_fd, SPARE, store_fd, id, RENAME_NOREPLACE) == 0;
}

/* Has it nothing but these? */
static bool has_only(int dir_fd, const char *one, const char *other)
{
	auto_dir DIR *dir = dir_again(dir_fd);
	const struct dirent *d;

	if (!dir)
		return false;
	while ((d = dir_next(dir)) != NULL)
		if (strcmp(d->d_name, one) != 0 &&
		    strcmp(d->d_name, other) != 0)
			return false;
	return errno == 0;
}

/* Removes the kernel's notes.  What else there is the agent has given to its
 * tree's own directory, and would be given to the next one's. */
static bool clear_attributes(int fd)
{
	const char *note = "user.overlay.";
	char names[1024];
	ssize_t n = flistxattr(fd, names, sizeof names);

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1)
		if (strncmp(names + i, note, strlen(note)) != 0 ||
		    fremovexattr(fd, names + i) < 0)
			return false;
	return n >= 0;
}

/* Neither the flags that it can set, nor the times; of the kernel's directory it
 * sees nothing.  A file system that has no flags has none for both. */
static bool is_like(int upper_fd, int work_fd)
{
	unsigned long upper = 0, work = 0;	/* 32 bits are written */

	(void)ioctl(upper_fd, FS_IOC_GETFLAGS, &upper);
	(void)ioctl(work_fd, FS_IOC_GETFLAGS, &work);
	return upper == work && futimens(upper_fd, NULL) == 0;
}

static bool empty_out(int dir_fd)
{
	auto_dir DIR *dir = dir_again(dir_fd);
	const struct dirent *d;
	struct err ignored;

	if (!dir)
		return false;
	while ((d = dir_next(dir)) != NULL)
		if (entry_remove(dir_fd, d->d_name, &ignored) < 0)
			return false;
	return errno == 0;
}

static bool is_as_new(const struct held *h)
{
	auto_fd int layers_fd = openat(h->fd, "0", DIRECTORY);
	auto_fd int upper_fd = openat(layers_fd, "upper", DIRECTORY);
	auto_fd int work_fd = openat(layers_fd, "work", DIRECTORY);

	return work_fd >= 0 && upper_fd >= 0 && has_only(h->fd, HELD_META, "0") &&
	       has_only(layers_fd, "upper", "work") &&
	       has_only(upper_fd, "", "") && clear_attributes(upper_fd) &&
	       is_like(upper_fd, work_fd) && empty_out(work_fd);
}

bool spare_give(const struct held *h)
{
	/* A name is its user's, and what is under it is looked at by the next. */
	if (held_is_name(h->id) || !is_as_new(h))
		return false;
	/* Without its note it is nobody's. */
	if (unlinkat(h->fd, HELD_META, 0) < 0 && errno != ENOENT)
		return false;
	return renameat2(h->store_fd, h->id, h->store_fd, SPARE,
			 RENAME_NOREPLACE) == 0;
}
