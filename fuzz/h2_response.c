/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of fields, as an origin's HTTP/2 carries them: a head and trailers.  What
 * an accepted head becomes for an agent of HTTP/1 is read back as the same
 * response, by the strict parser of HTTP/1; so are the trailers, behind chunks.
 */
#include "buf.h"
#include "chunked.h"
#include "field.h"
#include "fuzz.h"
#include "h1_response.h"
#include "h2_response.h"

static void check_fields(const struct http_fields *a,
			 const struct http_fields *b)
{
	MUST(a->n == b->n);
	for (size_t i = 0; i < a->n; i++)
		MUST(sv_eq(a->v[i].name, b->v[i].name) &&
		     sv_eq(a->v[i].value, b->v[i].value));
}

static void check_head(const struct http_response *r, struct sv method)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf out = buf_new(1 << 20);
	struct h1_response again;

	h1_write_response_head(&out, r, true);
	MUST(!out.full);
	/* What frames the body and the connection is added to the fields. */
	if (out.n > HTTP_HEAD_MAX || r->fields.n + 3 > HTTP_FIELDS_MAX)
		return;
	MUST(h1_parse_response(buf_sv(&out), method, &a, &again) ==
	     (ssize_t)out.n);
	MUST(r->status == again.response.status);
	MUST(r->body == again.response.body);
	MUST(r->length == again.response.length);
	check_fields(&r->fields, &again.response.fields);
}

static void check_trailers(const struct http_fields *f)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf out = buf_new(1 << 20);
	struct http_fields again = { 0 };
	struct h1_refusal why = { 0 };
	struct sv lines;

	for (size_t i = 0; i < f->n; i++)
		MUST(field_is_trailer(f->v[i].name));
	chunked_put_trailers(&out, f);
	MUST(!out.full && out.n >= 5);
	lines = arena_dup(&a, sv_of(out.p + 3, out.n - 5));
	MUST(lines.p && h1_fields_parse(lines, &a, &again, &why) == 0);
	check_fields(f, &again);
}

static void take(struct h2_list *list, struct sv in, char end, struct arena *a)
{
	while (in.n) {
		struct sv field = sv_cut(&in, end);
		struct sv name = sv_cut(&field, ' ');

		h2_list_add(list, a, name, field);
	}
}

/* Fields end in NUL or in LF, as in h2_head.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sv methods[] = { { "GET", 3 }, { "HEAD", 4 } };
	struct sv in = fuzz_input(data, size);
	uint8_t how = fuzz_byte(&in);
	struct sv method = methods[how & 1];
	auto_arena struct arena a = arena_new(1 << 20);
	struct h2_list head = { 0 }, trailers = { 0 };
	char end = how & 4 ? '\0' : '\n';
	struct http_response r;
	struct http_fields f;

	take(&head, in, end, &a);
	take(&trailers, in, end, &a);
	if (h2_parse_response(&head, how & 2, method, &a, &r) == 0) {
		MUST(!head.why.reason);
		MUST(r.body != HTTP_BODY_CLOSE);
		MUST(!(how & 2) || r.body == HTTP_BODY_NONE || r.length == 0);
		check_head(&r, method);
	} else {
		MUST(head.why.reason);
	}
	if (h2_parse_trailers(&trailers, &f) == 0)
		check_trailers(&f);
	else
		MUST(trailers.why.reason);
	return 0;
}
