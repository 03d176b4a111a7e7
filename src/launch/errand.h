/* SPDX-License-Identifier: Apache-2.0 */
/* A call that waits to be carried out, and what it will be answered with. */
#ifndef LAUNCH_ERRAND_H
#define LAUNCH_ERRAND_H

#include <errno.h>

#include "asker.h"
#include "descent.h"
#include "judge.h"

struct answer {
	int error;		/* 0 or an errno */
	int fd;			/* owned; with it the result is a copy of it */
	bool cloexec;
	bool later;		/* it waits */
};

struct errand {
	struct judge *judge;
	struct openings *openings;
	struct asker asker;
	struct answer answer;
};

/* The path at an argument, down to its last name. */
must_check int errand_find(const struct errand *r, int dirfd,
			   uint64_t address, bool follow,
			   struct descent *ret);
/* The caller's becomes ours. */
must_check int errand_umask(const struct errand *r);

/* For what a call returns. */
static inline int errno_of(int rc)
{
	return rc < 0 ? errno : 0;
}

#endif
