/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unit tests that print TAP.
 *
 *	static void test_sv_eq_different_length_is_false(void) { CHECK(...); }
 *	int main(void) { RUN(test_sv_eq_...); return tap_done(); }
 *
 * A test goes on after a failed check, so that all of them are seen; a test
 * without a single check fails.
 */
#ifndef TEST_TAP_H
#define TEST_TAP_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sv.h"

static unsigned tap_tests, tap_failures, tap_checks, tap_bad_checks;
static const char *tap_skipped;

/* In a test, before it returns: this machine lacks what it needs. */
#define SKIP(reason) (tap_skipped = (reason))

#define CHECK(condition)                                                  \
	do {                                                              \
		tap_checks++;                                             \
		if (!(condition)) {                                       \
			tap_bad_checks++;                                 \
			printf("# %s:%d: not true: %s\n", __FILE__,       \
			       __LINE__, #condition);                     \
		}                                                         \
	} while (0)

#define CHECK_INT(got, want)                                              \
	do {                                                              \
		intmax_t got_ = (intmax_t)(got), want_ = (intmax_t)(want); \
		tap_checks++;                                             \
		if (got_ != want_) {                                      \
			tap_bad_checks++;                                 \
			printf("# %s:%d: %s is %jd, not %jd\n", __FILE__, \
			       __LINE__, #got, got_, want_);              \
		}                                                         \
	} while (0)

/* got is a struct sv, want a C string. */
#define CHECK_SV(got, want)                                               \
	do {                                                              \
		struct sv got_ = (got), want_ = sv_str(want);             \
		tap_checks++;                                             \
		if (!sv_eq(got_, want_)) {                                \
			tap_bad_checks++;                                 \
			printf("# %s:%d: %s is \"%.*s\", not \"%.*s\"\n", \
			       __FILE__, __LINE__, #got, SV_FMT(got_),    \
			       SV_FMT(want_));                            \
		}                                                         \
	} while (0)

static inline void tap_run(const char *name, void (*test)(void))
{
	tap_checks = tap_bad_checks = 0;
	tap_skipped = NULL;
	test();
	tap_tests++;
	if (tap_skipped && tap_bad_checks == 0) {
		printf("ok %u - %s # SKIP %s\n", tap_tests, name, tap_skipped);
		return;
	}
	if (tap_checks == 0 || tap_bad_checks)
		tap_failures++;
	printf("%s %u - %s\n", tap_checks && !tap_bad_checks ? "ok" : "not ok",
	       tap_tests, name);
}
#define RUN(test) tap_run(#test, test)

static inline int tap_done(void)
{
	printf("1..%u\n", tap_tests);
	return tap_failures ? 1 : 0;
}

#endif
