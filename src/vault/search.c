/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the values in what the agent will be able to read.
 *
 * Raw, and in base64, as it is in the configuration of clients.  The text is not
 * parsed.  A value that is short may stand anywhere by chance, and is not looked
 * for.
 */
#include <sys/mman.h>

#include "own.h"
#include "spelling.h"
#include "vault.h"

enum { SHORT = 8, FORMS = 4, DIGITS_MAX = 4 * (SECRET_SIZE_MAX + 2) / 3 };

void vault_drop_search(struct vault *v)
{
	if (v->searched.p)
		(void)munmap((void *)(uintptr_t)v->searched.p, v->searched.n);
	v->searched = (struct sv){ 0 };
}

/* Where value is in the text, in one of its forms; NULL: nowhere. */
static const char *find_form(struct sv text, struct sv value,
			     unsigned form, struct secret *digits)
{
	if (form > 0) {
		digits->n = spelling_base64(value, form - 1, digits->value);
		value = sv_of(digits->value, digits->n);
	}
	return memmem(text.p, text.n, value.p, value.n);
}

static const char *find_value(struct sv text, struct sv value,
			      struct secret *digits)
{
	const char *at = NULL;

	for (unsigned form = 0; form < FORMS && !at; form++)
		at = find_form(text, value, form, digits);
	return at;
}

static void find(const struct vault *v, struct secret *digits,
		 struct msg_FOUND *ret)
{
	for (unsigned i = 0; i < v->n_secrets && !ret->found; i++) {
		const struct sv value = secret_value(&v->secrets[i]);
		const char *at = value.n < SHORT ? NULL :
				 find_value(v->searched, value, digits);

		if (!at)
			continue;
		ret->found = 1;
		ret->secret = v->secrets[i].id;
		ret->at = (uint32_t)(at - v->searched.p);
	}
}

int vault_search(struct vault *v, struct err *e)
{
	struct msg m = { .kind = MSG_FOUND };
	struct secret digits;

	if (!v->ready || !v->searched.p)
		return 0;
	if (secret_init(&digits, 0, SV("in base64"), DIGITS_MAX, e) < 0)
		return -1;
	find(v, &digits, &m.FOUND);
	secret_wipe(&digits);
	vault_drop_search(v);
	return channel_send(&v->warden, &m, e);
}

int vault_on_search(struct vault *v, struct msg *m, struct err *e)
{
	void *p;

	if (m->n_fds != 1 || m->SEARCH.size == 0 || v->has_search)
		return err_kind(e, ERR_PROTO, "malformed SEARCH");
	p = mmap(NULL, m->SEARCH.size, PROT_READ, MAP_PRIVATE, m->fds[0], 0);
	if (p == MAP_FAILED)
		return err_sys(e, "map what is to be searched");
	v->searched = sv_of(p, m->SEARCH.size);
	v->has_search = true;
	return vault_search(v, e);
}
