/* SPDX-License-Identifier: Apache-2.0 */
/* allow, ask and deny of tcp and tls: what is carried without being read. */
#include "own.h"
#include "text_form.h"
#include "words.h"

bool words_is_relay(struct sv v)
{
	return sv_eq(v, SV("tcp")) || sv_eq(v, SV("tls"));
}

/* What an allow without a port means: TLS has a usual one. */
static int choose_port(const struct statement *s, const struct word *where,
		       struct relay_rule *r, struct err *e)
{
	/* What restricts covers every port. */
	if (r->port || r->effect != VERDICT_ALLOW)
		return 0;
	if (r->kind == RELAY_TCP)
		return statement_error(s, where, e,
				       "expected a port: tcp HOST:PORT");
	r->port = 443;
	return 0;
}

int word_relay(const struct statement *s, enum verdict effect,
	       struct policy *p, struct err *e)
{
	const struct word *where = statement_word(s, 2, "the host", e);
	struct relay_rule r = { .effect = effect, .origin = s->origin };
	struct relay_rule *kept;
	struct target t;

	if (!where || statement_end(s, 3, e) < 0)
		return -1;
	if (sv_find(where->text, '/') < where->text.n ||
	    sv_find(where->text, '?') < where->text.n)
		return statement_error(s, where, e,
			"what is not read has no path: expected HOST:PORT");
	if (word_target(s, where, where->text, &p->arena, &t, e) < 0)
		return -1;
	r.kind = sv_eq(s->words[1].text, SV("tls")) ? RELAY_TLS : RELAY_TCP;
	r.host = t.host;
	r.port = t.port;
	if (choose_port(s, where, &r, e) < 0)
		return -1;
	if (text_form_relay(&r, &p->arena) < 0)
		return statement_full(s, e);
	kept = arena_push(&p->arena, &p->relays, &p->relays_n, &p->relays_cap);
	if (!kept)
		return statement_full(s, e);
	*kept = r;
	return 0;
}
