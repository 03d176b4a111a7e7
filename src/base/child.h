/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is started beside us: a helper, a command of the policy's, a
 * client that is asked.
 *
 * It has the descriptors that are named here and no others, and takes signals
 * although ours are blocked for a signalfd.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

enum { CHILD_FDS = 4, CHILD_NULL = -1, CHILD_SAME = -2 };

struct child {
	const char *path;
	char *const *argv, *const *envp;
	const char *cwd;	/* NULL: ours */
	/* Its 0, 1, ...: a descriptor of ours that is above them, or itself,
	 * /dev/null, or what we have there. */
	int fds[CHILD_FDS];
	unsigned fds_n;
	bool own_group;		/* no Ctrl-C of the terminal's reaches it */
	bool default_signals;	/* also those that we ignore */
};

/* 0 with the process in *ret, or an errno. */
int child_start(const struct child *c, pid_t *ret);

#endif
