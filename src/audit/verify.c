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

bool verify_split(struct sv line, struct sv *ret_body, struct sv *ret_hash)
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

static bool is_end(struct sv body)
{
	struct sv mark = SV(",\"event\":\"end\",");

	/* Only sequence and time stand before it: never an agent's text. */
	return sv_find_sv(sv_head(body, 96), mark) < sv_head(body, 96).n;
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
		if (ret->sealed)
			return err_kind(e, ERR_DENIED,
					"records follow the end of the run");
		if (!verify_split(sv_head(text, n), &body, &claimed) ||
		    !has_sequence(body, ret->records + 1))
			return err_kind(e, ERR_DENIED, "record %" PRIu64
					" is missing or malformed",
					ret->records + 1);
		trail_chain(ret->hash, body, hash);
		if (!sv_eq(claimed, sv_of(hash, sizeof hash)))
			return err_kind(e, ERR_DENIED, "record %" PRIu64
					" was changed", ret->records + 1);
		memcpy(ret->hash, hash, sizeof hash);
		ret->records++;
		ret->sealed = is_end(body);
		text = sv_from(text, n + 1);
	}
	return 0;
}
