/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: see store.h.
 *
 * A change writes a new text from the old one: the entries beside it are copied as
 * they are, and the close is made anew.  Nonces are random: 96 bits, far fewer
 * values than 2^32 under one key.
 */
#include "store.h"

#include "box.h"

#define CHANGED "it was changed by something other than `stockade secret`"

static struct box_with of_entry(const struct sealed *s, struct sv name)
{
	return (struct box_with){ .parts = { s->head, SV("\x01entry"), name } };
}

static struct box_with of_close(struct sv body)
{
	return (struct box_with){ .parts = { body, SV("\x02close") } };
}

static struct box_with of_wrap(struct sv front)
{
	return (struct box_with){ .parts = { front, SV("\x03wrap") } };
}

void store_wipe(struct store *s)
{
	explicit_bzero(s->key, SEALED_KEY);
	explicit_bzero(s->derived, SEALED_KEY);
	explicit_bzero(s->value, SECRET_VALUE_MAX);
	buf_free(&s->text);
	s->loaded = s->open = false;
}

int store_load(struct store *s, struct sv text, struct err *e)
{
	store_wipe(s);
	s->text = buf_new(SEALED_SIZE_MAX);
	buf_put(&s->text, text);
	if (buf_check(&s->text, "the store", e) < 0 ||
	    sealed_parse(buf_sv(&s->text), &s->sealed, e) < 0)
		return -1;
	s->loaded = true;
	return 0;
}

/* Gives the new text, which is complete but for its close, in the place of the
 * old one. */
static int replace(struct store *s, struct buf *text, struct err *e)
{
	struct box_with with;

	/* Room first: what is authenticated must not move. */
	if (!buf_reserve(text, SEALED_NONCE + SEALED_TAG))
		return err_kind(e, ERR_LIMIT, "the store is full: more than "
				"%d bytes", SEALED_SIZE_MAX);
	with = of_close(buf_sv(text));
	if (box_seal(s->key, &with, SV(""), text, e) < 0)
		return -1;
	buf_free(&s->text);
	s->text = *text;
	*text = (struct buf){ 0 };
	s->open = s->loaded = false;
	if (sealed_parse(buf_sv(&s->text), &s->sealed, e) < 0)
		return -1;
	s->open = s->loaded = true;
	return 0;
}

int store_make(struct store *s, const struct sealed_cost *cost,
	       struct sv passphrase, struct err *e)
{
	auto_buf struct buf text = buf_new(SEALED_SIZE_MAX);
	auto_buf struct buf wrap = buf_new(128);
	char salt[SEALED_SALT];
	struct box_with with;

	store_wipe(s);
	if (box_random(salt, sizeof salt, e) < 0 ||
	    box_random(s->key, SEALED_KEY, e) < 0)
		return -1;
	sealed_put_front(&text, cost, sv_of(salt, sizeof salt));
	with = of_wrap(buf_sv(&text));
	if (box_derive(passphrase, sv_of(salt, sizeof salt), cost, s->derived,
		       e) < 0 ||
	    box_seal(s->derived, &with, sv_of(s->key, SEALED_KEY), &wrap,
		     e) < 0)
		return -1;
	explicit_bzero(s->derived, SEALED_KEY);
	buf_put(&text, buf_sv(&wrap));
	sealed_put_count(&text, 0);
	return replace(s, &text, e);
}

/* Whether the whole is what was written with that key. */
static int check_close(struct store *s, struct err *e)
{
	const struct box_with with = of_close(s->sealed.body);
	char none;
	int got = box_open(s->key, &with, &s->sealed.close, &none, e);

	s->open = got > 0;
	return got;
}

