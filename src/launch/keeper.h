/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper of names: pid 1 carries out every call of the agent that makes one,
 * so that a guarded name that does not exist stays so (creation.h).
 *
 * A call stops in the kernel until it is answered (notify.h).  Whoever would
 * look at its arguments and let it go on could be shown one path and have the
 * kernel read another; so the path is read once, followed by descriptors
 * (descent.h), decided on, and the call is made here, with the caller's umask.
 * pid 1 can stand in for the agent because it is no more than the agent: the
 * same ids, no capability, the same filter, the same Landlock domain.  It is an
 * ancestor of all of them, which is what Yama wants to be shown their memory.
 *
 * It does not block: a FIFO that nobody reads yet is asked again and again.
 */
#ifndef LAUNCH_KEEPER_H
#define LAUNCH_KEEPER_H

#include "plan.h"

struct keeper;

/* Only where the policy lets something be written; plan is borrowed.  Before the
 * command is executed: what can fail fails here. */
must_check int keeper_new(const struct plan *plan, int control_fd,
			  struct keeper **ret, struct err *e);
/* What else pid 1 has to see is looked at in what takes long. */
void keeper_glance(struct keeper *k, void (*glance)(void *of), void *of);
/* The command is executed; its listener is ours now. */
void keeper_listen(struct keeper *k, int listener_fd);
/* For these four k may be NULL, and then there is nothing to do. */
int keeper_listener(const struct keeper *k);	/* -1: none */
/* How long to wait before keeper_retry(), -1 for ever. */
int keeper_timeout_ms(const struct keeper *k);
void keeper_retry(struct keeper *k);
/* Nothing is made any more, and the parent is told what is left (leaves.h). */
void keeper_end(struct keeper *k);
/* One call; when the listener is readable. */
must_check int keeper_serve(struct keeper *k, struct err *e);

#endif
