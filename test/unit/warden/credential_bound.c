/* SPDX-License-Identifier: Apache-2.0 */
/* `times`, `until` and revocation: which requests may still carry a secret. */
#include <time.h>

#include "credential_set.h"
#include "own.h"
#include "tap.h"

enum { A, B, SECRETS };

static struct secret_rule rules[SECRETS];
static struct credential credentials[SECRETS];
static struct credential_set set;

/* Two secrets without a bound, in a run that begins now. */
static void set_up(void)
{
	static const struct secret_rule none = { 0 };

	rules[A] = rules[B] = none;
	rules[A].name = SV("A");
	rules[B].name = SV("B");
	for (int i = 0; i < SECRETS; i++)
		credentials[i] = (struct credential){ .rule = &rules[i] };
	set = (struct credential_set){ .v = credentials, .n = SECRETS };
	credential_set_begin(&set);
}

static struct credential_use use_of(int first, enum edit_form first_form,
				    int second, enum edit_form second_form)
{
	struct credential_use u = { .n = 2 };

	u.credentials[0] = &credentials[first];
	u.edits[0].form = first_form;
	u.credentials[1] = &credentials[second];
	u.edits[1].form = second_form;
	return u;
}

/* As a request is decided: the reason, or empty when it was allowed. */
static struct sv decide(const struct credential_use *u)
{
	static char text[256];
	auto_buf struct buf why = buf_new(sizeof text);

	if (credential_set_may(&set, u, &why)) {
		CHECK(why.n == 0);
		credential_set_count(&set, u);
		return (struct sv){ 0 };
	}
	memcpy(text, why.p, why.n);
	return sv_of(text, why.n);
}

static void test_the_last_time_is_the_last(void)
{
	const struct credential_use both = use_of(A, EDIT_REPLACE, B, EDIT_ADD);
	const struct credential_use one = use_of(A, EDIT_MASK, B, EDIT_QUERY);

	set_up();
	rules[A].times = 2;
	CHECK_SV(decide(&both), "");
	CHECK_SV(decide(&both), "");
	CHECK_SV(decide(&both),
		 "the secret A was used 2 times, as the policy allows");
	/* Nothing was counted of the one that was refused. */
	CHECK_INT(credentials[A].used, 2);
	CHECK_INT(credentials[B].used, 2);
	/* Masking what is answered is no use. */
	CHECK_SV(decide(&one), "");
	CHECK_INT(credentials[A].used, 2);
	CHECK_INT(credentials[B].used, 3);
	rules[B].times = 3;
	CHECK_SV(decide(&one),
		 "the secret B was used 3 times, as the policy allows");
}

static void test_once_is_once(void)
{
	const struct credential_use u = use_of(A, EDIT_BASIC, B, EDIT_MASK);

	set_up();
	rules[A].times = 1;
	CHECK_SV(decide(&u), "");
	CHECK_SV(decide(&u), "the secret A was used 1 time, as the policy allows");
}

static void test_a_duration_ends(void)
{
	const struct credential_use u = use_of(A, EDIT_REPLACE, B, EDIT_MASK);

	set_up();
	rules[A].until = UNTIL_AFTER;
	rules[A].end = 3600000;
	CHECK_SV(decide(&u), "");
	set.began_ms -= 3599000;
	CHECK_SV(decide(&u), "");
	set.began_ms -= 1000;
	CHECK_SV(decide(&u), "the secret A was to be used until 1h after the start");
	CHECK_INT(credentials[A].used, 2);
}

static void test_a_moment_comes_once(void)
{
	const struct credential_use u = use_of(A, EDIT_REPLACE, B, EDIT_MASK);
	struct err e = { 0 };

	set_up();
	rules[A].until = UNTIL_MOMENT;
	rules[A].end = (uint64_t)time(NULL) + 3600;
	CHECK_INT(credential_set_check(&set, &e), 0);
	CHECK_SV(decide(&u), "");
	rules[A].end = 1767225600;
	CHECK_SV(decide(&u),
		 "the secret A was to be used until 2026-01-01T00:00:00Z");
	CHECK_INT(credential_set_check(&set, &e), -1);
	CHECK(strstr(e.msg, "secret A") && strstr(e.msg, "is over"));
	/* As if the date had been set back. */
	rules[A].end = (uint64_t)time(NULL) + 3600;
	CHECK(decide(&u).n > 0);
}

static void test_what_was_revoked_is_gone(void)
{
	const struct credential_use u = use_of(A, EDIT_REPLACE, B, EDIT_MASK);

	set_up();
	rules[A].times = 5;
	CHECK_SV(decide(&u), "");
	CHECK(credential_set_find(&set, SV("A")) == &credentials[A]);
	CHECK(!credential_set_find(&set, SV("AB")));
	credential_set_find(&set, SV("A"))->is_revoked = true;
	CHECK_SV(decide(&u), "the secret A was revoked");
	credentials[B].absent = true;
	CHECK(!credential_set_find(&set, SV("B")));
}

int main(void)
{
	RUN(test_the_last_time_is_the_last);
	RUN(test_once_is_once);
	RUN(test_a_duration_ends);
	RUN(test_a_moment_comes_once);
	RUN(test_what_was_revoked_is_gone);
	return tap_done();
}
