/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholders: their shape, and finding them. */
#include "placeholder.h"

#include <regex.h>

#include "base64.h"
#include "own.h"
#include "tap.h"

#define P "stockade_placeholder_00112233445566778899aabbccddeeff"

static struct placeholder made_of(uint64_t seed, const char *like)
{
	uint8_t noise[PLACEHOLDER_NOISE];
	struct placeholder p;

	for (size_t i = 0; i < sizeof noise; i++) {
		seed = seed * UINT64_C(6364136223846793005) +
		       UINT64_C(1442695040888963407);
		noise[i] = (uint8_t)(seed >> 56);
	}
	CHECK(placeholder_make(noise, sv_str(like), &p));
	return p;
}

static void test_placeholder_made_plain_is_its_core(void)
{
	static const uint8_t noise[PLACEHOLDER_NOISE] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	};
	struct placeholder p;

	CHECK(placeholder_make(noise, SV(""), &p));
	CHECK_SV(placeholder_text(&p), P);
	CHECK_SV(placeholder_core(&p), P);
}

#define LETTERS "[0-9A-Za-z]"
#define BASE64 "[0-9A-Za-z_-]"
/* What clients and scanners take for tokens of these services. */
static const struct {
	const char *like, *pattern;
} shapes[] = {
	{ "ghp_", "^ghp_" LETTERS "{36}$" },
	{ "gho_", "^gho_" LETTERS "{36}$" },
	{ "ghs_", "^ghs_" LETTERS "{36}$" },
	{ "ghu_", "^ghu_" LETTERS "{36}$" },
	{ "ghr_", "^ghr_" LETTERS "{76}$" },
	{ "github_pat_", "^github_pat_" LETTERS "{22}_" LETTERS "{59}$" },
	{ "npm_", "^npm_" LETTERS "{36}$" },
	{ "glpat-", "^glpat-" BASE64 "{27,255}\\.[0-9a-z]{2}[0-9a-z]{7}$" },
	{ "pypi-", "^pypi-AgEIcHlwaS5vcmc" BASE64 "{50,255}$" },
	{ "sk-ant-api03-", "^sk-ant-api03-" BASE64 "{93}AA$" },
	{ "sk-ant-oat01-", "^sk-ant-oat01-" BASE64 "{93}AA$" },
	{ "sk-proj-", "^sk-proj-" BASE64 "{58}T3BlbkFJ" BASE64 "{58}$" },
	{ "sk-svcacct-", "^sk-svcacct-" BASE64 "{58}T3BlbkFJ" BASE64 "{58}$" },
	{ "sk-", "^sk-" LETTERS "{48}$" },
	{ "sk-or-v1-", "^sk-or-v1-" LETTERS "{64}$" },
	{ "AIza", "^AIza" BASE64 "{35}$" },
	{ "xoxb-", "^xoxb-[0-9]{10,13}-[0-9]{10,13}-" LETTERS "{24,}$" },
	{ "xoxp-", "^xoxp-[0-9]{10,13}-[0-9]{10,13}-" LETTERS "{24,}$" },
	{ "acme.v1_live-", "^acme\\.v1_live-" LETTERS "{40}$" },
	{ "jwt", "^eyJ" BASE64 "+\\.eyJ" BASE64 "+\\." BASE64 "{43}$" },
};

static bool matches(struct sv v, const char *pattern)
{
	char text[PLACEHOLDER_MAX + 1];
	regex_t r;
	bool yes;

	memcpy(text, v.p, v.n);
	text[v.n] = '\0';
	CHECK_INT(regcomp(&r, pattern, REG_EXTENDED | REG_NOSUB), 0);
	yes = regexec(&r, text, 0, NULL, 0) == 0;
	regfree(&r);
	return yes;
}

static void test_placeholder_made_like_a_token_looks_like_it(void)
{
	for (size_t i = 0; i < countof(shapes); i++)
		for (uint64_t seed = 0; seed < 50; seed++) {
			struct placeholder p = made_of(seed, shapes[i].like);

			if (!matches(placeholder_text(&p), shapes[i].pattern))
				printf("# %.*s\n",
				       SV_FMT(placeholder_text(&p)));
			CHECK(matches(placeholder_text(&p), shapes[i].pattern));
		}
}

/* Of the thirty characters behind the prefix, as a client computes it. */
static void test_placeholder_made_like_a_github_token_has_its_checksum(void)
{
	static const uint8_t noise[PLACEHOLDER_NOISE];
	struct placeholder p;

	CHECK(placeholder_make(noise, SV("ghp_"), &p));
	CHECK_SV(placeholder_text(&p),
		 "ghp_STOCKADE0000000000000000000000" "1pvsFR");
}

