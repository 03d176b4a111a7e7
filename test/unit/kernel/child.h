/* SPDX-License-Identifier: Apache-2.0 */
/* Tests in a process of their own: what they change ends with it. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdbool.h>

#include "err.h"

enum { CHILD_OK = 0, CHILD_FAILED = 1, CHILD_KILLED = -1 };

/* Runs body in a fork; its return value, or CHILD_KILLED by SIGSYS. */
int child_run(int (*body)(void));

/* Into a user namespace as its root, with the namespaces of flags; 0 or -1. */
int child_enter(int flags);

/* Root with ids to give away, not the only id of a user namespace. */
bool child_is_root(void);

/* rm -rf */
void child_remove_tree(const char *path);

/* In a child: fails the test with the place and the message. */
#define NEED(condition)                                                    \
	do {                                                               \
		if (!(condition)) {                                        \
			child_complain(__FILE__, __LINE__, #condition);    \
			return CHILD_FAILED;                               \
		}                                                          \
	} while (0)
void child_complain(const char *file, int line, const char *text);

/* The last error of a call, shown by NEED(). */
extern struct err child_err;

#endif
