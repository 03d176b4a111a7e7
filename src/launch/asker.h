/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who made a call that waits (notify.h): what its arguments mean to it.
 *
 * Everything comes from its directory in /proc, opened once and then proven to
 * be the caller's.  The functions return 0, or the errno that the call is to
 * fail with.
 */
#ifndef LAUNCH_ASKER_H
#define LAUNCH_ASKER_H

#include <limits.h>

#include "notify.h"

struct asker {
	const struct notify_call *call;	/* borrowed */
	int proc_fd;			/* owned; /proc/PID */
};

must_check int asker_open(int listener_fd, const struct notify_call *call,
			  struct asker *ret);
void asker_close(struct asker *a);
/* The string at that address, with its NUL. */
must_check int asker_string(const struct asker *a, uint64_t address,
			    char ret[PATH_MAX]);
/* What a path that is not absolute starts from (O_PATH), of AT_FDCWD or of one
 * of its descriptors. */
must_check int asker_directory(const struct asker *a, int dirfd, int *ret_fd);
must_check int asker_umask(const struct asker *a, mode_t *ret);
/* The number of its terminal (pts/N), -1 without one. */
must_check int asker_terminal(const struct asker *a, int *ret);

#endif
