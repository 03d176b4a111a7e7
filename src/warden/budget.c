/* SPDX-License-Identifier: Apache-2.0 */
/* What a run may ask for and send: see budget.h. */
#include "budget.h"

#include <inttypes.h>
#include <stdlib.h>

#include "own.h"
#include "statement.h"
#include "warden.h"

/* Of an exchange whose body a limit counts. */
struct reservation {
	struct reservation *next;
	uint32_t conn, id;
	uint64_t bytes;
	size_t host_n;
	char host[HTTP_HOST_MAX];
};

int budgets_init(struct budgets *b, const struct policy *p, struct err *e)
{
	*b = (struct budgets){ .policy = p };
	if (p->budgets_n == 0)
		return 0;
	b->uses = calloc(p->budgets_n, sizeof *b->uses);
	return b->uses ? 0 : err_sys(e, "allocate the limits");
}

void budgets_fini(struct budgets *b)
{
	while (b->reservations) {
		struct reservation *r = b->reservations;

		b->reservations = r->next;
		free(r);
	}
	for (size_t i = 0; i < b->names_n; i++)
		free(b->names[i]);
	free(b->names);
	free(b->uses);
	*b = (struct budgets){ 0 };
}

static bool concerns(const struct budget_rule *r, enum limit_kind kind,
		     struct sv host)
{
	return r->kind == kind &&
	       (r->host.n == 0 || match_host(r->host, host));
}

uint64_t budgets_left(const struct budgets *b, const struct budget_rule *r)
{
	const struct budget_use *u = &b->uses[r - b->policy->budgets];

	return r->value - u->used - u->reserved;
}

/* The limit of uploads with the least left, or NULL. */
static const struct budget_rule *tightest(const struct budgets *b,
					  struct sv host)
{
	const struct budget_rule *found = NULL;

	for (size_t i = 0; i < b->policy->budgets_n; i++) {
		const struct budget_rule *r = &b->policy->budgets[i];

		if (concerns(r, LIMIT_UPLOAD, host) &&
		    (!found || budgets_left(b, r) < budgets_left(b, found)))
			found = r;
	}
	return found;
}

static bool is_known_name(const struct budgets *b, struct sv host)
{
	for (size_t i = 0; i < b->names_n; i++)
		if (sv_eq(sv_str(b->names[i]), host))
			return true;
	return false;
}

/* What the request takes of a limit; 0 when it does not concern it. */
static uint64_t price(const struct budget_rule *r,
		      const struct budget_ask *ask, bool is_new)
{
	uint64_t body = ask->body == HTTP_BODY_LENGTH ? ask->length : 0;

	if (!concerns(r, r->kind, ask->host))
		return 0;
	switch ((int)r->kind) {
	case LIMIT_REQUESTS:
		return 1;
	case LIMIT_UPLOAD:
		return body > UINT64_MAX - ask->head_bytes ?
			       UINT64_MAX : body + ask->head_bytes;
	case LIMIT_NAMES:
		return is_new;
	}
	return UINT64_MAX;
}

static int add_name(struct budgets *b, struct sv host, struct err *e)
{
	char **grown = reallocarray(b->names, b->names_n + 1, sizeof *grown);
	char *copy = strndup(host.p, host.n);

	if (grown)
		b->names = grown;
	if (!grown || !copy) {
		free(copy);
		return err_sys(e, "keep a name");
	}
	b->names[b->names_n++] = copy;
	return 0;
}

static void reserve(struct budgets *b, struct reservation *r, uint64_t bytes)
{
	struct sv host = sv_of(r->host, r->host_n);

	r->bytes += bytes;
	for (size_t i = 0; i < b->policy->budgets_n; i++)
		if (concerns(&b->policy->budgets[i], LIMIT_UPLOAD, host))
			b->uses[i].reserved += bytes;
}

