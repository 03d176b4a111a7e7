/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the user speaks to a run that is under way: a socket of the run's name, in
 * the folder `control` of the state directory, which is hidden inside of every
 * run: an agent could be the same user.
 *
 * Only a run that has secrets has one, and only when its command has run for a
 * moment.  A packet is a question of one line, and has one as its answer:
 *
 *	has NAME	is there such a secret?  `ok`, or `error WHY`
 *	revoke NAME	it is not used any more: `ok`, or `error WHY`
 *
 * One visitor at a time, for a second.  The kernel says who it is (SO_PEERCRED):
 * the user who has started the run, in the same user namespace, or root.
 */
#ifndef CLI_RUN_CONTROL_H
#define CLI_RUN_CONTROL_H

#include <sys/un.h>

#include "loop.h"
#include "warden.h"

#define CONTROL_DIR "control"	/* in the state directory */

enum { CONTROL_LINE_MAX = 512 };

struct run_control {
	/* Borrowed, set by the caller. */
	struct loop *loop;
	struct warden *warden;
	const char *run;

	int dir_fd, listen_fd, visitor_fd;	/* owned; -1: there is none */
	struct watch listener, visitor;
	struct timer timer;
};

/* One that is not there. */
static inline struct run_control run_control_none(void)
{
	return (struct run_control){
		.dir_fd = -1, .listen_fd = -1, .visitor_fd = -1,
		.listener = { .fd = -1 }, .visitor = { .fd = -1 },
	};
}

/* The command runs: in a moment there will be one, if it is needed. */
void run_control_begin(struct run_control *c);
/* It is gone.  Accepts one that is not there. */
void run_control_close(struct run_control *c);

/* `stockade secret`: -1, or 0. */
int secret_main(int argc, char **argv, struct err *e);

/* The socket of that run in a folder that is open, as an address. */
must_check int run_control_address(int dir_fd, const char *run,
				   struct sockaddr_un *ret, struct err *e);

#endif
