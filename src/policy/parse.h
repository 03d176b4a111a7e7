/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From text and flags to a policy.
 *
 *	struct policy p = policy_new();
 *	policy_parse(&p, &file, e); policy_flag(&p, "allow", value, &ctx, e); ...
 *	policy_check(&p, e);
 *
 * Each call adds to what is there; the order of the calls makes no difference
 * to the checked policy.  A failure leaves *p fit for policy_free() only.
 */
#ifndef POLICY_PARSE_H
#define POLICY_PARSE_H

#include "policy.h"

/* One text, and what its words are relative to.  Borrowed for the call. */
struct policy_source {
	struct sv name;		/* for messages: "stockade.policy" */
	struct sv text;		/* statements, or the canonical JSON form */
	struct sv base;		/* absolute; relative paths start here */
	struct sv home;		/* absolute, for `~`; may be empty */
	/* The text of a profile; it must live until the next call only. */
	int (*load)(void *ctx, struct sv name, struct sv *ret_text,
		    struct err *e);
	/* What a client ("npm") is configured to use, as statements; for as
	 * long. */
	int (*ask)(void *ctx, struct sv client, struct sv *ret_text,
		   struct err *e);
	void *load_ctx;		/* of both */
	/* The text is a profile's that got an argument, and a `takes` stands
	 * there. */
	bool takes;
	size_t takes_at;
};

static inline struct policy policy_new(void)
{
	return (struct policy){ .arena = arena_new(POLICY_ARENA_MAX) };
}

must_check int policy_parse(struct policy *p, const struct policy_source *s,
			    struct err *e);

/* `--word value`; the text and the name of s are not used. */
must_check int policy_flag(struct policy *p, struct sv word, struct sv value,
			   const struct policy_source *s, struct err *e);

/* Statements that stand for one, whose place is theirs. */
must_check int policy_expand(struct policy *p, const struct policy_source *s,
			     const struct origin *origin, struct err *e);

/*
 * After all sources: sorts, drops duplicates, and refuses what contradicts
 * itself or cannot work.  Only a checked policy may be used.
 */
must_check int policy_check(struct policy *p, struct err *e);

/* The words of the language, for tables of flags; NULL behind the last. */
const char *policy_word(size_t i);
/* What may follow that word, "PATH..."; NULL when this version refuses it. */
const char *policy_form(size_t i);

#endif
