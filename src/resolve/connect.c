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
	uint16_t port;		/* that is dialled */
	struct lookup lookup;
	struct race race;
	/* With a proxy: it, and what it is to dial. */
	char proxy[254];
	uint16_t proxy_port;
	char origin[ADDRESS_TEXT + 16];
};

static unsigned n_connects;

static void finish(struct attempt *t, int fd, const char *address,
		   const char *error)
{
	struct connect_end end = {
		.conn = t->conn, .id = t->id, .fd = fd, .error = error,
		.address = address, .proxy = "",
	};

	if (t->proxy[0] && fd >= 0) {
		end.address = t->origin;
		end.proxy = address;
	}
	lookup_cancel(&t->lookup);
	race_cancel(&t->race);
	t->sink->finished(&end);
	free(t);
	n_connects--;
}

static void put_endpoint(const struct address *a, uint16_t port,
			 char ret[ADDRESS_TEXT + 16])
{
	char text[ADDRESS_TEXT];

	(void)snprintf(ret, ADDRESS_TEXT + 16, a->n == 16 ? "[%s]:%u" : "%s:%u",
		       address_text(a, text), port);
}

static void on_raced(struct race *r, int raced_fd, const struct address *a,
		     const char *error)
{
	struct attempt *t = container_of(r, struct attempt, race);
	auto_fd int fd = raced_fd;
	char address[ADDRESS_TEXT + 16] = "", why[256];

	if (fd >= 0)
		put_endpoint(a, t->port, address);
	(void)snprintf(why, sizeof why, "the proxy: %s", error);
	finish(t, fd, address, t->proxy[0] && fd < 0 ? why : error);
}

static void on_proxy_found(struct lookup *l, const struct addresses *found,
			   const char *error)
{
	struct attempt *t = container_of(l, struct attempt, lookup);
	char why[256];

	(void)snprintf(why, sizeof why, "the proxy: %s", error);
	if (found->n == 0)
		finish(t, -1, "", why);
	else
		race_start(&t->race, t->loop, found, t->port);
}

/* To the proxy, once it is known what it is to dial. */
static void dial_proxy(struct attempt *t)
{
	static const struct addresses no_own;
	struct addresses one = { .n = 1 };
	struct err e = { 0 };

	t->port = t->proxy_port;
	one.v[0] = address_parse(sv_str(t->proxy));
	t->lookup.trusted = true;
	t->lookup.finished = on_proxy_found;
	if (one.v[0].n && !address_may_be_proxy(address_judge(&one.v[0],
							      &no_own)))
		finish(t, -1, "", "the proxy: forbidden address");
	else if (one.v[0].n)
		race_start(&t->race, t->loop, &one, t->port);
	else if (lookup_start(&t->lookup, sv_str(t->proxy), &e) < 0)
		finish(t, -1, "", "too many name lookups at once");
}

/* One is enough; most proxies speak IPv4. */
static const struct address *choose(const struct addresses *found)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->v[i].n == 4)
			return &found->v[i];
	return &found->v[0];
}

static void on_found(struct lookup *l, const struct addresses *found,
		     const char *error)
{
	struct attempt *t = container_of(l, struct attempt, lookup);

	if (found->n == 0) {
		finish(t, -1, "", error);
	} else if (t->proxy[0]) {
		put_endpoint(choose(found), t->port, t->origin);
		dial_proxy(t);
	} else {
		race_start(&t->race, t->loop, found, t->port);
	}
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

static void dial_name(struct attempt *t, struct sv host, bool by_name)
{
	struct err e = { 0 };

	if (address_is_literal(host))
		finish(t, -1, "", "an address instead of a name");
	else if (address_name_is_special(host))
		finish(t, -1, "", "the name never means a public host");
	else if (t->port == 0)
		finish(t, -1, "", "no port");
	else if (t->proxy[0] && by_name)
		dial_proxy(t);
	else if (lookup_start(&t->lookup, host, &e) < 0)
		finish(t, -1, "", "too many name lookups at once");
}

void connect_start(struct loop *l, const struct msg_CONNECT *m,
		  const struct connect_sink *sink)
{
	const struct connect_end full = {
		.conn = m->conn, .id = m->id, .fd = -1, .address = "",
		.proxy = "", .error = "too many connections at once",
	};
	struct attempt *t = n_connects < CONNECTS_MAX ?
				    calloc(1, sizeof *t) : NULL;

	if (!t) {
		sink->finished(&full);
		return;
	}
	n_connects++;
	t->loop = l;
	t->sink = sink;
	t->conn = m->conn;
	t->id = m->id;
	t->port = m->port;
	if (m->proxy.n && !m->via.n)	/* the table bounds it */
		memcpy(t->proxy, m->proxy.p, m->proxy.n);
	t->proxy_port = m->proxy_port;
	t->lookup.finished = on_found;
	t->race.finished = on_raced;
	if (m->via.n)
		dial_via(t, m->via);
	else
		dial_name(t, m->host, m->by_name == 1);
}
