/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is relayed is not read: no other rule can hold there.
 *
 * Rules about requests to the same host and port would be gone around, and a
 * secret could not be put in; a rule for tcp beside one for tls would leave open
 * whether the ClientHello is checked.  Each is an error, wherever the two
 * statements come from.
 */
#include "match.h"
#include "match_relay.h"
#include "own.h"
#include "statement.h"

static int clash(const struct relay_rule *r, struct sv text,
		 const struct origin *origin, struct err *e)
{
	auto_buf struct buf where = buf_new(128), other = buf_new(128);

	origin_put(&where, &r->origin);
	origin_put(&other, origin);
	return err_kind(e, ERR_POLICY,
		"%.*s: what is carried as %.*s is not read, so nothing else "
		"can be said of that host and port\n"
		"  %.*s\n  ^\n  %.*s: %.*s",
		SV_FMT(buf_sv(&where)), SV_FMT(relay_kind_word(r->kind)),
		WORD_FMT(r->text), SV_FMT(buf_sv(&other)), WORD_FMT(text));
}

static bool ports_meet(uint16_t a, uint16_t b)
{
	return a == 0 || b == 0 || a == b;
}

static int check_rules(const struct policy *p, const struct relay_rule *r,
		       struct err *e)
{
	for (size_t i = 0; i < p->rules_n; i++) {
		const struct rule *other = &p->rules[i];

		if (!rule_is_whole_deny(other) &&
		    (r->port == 0 || rule_may_be_at(other, r->port)) &&
		    match_overlap(r->host, other->host))
			return clash(r, other->text, &other->origin, e);
	}
	return 0;
}

static int check_relays(const struct policy *p, const struct relay_rule *r,
			struct err *e)
{
	for (size_t i = 0; i < p->relays_n; i++) {
		const struct relay_rule *other = &p->relays[i];

		if (other->effect != VERDICT_DENY && other->kind != r->kind &&
		    ports_meet(r->port, other->port) &&
		    match_overlap(r->host, other->host))
			return clash(r, other->text, &other->origin, e);
	}
	return 0;
}

static int check_secrets(const struct policy *p, const struct relay_rule *r,
			 struct err *e)
{
	for (size_t i = 0; i < p->secrets_n; i++) {
		const struct secret_rule *s = &p->secrets[i];

		for (size_t j = 0; j < s->scopes_n; j++) {
			uint16_t port = s->scopes[j].port;

			if (ports_meet(r->port, port ? port : 443) &&
			    match_overlap(r->host, s->scopes[j].host))
				return clash(r, s->text, &s->origin, e);
		}
	}
	return 0;
}

int relays_check(const struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->relays_n; i++) {
		const struct relay_rule *r = &p->relays[i];

		if (r->effect != VERDICT_DENY &&
		    (check_rules(p, r, e) < 0 || check_relays(p, r, e) < 0 ||
		     check_secrets(p, r, e) < 0))
			return -1;
	}
	return 0;
}
