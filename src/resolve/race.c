/* SPDX-License-Identifier: Apache-2.0 */
/* A race of connects: see race.h. */
#include "race.h"

#include <netinet/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "own.h"

/* For people: "connection refused". */
static const char *reason_of(int error)
{
	switch (error) {
	case ECONNREFUSED: return "connection refused";
	case ECONNRESET: return "connection reset";
	case ETIMEDOUT: return "timed out";
	case ENETUNREACH:
	case EHOSTUNREACH: return "unreachable";
	case ENOENT: return "no such socket";
	case EACCES:
	case EPERM: return "not permitted";
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM: return "out of resources";
	default: return "cannot connect";
	}
}

/* The options of every TCP connection to an origin. */
static void tune(int fd)
{
	static const struct { int level, name, value; } options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		/* A dead origin shows after about two minutes, also while a
		 * response is awaited that takes longer than that. */
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 15 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 4 },
	};

	/* Each makes a connection better; none is needed for a right one. */
	for (size_t i = 0; i < countof(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name,
				 &options[i].value, sizeof options[i].value);
}

static void lane_close(struct race_lane *lane)
{
	int fd = lane->watch.fd;

	if (!lane->race || fd < 0)
		return;
	loop_forget(lane->race->loop, &lane->watch);
	close_fd(&fd);
}

void race_cancel(struct race *r)
{
	if (!r->loop)
		return;
	for (size_t i = 0; i < RACE_LANES; i++)
		lane_close(&r->lanes[i]);
	loop_disarm(r->loop, &r->stagger);
	loop_disarm(r->loop, &r->deadline);
	r->loop = NULL;
}

static void finish(struct race *r, int fd, const struct address *a,
		   const char *error)
{
	race_cancel(r);
	r->finished(r, fd, a, error);
}

static struct race_lane *free_lane(struct race *r)
{
	for (size_t i = 0; i < RACE_LANES; i++)
		if (r->lanes[i].watch.fd < 0)
			return &r->lanes[i];
	return NULL;
}

static bool is_under_way(const struct race *r)
{
	for (size_t i = 0; i < RACE_LANES; i++)
		if (r->lanes[i].watch.fd >= 0)
			return true;
	return false;
}

/* 0 when the lane runs; an errno when the address has failed at once. */
static int lane_start(struct race *r, struct race_lane *lane, size_t which)
{
	struct sockaddr_storage to;
	socklen_t n = address_to_socket(&r->order[which], r->port, &to);
	auto_fd int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC |
				SOCK_NONBLOCK, IPPROTO_TCP);
	struct err e = { 0 };

	if (fd < 0)
		return errno;
	tune(fd);
	if (connect(fd, (struct sockaddr *)&to, n) < 0 && errno != EINPROGRESS)
		return errno;
	lane->address = which;
	if (loop_watch(r->loop, &lane->watch, fd, EPOLLOUT, &e) < 0)
		return e.code ? e.code : ENOMEM;
	(void)steal_fd(&fd);
	return 0;
}

/* Starts the next address, or reports that all have failed. */
static void advance(struct race *r)
{
	struct race_lane *lane = free_lane(r);

	while (lane && r->next < r->n) {
		int why = lane_start(r, lane, r->next++);

		if (why == 0) {
			loop_arm(r->loop, &r->stagger, RACE_STAGGER_MS);
			return;
		}
		r->why = why;
	}
	if (!is_under_way(r))
		finish(r, -1, NULL, reason_of(r->why));
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct race_lane *lane = container_of(w, struct race_lane, watch);
	struct race *r = lane->race;
	struct address a = r->order[lane->address];
	int why = 0, fd = w->fd;
	socklen_t n = sizeof why;

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) < 0)
		why = errno;
	if (why == 0) {
		loop_forget(r->loop, w);
		finish(r, fd, &a, NULL);
		return;
	}
	r->why = why;
	lane_close(lane);
	advance(r);
}

static void on_stagger(struct timer *t)
{
	advance(container_of(t, struct race, stagger));
}

static void on_deadline(struct timer *t)
{
	finish(container_of(t, struct race, deadline), -1, NULL, "timed out");
}

/* IPv6 and IPv4 in turn, starting with the resolver's first choice. */
static void interleave(struct race *r, const struct addresses *to)
{
	size_t at[2] = { 0, 0 };
	uint8_t family = to->n ? to->v[0].n : 4;

	r->n = 0;
	while (r->n < RACE_ADDRESSES && (at[0] < to->n || at[1] < to->n)) {
		size_t *i = &at[family == 16];

		while (*i < to->n && to->v[*i].n != family)
			(*i)++;
		if (*i < to->n)
			r->order[r->n++] = to->v[(*i)++];
		family = family == 16 ? 4 : 16;
	}
}

void race_start(struct race *r, struct loop *l, const struct addresses *to,
		uint16_t port)
{
	r->loop = l;
	r->port = port;
	r->next = 0;
	r->why = EHOSTUNREACH;
	interleave(r, to);
	for (size_t i = 0; i < RACE_LANES; i++) {
		r->lanes[i].race = r;
		r->lanes[i].watch.fd = -1;
		r->lanes[i].watch.ready = on_ready;
	}
	r->stagger.fired = on_stagger;
	r->deadline.fired = on_deadline;
	loop_arm(l, &r->deadline, RACE_MS);
	/* From the loop, so that finished() is never called from here. */
	loop_arm(l, &r->stagger, 0);
}
