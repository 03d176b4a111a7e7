/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of the language: what stands behind each, and what it adds to a
 * policy.  words.c has the table, one file for each family of words the rest:
 * word_grant.c, word_host.c, word_profile.c, word_relay.c, word_rule.c,
 * word_secret.c, word_via.c, word_limit.c, word_run.c.
 */
#ifndef POLICY_WORDS_H
#define POLICY_WORDS_H

#include "statement.h"

typedef int word_parser(const struct statement *s, struct policy *p,
			struct err *e);

/* A word that this version knows but cannot enforce has no parser. */
struct word_info {
	struct sv name;
	word_parser *parse;
	const char *form;	/* what may follow */
	bool may_be_optional;	/* `word? ...` */
};

/* Parses one statement into *p. */
must_check int words_apply(struct statement *s, struct policy *p,
			   struct err *e);

/* "cannot be enforced yet", for a form of an enforced word; returns -1. */
int words_refuse(const struct statement *s, const struct word *w,
		 struct err *e);

word_parser word_read, word_write, word_show, word_hide, word_guard,
	word_cache, word_roots, word_syscalls;
word_parser word_allow, word_ask, word_deny, word_reach;
/* allow, ask or deny, where `tcp` or `tls` stands in place of the methods. */
bool words_is_relay(struct sv v);
must_check int word_relay(const struct statement *s, enum verdict effect,
			  struct policy *p, struct err *e);
word_parser word_secret, word_via;
/* What only all statements together tell of `via`. */
must_check int via_check(const struct policy *p, struct err *e);
word_parser word_device, word_publish;
word_parser word_socket;	/* of word_reach */
/* The path in unix:PATH. */
must_check int word_socket_path(const struct statement *s,
				const struct word *w, struct policy *p,
				struct sv *ret, struct err *e);
word_parser word_env, word_limit, word_workspace, word_terminal, word_keep,
	word_isolation, word_debug;
word_parser word_profile, word_takes, word_client;

/* NAME as a shell could set it. */
bool words_is_variable(struct sv v);

/* HOST[:PORT][/PATH] at the start of a rule or in a secret's scope. */
struct target {
	struct sv host;		/* lower case */
	uint16_t port;		/* 0: none was given */
	struct sv path, path_other;
	bool has_query;
	struct sv query;
};
must_check int word_target(const struct statement *s, const struct word *w,
			   struct sv text, struct arena *a,
			   struct target *ret, struct err *e);

#endif
