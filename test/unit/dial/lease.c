/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials that are leased: what is missing, what is kept, for how long. */
#include "lease.h"

#include "own.h"
#include "tap.h"

static const struct edit edits[] = { { .secret = 7 }, { .secret = 3 } };
static struct loop *loop;

static bool put(struct lease *l, uint32_t secret, bool ok, const char *value)
{
	const struct msg_LEASE m = {
		.secret = secret, .ok = ok, .value = sv_str(value),
	};

	return lease_put(l, &m);
}

static struct lease *fresh(void)
{
	struct err e;

	return lease_new(edits, countof(edits), &e);
}

static struct lease *whole(const char *one, const char *two)
{
	struct lease *l = fresh();

	CHECK(put(l, 3, true, two) && !lease_is_whole(l));
	CHECK(put(l, 7, true, one) && lease_is_whole(l));
	return l;
}

static bool has(const struct lease *l, uint32_t secret, const char *value)
{
	return sv_eq(lease_value(l, secret), sv_str(value));
}

static void test_each_value_is_its_secret_s(void)
{
	struct lease *l = whole("seven", "three");

	CHECK(has(l, 7, "seven") && has(l, 3, "three") && has(l, 0, ""));
	CHECK(lease_covers(l, edits, 2) && lease_covers(l, edits + 1, 1));
	lease_drop(&l);
	CHECK(!l);
}

static void test_what_is_not_wanted_is_refused(void)
{
	struct lease *l = fresh();

	CHECK(!put(l, 8, true, "of another"));
	CHECK(!put(l, 7, false, "refused") && !put(l, 7, false, ""));
	CHECK(!put(l, 7, true, ""));
	CHECK(has(l, 7, "") && !lease_covers(l, edits, 1));
	CHECK(put(l, 7, true, "seven") && !put(l, 7, true, "again"));
	CHECK(has(l, 7, "seven") && !lease_is_whole(l));
	lease_drop(&l);
}

static bool masks(const struct lease *l, const char *in, const char *masked)
{
	auto_buf struct buf out = buf_new(1024);
	struct err e;
	struct scrub *s = lease_scrub(l, &e);
	bool same = s && !scrub_push(s, sv_str(in), &out, &e) &&
		    !scrub_finish(s, &out, &e) &&
		    sv_eq(buf_sv(&out), sv_str(masked));

	if (s)
		scrub_fini(s);
	free(s);
	return same;
}

static void test_what_it_was_and_becomes_is_kept_beside_it(void)
{
	const struct msg_LEASE m = { .secret = 7, .ok = 1, .value = SV("seven"),
				     .others = SV("before\nlong-ago") };
	struct lease *l = fresh();

	CHECK(lease_put(l, &m) && put(l, 3, true, "three"));
	CHECK(has(l, 7, "seven") && has(l, 3, "three"));
	CHECK(masks(l, "seven three before long-ago later newer other",
		    "***** ***** ****** ******** later newer other"));
	CHECK(lease_mask(l, 7, SV("later")) && lease_mask(l, 3, SV("newer")));
	CHECK(lease_mask(l, 8, SV("other")) && lease_mask(l, 7, SV("")));
	CHECK(has(l, 7, "seven") && has(l, 3, "three"));
	CHECK(masks(l, "seven three before long-ago later newer other",
		    "***** ***** ****** ******** ***** ***** other"));
	lease_drop(&l);
}

static void test_those_with_another_value_are_forgotten(void)
{
	static const struct edit only = { .secret = 9 };
	struct lease *one = whole("seven", "three"), *kept_one = NULL;
	struct lease *two = lease_new(&only, 1, &(struct err){ 0 });
	struct lease *kept_two = NULL;

	CHECK(put(two, 9, true, "nine"));
	lease_keep(&one, &kept_one, loop);
	lease_keep(&two, &kept_two, loop);
	lease_forget(8);
	CHECK(kept_one && kept_two);
	lease_forget(3);
	CHECK(!kept_one && kept_two && has(kept_two, 9, "nine"));
	lease_forget(9);
	CHECK(!kept_two);
	lease_forget(9);
}

static void test_the_largest_value_fits(void)
{
	static char value[16384 + 1];
	struct lease *l = fresh();

	memset(value, 'v', sizeof value - 1);
	CHECK(put(l, 7, true, value) && has(l, 7, value));
	lease_drop(&l);
}

static void test_nothing_covers_what_carries_nothing(void)
{
	const struct edit other = { .secret = 9 };
	struct lease *l = whole("seven", "three");

	CHECK(lease_covers(NULL, edits, 0) && !lease_covers(NULL, edits, 1));
	CHECK(!lease_covers(l, &other, 1) && has(NULL, 7, ""));
	lease_drop(&l);
}

static void stop(struct timer *t)
{
	(void)t;
	loop_stop(loop);
}

/* Until the term of what was kept by now is over. */
static void run_term(void)
{
	struct timer end = { .fired = stop };
	struct err e;

	loop_arm(loop, &end, LEASE_MS);
	CHECK(loop_run(loop, &e) == 0);
}

static void test_a_term_ends_by_itself(void)
{
	struct lease *l = whole("seven", "three"), *kept = NULL;
	const uint64_t start_ms = loop_now_ms();

	lease_keep(&l, &kept, loop);
	CHECK(!l && has(kept, 7, "seven"));
	while (kept)
		run_term();
	CHECK(loop_now_ms() - start_ms >= LEASE_MS);
}

static void test_each_connection_has_its_own(void)
{
	struct lease *kept[3] = { 0 };

	for (size_t i = 0; i < countof(kept); i++) {
		struct lease *l = whole("seven", i == 1 ? "one" : "other");

		lease_keep(&l, &kept[i], loop);
	}
	/* From the middle, then from both ends; the others stay. */
	lease_drop(&kept[1]);
	CHECK(!kept[1] && has(kept[0], 3, "other") && has(kept[2], 3, "other"));
	lease_drop(&kept[0]);
	CHECK(has(kept[2], 3, "other"));
	lease_drop(&kept[2]);
	run_term();
}

static void test_the_newer_lease_is_in_place_of_the_older(void)
{
	struct lease *kept = NULL, *other = NULL;
	struct lease *l = whole("old", "old");

	lease_keep(&l, &kept, loop);
	l = whole("beside", "beside");
	lease_keep(&l, &other, loop);
	l = whole("new", "new");
	lease_keep(&l, &kept, loop);
	CHECK(has(kept, 7, "new") && has(other, 7, "beside"));
	while (kept || other)
		run_term();
}

int main(void)
{
	struct err e;

	loop = loop_new(&e);
	RUN(test_each_value_is_its_secret_s);
	RUN(test_what_is_not_wanted_is_refused);
	RUN(test_what_it_was_and_becomes_is_kept_beside_it);
	RUN(test_those_with_another_value_are_forgotten);
	RUN(test_the_largest_value_fits);
	RUN(test_nothing_covers_what_carries_nothing);
	RUN(test_a_term_ends_by_itself);
	RUN(test_each_connection_has_its_own);
	RUN(test_the_newer_lease_is_in_place_of_the_older);
	loop_free(loop);
	return tap_done();
}
