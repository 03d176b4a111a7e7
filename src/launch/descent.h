/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following a path for somebody else, to the directory of its last name.
 *
 * The kernel would follow it for pid 1, to whom /proc/self is another process
 * and who is in /proc, where the agent does not see it.  So it is followed here,
 * name by name, each opened without following links; from the end on there is a
 * directory and a name, and nobody's memory is read again.  A path that led the
 * kernel to a directory of that very name, not in /proc, is as good at once.
 */
#ifndef LAUNCH_DESCENT_H
#define LAUNCH_DESCENT_H

#include <sys/stat.h>

#include "asker.h"

struct descent {
	int dir_fd;		/* owned; O_PATH */
	bool magic;		/* name is one of /proc's links to a file that is
				   open: to be followed by the kernel only */
	bool slash;		/* there was one behind the name */
	char name[NAME_MAX + 2];	/* with the slash; may be "." or ".." */
	bool there;		/* something has the name; then */
	struct stat st;		/* of that, not of what it leads to */
};

/* 0 or an errno.  follow: a link that has the last name is followed as well,
 * unless it is magic. */
must_check int descent_make(const struct asker *a, int dirfd, const char *path,
			    bool follow, struct descent *ret);
/* Where the directory is: absolute and canonical.  0 or an errno. */
must_check int descent_directory(const struct descent *d, char ret[PATH_MAX]);
/* Whether it is in a /proc. */
bool descent_is_proc(int fd);
/* /dev/tty: another file for each who opens it. */
bool descent_is_tty(const struct stat *st);

void descent_close(struct descent *d);
#define auto_descent __attribute__((cleanup(descent_close)))

#endif
