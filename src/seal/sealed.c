/* SPDX-License-Identifier: Apache-2.0 */
/* The form of the sealed file: see sealed.h. */
#include "sealed.h"

#include "cur.h"

#define MAGIC SV("stkseal1")

enum {
	LOG_N_MIN = 10, LOG_N_MAX = 20, R_MAX = 32, P_MAX = 16,
	MEMORY_MAX = 512 << 20,
};

uint64_t sealed_memory(const struct sealed_cost *c)
{
	uint64_t n;

	if (c->log_n < LOG_N_MIN || c->log_n > LOG_N_MAX || c->r < 1 ||
	    c->r > R_MAX || c->p < 1 || c->p > P_MAX)
		return 0;
	/* As OpenSSL counts: V, the blocks, and the working space. */
	n = UINT64_C(128) * c->r * ((UINT64_C(1) << c->log_n) + c->p + 2);
	return n > MEMORY_MAX ? 0 : n;
}

static struct sealed_box take_box(struct cur *c, size_t n)
{
	struct sealed_box box;

	box.nonce = cur_bytes(c, SEALED_NONCE);
	box.text = cur_bytes(c, n);
	box.tag = cur_bytes(c, SEALED_TAG);
	return box;
}

static struct sv since(struct sv text, const struct cur *c)
{
	return sv_head(text, text.n - c->rest.n);
}

static int damaged(struct err *e, const char *what)
{
	return err_kind(e, ERR_POLICY, "it is damaged: %s", what);
}

static int take_cost(struct cur *c, struct sealed *s, struct err *e)
{
	uint8_t zero;

	s->cost.log_n = cur_u8(c);
	s->cost.r = cur_u8(c);
	s->cost.p = cur_u8(c);
	zero = cur_u8(c);
	if (c->bad)
		return damaged(e, "it ends early");
	if (zero || !sealed_memory(&s->cost))
		return damaged(e, "its passphrase would cost what no store's does");
	return 0;
}

static bool is_before(struct sv a, struct sv b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return order ? order < 0 : a.n < b.n;
}

static int take_entry(struct cur *c, struct sealed *s, struct err *e)
{
	struct sealed_entry *entry = &s->entries[s->n];
	struct sv from = c->rest;
	size_t n;

	entry->name = cur_bytes(c, cur_u8(c));
	n = cur_u16(c);
	if (!c->bad && (!store_name_is(entry->name) || n < 1 ||
			n > SECRET_VALUE_MAX))
		return damaged(e, "an entry's name or length is none");
	entry->box = take_box(c, n);
	if (c->bad)
		return damaged(e, "it ends early");
	entry->bytes = since(from, c);
	if (s->n && !is_before(s->entries[s->n - 1].name, entry->name))
		return damaged(e, "its entries are not in order");
	s->n++;
	return 0;
}

int sealed_parse(struct sv text, struct sealed *ret, struct err *e)
{
	struct cur c = cur_of(text);
	size_t n;

	ret->n = 0;
	if (text.n > SEALED_SIZE_MAX)
		return damaged(e, "it is too long");
	if (!sv_eq(cur_bytes(&c, MAGIC.n), MAGIC))
		return damaged(e, "it does not begin as a store does");
	if (take_cost(&c, ret, e) < 0)
		return -1;
	ret->salt = cur_bytes(&c, SEALED_SALT);
	ret->front = since(text, &c);
	ret->wrap = take_box(&c, SEALED_KEY);
	ret->head = since(text, &c);
	n = cur_u16(&c);
	if (n > SEALED_ENTRIES_MAX)
		return damaged(e, "it has too many entries");
	while (ret->n < n)
		if (take_entry(&c, ret, e) < 0)
			return -1;
	ret->body = since(text, &c);
	ret->close = take_box(&c, 0);
	if (!cur_done(&c))
		return damaged(e, c.bad ? "it ends early" :
					  "it goes on behind its end");
	return 0;
}

size_t sealed_place(const struct sealed *s, struct sv name, bool *ret_is_there)
{
	size_t i = 0;

	while (i < s->n && is_before(s->entries[i].name, name))
		i++;
	*ret_is_there = i < s->n && sv_eq(s->entries[i].name, name);
	return i;
}

const struct sealed_entry *sealed_find(const struct sealed *s, struct sv name)
{
	bool is_there;
	size_t i = sealed_place(s, name, &is_there);

	return is_there ? &s->entries[i] : NULL;
}

void sealed_put_front(struct buf *b, const struct sealed_cost *c,
		      struct sv salt)
{
	buf_put(b, MAGIC);
	buf_put_u8(b, c->log_n);
	buf_put_u8(b, c->r);
	buf_put_u8(b, c->p);
	buf_put_u8(b, 0);
	buf_put(b, salt);
}

void sealed_put_count(struct buf *b, size_t n)
{
	buf_put_u16(b, (uint16_t)n);
}

void sealed_put_name(struct buf *b, struct sv name, size_t value_n)
{
	buf_put_u8(b, (uint8_t)name.n);
	buf_put(b, name);
	buf_put_u16(b, (uint16_t)value_n);
}