/* As much of a step as every limit has left. */
static uint64_t step(const struct budgets *b, struct sv host)
{
	const struct budget_rule *r = tightest(b, host);
	uint64_t left = r ? budgets_left(b, r) : 0;

	return left < BUDGET_STEP ? left : BUDGET_STEP;
}

static int add_reservation(struct budgets *b, const struct budget_ask *ask,
			   struct err *e)
{
	struct reservation *r = calloc(1, sizeof *r);

	if (!r || ask->host.n > sizeof r->host) {
		free(r);
		return err_kind(e, ERR_LIMIT, "no memory for a limit");
	}
	r->conn = ask->conn;
	r->id = ask->id;
	r->host_n = ask->host.n;
	memcpy(r->host, ask->host.p, ask->host.n);
	r->next = b->reservations;
	b->reservations = r;
	reserve(b, r, ask->body == HTTP_BODY_LENGTH ? ask->length :
						      step(b, ask->host));
	return 0;
}

int budgets_take(struct budgets *b, const struct budget_ask *ask,
		 const struct budget_rule **ret_reached, struct err *e)
{
	bool is_new = ask->by_wildcard && !is_known_name(b, ask->host);
	bool is_counted = false;

	*ret_reached = NULL;
	for (size_t i = 0; i < b->policy->budgets_n; i++) {
		const struct budget_rule *r = &b->policy->budgets[i];

		if (price(r, ask, is_new) <= budgets_left(b, r))
			continue;
		*ret_reached = r;
		return 0;
	}
	for (size_t i = 0; i < b->policy->budgets_n; i++) {
		const struct budget_rule *r = &b->policy->budgets[i];
		uint64_t amount = price(r, ask, is_new);

		is_counted |= r->kind == LIMIT_NAMES && amount;
		/* The body is only reserved. */
		if (r->kind == LIMIT_UPLOAD && amount)
			amount = ask->head_bytes;
		b->uses[i].used += amount;
	}
	if (is_counted && add_name(b, ask->host, e) < 0)
		return -1;
	if (ask->body == HTTP_BODY_NONE || !tightest(b, ask->host))
		return 0;
	return add_reservation(b, ask, e);
}

static struct reservation **find(struct budgets *b, uint32_t conn, uint32_t id)
{
	struct reservation **at = &b->reservations;

	while (*at && ((*at)->conn != conn || (*at)->id != id))
		at = &(*at)->next;
	return at;
}

uint64_t budgets_allowance(struct budgets *b, uint32_t conn, uint32_t id)
{
	const struct reservation *r = *find(b, conn, id);

	return r ? r->bytes : UINT64_MAX;
}

int budgets_more(struct budgets *b, uint32_t conn, uint32_t id,
		 uint64_t *ret_allowance, struct err *e)
{
	struct reservation *r = *find(b, conn, id);

	if (!r)
		return err_kind(e, ERR_PROTO, "more was asked for where "
				"nothing is counted");
	reserve(b, r, step(b, sv_of(r->host, r->host_n)));
	*ret_allowance = r->bytes;
	return 0;
}

int budgets_settle(struct budgets *b, uint32_t conn, uint32_t id,
		   uint64_t sent, struct err *e)
{
	struct reservation **at = find(b, conn, id), *r = *at;

	if (!r)
		return 0;
	*at = r->next;
	for (size_t i = 0; i < b->policy->budgets_n; i++) {
		if (!concerns(&b->policy->budgets[i], LIMIT_UPLOAD,
			      sv_of(r->host, r->host_n)))
			continue;
		b->uses[i].reserved -= r->bytes;
		b->uses[i].used += sent < r->bytes ? sent : r->bytes;
	}
	if (sent > r->bytes)
		(void)err_kind(e, ERR_PROTO,
			       "more was sent than a limit allows");
	else
		at = NULL;
	free(r);
	return at ? -1 : 0;
}

static void put_place(const struct budget_rule *r, struct buf *out)
{
	buf_put_visible(out, r->text);
	buf_puts(out, " (");
	origin_put(out, &r->origin);
	buf_putc(out, ')');
}

