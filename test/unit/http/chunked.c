/* SPDX-License-Identifier: Apache-2.0 */
/* The chunked coding, whole and cut at every point. */
#include "chunked.h"

#include "own.h"
#include "tap.h"

/* Decodes in, cut at `cut`; the last result, and the data in out. */
static enum chunked_result decode(struct sv in, size_t cut, struct buf *out,
				  size_t *rest)
{
	struct sv pieces[2] = { sv_head(in, cut), sv_from(in, cut) };
	struct chunked c = { 0 };
	enum chunked_result r = CHUNKED_MORE;

	*rest = 0;
	for (size_t i = 0; i < 2; i++) {
		struct sv data;

		if (r != CHUNKED_MORE) {
			*rest += pieces[i].n;
			continue;
		}
		while ((r = chunked_next(&c, &pieces[i], &data)) ==
		       CHUNKED_DATA)
			buf_put(out, data);
		*rest += pieces[i].n;
	}
	return r;
}

static const struct {
	struct sv in;
	const char *data;
	size_t rest;
} good[] = {
	{ SV("0\r\n\r\n"), "", 0 },
	{ SV("3\r\nabc\r\n0\r\n\r\n"), "abc", 0 },
	{ SV("3\r\nabc\r\n0\r\n\r\nGET /"), "abc", 5 },
	{ SV("03\r\nabc\r\n1\r\n\n\r\n000\r\n\r\n"), "abc\n", 0 },
	{ SV("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
	  "01234567890123456789", 0 },
	{ SV("3;a=b;c=\"x\\\"y;\"\r\nabc\r\n0;z\r\n\r\n"), "abc", 0 },
	{ SV("1\r\nx\r\n0\r\nHost: evil.test\r\nX:\r\n\r\n"), "x", 0 },
};

static const struct sv bad[] = {
	SV("\r\n"), SV("x"), SV("0x3\r\n"), SV("+3\r\n"), SV("-3\r\n"),
	SV("0_3\r\n"), SV("3 \r\nabc"), SV(" 3\r\n"), SV("3\t\r\n"),
	SV("3\nabc"), SV("3\rabc"), SV("3\r\nabcX"), SV("3\r\nabc0\r\n\r\n"),
	SV("3\r\nabc\n0"), SV("3\r\nabc\rX"), SV("0\n\r\n"), SV("0\r\n\n"),
	SV("0\r\n\rX"), SV("3;a\nb\r\n"), SV("3;a\rb\r\n"), SV("3;a\0b\r\n"),
	SV("3;a=\"\r\nabc"), SV("10000000000000000\r\n"),
	SV("8000000000000000\r\n"), SV("00000000000000003\r\n"),
	SV("0\r\nX y: z\r\n\r\n"), SV("0\r\n: z\r\n\r\n"), SV("0\r\n X: z\r\n"),
	SV("0\r\nX\r\n\r\n"), SV("0\r\nX: \n\r\n"), SV("0\r\nX: \rY\r\n"),
	SV("0\r\nX : z\r\n\r\n"), SV("3;\"\\\r\n\"\r\n"),
};

static void test_chunked_body_is_decoded_at_any_cut(void)
{
	for (size_t i = 0; i < countof(good); i++)
		for (size_t cut = 0; cut <= good[i].in.n; cut++) {
			auto_buf struct buf out = buf_new(4096);
			size_t rest;

			CHECK_INT(decode(good[i].in, cut, &out, &rest),
				  CHUNKED_END);
			CHECK_SV(buf_sv(&out), good[i].data);
			CHECK_INT(rest, good[i].rest);
		}
}

static void test_chunked_malformed_is_bad_at_any_cut(void)
{
	for (size_t i = 0; i < countof(bad); i++)
		for (size_t cut = 0; cut <= bad[i].n; cut++) {
			auto_buf struct buf out = buf_new(4096);
			size_t rest;

			if (decode(bad[i], cut, &out, &rest) != CHUNKED_BAD)
				printf("# not bad: %.*s\n", SV_FMT(bad[i]));
			CHECK_INT(decode(bad[i], cut, &out, &rest),
				  CHUNKED_BAD);
		}
}

static void test_chunked_cut_short_needs_more(void)
{
	struct sv whole = good[5].in;

	for (size_t n = 0; n < whole.n; n++) {
		auto_buf struct buf out = buf_new(4096);
		size_t rest;

		CHECK_INT(decode(sv_head(whole, n), 0, &out, &rest),
			  CHUNKED_MORE);
	}
}

static void test_chunked_bad_stays_bad(void)
{
	struct chunked c = { 0 };
	struct sv in = SV("zz"), more = SV("0\r\n\r\n"), data;

	CHECK_INT(chunked_next(&c, &in, &data), CHUNKED_BAD);
	CHECK_INT(chunked_next(&c, &more, &data), CHUNKED_BAD);
}

/* n bytes of fill between two texts. */
static enum chunked_result decode_filled(const char *before, size_t n,
					 char fill, const char *after)
{
	auto_buf struct buf in = buf_new(65536), out = buf_new(65536);
	size_t rest;

	buf_puts(&in, before);
	for (size_t i = 0; i < n; i++)
		buf_putc(&in, fill);
	buf_puts(&in, after);
	return decode(buf_sv(&in), 0, &out, &rest);
}

static void test_chunked_extensions_and_trailers_are_bounded(void)
{
	CHECK_INT(decode_filled("1;", CHUNK_EXTENSION_MAX - 1, 'a',
				"\r\nx\r\n0\r\n\r\n"), CHUNKED_END);
	CHECK_INT(decode_filled("1;", CHUNK_EXTENSION_MAX + 1, 'a',
				"\r\nx\r\n0\r\n\r\n"), CHUNKED_BAD);
	CHECK_INT(decode_filled("0\r\nX: ", CHUNK_TRAILERS_MAX - 8, 'a',
				"\r\n\r\n"), CHUNKED_END);
	CHECK_INT(decode_filled("0\r\nX: ", CHUNK_TRAILERS_MAX, 'a',
				"\r\n\r\n"), CHUNKED_BAD);
}

static void test_chunked_written_is_read_back(void)
{
	auto_buf struct buf b = buf_new(4096), out = buf_new(4096);
	size_t rest;

	chunked_put(&b, SV("hello "));
	chunked_put(&b, SV(""));
	chunked_put(&b, SV("world, this is more than fifteen"));
	chunked_put_last(&b);
	CHECK_INT(decode(buf_sv(&b), 0, &out, &rest), CHUNKED_END);
	CHECK_SV(buf_sv(&out), "hello world, this is more than fifteen");
	CHECK_INT(rest, 0);
}

int main(void)
{
	RUN(test_chunked_body_is_decoded_at_any_cut);
	RUN(test_chunked_malformed_is_bad_at_any_cut);
	RUN(test_chunked_cut_short_needs_more);
	RUN(test_chunked_bad_stays_bad);
	RUN(test_chunked_extensions_and_trailers_are_bounded);
	RUN(test_chunked_written_is_read_back);
	return tap_done();
}
