/* SPDX-License-Identifier: Apache-2.0 */
/* Speaking to stockade-seal, which reads and writes the store: seal_call.h. */
#ifndef WARDEN_SEAL_H
#define WARDEN_SEAL_H

#include <sys/types.h>

#include "buf.h"
#include "seal_call.h"

struct seal {
	int fd;			/* owned; -1: it was not started */
	pid_t pid;
};

#define SEAL_NONE ((struct seal){ .fd = -1 })

struct seal_request {
	enum seal_verb verb;
	struct sv text;
	struct sv value;	/* with SEAL_PUT */
	int fd;			/* borrowed; -1 */
};

must_check int seal_start(struct seal *s, struct err *e);
/* 1: SEAL_OK; 0: SEAL_NO; -1: an error, also its own.  What it says goes to ret,
 * unless that is NULL. */
must_check int seal_ask(struct seal *s, const struct seal_request *r,
			struct buf *ret, struct err *e);
/* Ends it and waits for it; accepts one that was never started. */
void seal_stop(struct seal *s);

#endif
