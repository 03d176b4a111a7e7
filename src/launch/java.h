/* SPDX-License-Identifier: Apache-2.0 */
/* Where Java has its roots: no Java reads those of the system. */
#ifndef LAUNCH_JAVA_H
#define LAUNCH_JAVA_H

#include <stdbool.h>
#include <stddef.h>

/* This run's, in any case, for a Java whose own is not found. */
#define JAVA_STORE "/etc/stockade/java.p12"

enum { JAVA_STORES_MAX = 32 };

struct java_stores {
	int fd[JAVA_STORES_MAX];	/* O_PATH, the caller's */
	size_t n;
	bool wanted;	/* a variable of the command names JAVA_STORE */
};

struct init;

/*
 * In the new root: the stores of each distribution and of the packages below
 * /usr/lib/jvm, of JAVA_HOME, and of a Java whose bin is in PATH.
 *
 * Only what the agent cannot write: in a tree of its own it could make a link
 * of that name to what is shown read-only and is to stay as it is.
 */
void java_find(const struct init *in, struct java_stores *stores);

#endif
