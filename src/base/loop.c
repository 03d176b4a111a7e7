/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: see loop.h.
 *
 * epoll reports a batch of watches, and a callback may forget (and free) one
 * that is still to come in the batch.  So the batch is kept in the loop, and
 * loop_forget() blanks its entry there.
 */
#include "loop.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "own.h"

enum { LOOP_BATCH = 64, REST_MS = 200, TRIM = 1 << 20 };

struct loop {
	int epoll_fd;
	bool stopping;
	struct timer *timers;
	void (*before_wait)(void);	/* may be NULL */
	int batch_n;
	struct epoll_event batch[LOOP_BATCH];
};

struct loop *loop_new(struct err *e)
{
	struct loop *l = calloc(1, sizeof *l);

	/* Given back at rest, not after each piece of a body. */
	(void)mallopt(M_TRIM_THRESHOLD, TRIM);
	(void)mallopt(M_MMAP_THRESHOLD, TRIM);
	if (!l) {
		(void)err_sys(e, "allocate the event loop");
		return NULL;
	}
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		(void)err_sys(e, "epoll_create1");
		free(l);
		return NULL;
	}
	return l;
}

void loop_free(struct loop *l)
{
	if (l)
		close_fd(&l->epoll_fd);
	free(l);
}

int loop_watch(struct loop *l, struct watch *w, int fd, uint32_t events,
	       struct err *e)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_sys(e, "watch descriptor %d", fd);
	w->fd = fd;
	w->events = events;
	return 0;
}

void loop_events(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (w->fd < 0 || !w->ready || w->events == events)
		return;
	/* Fails only for a descriptor that is not watched: a bug. */
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) < 0)
		abort();
	w->events = events;
}

void loop_forget(struct loop *l, struct watch *w)
{
	if (!w->ready || w->fd < 0)
		return;
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = 0; i < l->batch_n; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
	w->fd = -1;
}

uint64_t loop_now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void loop_disarm(struct loop *l, struct timer *t)
{
	if (t->due_ms == 0)
		return;
	for (struct timer **at = &l->timers; *at; at = &(*at)->next) {
		if (*at == t) {
			*at = t->next;
			break;
		}
	}
	t->due_ms = 0;
	t->next = NULL;
}

void loop_arm(struct loop *l, struct timer *t, uint64_t ms)
{
	struct timer **at = &l->timers;

	loop_disarm(l, t);
	t->due_ms = loop_now_ms() + ms;
	while (*at && (*at)->due_ms <= t->due_ms)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

static void run_timers(struct loop *l)
{
	uint64_t now = l->timers ? loop_now_ms() : 0;

	while (l->timers && l->timers->due_ms <= now) {
		struct timer *t = l->timers;

		l->timers = t->next;
		t->next = NULL;
		t->due_ms = 0;
		t->fired(t);
	}
}

static int next_timeout(const struct loop *l)
{
	uint64_t now;

	if (!l->timers)
		return -1;
	now = loop_now_ms();
	if (l->timers->due_ms <= now)
		return 0;
	return l->timers->due_ms - now > 3600000 ?
		       3600000 : (int)(l->timers->due_ms - now);
}

/*
 * Waits.  When there has been nothing to do for a moment, what the last work
 * needed is given back to the system first: there are many of us, and most wait
 * most of the time.
 */
static int wait_for_events(struct loop *l, bool *busy)
{
	int timeout = next_timeout(l);
	int n;

	if (!*busy || (timeout >= 0 && timeout <= REST_MS))
		return epoll_wait(l->epoll_fd, l->batch, LOOP_BATCH, timeout);
	n = epoll_wait(l->epoll_fd, l->batch, LOOP_BATCH, REST_MS);
	if (n == 0) {
		(void)malloc_trim(0);
		*busy = false;
	}
	return n;
}

void loop_before_wait(struct loop *l, void (*f)(void))
{
	l->before_wait = f;
}

static void run_before_wait(const struct loop *l)
{
	if (l->before_wait)
		l->before_wait();
}

int loop_run(struct loop *l, struct err *e)
{
	bool busy = true;

	l->stopping = false;
	while (!l->stopping) {
		int n;

		run_before_wait(l);
		n = wait_for_events(l, &busy);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "epoll_wait");
		busy |= n > 0;
		l->batch_n = n < 0 ? 0 : n;
		for (int i = 0; i < l->batch_n; i++) {
			struct watch *w = l->batch[i].data.ptr;

			if (w)
				w->ready(w, l->batch[i].events);
		}
		l->batch_n = 0;
		run_timers(l);
	}
	run_before_wait(l);
	return 0;
}

void loop_stop(struct loop *l)
{
	l->stopping = true;
}
