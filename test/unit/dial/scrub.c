/* SPDX-License-Identifier: Apache-2.0 */
/* Masking: every spelling, at every cut, and nothing else. */
#include "scrub.h"

#include "base64.h"
#include "own.h"
#include "tap.h"

/* A value with characters that each escape has an opinion on. */
#define VALUE "sk-Te5t/K3y+\"%\\&=z"

static const struct sv values[] = { SV(VALUE), SV("other-secret") };

/* in through a scrubber in pieces of `first`, then `step` bytes. */
static void scrub(struct sv in, size_t first, size_t step, struct buf *out,
		  uint64_t *hits)
{
	auto_scrub struct scrub s;
	struct err e;

	CHECK(!scrub_init(&s, values, countof(values), &e));
	CHECK(!scrub_push(&s, sv_head(in, first), out, &e));
	for (size_t at = first; at < in.n; at += step) {
		CHECK(!scrub_push(&s, sv_head(sv_from(in, at), step), out, &e));
		CHECK(s.held.n < s.longest);
	}
	CHECK(!scrub_finish(&s, out, &e));
	*hits = s.hits;
}

/* Of in, exactly n bytes from `from` on are masked, once. */
static void check_scrubbed(struct sv in, size_t from, size_t n)
{
	for (size_t cut = 0; cut <= in.n; cut++)
		for (size_t step = 1; step <= 9; step += 4) {
			auto_buf struct buf out = buf_new(65536);
			auto_buf struct buf want = buf_new(65536);
			uint64_t hits;

			buf_put(&want, in);
			memset(want.p + from, '*', n);
			scrub(in, cut, step, &out, &hits);
			if (!sv_eq(buf_sv(&out), buf_sv(&want)))
				printf("# %.*s: %.*s\n", SV_FMT(in),
				       SV_FMT(buf_sv(&out)));
			CHECK(sv_eq(buf_sv(&out), buf_sv(&want)));
			CHECK_INT(hits, 1);
		}
}

static void check_spelling(const char *text)
{
	auto_buf struct buf in = buf_new(4096);

	buf_puts(&in, "s%\\&");
	buf_puts(&in, text);
	buf_puts(&in, "&x");
	check_scrubbed(buf_sv(&in), 4, strlen(text));
}

static void test_value_in_any_spelling_is_masked_at_any_cut(void)
{
	static const char *const spellings[] = {
		VALUE,
		"sk-Te5t%2FK3y%2B%22%25%5C%26%3Dz",
		"%73%6b%2d%54%65%35%74%2f%4b%33%79%2b%22%25%5c%26%3d%7a",
		"sk-Te5t/K3y+%22%25%5c%26=z",
		"sk-Te5t/K3y+\\\"%\\\\&=z",
		"sk-Te5t\\/K3y\\u002b\\u0022\\u0025\\u005C\\u0026\\u003d\\u007A",
		"sk-Te5t/K3y&#43;&quot;%\\&amp;&#x3d;z",
		"other-secret",
		"other%2Dsecret",
	};

	for (size_t i = 0; i < countof(spellings); i++)
		check_spelling(spellings[i]);
}

/* What is masked are the digits that the value alone decides. */
static void test_value_in_base64_is_masked_at_each_alignment(void)
{
	for (size_t before = 0; before < 4; before++)
		for (unsigned url = 0; url < 2; url++) {
			auto_buf struct buf plain = buf_new(4096);
			auto_buf struct buf in = buf_new(4096);
			size_t k = before % 3, n = sizeof(VALUE) - 1;
			size_t first = (8 * k + 5) / 6;
			size_t last = 8 * (k + n) / 6;

			buf_put(&plain, sv_head(SV("usr:"), before));
			buf_put(&plain, SV(VALUE "?>tail"));
			buf_put_base64(&in, buf_sv(&plain));
			for (size_t i = 0; url && i < in.n; i++)
				in.p[i] = in.p[i] == '+' ? '-' :
					  in.p[i] == '/' ? '_' : in.p[i];
			check_scrubbed(buf_sv(&in), before / 3 * 4 + first,
				       last - first);
		}
}

