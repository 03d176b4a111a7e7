/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a run's audit trail: one JSON object a line, chained by hashes.
 *
 * A record is in the kernel's hands (write(2) returned) before the action that
 * it speaks of is taken; a caller that cannot record does not act.  Each line
 * ends in "hash": the SHA-256 of the previous line's hash (64 zeros before the
 * first) and of the line up to there.  docs/audit-format.md has the fields.
 *
 * A trail has a limit, as much of it is what the agent makes happen.  Beyond it
 * nothing is recorded but how things ended, in a reserve that is kept for that.
 */
#ifndef AUDIT_TRAIL_H
#define AUDIT_TRAIL_H

#include "err.h"
#include "json.h"

enum {
	AUDIT_HASH_HEX = 64, AUDIT_LINE_MAX = 262144,
	/* Bytes: without `limit record`, and the most that it may say. */
	AUDIT_SIZE = 256 << 20, AUDIT_SIZE_MOST = 1 << 30,
	AUDIT_RESERVE = 16 << 20,
	/* With what became of a run's changes.  It is read as a whole. */
	AUDIT_TRAIL_MAX = AUDIT_SIZE_MOST + 4 * AUDIT_RESERVE,
};

struct trail {
	int fd;			/* owned; -1 when closed */
	uint64_t sequence;	/* of the next record, from 1 */
	char hash[AUDIT_HASH_HEX];
	uint64_t size, most;	/* bytes: written, and its limit */
	struct buf line;
	struct json json;
	bool is_last;		/* the record that was begun may use the reserve */
	bool worth_syncing;	/* something was decided */
};

/* On an empty file that is open for appending; takes the descriptor. */
void trail_open(struct trail *t, int fd);
void trail_close(struct trail *t);

/*
 * trail_begin() starts a record and returns the writer for its own members;
 * trail_commit() chains and writes it.  Nothing else may be between them.
 * trail_begin_last() is for how something ended that is on record: of that there
 * can be no more than what was recorded before.
 */
struct json *trail_begin(struct trail *t, const char *event);
struct json *trail_begin_last(struct trail *t, const char *event);
must_check int trail_commit(struct trail *t, struct err *e);

/* fdatasync, when anything was decided in this run. */
must_check int trail_sync(struct trail *t, struct err *e);

/* The chain's step, shared with verification: hash of hash and body. */
void trail_chain(const char hash[AUDIT_HASH_HEX], struct sv body,
		 char ret[AUDIT_HASH_HEX]);

#endif
