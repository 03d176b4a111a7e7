/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a body may be sent: pure.
 *
 * warden counts; dial obeys.  A body of unknown length gets its allowance in
 * steps: when less than one message is left of it, more is asked for, and
 * nothing is read from the agent until there is an answer.
 */
#ifndef DIAL_ALLOWANCE_H
#define DIAL_ALLOWANCE_H

#include "err.h"
#include "messages.h"
#include "request.h"

struct allowance {
	uint64_t bytes;		/* of the whole body */
	struct sv limit;	/* whose they are; borrowed */
	bool waits;		/* DRAW is with warden */
	bool is_all;		/* there is no more to be had, or no limit */
};

struct allowance allowance_of(const struct msg_EXCHANGE *m);
struct allowance allowance_of_relay(const struct msg_RELAY *m);
/* n bytes more, where `sent` are gone already? */
bool allowance_covers(const struct allowance *a, uint64_t sent, size_t n);
/* Is DRAW to be sent?  It is asked for once, and then waited for. */
bool allowance_ask(struct allowance *a, uint64_t sent);
/* ERR_PROTO: nobody asked, or it is less than before. */
must_check int allowance_answer(struct allowance *a, uint64_t bytes,
				struct err *e);

#endif