static void test_placeholder_made_like_jwt_decodes(void)
{
	struct placeholder p = made_of(7, "jwt");
	struct sv rest = placeholder_text(&p);
	struct sv header = sv_cut(&rest, '.'), claims = sv_cut(&rest, '.');
	auto_buf struct buf b = buf_new(4096);

	CHECK(buf_put_unbase64(&b, header));
	CHECK_SV(buf_sv(&b), "{\"alg\":\"HS256\",\"typ\":\"JWT\"}");
	buf_reset(&b);
	CHECK(buf_put_unbase64(&b, claims));
	CHECK(sv_starts(buf_sv(&b), SV("{\"sub\":\"stockade\",\"exp\":"
				       "4102444800,\"jti\":\"")));
	CHECK(sv_ends(buf_sv(&b), SV("\"}")));
	/* Strict decoders want no bits behind the last byte. */
	buf_reset(&b);
	buf_put(&b, rest);
	for (size_t i = 0; i < b.n; i++)
		CHECK(b.p[i] != '-' && b.p[i] != '_');
	buf_putc(&b, '=');
	CHECK(buf_put_unbase64(&b, sv_of(b.p, b.n)));
}

static void test_placeholder_is_no_part_of_another(void)
{
	struct placeholder p[2 * countof(shapes) + 1];

	p[2 * countof(shapes)] = made_of(99, "");
	for (size_t i = 0; i < countof(p) - 1; i++)
		p[i] = made_of(100 + i, shapes[i / 2].like);
	for (size_t i = 0; i < countof(p); i++)
		for (size_t k = 0; k < countof(p); k++)
			CHECK(i == k ||
			      sv_find_sv(placeholder_text(&p[k]),
					 placeholder_core(&p[i])) ==
				      p[k].n);
}

static void test_placeholder_without_room_is_not_made(void)
{
	static const uint8_t noise[PLACEHOLDER_NOISE];
	static char like[PLACEHOLDER_MAX];
	struct placeholder p;

	memset(like, 'a', sizeof like);
	CHECK(!placeholder_make(noise, sv_of(like, sizeof like), &p));
	CHECK(placeholder_make(noise, sv_of(like, 32), &p));
}

static void check_found(struct sv text, bool want)
{
	struct placeholder_core out;

	if (placeholder_find(text, &out) != want)
		printf("# %s: %.*s\n", want ? "missed" : "found", SV_FMT(text));
	CHECK(placeholder_find(text, &out) == want);
	if (want)
		CHECK_SV(sv_of(out.text, out.n), P);
}

static void test_placeholder_in_any_form_is_found(void)
{
	auto_buf struct buf b = buf_new(4096);

	check_found(SV(P), true);
	check_found(SV("Bearer " P " and more"), true);
	check_found(SV("sss" P), true);
	check_found(SV("a=stockade%5Fplaceholder%5f%300112233445566778899"
		       "aabbccddeeff"), true);
	check_found(SV("\"\\u0073tockade_placeholder_00112233445566778899aabb"
		       "ccddeef\\u0066\""), true);
	check_found(SV("stockade_placeholder_"), false);
	check_found(SV("stockade_placeholder_0011223344556677"), false);
	check_found(SV("stockade_placeholder_0011223344556677x899aabbccddeeff"),
		    false);
	check_found(SV(""), false);
	for (size_t before = 0; before < 7; before++)
		for (size_t after = 0; after < 4; after++) {
			buf_reset(&b);
			buf_put(&b, sv_head(SV("user-:~"), before));
			buf_put(&b, SV(P));
			buf_put(&b, sv_head(SV("\xff\xfe?"), after));
			size_t plain = b.n;
			buf_put(&b, SV("\nBasic "));
			buf_put_base64(&b, sv_of(b.p, plain));
			check_found(sv_from(buf_sv(&b), plain), true);
		}
}

static void test_placeholder_in_a_body_is_found_at_any_cut(void)
{
	static const char *const bodies[] = {
		"{\"key\": \"" P "\"}",
		/* "k:" in front, in base64 */
		"azpzdG9ja2FkZV9wbGFjZWhvbGRlcl8wMDExMjIzMzQ0NTU2Njc3ODg5OWFh"
		"YmJjY2RkZWVmZg==",
	};

	for (size_t i = 0; i < countof(bodies); i++) {
		struct sv body = sv_str(bodies[i]);

		for (size_t cut = 0; cut <= body.n; cut++)
			for (size_t step = 1; step < 20; step += 6) {
				struct placeholder_scan s = { 0 };
				struct placeholder_core out;
				struct sv rest = sv_from(body, cut);
				unsigned found = placeholder_scan(
					&s, false, sv_head(body, cut),
					&out);

				while (rest.n) {
					found += placeholder_scan(
						&s, false,
						sv_head(rest, step), &out);
					rest = sv_from(rest, step);
				}
				CHECK_INT(found, 1);
				CHECK_SV(sv_of(out.text, out.n), P);
			}
	}
}

