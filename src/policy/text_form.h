/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical text of a policy: what the lexer reads back as the same.
 *
 * Every statement names one thing, absolutely; its text is made when it is
 * parsed, and is what messages and records quote.
 */
#ifndef POLICY_TEXT_FORM_H
#define POLICY_TEXT_FORM_H

#include "buf.h"
#include "policy.h"

/* Sets ->text from the other members; -1 when the arena is full. */
must_check int text_form_grant(struct grant *g, struct arena *a);
must_check int text_form_env(struct env_rule *r, struct arena *a);
must_check int text_form_rule(struct rule *r, struct arena *a);
must_check int text_form_relay(struct relay_rule *r, struct arena *a);
must_check int text_form_reach(struct reach *r, struct arena *a);
must_check int text_form_secret(struct secret_rule *r, struct arena *a);
must_check int text_form_device(struct device_rule *r, struct arena *a);
must_check int text_form_publish(struct publish_rule *r, struct arena *a);
must_check int text_form_roots(struct roots_rule *r, struct arena *a);
must_check int text_form_syscalls(struct syscalls_rule *r, struct arena *a);

/* A word, quoted where it must be. */
void text_form_word(struct buf *b, struct sv v);
/* HOST[:PORT] and the path. */
void text_form_target(struct buf *b, struct sv host, uint16_t port,
		      struct sv path);

/* "renew TIME times N until TIME", what of it there is; and the last TIME alone,
 * which must be. */
static inline bool text_form_has_bounds(const struct secret_rule *r)
{
	return r->renew_ms || r->times || r->until;
}
void text_form_bounds(struct buf *b, const struct secret_rule *r);
void text_form_until(struct buf *b, const struct secret_rule *r);

/* The words of the language for these. */
struct sv text_form_grant_word(enum grant_kind kind);
struct sv text_form_workspace_word(enum workspace said);
struct sv text_form_screen_word(enum screen said);
struct sv text_form_effect_word(enum verdict effect);

/* <0, 0, >0: bytewise, the shorter first. */
int text_form_order(struct sv a, struct sv b);
int text_form_scope_order(const struct secret_scope *a,
			  const struct secret_scope *b);
/* Printable ASCII and blanks. */
bool text_form_is_ascii(struct sv v);

/* The policy as text, sorted; with origins each line says where it is from. */
void policy_print(const struct policy *p, struct buf *out, bool origins);

#endif
