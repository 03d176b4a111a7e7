/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a body may be sent: see allowance.h. */
#include "allowance.h"

struct allowance allowance_of(const struct msg_EXCHANGE *m)
{
	return (struct allowance){
		.bytes = m->allowance, .limit = m->limit,
		.is_all = m->allowance == UINT64_MAX ||
			  m->body == HTTP_BODY_LENGTH,
	};
}

struct allowance allowance_of_relay(const struct msg_RELAY *m)
{
	return (struct allowance){
		.bytes = m->allowance, .limit = m->limit,
		.is_all = m->allowance == UINT64_MAX,
	};
}

bool allowance_covers(const struct allowance *a, uint64_t sent, size_t n)
{
	return sent <= a->bytes && n <= a->bytes - sent;
}

bool allowance_ask(struct allowance *a, uint64_t sent)
{
	if (a->is_all || a->waits ||
	    allowance_covers(a, sent, WIRE_CHUNK_MAX))
		return false;
	a->waits = true;
	return true;
}

int allowance_answer(struct allowance *a, uint64_t bytes, struct err *e)
{
	if (!a->waits || bytes < a->bytes)
		return err_kind(e, ERR_PROTO, "an allowance that nobody "
				"asked for");
	a->is_all = bytes == a->bytes;
	a->bytes = bytes;
	a->waits = false;
	return 0;
}