/* In whatever way a program writes it down. */
static void put_encoded(struct buf *b, unsigned way, struct sv v)
{
	auto_buf struct buf plain = buf_new(4096);

	buf_put(&plain, sv_head(SV("u:~"), way));
	buf_put(&plain, v);
	buf_puts(&plain, "\xff?");
	switch (way) {
	case 0: case 1: case 2:
		buf_put_base64(b, buf_sv(&plain));
		break;
	case 3:
		buf_puts(b, "key=");
		buf_put(b, v);
		break;
	case 4:
		for (size_t i = 0; i < v.n; i++)
			buf_printf(b, "%%%02X", (unsigned)v.p[i]);
		break;
	default:
		for (size_t i = 0; i < v.n; i++)
			buf_printf(b, "\\u%04x", (unsigned)v.p[i]);
	}
}

static void test_placeholder_of_any_shape_is_found_in_any_form(void)
{
	for (size_t i = 0; i < countof(shapes); i++)
		for (unsigned way = 0; way < 6; way++) {
			struct placeholder p = made_of(i, shapes[i].like);
			struct placeholder q = made_of(i + 100, shapes[i].like);
			auto_buf struct buf b = buf_new(8192);
			struct placeholder_core out;

			buf_puts(&b, "Basic STOCKADE_ ");
			put_encoded(&b, way, placeholder_text(&p));
			CHECK(placeholder_find(buf_sv(&b), &out));
			CHECK(sv_eq(sv_of(out.text, out.n),
				    placeholder_core(&p)));
			CHECK(placeholder_is_in(buf_sv(&b),
						placeholder_core(&p)));
			CHECK(!placeholder_is_in(buf_sv(&b),
						 placeholder_core(&q)));
		}
}

static unsigned scan_in_pieces(struct sv body, size_t step, bool shaped,
			       struct placeholder_core *out)
{
	struct placeholder_scan s = { 0 };
	unsigned found = 0;

	while (body.n) {
		found += placeholder_scan(&s, shaped, sv_head(body, step), out);
		body = sv_from(body, step);
	}
	return found;
}

static void test_placeholder_of_any_shape_is_found_at_any_cut(void)
{
	for (size_t i = 0; i < countof(shapes); i++)
		for (unsigned way = 0; way < 4; way++) {
			struct placeholder p = made_of(i, shapes[i].like);
			auto_buf struct buf b = buf_new(8192);
			struct placeholder_core out = { .n = 0 };

			buf_puts(&b, "{\"name\":\"stockade STOCKADE "
				     "STOCKADE_BUILD\",\"v\":\"");
			put_encoded(&b, way, placeholder_text(&p));
			buf_puts(&b, "\"}");
			for (size_t step = 1; step <= b.n; step++) {
				CHECK_INT(scan_in_pieces(buf_sv(&b), step, true,
							 &out), 1);
				CHECK(sv_eq(sv_of(out.text, out.n),
					    placeholder_core(&p)));
			}
			CHECK_INT(scan_in_pieces(buf_sv(&b), 7, false, &out),
				  0);
		}
}

static void test_placeholder_absent_from_a_body_is_not_found(void)
{
	struct placeholder_scan s = { 0 };
	struct placeholder_core out;

	for (size_t i = 0; i < 100; i++)
		CHECK(!placeholder_scan(&s, false,
					SV("stockade_placeholder_0011"), &out));
}

int main(void)
{
	RUN(test_placeholder_made_plain_is_its_core);
	RUN(test_placeholder_made_like_a_token_looks_like_it);
	RUN(test_placeholder_made_like_a_github_token_has_its_checksum);
	RUN(test_placeholder_made_like_jwt_decodes);
	RUN(test_placeholder_is_no_part_of_another);
	RUN(test_placeholder_without_room_is_not_made);
	RUN(test_placeholder_in_any_form_is_found);
	RUN(test_placeholder_in_a_body_is_found_at_any_cut);
	RUN(test_placeholder_of_any_shape_is_found_in_any_form);
	RUN(test_placeholder_of_any_shape_is_found_at_any_cut);
	RUN(test_placeholder_absent_from_a_body_is_not_found);
	return tap_done();
}
