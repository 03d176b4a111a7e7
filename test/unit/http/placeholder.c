/* SPDX-License-Identifier: Apache-2.0 */
/* Placeholders: their shape, and finding them. */
#include "placeholder.h"

#include "base64.h"
#include "own.h"
#include "tap.h"

#define P "stockade_placeholder_00112233445566778899aabbccddeeff"

static void test_placeholder_made_has_its_shape(void)
{
	static const uint8_t random[PLACEHOLDER_RANDOM] = {
		0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
		0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	};
	char text[PLACEHOLDER_SIZE];

	placeholder_make(random, text);
	CHECK_SV(sv_of(text, sizeof(text)), P);
	CHECK(placeholder_is(SV(P)));
	CHECK(!placeholder_is(SV(P "0")));
	CHECK(!placeholder_is(sv_head(SV(P), PLACEHOLDER_SIZE - 1)));
	CHECK(!placeholder_is(
		SV("stockade_placeholder_00112233445566778899AABBCCDDEEFF")));
}

static void check_found(struct sv text, bool want)
{
	char out[PLACEHOLDER_SIZE] = "";

	if (placeholder_find(text, out) != want)
		printf("# %s: %.*s\n", want ? "missed" : "found", SV_FMT(text));
	CHECK(placeholder_find(text, out) == want);
	if (want)
		CHECK_SV(sv_of(out, sizeof(out)), P);
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
				char out[PLACEHOLDER_SIZE];
				struct sv rest = sv_from(body, cut);
				unsigned found = placeholder_scan(
					&s, sv_head(body, cut), out);

				while (rest.n) {
					found += placeholder_scan(
						&s, sv_head(rest, step), out);
					rest = sv_from(rest, step);
				}
				CHECK_INT(found, 1);
				CHECK_SV(sv_of(out, sizeof(out)), P);
			}
	}
}

static void test_placeholder_absent_from_a_body_is_not_found(void)
{
	struct placeholder_scan s = { 0 };
	char out[PLACEHOLDER_SIZE];

	for (size_t i = 0; i < 100; i++)
		CHECK(!placeholder_scan(&s, SV("stockade_placeholder_0011"),
					out));
}

int main(void)
{
	RUN(test_placeholder_made_has_its_shape);
	RUN(test_placeholder_in_any_form_is_found);
	RUN(test_placeholder_in_a_body_is_found_at_any_cut);
	RUN(test_placeholder_absent_from_a_body_is_not_found);
	return tap_done();
}