int store_unlock(struct store *s, struct sv passphrase, struct err *e)
{
	const struct sealed *f = &s->sealed;
	const struct box_with with = of_wrap(f->front);
	int got;

	if (!s->loaded)
		return err_kind(e, ERR_BUG, "no store was read");
	if (box_derive(passphrase, f->salt, &f->cost, s->derived, e) < 0)
		return -1;
	got = box_open(s->derived, &with, &f->wrap, s->key, e);
	explicit_bzero(s->derived, SEALED_KEY);
	if (got > 0) {
		got = check_close(s, e);
		if (got == 0)
			return err_kind(e, ERR_POLICY, CHANGED);
	}
	return got;
}

int store_unlock_by_key(struct store *s, struct sv key, struct err *e)
{
	int got;

	if (!s->loaded || key.n != SEALED_KEY)
		return err_kind(e, ERR_BUG, "no store was read");
	memcpy(s->key, key.p, SEALED_KEY);
	got = check_close(s, e);
	if (got <= 0)
		explicit_bzero(s->key, SEALED_KEY);
	return got;
}

static int is_open(const struct store *s, struct err *e)
{
	return s->open ? 0 : err_kind(e, ERR_BUG, "the store is not open");
}

int store_get(struct store *s, struct sv name, struct sv *ret, struct err *e)
{
	const struct sealed_entry *entry;
	struct box_with with;
	const char *fault;
	int got;

	if (is_open(s, e) < 0)
		return -1;
	entry = sealed_find(&s->sealed, name);
	if (!entry)
		return 0;
	with = of_entry(&s->sealed, name);
	got = box_open(s->key, &with, &entry->box, s->value, e);
	if (got == 0)
		return err_kind(e, ERR_POLICY, CHANGED);
	if (got < 0)
		return -1;
	*ret = sv_of(s->value, entry->box.text.n);
	fault = secret_value_fault(*ret);
	return fault ? err_kind(e, ERR_POLICY, "%s", fault) : 1;
}

static void put_entries(struct buf *b, const struct sealed *s, size_t from,
			size_t to)
{
	for (size_t i = from; i < to; i++)
		buf_put(b, s->entries[i].bytes);
}

int store_put(struct store *s, struct sv name, struct sv value, struct err *e)
{
	auto_buf struct buf text = buf_new(SEALED_SIZE_MAX);
	auto_buf struct buf box = buf_new(SECRET_VALUE_MAX + 64);
	const struct box_with with = of_entry(&s->sealed, name);
	const char *fault = secret_value_fault(value);
	bool is_there;
	size_t at;

	if (is_open(s, e) < 0)
		return -1;
	if (fault || !store_name_is(name))
		return err_kind(e, ERR_POLICY, "%s", fault ? fault :
				"that is no name");
	at = sealed_place(&s->sealed, name, &is_there);
	if (!is_there && s->sealed.n == SEALED_ENTRIES_MAX)
		return err_kind(e, ERR_LIMIT, "the store is full: %d secrets",
				SEALED_ENTRIES_MAX);
	if (box_seal(s->key, &with, value, &box, e) < 0)
		return -1;
	buf_put(&text, s->sealed.head);
	sealed_put_count(&text, s->sealed.n + !is_there);
	put_entries(&text, &s->sealed, 0, at);
	sealed_put_name(&text, name, value.n);
	buf_put(&text, buf_sv(&box));
	put_entries(&text, &s->sealed, at + is_there, s->sealed.n);
	return replace(s, &text, e);
}

int store_remove(struct store *s, struct sv name, struct err *e)
{
	auto_buf struct buf text = buf_new(SEALED_SIZE_MAX);
	bool is_there;
	size_t at;

	if (is_open(s, e) < 0)
		return -1;
	at = sealed_place(&s->sealed, name, &is_there);
	if (!is_there)
		return 0;
	buf_put(&text, s->sealed.head);
	sealed_put_count(&text, s->sealed.n - 1);
	put_entries(&text, &s->sealed, 0, at);
	put_entries(&text, &s->sealed, at + 1, s->sealed.n);
	return replace(s, &text, e) < 0 ? -1 : 1;
}
