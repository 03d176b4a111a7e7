/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking an audit trail: see verify.h.
 *
 * The hash covers the bytes of the line, so the check needs no JSON: a line is
 * a body and `,"hash":"..."}`, and the body begins with its sequence number.
 * What the chain cannot show is a trail that was rewritten whole; compare its
 * last hash with one that was noted elsewhere.
 */
#include "verify.h"

#include <inttypes.h>
#include <stdio.h>

static const struct sv hash_key = { .p = ",\"hash\":\"", .n = 9 };

/* Splits one line of a trail into what its hash covers and the hash; false
 * when the line has not that shape. */
static bool split(struct sv line, struct sv *ret_body, struct sv *ret_hash)
{
	size_t tail = hash_key.n + AUDIT_HASH_HEX + 2;
	size_t body = line.n - tail;

	if (line.n < tail || !sv_ends(line, SV("\"}")) ||
	    !sv_starts(sv_from(line, body), hash_key))
		return false;
	*ret_body = sv_head(line, body);
	*ret_hash = sv_of(line.p + body + hash_key.n, AUDIT_HASH_HEX);
	return true;
}

static bool has_sequence(struct sv body, uint64_t sequence)
{
	char want[48];
	int n = snprintf(want, sizeof want, "{\"seq\":%" PRIu64 ",", sequence);

	return sv_starts(body, sv_of(want, (size_t)n));
}

static bool is_event(struct sv body, struct sv name)
{
	/* Only sequence and time stand before it: never an agent's text. */
	struct sv head = sv_head(body, 96);
	struct sv rest = sv_from(head, sv_find_sv(head, SV(",\"event\":\"")));

	rest = sv_from(rest, strlen(",\"event\":\""));
	return sv_starts(rest, name) && rest.n > name.n &&
	       rest.p[name.n] == '"';
}

/* What may follow the end of a run: what became of its changes. */
static bool is_afterwards(struct sv body)
{
	return is_event(body, SV("apply")) || is_event(body, SV("undone")) ||
	       is_event(body, SV("discard"));
}

int verify_trail(struct sv text, struct verdict_of_trail *ret, struct err *e)
{
	*ret = (struct verdict_of_trail){ 0 };
	memset(ret->hash, '0', sizeof ret->hash);
	while (text.n) {
		size_t n = sv_find(text, '\n');
		char hash[AUDIT_HASH_HEX];
		struct sv body, claimed;

		if (n == text.n)
			return err_kind(e, ERR_DENIED, "record %" PRIu64
					" is cut short", ret->records + 1);
		if (!split(sv_head(text, n), &body, &claimed) ||
		    !has_sequence(body, ret->records + 1))
			return err_kind(e, ERR_DENIED, "record %" PRIu64
					" is missing or malformed",
					ret->records + 1);
		if (ret->sealed && !is_afterwards(body))
			return err_kind(e, ERR_DENIED,
					"records follow the end of the run");
		trail_chain(ret->hash, body, hash);
		if (!sv_eq(claimed, sv_of(hash, sizeof hash)))
			return err_kind(e, ERR_DENIED, "record %" PRIu64
					" was changed", ret->records + 1);
		memcpy(ret->hash, hash, sizeof hash);
		ret->records++;
		ret->sealed |= is_event(body, SV("end"));
		text = sv_from(text, n + 1);
	}
	return 0;
}
