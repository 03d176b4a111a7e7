/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `times`, `until` and revocation: see credential_set.h.
 *
 * All of it is asked where a request is decided, before dial hears of it: what
 * dial still holds of a lease is of no use to a request that it is never given.
 * A request that was decided goes on, and dial's second attempt at it is the same
 * request; nothing is counted there.
 */
#include <inttypes.h>
#include <time.h>

#include "credential_set.h"
#include "own.h"
#include "text_form.h"

static struct timespec now_of(clockid_t clock)
{
	struct timespec now = { 0 };

	/* Cannot fail: both clocks are everywhere. */
	(void)clock_gettime(clock, &now);
	return now;
}

uint64_t credential_clock_ms(void)
{
	struct timespec now = now_of(CLOCK_BOOTTIME);

	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_past(const struct credential_set *s,
		    const struct secret_rule *rule)
{
	switch (rule->until) {
	case UNTIL_EVER:
		break;
	case UNTIL_MOMENT:
		return now_of(CLOCK_REALTIME).tv_sec >= (time_t)rule->end;
	case UNTIL_AFTER:
		return credential_clock_ms() - s->began_ms >= rule->end;
	}
	return false;
}

int credential_set_check(const struct credential_set *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct secret_rule *rule = s->v[i].rule;
		auto_buf struct buf end = buf_new(64);

		if (rule->until != UNTIL_MOMENT || !is_past(s, rule))
			continue;
		text_form_until(&end, rule);
		return err_kind(e, ERR_POLICY, "secret %.*s: it was to be used "
				"until %.*s, which is over",
				SV_FMT(rule->name), SV_FMT(buf_sv(&end)));
	}
	return 0;
}

void credential_set_begin(struct credential_set *s)
{
	s->began_ms = credential_clock_ms();
}

/* A date that is set back gives nothing back. */
bool credential_has_ended(const struct credential_set *s, struct credential *c)
{
	c->has_ended = c->has_ended || is_past(s, c->rule);
	return c->has_ended;
}

static bool may_use(const struct credential_set *s, struct credential *c,
		    struct buf *ret_why)
{
	const struct secret_rule *rule = c->rule;

	if (c->is_revoked) {
		buf_printf(ret_why, "the secret %.*s was revoked",
			   SV_FMT(rule->name));
		return false;
	}
	if (credential_has_ended(s, c)) {
		buf_printf(ret_why, "the secret %.*s was to be used until ",
			   SV_FMT(rule->name));
		text_form_until(ret_why, rule);
		buf_puts(ret_why, rule->until == UNTIL_AFTER ?
				  " after the start" : "");
		return false;
	}
	if (rule->times == 0 || c->used < rule->times)
		return true;
	buf_printf(ret_why, "the secret %.*s was used %" PRIu64 " time%s, as "
		   "the policy allows", SV_FMT(rule->name), c->used,
		   c->used == 1 ? "" : "s");
	return false;
}

/* The i-th of use, if it is sent and not only masked in what is answered. */
static struct credential *carried(struct credential_set *s,
				  const struct credential_use *use, size_t i)
{
	return use->edits[i].form == EDIT_MASK ? NULL :
	       &s->v[use->credentials[i] - s->v];
}

bool credential_set_may(struct credential_set *s,
			const struct credential_use *use, struct buf *ret_why)
{
	for (size_t i = 0; i < use->n; i++) {
		struct credential *c = carried(s, use, i);

		if (c && !may_use(s, c, ret_why))
			return false;
	}
	return true;
}

void credential_set_count(struct credential_set *s,
			  const struct credential_use *use)
{
	for (size_t i = 0; i < use->n; i++) {
		struct credential *c = carried(s, use, i);

		if (c)
			c->used++;
	}
}

struct credential *credential_set_find(struct credential_set *s,
				       struct sv name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->v[i].absent && sv_eq(s->v[i].rule->name, name))
			return &s->v[i];
	return NULL;
}
