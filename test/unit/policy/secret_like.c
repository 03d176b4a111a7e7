/* SPDX-License-Identifier: Apache-2.0 */
/* What placeholders of a secret look like: read, printed, and refused. */
#include "tap.h"

#include "own.h"
#include "policy_text.h"

#define SECRET "secret A from env for a.example.com as bearer"
#define ALLOW "allow * a.example.com\n"

static void test_shapes_are_printed_as_read(void)
{
	static const char *const good[] = {
		" like jwt", " like ghp_", " add like A.9-_ times 3",
		" like a1234567890123456789012345678901",
	};

	for (size_t i = 0; i < countof(good); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };

		buf_printf(&text, ALLOW SECRET "%s", good[i]);
		CHECK_INT(policy_of(buf_cstr(&text), &p, &e), 0);
		CHECK_INT(p.secrets_n, 1);
		if (p.secrets_n != 1)
			continue;
		CHECK_SV(p.secrets[0].text, buf_cstr(&text) + strlen(ALLOW));
		CHECK(policy_has_shapes(&p));
	}
}

static void test_what_is_no_shape_says_why(void)
{
	static const struct { const char *written, *says; } bad[] = {
		{ " like", "what the placeholder looks like" },
		{ " like ''", "expected `jwt`" },
		{ " like a~b", "expected `jwt`" },
		{ " like 'a b'", "expected `jwt`" },
		{ " like a12345678901234567890123456789012", "at most 32" },
		{ " like xSTOCKADE_", "without STOCKADE" },
		{ " like x add", "nothing may follow" },
		{ " times 1 like x", "nothing may follow" },
		{ " like x like y", "nothing may follow" },
	};

	for (size_t i = 0; i < countof(bad); i++) {
		auto_buf struct buf text = buf_new(512);
		auto_policy struct policy p;
		struct err e = { 0 };
		bool said;

		buf_printf(&text, ALLOW SECRET "%s", bad[i].written);
		said = policy_of(buf_cstr(&text), &p, &e) < 0 &&
		       strstr(e.msg, bad[i].says);
		if (!said)
			printf("# %s\n# got: %s\n", bad[i].written, e.msg);
		CHECK(said);
	}
}

/* The same twice is one; another shape of the same secret is no second one. */
static void test_two_shapes_contradict(void)
{
	auto_policy struct policy same, other;
	struct err e = { 0 };

	CHECK_INT(policy_of(ALLOW SECRET " like x\n" SECRET " like x\n", &same,
			    &e), 0);
	CHECK_INT(same.secrets_n, 1);
	CHECK_INT(policy_of(ALLOW SECRET " like x\n" SECRET "\n", &other, &e),
		  -1);
	CHECK(strstr(e.msg, "contradicts") != NULL);
}

int main(void)
{
	RUN(test_shapes_are_printed_as_read);
	RUN(test_what_is_no_shape_says_why);
	RUN(test_two_shapes_contradict);
	return tap_done();
}