static void test_value_in_hexadecimal_is_masked(void)
{
	auto_buf struct buf digits = buf_new(4096);
	auto_buf struct buf in = buf_new(4096);

	buf_put_hex(&digits, SV(VALUE));
	for (unsigned upper = 0; upper < 3; upper++) {
		buf_reset(&in);
		buf_puts(&in, "0x7");
		buf_put(&in, buf_sv(&digits));
		buf_puts(&in, "7a");
		/* In neither case, in all of them, in every second one. */
		for (size_t i = 3; i < in.n; i++)
			if (is_alpha(in.p[i]) && upper && (upper == 1 || i % 2))
				in.p[i] = (char)(in.p[i] & ~0x20);
		check_scrubbed(buf_sv(&in), 3, digits.n);
	}
}

/* As many programs write it, in lines, also in a string of JSON. */
static void test_value_in_lines_of_base64_is_masked(void)
{
	static const char *const ends[] = { "\n", "\r\n", "\\n", "\\r\\n" };
	auto_buf struct buf digits = buf_new(4096);
	size_t n = 8 * (sizeof(VALUE) - 1) / 6;

	buf_put_base64(&digits, SV(VALUE "tail"));
	for (size_t i = 0; i < countof(ends); i++)
		for (size_t width = 1; width < n; width++) {
			auto_buf struct buf in = buf_new(4096);
			size_t masked = n;

			for (size_t k = 0; k < digits.n; k++) {
				if (k && k % width == 0)
					buf_puts(&in, ends[i]);
				if (k && k % width == 0 && k < n)
					masked += strlen(ends[i]);
				buf_putc(&in, digits.p[k]);
			}
			check_scrubbed(buf_sv(&in), 0, masked);
		}
}

static void check_unchanged(struct sv in)
{
	for (size_t cut = 0; cut <= in.n; cut++) {
		auto_buf struct buf out = buf_new(65536);
		uint64_t hits;

		scrub(in, cut, 5, &out, &hits);
		CHECK(sv_eq(buf_sv(&out), in));
		CHECK_INT(hits, 0);
	}
}

static void test_what_is_no_value_passes(void)
{
	check_unchanged(SV(""));
	check_unchanged(SV("sk-Te5t/K3y+\"%\\&="));
	check_unchanged(SV("sk-te5t/k3y+\"%\\&=z"));
	check_unchanged(SV("ssksk-sk-Te5t/sk-Te5t%2Fsk-Te5t\\u002f&#&&amp;"));
	check_unchanged(SV("%%%25%2525\\\\\\u\\u0&&#&#x2B\0\xff%"));
	check_unchanged(SV("c2st\r\n\nVGU1\r\nc2st\\r\\nVGU1c2s\r\\"));
}

static void test_overlapping_values_are_masked_whole(void)
{
	static const struct sv both[] = { SV("abcdef"), SV("defghi") };
	auto_buf struct buf out = buf_new(4096);
	auto_scrub struct scrub s;
	struct err e;

	CHECK(!scrub_init(&s, both, 2, &e));
	CHECK(!scrub_push(&s, SV("-abcde"), &out, &e));
	CHECK(!scrub_push(&s, SV("fghi-abcdefghi"), &out, &e));
	CHECK(!scrub_finish(&s, &out, &e));
	CHECK_SV(buf_sv(&out), "-*********-*********");
	CHECK_INT(s.hits, 4);
}

static void test_value_ending_in_an_introducer_is_masked_at_the_end(void)
{
	static const char *const texts[] = { "abc&", "abc%", "abc\\" };

	for (size_t i = 0; i < countof(texts); i++) {
		auto_buf struct buf out = buf_new(4096);
		struct sv value = sv_str(texts[i]);
		auto_scrub struct scrub s;
		struct err e;

		CHECK(!scrub_init(&s, &value, 1, &e));
		CHECK(!scrub_push(&s, value, &out, &e));
		CHECK(!scrub_finish(&s, &out, &e));
		CHECK_SV(buf_sv(&out), "****");
	}
}

