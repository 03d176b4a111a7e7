/* SPDX-License-Identifier: Apache-2.0 */
/* A run's own records: that it started, how it ended. */
#ifndef CLI_RUN_RECORD_H
#define CLI_RUN_RECORD_H

#include "run_dir.h"
#include "warden.h"

struct run_record {
	char id[RUN_ID_MAX];
	struct trail trail;
	struct sv kept;		/* borrowed: what it continues, by `keep` */
	uint64_t most;		/* bytes, by `limit record`; 0 without */
	struct buf command;	/* its arguments, as cur_sv() reads them */
};

/* Keeps what will be recorded of the command: without values of secrets, as
 * far as those are known, and people do put tokens on command lines. */
must_check int run_record_command(struct run_record *r,
				  const struct credential_set *secrets,
				  char *const *argv, struct err *e);
/* Gives the run its name, if it has none yet. */
must_check int run_record_name(struct run_record *r, struct err *e);
must_check int run_record_init(struct run_record *r, struct err *e);
void run_record_fini(struct run_record *r);

/* Before the command executes. */
must_check int run_record_start(struct run_record *r, const char *cwd,
				struct err *e);
/* The seal: the last line of a run that was not interrupted, synced.  limit is
 * the one that was reached, or empty. */
must_check int run_record_end(struct run_record *r, const struct warden *w,
			      int status, struct sv limit, struct err *e);
/* The same for a run whose command never executed; best effort. */
void run_record_failed(struct run_record *r, const struct err *why);

#endif
