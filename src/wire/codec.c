/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to bytes and back: see codec.h.
 *
 * The preprocessor walks the table, so that a field exists in the struct, the
 * encoder and the decoder or in none of them.
 */
#include "codec.h"

#include "cur.h"

struct row {
	const char *name;
	enum role from, to;
	unsigned fds;
	unsigned phases;
};

#define ROW(NAME, from, to, fds, phases) \
	[MSG_##NAME] = { #NAME, ROLE_##from, ROLE_##to, fds, phases },
static const struct row rows[MSG_KINDS] = { WIRE_MESSAGES(ROW) };

#define PUT_U8(v, max) buf_put_u8(b, v)
#define PUT_U16(v, max) buf_put_u16(b, v)
#define PUT_U32(v, max) buf_put_u32(b, v)
#define PUT_U64(v, max) buf_put_u64(b, v)
#define PUT_SV(v, max)                   \
	do {                             \
		if ((v).n > (max))       \
			b->full = true;  \
		buf_put_sv(b, v);        \
	} while (0)
#define PUT_FIELD(type, name, max) PUT_##type(m->name, max);
#define PUT(NAME, from, to, fds, phases)                                     \
	static void put_##NAME(struct buf *b, const struct msg_##NAME *m)    \
	{                                                                    \
		WIRE_FIELDS_##NAME(PUT_FIELD)                                \
	}
WIRE_MESSAGES(PUT)

#define GET_U8(max) cur_u8(c)
#define GET_U16(max) cur_u16(c)
#define GET_U32(max) cur_u32(c)
#define GET_U64(max) cur_u64(c)
#define GET_SV(max) cur_sv(c, max)
#define GET_FIELD(type, name, max) m->name = GET_##type(max);
#define GET(NAME, from, to, fds, phases)                                     \
	static void get_##NAME(struct cur *c, struct msg_##NAME *m)          \
	{                                                                    \
		WIRE_FIELDS_##NAME(GET_FIELD)                                \
	}
WIRE_MESSAGES(GET)

const char *msg_name(enum msg_kind kind)
{
	return kind > MSG_NONE && kind < MSG_KINDS ? rows[kind].name : "?";
}

void msg_encode(struct buf *b, const struct msg *m)
{
	buf_put_u8(b, (uint8_t)m->kind);
	switch (m->kind) {
#define ENCODE(NAME, from, to, fds, phases) \
	case MSG_##NAME:                    \
		put_##NAME(b, &m->NAME);    \
		break;
	WIRE_MESSAGES(ENCODE)
	case MSG_NONE:
	case MSG_KINDS:
		b->full = true;
		break;
	}
}

static int check_row(enum msg_kind kind, enum role from, enum role to,
		     enum phase phase, unsigned n_fds, struct err *e)
{
	const struct row *r;

	if (kind <= MSG_NONE || kind >= MSG_KINDS)
		return err_kind(e, ERR_PROTO, "unknown message %d", (int)kind);
	r = &rows[kind];
	if ((r->from != ROLE_ANY && r->from != from) ||
	    (r->to != ROLE_ANY && r->to != to))
		return err_kind(e, ERR_PROTO, "%s from the wrong side",
				r->name);
	if (!(r->phases & (unsigned)phase))
		return err_kind(e, ERR_PROTO, "%s at the wrong time", r->name);
	/* Fewer is for the handler to judge: it knows what it needs. */
	if (n_fds > r->fds)
		return err_kind(e, ERR_PROTO, "%s with %u descriptors",
				r->name, n_fds);
	return 0;
}

int msg_decode_first(struct sv *bytes, enum role from, enum role to,
		     enum phase phase, struct msg *ret, struct err *e)
{
	struct cur cursor = cur_of(*bytes), *c = &cursor;

	ret->kind = (enum msg_kind)cur_u8(c);
	if (check_row(ret->kind, from, to, phase, ret->n_fds, e) < 0)
		return -1;
	switch (ret->kind) {
#define DECODE(NAME, from, to, fds, phases) \
	case MSG_##NAME:                    \
		get_##NAME(c, &ret->NAME);  \
		break;
	WIRE_MESSAGES(DECODE)
	case MSG_NONE:
	case MSG_KINDS:
		break;
	}
	if (c->bad)
		return err_kind(e, ERR_PROTO, "malformed %s",
				msg_name(ret->kind));
	*bytes = c->rest;
	return 0;
}

int msg_decode(struct sv bytes, enum role from, enum role to, enum phase phase,
	       struct msg *ret, struct err *e)
{
	if (msg_decode_first(&bytes, from, to, phase, ret, e) < 0)
		return -1;
	return bytes.n == 0 ? 0 : err_kind(e, ERR_PROTO, "malformed %s",
					   msg_name(ret->kind));
}
