/* SPDX-License-Identifier: Apache-2.0 */
/* A first test of many names. */
#include "sieve.h"

#include <stdlib.h>

#include "dotfiles.h"
#include "glob.h"
#include "tap.h"

/* A short text of characters that mean something, and a few others. */
static struct sv make(char *text, size_t least)
{
	static const char letters[] = "ab.*?[]!-";
	size_t n = least + (size_t)random() % 5;

	for (size_t i = 0; i < n; i++)
		text[i] = letters[(size_t)random() % (sizeof letters - 1)];
	text[n] = '\0';
	return sv_of(text, n);
}

static void test_nothing_that_matches_is_kept_back(void)
{
	unsigned wrong = 0, matches = 0, kept = 0;
	char pattern[8], name[8];

	srandom(1);
	for (unsigned i = 0; i < 300000; i++) {
		struct sieve by_pattern = { 0 }, by_name = { 0 };
		struct sv p = make(pattern, 0), n = make(name, 1);
		bool passes;

		sieve_add_pattern(&by_pattern, p);
		sieve_add_name(&by_name, n);
		passes = sieve_lets_through(&by_pattern, name);
		kept += !passes;
		if (glob_match_segment(p, n)) {
			matches++;
			wrong += !passes;
		}
		wrong += !sieve_lets_through(&by_name, name);
	}
	CHECK_INT(wrong, 0);
	CHECK(matches > 1000);
	CHECK(kept > 1000);
}

static void test_what_nobody_looks_for_is_kept_back(void)
{
	struct sieve s = { 0 };

	CHECK(!sieve_lets_through(&s, "a"));
	dotfiles_sieve(&s);
	sieve_add_pattern(&s, SV("*.pem"));
	sieve_add_pattern(&s, SV("id_*"));
	sieve_add_name(&s, SV("x"));
	sieve_add_name(&s, SV(""));
	CHECK(sieve_lets_through(&s, ".a"));
	CHECK(sieve_lets_through(&s, "node_modules"));
	CHECK(sieve_lets_through(&s, "a.pem"));
	CHECK(sieve_lets_through(&s, "id_rsa"));
	CHECK(sieve_lets_through(&s, "x"));
	CHECK(!sieve_lets_through(&s, "main.c"));
	CHECK(!sieve_lets_through(&s, "README"));
	CHECK(!sieve_lets_through(&s, "xa"));
	CHECK(!sieve_lets_through(&s, "m"));
	sieve_add_pattern(&s, SV("*"));
	CHECK(sieve_lets_through(&s, "main.c"));
}

int main(void)
{
	RUN(test_nothing_that_matches_is_kept_back);
	RUN(test_what_nobody_looks_for_is_kept_back);
	return tap_done();
}
