/* SPDX-License-Identifier: Apache-2.0 */
/* One CONNECT: see connect.h. */
#include "connect.h"

#include <stdio.h>

#include "lookup.h"
#include "own.h"
#include "race.h"

struct attempt {
	struct loop *loop;
	const struct connect_sink *sink;
	uint32_t conn, id;
	uint16_t port;
	struct lookup lookup;
	struct race race;
};

static unsigned n_connects;

static void finish(struct attempt *t, int fd, const char *address,
		   const char *error)
{
	lookup_cancel(&t->lookup);
	race_cancel(&t->race);
	t->sink->finished(t->conn, t->id, fd, address, error);
	free(t);
	n_connects--;
}

static void on_raced(struct race *r, int raced_fd, const struct address *a,
		     const char *error)
{
	struct attempt *t = container_of(r, struct attempt, race);
	auto_fd int fd = raced_fd;
	char text[ADDRESS_TEXT], address[ADDRESS_TEXT + 16] = "";

	if (fd >= 0)
		(void)snprintf(address, sizeof address,
			       a->n == 16 ? "[%s]:%u" : "%s:%u",
			       address_text(a, text), t->port);
	finish(t, fd, address, error);
}

static void on_found(struct lookup *l, const struct addresses *found,
		     const char *error)
{
	struct attempt *t = container_of(l, struct attempt, lookup);

	if (found->n == 0)
		finish(t, -1, "", error);
	else
		race_start(&t->race, t->loop, found, t->port);
}

/* "ADDRESS:PORT" or "[ADDRESS]:PORT". */
static bool parse_endpoint(struct sv via, struct address *ret, uint16_t *port)
{
	struct sv host, digits;
	uint64_t value;

	if (via.n && via.p[0] == '[') {
		size_t end = sv_find(via, ']');

		if (end + 1 >= via.n || via.p[end + 1] != ':')
			return false;
		host = sv_of(via.p + 1, end - 1);
		digits = sv_from(via, end + 2);
	} else {
		size_t colon = sv_find(via, ':');

		host = sv_head(via, colon);
		digits = sv_from(via, colon + 1);
	}
	*ret = address_parse(host);
	if (ret->n != (via.n && via.p[0] == '[' ? 16 : 4) ||
	    !sv_to_u64(digits, UINT16_MAX, &value) || value == 0)
		return false;
	*port = (uint16_t)value;
	return true;
}

static void dial_via(struct attempt *t, struct sv via)
{
	static const struct addresses no_own;
	struct addresses one = { .n = 1 };

	if (!parse_endpoint(via, &one.v[0], &t->port))
		finish(t, -1, "", "malformed endpoint");
	else if (address_judge(&one.v[0], &no_own) == ADDRESS_METADATA)
		finish(t, -1, "", "forbidden address (cloud metadata)");
	else
		race_start(&t->race, t->loop, &one, t->port);
}

static void dial_name(struct attempt *t, struct sv host)
{
	struct err e = { 0 };

	if (address_is_literal(host))
		finish(t, -1, "", "an address instead of a name");
	else if (address_name_is_special(host))
		finish(t, -1, "", "the name never means a public host");
	else if (t->port == 0)
		finish(t, -1, "", "no port");
	else if (lookup_start(&t->lookup, host, &e) < 0)
		finish(t, -1, "", "too many name lookups at once");
}

void connect_start(struct loop *l, const struct msg_CONNECT *m,
		  const struct connect_sink *sink)
{
	struct attempt *t = n_connects < CONNECTS_MAX ?
				    calloc(1, sizeof *t) : NULL;

	if (!t) {
		sink->finished(m->conn, m->id, -1, "",
			       "too many connections at once");
		return;
	}
	n_connects++;
	t->loop = l;
	t->sink = sink;
	t->conn = m->conn;
	t->id = m->id;
	t->port = m->port;
	t->lookup.finished = on_found;
	t->race.finished = on_raced;
	if (m->via.n)
		dial_via(t, m->via);
	else
		dial_name(t, m->host);
}
