/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's connections: see conn.h. */
#include "conn.h"

#include <stdlib.h>

static struct conn **bucket(struct warden *w, uint32_t number)
{
	/* edge counts upwards: the low bits spread evenly. */
	return &w->conns[number % WARDEN_BUCKETS];
}

struct conn *conn_find(struct warden *w, uint32_t number)
{
	struct conn *c = *bucket(w, number);

	while (c && c->number != number)
		c = c->next;
	return c;
}

struct conn *conn_add(struct warden *w, uint32_t number)
{
	struct conn *c;

	if (w->conns_n == CONNS_MAX)
		return NULL;
	c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->number = number;
	c->host = buf_new(HTTP_HOST_MAX);
	c->next = *bucket(w, number);
	*bucket(w, number) = c;
	w->conns_n++;
	return c;
}

int conn_take(struct conn *c, uint32_t id, struct sv host, uint16_t port,
	      struct err *e)
{
	if (c->number == 0 || id != c->id + 1 || c->hung_up)
		return err_kind(e, ERR_PROTO, "requests out of order");
	c->id = id;
	c->dispatched = c->claimed = c->waits = c->rejected = false;
	c->connects = c->n_secrets = c->n_sent = 0;
	c->port = port;
	buf_reset(&c->host);
	buf_put(&c->host, host);
	return 0;
}

void conn_dispatch(struct conn *c)
{
	c->dispatched = true;
	c->owed++;
}

/*
 * Ends come in the order of their requests.  edge's next request may have been
 * read before the end of the one before it, so that more than one can be owed.
 */
int conn_done(struct conn *c, uint32_t id, struct err *e)
{
	if (c->owed == 0 || id <= c->done_id || id > c->id ||
	    (id == c->id && !c->dispatched))
		return err_kind(e, ERR_PROTO, "an exchange ended that is not "
				"under way");
	c->owed--;
	c->done_id = id;
	if (id == c->id)
		c->dispatched = false;
	return 0;
}

static void conn_free(struct conn *c)
{
	buf_free(&c->host);
	free(c);
}

void conn_remove(struct warden *w, uint32_t number)
{
	for (struct conn **at = bucket(w, number); *at; at = &(*at)->next) {
		struct conn *c = *at;

		if (c->number != number)
			continue;
		*at = c->next;
		w->conns_n--;
		conn_free(c);
		return;
	}
}

void conn_remove_all(struct warden *w)
{
	for (size_t i = 0; i < WARDEN_BUCKETS; i++)
		while (w->conns[i]) {
			struct conn *c = w->conns[i];

			w->conns[i] = c->next;
			conn_free(c);
		}
	w->conns_n = 0;
}
