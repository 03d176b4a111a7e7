/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event loop: epoll, level-triggered, and timers.  One per process, no
 * threads.
 *
 * A watch is storage of its owner, who keeps it until loop_forget(); forgetting
 * a watch, also from inside any callback, is safe: no callback of it is
 * called afterwards.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <sys/epoll.h>

#include "err.h"
#include "sv.h"

struct loop;

struct watch {
	int fd;			/* borrowed; -1 while not watched */
	uint32_t events;	/* EPOLLIN, EPOLLOUT */
	void (*ready)(struct watch *w, uint32_t events);
};

struct timer {
	struct timer *next;	/* sorted by due_ms; private to loop.c */
	uint64_t due_ms;	/* CLOCK_MONOTONIC; 0 while not armed */
	void (*fired)(struct timer *t);
};

struct loop *loop_new(struct err *e);
void loop_free(struct loop *l);

/* w->ready is set by the caller.  EPOLLERR and EPOLLHUP are always reported. */
must_check int loop_watch(struct loop *l, struct watch *w, int fd,
			  uint32_t events, struct err *e);
/* Changes the events; 0 leaves only errors.  Cheap when nothing changes. */
void loop_events(struct loop *l, struct watch *w, uint32_t events);
/* Accepts a watch that is not watched.  Does not close the descriptor. */
void loop_forget(struct loop *l, struct watch *w);

/* (Re)arms t to fire once, in ms milliseconds; disarming accepts any timer. */
void loop_arm(struct loop *l, struct timer *t, uint64_t ms);
void loop_disarm(struct loop *l, struct timer *t);
uint64_t loop_now_ms(void);

/* One function, called each time before the loop waits, and when it ends. */
void loop_before_wait(struct loop *l, void (*f)(void));

/* Runs until loop_stop(). */
must_check int loop_run(struct loop *l, struct err *e);
void loop_stop(struct loop *l);

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

#endif
