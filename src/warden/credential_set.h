/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's secrets as warden knows them: names, placeholders, and where
 * the values come from.  Values themselves only pass through here once, from
 * the environment into a pipe; files and commands are read by vault alone.
 */
#ifndef WARDEN_CREDENTIAL_SET_H
#define WARDEN_CREDENTIAL_SET_H

#include <sys/types.h>

#include "head.h"
#include "match.h"
#include "placeholder.h"
#include "policy.h"
#include "seal.h"

struct renewal;

struct credential {
	const struct secret_rule *rule;		/* borrowed from the policy */
	struct placeholder placeholder;
	int source_fd;		/* owned until vault has it; -1 */
	pid_t command_pid;	/* of a `from command`; 0 */
	bool absent;		/* optional, and its source is not there */
	uint64_t used;		/* requests that were allowed with it */
	bool has_ended;		/* its `until` has come */
	bool is_revoked;
	/* Of the value that requests carry that are decided now. */
	uint32_t version;
	struct renewal *renewal;	/* owned (renewal.c); NULL: none yet */
};

struct credential_set {
	struct credential *v;	/* owned */
	size_t n;
	uint64_t read_ms;	/* when the sources were opened */
	uint64_t began_ms;	/* for `until`; both of credential_clock_ms() */
	/* Of the proxy, which no request names: its number is n. */
	struct credential login;
	bool has_login;
	/* The values that came from the environment, for redacting what will be
	 * recorded of the command line, until credential_set_forget(). */
	struct buf values;
	struct seal *seal;	/* borrowed, while the sources are opened */
};

/*
 * Opens the sources and draws the placeholders.  A source that is not there is
 * an error unless the rule is optional.  Values of the environment are moved:
 * the process's own copy is overwritten.  seal has the store open where the policy
 * takes something from it, and else was never started.
 */
must_check int credential_set_init(struct credential_set *s,
				   const struct policy *p, struct seal *seal,
				   struct err *e);
/*
 * One more, that rule says the source of: the password for the proxy.  known is
 * it when the environment's URL had it, else empty.
 */
must_check int credential_set_login(struct credential_set *s,
				    const struct secret_rule *rule,
				    struct sv known, struct err *e);
void credential_set_fini(struct credential_set *s);

/* What vault found no entry of, each a U32. */
must_check int credential_set_missed(struct credential_set *s,
				     struct sv numbers, struct err *e);

/* Wipes the values: before this process is cloned, whose copies live on. */
void credential_set_forget(struct credential_set *s);

/* Starts the command that c is from, whose output is to be read from *ret_fd: at the
 * start, or again: in a group of its own, without the terminal. */
must_check int credential_start_command(const struct credential *c,
					bool again, pid_t *ret_pid,
					int *ret_fd, struct err *e);
/* Every `from command` ended well; waits a moment for those that have closed
 * their output. */
must_check int credential_set_settle(struct credential_set *s, struct err *e);

static inline struct sv credential_placeholder(const struct credential *c)
{
	return placeholder_text(&c->placeholder);
}

/* What a placeholder is found by where it should not be. */
static inline struct sv credential_core(const struct credential *c)
{
	return placeholder_core(&c->placeholder);
}

/* A placeholder where it is not replaced: it stays one. */
struct stray {
	const struct credential *credential;	/* NULL: of another run */
	const char *where;	/* "path", "query", or "field" */
	struct sv name;		/* of the key or field */
};

enum { STRAYS_MAX = 8 };	/* that are told of one request */

/* What a request does with credentials. */
struct credential_use {
	const struct credential *credentials[EDITS_MAX];
	struct edit edits[EDITS_MAX];
	size_t n;
	struct stray strays[STRAYS_MAX];
	size_t n_strays;
	/* The agent's own value where a secret is for who is asking. */
	const struct credential *usurped;
	bool too_many;		/* more than EDITS_MAX: must be refused */
};

/* Views in *ret point into the policy and the set. */
void credential_set_use(const struct credential_set *s,
			const struct question *q,
			const struct http_request *r,
			struct credential_use *ret);

/* Is the value of that field replaced or added? */
bool credential_use_is_edited(const struct credential_use *use,
			      struct sv field);

/* No secret is for a time that is over. */
must_check int credential_set_check(const struct credential_set *s,
				    struct err *e);
/* Also while the machine sleeps, and whatever it is told the date is. */
uint64_t credential_clock_ms(void);
/* Its `until` has come. */
bool credential_has_ended(const struct credential_set *s, struct credential *c);
/* The run begins, from which durations are counted. */
void credential_set_begin(struct credential_set *s);
/* May the request carry what it would, now?  If not, why, appended. */
bool credential_set_may(struct credential_set *s,
			const struct credential_use *use, struct buf *ret_why);
/* It was allowed. */
void credential_set_count(struct credential_set *s,
			  const struct credential_use *use);
/* Of that name; NULL when there is none, or it is absent. */
struct credential *credential_set_find(struct credential_set *s,
				       struct sv name);

/* text with every value that came from the environment replaced. */
void credential_set_redact(const struct credential_set *s, struct sv text,
			   struct buf *ret);

#endif
