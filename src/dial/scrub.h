/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks leased values in what comes back from an origin.
 *
 * A value is found raw, percent-encoded, JSON- or HTML-escaped, in hexadecimal,
 * and in base64 of either alphabet at any alignment, also across pieces.  Each
 * occurrence becomes as many '*' as it had bytes, so that lengths and framing
 * stay true.
 */
#ifndef DIAL_SCRUB_H
#define DIAL_SCRUB_H

#include "arena.h"
#include "buf.h"
#include "request.h"

enum {
	/* Of one request, with what its secrets were before and become later. */
	SCRUB_VALUES_MAX = 64,
	SCRUB_VALUE_MIN = 4,	/* shorter ones would mask half the web */
};

struct scrub_pattern;

struct scrub {
	struct scrub_pattern *patterns;	/* owned, wiped */
	size_t n_patterns;
	size_t longest;		/* bytes of the longest spelling */
	uint8_t first[256];	/* may a pattern begin with this byte ... */
	uint64_t pairs[1024];	/* ... or these two, as they lie in memory? */
	struct buf held;	/* what cannot be told yet, wiped */
	size_t masked;		/* of held: belongs to an occurrence already */
	uint64_t hits;
};

/* Copies the values.  ERR_LIMIT for too many, too short or no memory; then
 * nothing needs scrub_fini(). */
must_check int scrub_init(struct scrub *s, const struct sv *values, size_t n,
			  struct err *e);
/* Also this value from now on, unless it is; as scrub_init(), but that s stays as it
 * was. */
must_check int scrub_add(struct scrub *s, struct sv value, struct err *e);
void scrub_fini(struct scrub *s);	/* wipes; accepts a zeroed one */
#define auto_scrub __attribute__((cleanup(scrub_fini)))

/* Each line of values. */
must_check int scrub_add_lines(struct scrub *s, struct sv values,
			       struct err *e);

/* Appends to out what is settled: all but at most longest - 1 bytes. */
must_check int scrub_push(struct scrub *s, struct sv in, struct buf *out,
			  struct err *e);
/* The body is over: appends the rest.  The next push starts anew. */
must_check int scrub_finish(struct scrub *s, struct buf *out, struct err *e);
/* Masks names and values of a head; changed ones are the arena's.  Not to be
 * called in the middle of a body. */
must_check int scrub_fields(struct scrub *s, struct http_fields *f,
			    struct arena *a, struct err *e);

#endif
