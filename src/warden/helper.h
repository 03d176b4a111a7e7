/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and ending the helper programs. */
#ifndef WARDEN_HELPER_H
#define WARDEN_HELPER_H

#include <sys/types.h>

#include "channel.h"
#include "child.h"

enum {
#ifdef STOCKADE_SANITIZED
	/* A sanitizer's report has nowhere else to go. */
	HELPER_STDERR = CHILD_SAME,
#else
	HELPER_STDERR = CHILD_NULL,
#endif
};

struct helper {
	enum role role;
	int pid_fd;		/* owned; -1 when not running */
	struct channel channel;	/* to the helper */
	bool ended;		/* it ran, and is gone */
	unsigned unanswered;	/* PINGs since its last sign of life */
	struct err why;		/* it was ended, for this */
};

#define HELPER_NONE(r) ((struct helper){ .role = (r), .pid_fd = -1 })

/*
 * Starts stockade-ROLE from beside this program, else from the installed
 * place, with an empty environment, /dev/null as standard descriptors and the
 * channel as descriptor 3.  The channel's callbacks are set by the caller
 * beforehand.
 */
must_check int helper_start(struct helper *h, struct loop *l, struct err *e);
/* Appends the path of stockade-NAME, with a NUL behind it: beside the program in
 * the build folder, else where it was installed. */
must_check int helper_find(const char *name, struct buf *ret, struct err *e);
/* Is it where helper_start() would find it? */
must_check int helper_check(enum role role, struct err *e);
static inline bool helper_is_running(const struct helper *h)
{
	return h->pid_fd >= 0 && !h->ended;
}
/*
 * Sends m with its descriptors (borrowed).  A helper that cannot take it is
 * killed, and its channel's `closed` is called from the loop, with h->why set:
 * so a fault never comes out of the middle of a decision.
 */
void helper_send(struct helper *h, const struct msg *m);
/* Kills it, for that reason; the rest comes as with helper_send(). */
void helper_kill(struct helper *h, const struct err *why);
/* Has it been ended by a signal, from us or from elsewhere? */
bool helper_was_killed(const struct helper *h);
const char *helper_name(const struct helper *h);
/* Ends it (the channel first, then SIGKILL) and reaps it. */
void helper_stop(struct helper *h);

/* The folder where helpers are looked for that are not beside it. */
const char *helper_installed_dir(void);

#endif
