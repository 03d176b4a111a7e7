/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parent and pid 1 say to each other, over a SEQPACKET socket pair.
 * pid 1 runs no foreign code before it has executed the command, and executes
 * none itself; the agent cannot reach the socket.
 */
#ifndef LAUNCH_CONTROL_H
#define LAUNCH_CONTROL_H

#include <stdint.h>

#include "err.h"
#include "sv.h"

enum control_kind {
	CONTROL_NONE = 0,
	/* to pid 1 */
	CONTROL_MAPPED,		/* your ids are mapped (started by root) */
	CONTROL_TREES,		/* descriptors of the plan, in its order */
	CONTROL_PLAN,		/* the last of them; it is whole: carry it out */
	CONTROL_GO,		/* the certificate's PEM follows the note */
	CONTROL_SIGNAL,		/* value */
	CONTROL_CALL,		/* a TCP socket, please; value is its family */
	CONTROL_ENTER,		/* your namespaces, please */
	/* from pid 1 */
	CONTROL_LAYERS,		/* descriptor: the tmpfs of layers.c */
	CONTROL_NETWORK,	/* descriptors: TCP, DNS */
	CONTROL_PTY,		/* descriptor: the pty's master */
	CONTROL_RUNNING,
	CONTROL_FAILED,		/* err; value is the exit status */
	CONTROL_EXITED,		/* value is the wait status */
	CONTROL_STOPPED,	/* value is the signal */
	CONTROL_SOCKET,		/* for the oldest call: its descriptor, or none */
	CONTROL_REFUSED,	/* a guarded path was not made: "PATH NUL WHY" */
	CONTROL_MADE,		/* one that is the agent's is: "PATH" (leaves.h) */
	CONTROL_LEFT,		/* before EXITED: "PATH NUL PATH ..."; value is
				   how many there are */
	CONTROL_SPACES,		/* descriptors: user, mount, network namespace */
	/* from the sentry (sentry.h), which also says FAILED */
	CONTROL_COVERED,	/* "PATH NUL WHY" */
	CONTROL_GUARDED,	/* likewise */
	CONTROL_UNWATCHED,	/* err: of what it could not look at everything */
};

struct control_note {
	uint32_t kind;		/* enum control_kind */
	int32_t value;
	struct err err;		/* with CONTROL_FAILED */
};

enum { CONTROL_FDS_MAX = 16, CONTROL_TAIL_MAX = 16384 };

must_check int control_send(int fd, const struct control_note *note,
			    struct sv tail, struct err *e);
must_check int control_send_fds(int fd, const struct control_note *note,
				const int *fds, size_t n, struct err *e);

/* What arrived; the descriptors are the caller's. */
struct control_in {
	struct control_note note;
	int fds[CONTROL_FDS_MAX];
	size_t fds_n;
	size_t tail_n;
	char tail[CONTROL_TAIL_MAX];
};
/* 1 when there was one, 0 at the end; with `now`, -1 and EAGAIN in e->code
 * when there is none yet. */
must_check int control_receive(int fd, struct control_in *ret, bool now,
			       struct err *e);

#endif
