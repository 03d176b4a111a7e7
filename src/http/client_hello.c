/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a ClientHello: see client_hello.h.
 *
 * First the message is gathered from its records, then it is taken apart.  All
 * lengths must meet: a vector ends where the one around it does.
 */
#include "client_hello.h"

#include "cur.h"

enum {
	RECORD_HANDSHAKE = 22,
	RECORD_HEAD = 5,
	RECORD_MAX = 16384,
	TYPE_CLIENT_HELLO = 1,
	MESSAGE_HEAD = 4,
	VERSION_MAJOR = 3,
	EXTENSION_NAME = 0,
	EXTENSION_ESNI = 0xffce,
	/* encrypted_client_hello, and the drafts before it */
	EXTENSION_ECH_FIRST = 0xfe08,
	EXTENSION_ECH = 0xfe0d,
};

static enum client_hello_result bad(struct client_hello *h, const char *fault)
{
	h->fault = fault;
	return CLIENT_HELLO_BAD;
}

/* TLS counts in network order. */
static size_t take_number(struct cur *c, size_t size)
{
	struct sv v = cur_bytes(c, size);
	size_t value = 0;

	for (size_t i = 0; i < v.n; i++)
		value = value << 8 | (uint8_t)v.p[i];
	return value;
}

/* What is behind a length of so many bytes. */
static struct cur take_vector(struct cur *c, size_t size)
{
	size_t n = take_number(c, size);

	return cur_of(cur_bytes(c, n));
}

/* A list of one name of the one kind that there is. */
static bool read_name(struct cur body, struct client_hello *h)
{
	struct cur list = take_vector(&body, 2);
	size_t kind = take_number(&list, 1);
	struct cur name = take_vector(&list, 2);

	if (body.bad || body.rest.n || !cur_done(&list) || kind != 0 ||
	    name.rest.n == 0 || name.rest.n > CLIENT_HELLO_NAME_MAX)
		return false;
	memcpy(h->name, name.rest.p, name.rest.n);
	h->name_n = (uint8_t)name.rest.n;
	h->has_name = true;
	return true;
}

static bool is_ech(size_t type)
{
	return (type >= EXTENSION_ECH_FIRST && type <= EXTENSION_ECH) ||
	       type == EXTENSION_ESNI;
}

/* Each at most once: another reader could take another one. */
static bool read_extensions(struct cur list, struct client_hello *h)
{
	uint8_t seen[65536 / 8] = { 0 };

	while (!list.bad && list.rest.n) {
		size_t type = take_number(&list, 2);
		struct cur body = take_vector(&list, 2);

		if (list.bad || seen[type / 8] >> type % 8 & 1)
			return false;
		seen[type / 8] |= (uint8_t)(1U << type % 8);
		if (type == EXTENSION_NAME && !read_name(body, h))
			return false;
		h->has_ech |= is_ech(type);
	}
	return !list.bad;
}

static bool read_message(struct sv message, struct client_hello *h)
{
	struct cur c = cur_of(message), session, suites, methods, extensions;

	if (take_number(&c, 1) != VERSION_MAJOR)
		return false;
	(void)cur_bytes(&c, 1 + 32);	/* its minor version; random */
	session = take_vector(&c, 1);
	suites = take_vector(&c, 2);
	methods = take_vector(&c, 1);
	if (c.bad || session.rest.n > 32 || suites.rest.n == 0 ||
	    suites.rest.n % 2 || methods.rest.n == 0)
		return false;
	/* Old clients have no extensions, and then no name. */
	if (c.rest.n == 0)
		return true;
	extensions = take_vector(&c, 2);
	return cur_done(&c) && read_extensions(extensions, h);
}

/* The next record's content: 1, 0 when it is not all there, -1 for another. */
static int next_record(struct sv *in, struct sv *ret)
{
	struct cur c = cur_of(*in);
	size_t type = take_number(&c, 1), major = take_number(&c, 1), n;

	if (in->n >= 1 && type != RECORD_HANDSHAKE)
		return -1;
	if (in->n >= 2 && major != VERSION_MAJOR)
		return -1;
	(void)cur_bytes(&c, 1);
	n = take_number(&c, 2);
	if (!c.bad && (n == 0 || n > RECORD_MAX))
		return -1;
	/* The part of it that is there already counts. */
	*ret = c.bad ? (struct sv){ 0 } : sv_head(c.rest, n);
	if (c.bad || c.rest.n < n)
		return 0;
	*in = sv_from(*in, RECORD_HEAD + n);
	return 1;
}

/* The length that the message's head says; 0 when it is not all there. */
static size_t message_length(struct sv message)
{
	struct cur c = cur_of(message);

	(void)cur_bytes(&c, 1);
	return message.n < MESSAGE_HEAD ? 0 :
	       MESSAGE_HEAD + take_number(&c, 3);
}

enum client_hello_result client_hello_parse(struct sv in,
					    struct client_hello *ret)
{
	char message[MESSAGE_HEAD + CLIENT_HELLO_MAX];
	bool is_full = in.n == CLIENT_HELLO_BYTES_MAX;
	size_t n = 0, length = 0;
	int got = 1;

	*ret = (struct client_hello){ 0 };
	if (in.n > CLIENT_HELLO_BYTES_MAX)
		return bad(ret, "the ClientHello is too large");
	while (got > 0 && (length == 0 || n < length)) {
		struct sv part;

		got = next_record(&in, &part);
		if (got < 0)
			return bad(ret, "no TLS ClientHello");
		if (part.n > sizeof message - n)
			return bad(ret, "the ClientHello is too large");
		if (part.n)
			memcpy(message + n, part.p, part.n);
		n += part.n;
		if (n && message[0] != TYPE_CLIENT_HELLO)
			return bad(ret, "no TLS ClientHello");
		length = message_length(sv_of(message, n));
		if (length > sizeof message)
			return bad(ret, "the ClientHello is too large");
		if (length && n > length)
			return bad(ret, "bytes behind the ClientHello in its record");
	}
	if (got == 0)
		return is_full ?
		       bad(ret, "the ClientHello is too large") :
		       CLIENT_HELLO_MORE;
	if (!read_message(sv_from(sv_of(message, n), MESSAGE_HEAD), ret))
		return bad(ret, "a malformed ClientHello");
	return CLIENT_HELLO_WHOLE;
}

const char *client_hello_fault(const struct client_hello *h, struct sv host)
{
	if (!h->has_name)
		return "the TLS client sent no server name";
	if (!sv_eq_nocase(client_hello_name(h), host))
		return "the TLS server name is another than the name that was"
		       " connected to";
	if (h->has_ech)
		return "the ClientHello has a second, encrypted server name"
		       " (ECH)";
	return NULL;
}
