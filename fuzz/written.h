/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a request that was accepted, whichever HTTP it came in: what is written for
 * the origin has one reading, which is the request itself.
 */
#ifndef FUZZ_WRITTEN_H
#define FUZZ_WRITTEN_H

#include "buf.h"
#include "canonical.h"
#include "fuzz.h"
#include "h1_request.h"
#include "h1_response.h"

static inline void check_fields(const struct http_fields *a,
			 const struct http_fields *b)
{
	MUST(a->n == b->n);
	for (size_t i = 0; i < a->n; i++)
		MUST(sv_eq(a->v[i].name, b->v[i].name) &&
		     sv_eq(a->v[i].value, b->v[i].value));
}

static inline void check_same(const struct http_request *a,
		       const struct http_request *b)
{
	MUST(a->scheme == b->scheme && a->port == b->port);
	MUST(sv_eq(a->host, b->host) && sv_eq(a->method, b->method));
	MUST(sv_eq(a->path, b->path) && sv_eq(a->query, b->query));
	MUST(a->has_query == b->has_query);
	MUST(a->body == b->body && a->length == b->length);
	MUST(a->upgrade == b->upgrade);
	check_fields(&a->fields, &b->fields);
}

/* A careless origin: any line feed ends a line, case and blanks are lax. */
static inline void check_careless_reading(struct sv head)
{
	unsigned hosts = 0, framings = 0, lines = 0;
	bool ended = false;

	while (head.n) {
		size_t n = sv_find(head, '\n');
		struct sv line = sv_head(head, n), name;

		MUST(!ended && n < head.n);
		MUST(line.n && line.p[line.n - 1] == '\r');
		line.n--;
		MUST(sv_find(line, '\r') == line.n);
		MUST(sv_find(line, '\0') == line.n);
		head = sv_from(head, n + 1);
		ended = line.n == 0;
		if (ended || lines++ == 0)
			continue;
		MUST(line.p[0] != ' ' && line.p[0] != '\t');
		name = sv_trim(sv_head(line, sv_find(line, ':')));
		hosts += sv_eq_nocase(name, SV("host"));
		framings += sv_eq_nocase(name, SV("content-length")) ||
			    sv_eq_nocase(name, SV("transfer-encoding"));
	}
	MUST(ended && hosts == 1 && framings <= 1);
}

/* What dial adds to the upgrade to a WebSocket. */
static inline void add_key(struct http_request *r, struct arena *a)
{
	size_t n = r->fields.n;
	struct http_field *v = arena_alloc(a, (n + 2) * sizeof *v);

	MUST(v);
	if (n)
		memcpy(v, r->fields.v, n * sizeof *v);
	v[n] = (struct http_field){ SV("sec-websocket-version"), SV("13") };
	v[n + 1] = (struct http_field){ SV("sec-websocket-key"),
					SV("dGhlIHNhbXBsZSBub25jZQ==") };
	r->fields = (struct http_fields){ v, n + 2 };
}

static inline void check_written(const struct http_request *r)
{
	struct h1_inlet inlet = { .scheme = r->scheme, .host = r->host,
				.port = r->port };
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf b = buf_new(1 << 20);
	struct http_request out = *r;
	struct h1_request again;

	if (r->upgrade)
		add_key(&out, &a);
	h1_write_request(&b, &out);
	MUST(!b.full);
	/* The limit of a head may be passed by what was normalised. */
	if (b.n > HTTP_HEAD_MAX)
		return;
	check_careless_reading(buf_sv(&b));
	/* Host, framing, TE and Connection come on top of the most fields that there
	 * may be. */
	if (out.fields.n + 4 > HTTP_FIELDS_MAX)
		return;
	MUST(h1_parse_request(buf_sv(&b), &inlet, &a, &again) == (ssize_t)b.n);
	check_same(r, &again.request);
}

#endif
