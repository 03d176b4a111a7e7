/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop. */
#include "loop.h"

#include <unistd.h>

#include "own.h"
#include "tap.h"

struct side {
	struct watch watch;
	struct loop *loop;
	struct side *other;	/* to forget when called */
	unsigned calls;
};

static void forget_other(struct watch *w, uint32_t events)
{
	struct side *s = container_of(w, struct side, watch);

	(void)events;
	s->calls++;
	loop_forget(s->loop, &s->other->watch);
	loop_stop(s->loop);
}

static void test_loop_forget_within_a_batch_is_safe(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct side a = { .loop = l }, b = { .loop = l };
	int one[2], two[2];

	CHECK(pipe(one) == 0 && pipe(two) == 0);
	a.other = &b;
	b.other = &a;
	a.watch.ready = b.watch.ready = forget_other;
	CHECK(loop_watch(l, &a.watch, one[0], EPOLLIN, &e) == 0);
	CHECK(loop_watch(l, &b.watch, two[0], EPOLLIN, &e) == 0);
	CHECK(write(one[1], "x", 1) == 1 && write(two[1], "x", 1) == 1);
	CHECK(loop_run(l, &e) == 0);
	/* Both were ready; whoever came first forgot the other. */
	CHECK_INT(a.calls + b.calls, 1);
	for (int i = 0; i < 2; i++) {
		(void)close(one[i]);
		(void)close(two[i]);
	}
	loop_free(l);
}

static struct loop *timer_loop;
static char order[8];
static size_t order_n;

struct mark {
	struct timer timer;
	char name;
};

static void mark_fired(struct timer *t)
{
	order[order_n++] = container_of(t, struct mark, timer)->name;
	if (order_n == 2)
		loop_stop(timer_loop);
}

static void test_loop_timers_fire_in_order_and_once(void)
{
	struct mark a = { .timer.fired = mark_fired, .name = 'a' };
	struct mark b = { .timer.fired = mark_fired, .name = 'b' };
	struct mark c = { .timer.fired = mark_fired, .name = 'c' };
	struct err e;

	timer_loop = loop_new(&e);
	loop_arm(timer_loop, &c.timer, 1);
	loop_arm(timer_loop, &b.timer, 20);
	loop_arm(timer_loop, &a.timer, 5);
	loop_disarm(timer_loop, &c.timer);
	loop_disarm(timer_loop, &c.timer);
	/* Arming again moves it. */
	loop_arm(timer_loop, &a.timer, 10);
	CHECK(loop_run(timer_loop, &e) == 0);
	CHECK_SV(sv_of(order, order_n), "ab");
	CHECK_INT(a.timer.due_ms, 0);
	loop_free(timer_loop);
}

static void test_loop_forget_of_an_unwatched_is_harmless(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct watch w = { .fd = -1 };

	loop_forget(l, &w);
	CHECK_INT(w.fd, -1);
	loop_free(l);
}

int main(void)
{
	RUN(test_loop_forget_within_a_batch_is_safe);
	RUN(test_loop_timers_fire_in_order_and_once);
	RUN(test_loop_forget_of_an_unwatched_is_harmless);
	return tap_done();
}