void budgets_put_limit(const struct budgets *b, struct sv host,
		       struct buf *out)
{
	const struct budget_rule *r = tightest(b, host);

	if (r)
		put_place(r, out);
}

static int explain(const struct budgets *b, const struct budget_rule *reached,
		   struct arena *a, struct sv *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(1024);

	buf_puts(&text, "this request would go beyond ");
	put_place(reached, &text);
	buf_printf(&text, ", of which %" PRIu64 "%s left",
		   budgets_left(b, reached),
		   reached->kind == LIMIT_UPLOAD ? " bytes are" : " are");
	*ret = arena_dup(a, buf_sv(&text));
	return ret->p ? 0 : err_kind(e, ERR_LIMIT, "explain a limit: no "
				     "memory");
}

/* As if a rule had said no, so that the answer and the record name it. */
static int deny(const struct budgets *b, const struct budget_rule *reached,
		struct arena *a, struct answer *ret, struct err *e)
{
	struct rule *rule = arena_make(a, struct rule);

	*ret = (struct answer){ .verdict = VERDICT_DENY, .rule = rule };
	if (!rule)
		return err_kind(e, ERR_LIMIT, "explain a limit: no memory");
	if (explain(b, reached, a, &ret->reason, e) < 0)
		return -1;
	*rule = (struct rule){ .text = reached->text,
			       .origin = reached->origin };
	return 0;
}

/* Everything in it that the agent could choose. */
static uint64_t head_bytes(const struct http_request *r)
{
	uint64_t n = r->method.n + r->host.n + r->path.n +
		     (r->has_query ? r->query.n + 1 : 0);

	for (size_t i = 0; i < r->fields.n; i++)
		n += r->fields.v[i].name.n + r->fields.v[i].value.n;
	return n;
}

/* Is there a rule that allows something at this very host? */
static bool is_named(const struct policy *p, struct sv host)
{
	for (size_t i = 0; i < p->rules_n; i++)
		if (p->rules[i].effect == VERDICT_ALLOW &&
		    sv_eq(p->rules[i].host, host))
			return true;
	for (size_t i = 0; i < p->relays_n; i++)
		if (p->relays[i].effect == VERDICT_ALLOW &&
		    sv_eq(p->relays[i].host, host))
			return true;
	return false;
}

int budget_decide(struct warden *w, const struct msg_REQUEST *m,
		  const struct http_request *r, struct arena *a,
		  struct answer *answer, struct err *e)
{
	const struct budget_ask ask = {
		.conn = m->conn, .id = m->id, .host = r->host,
		.head_bytes = head_bytes(r), .length = r->length,
		.body = r->upgrade ? HTTP_BODY_CHUNKED : r->body,
		.by_wildcard = !is_named(w->policy, r->host),
	};
	const struct budget_rule *reached;

	if (answer->verdict != VERDICT_ALLOW)
		return 0;
	if (budgets_take(&w->budgets, &ask, &reached, e) < 0)
		return -1;
	return reached ? deny(&w->budgets, reached, a, answer, e) : 0;
}

int budget_open(struct warden *w, const struct msg_OPEN *m, struct arena *a,
		struct relay_answer *answer, struct err *e)
{
	/* All of its bytes are a body, however long it will be. */
	const struct budget_ask ask = {
		.conn = m->conn, .id = m->id, .host = m->host,
		.head_bytes = m->host.n, .body = HTTP_BODY_CHUNKED,
		.by_wildcard = !is_named(w->policy, m->host),
	};
	const struct budget_rule *reached;

	if (answer->verdict != VERDICT_ALLOW)
		return 0;
	if (budgets_take(&w->budgets, &ask, &reached, e) < 0)
		return -1;
	if (!reached)
		return 0;
	answer->verdict = VERDICT_DENY;
	answer->rule = reached->text;
	answer->origin = &reached->origin;
	answer->allow_with = (struct sv){ 0 };
	return explain(&w->budgets, reached, a, &answer->reason, e);
}