static void test_fields_are_masked_in_name_and_value(void)
{
	struct http_field v[] = {
		{ SV("x-other-secret-y"), SV("1") },
		{ SV("location"), SV("/?t=other%2dsecret&n=1") },
		{ SV("etag"), SV("\"abc\"") },
		{ SV("x-sk-te5t"), SV("") },
	};
	struct http_fields f = { v, countof(v) };
	auto_arena struct arena a = arena_new(65536);
	static const struct sv upper[] = { SV("Other-Secret"),
					   SV("other-secret") };
	auto_scrub struct scrub s;
	struct err e;

	CHECK(!scrub_init(&s, upper, 2, &e));
	CHECK(!scrub_fields(&s, &f, &a, &e));
	CHECK_SV(v[0].name, "x-************-y");
	CHECK_SV(v[1].value, "/?t=**************&n=1");
	CHECK_SV(v[2].value, "\"abc\"");
	CHECK_SV(v[3].name, "x-sk-te5t");
	CHECK(s.hits >= 2);
}

static void test_values_too_short_or_too_many_are_refused(void)
{
	struct sv many[SCRUB_VALUES_MAX + 1];
	char names[countof(many)][16];
	struct sv brief = SV("abc");
	struct scrub s;
	struct err e;

	for (size_t i = 0; i < countof(many); i++)
		many[i] = sv_of(names[i], (size_t)snprintf(
			names[i], sizeof names[i], "value-%zu", i));
	CHECK(scrub_init(&s, &brief, 1, &e) < 0 && e.kind == ERR_LIMIT);
	CHECK(scrub_init(&s, many, countof(many), &e) < 0);
	CHECK(!scrub_init(&s, many, SCRUB_VALUES_MAX, &e));
	scrub_fini(&s);
	CHECK(!scrub_init(&s, NULL, 0, &e));
	scrub_fini(&s);
	scrub_fini(&s);
}

static void test_a_value_that_comes_later_is_masked_from_then_on(void)
{
	auto_buf struct buf out = buf_new(4096);
	auto_scrub struct scrub s;
	struct err e;

	CHECK(!scrub_init(&s, values, 1, &e));
	CHECK(!scrub_push(&s, SV("later-value later-"), &out, &e));
	CHECK(!scrub_add_lines(&s, SV("later-value\nother-secret"), &e));
	CHECK_INT(s.n_patterns, 3 * 5);
	/* Again is no more. */
	CHECK(!scrub_add_lines(&s, SV("other-secret\nlater-value"), &e));
	CHECK_INT(s.n_patterns, 3 * 5);
	CHECK(!scrub_push(&s, SV("value later-va"), &out, &e));
	CHECK(!scrub_push(&s, SV("lue other-secret " VALUE), &out, &e));
	CHECK(!scrub_finish(&s, &out, &e));
	CHECK_SV(buf_sv(&out), "later-value later-value *********** ************ "
		 "******************");
	CHECK(scrub_add_lines(&s, SV("abc"), &e) < 0);
	CHECK_INT(s.n_patterns, 3 * 5);
}

int main(void)
{
	RUN(test_value_in_any_spelling_is_masked_at_any_cut);
	RUN(test_value_in_base64_is_masked_at_each_alignment);
	RUN(test_value_in_hexadecimal_is_masked);
	RUN(test_value_in_lines_of_base64_is_masked);
	RUN(test_what_is_no_value_passes);
	RUN(test_overlapping_values_are_masked_whole);
	RUN(test_value_ending_in_an_introducer_is_masked_at_the_end);
	RUN(test_fields_are_masked_in_name_and_value);
	RUN(test_a_value_that_comes_later_is_masked_from_then_on);
	RUN(test_values_too_short_or_too_many_are_refused);
	return tap_done();
}
