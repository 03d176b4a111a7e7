/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: see channel.h.
 *
 * One receive buffer serves the whole process: a packet is handled before the
 * next one is read, and the views of its messages die with the call.
 */
#include "channel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "own.h"

struct packet {
	struct packet *next;
	unsigned n_fds;
	int fds[WIRE_FDS_MAX];	/* owned duplicates */
	size_t n;
	char bytes[];
};

enum { BATCH_MAX = WIRE_CHUNK_MAX + 4096 };	/* a CHUNK and what goes with it */

static char receive_buffer[WIRE_SIZE_MAX];
/* Those with a batch: the first, and the others. */
static struct channel *waiting[2];

static void flush(struct channel *c);
static void flush_first(void);

static bool is_secret(const struct msg *m)
{
	return m->kind == MSG_LEASE || m->kind == MSG_MASK;
}

/* No copy of a secret stays behind in this process. */
static void wipe(const struct msg *m, char *bytes, size_t n)
{
	if (is_secret(m) && bytes)
		explicit_bzero(bytes, n);
}

int channel_pair(int ret_fds[2], struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, ret_fds) < 0)
		return err_sys(e, "socketpair");
	return 0;
}

void channel_raise_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static void packet_free(struct packet *p)
{
	for (unsigned i = 0; i < p->n_fds; i++)
		close_fd(&p->fds[i]);
	explicit_bzero(p->bytes, p->n);
	free(p);
}

void channel_close(struct channel *c)
{
	if (!channel_is_open(c))
		return;
	int fd = c->watch.fd;

	flush(c);
	buf_free(&c->batch);
	loop_forget(c->loop, &c->watch);
	close_fd(&fd);
	while (c->queue) {
		struct packet *p = c->queue;

		c->queue = p->next;
		packet_free(p);
	}
	c->queue_end = &c->queue;
	c->queued = 0;
}

static void end(struct channel *c, const struct err *e)
{
	channel_close(c);
	c->closed(c, e);
}

static void update_events(struct channel *c)
{
	loop_events(c->loop, &c->watch, (c->paused ? 0 : EPOLLIN) |
					(c->queue ? EPOLLOUT : 0));
}

/* 1 when taken, 0 when the kernel has no room, -1 on any other failure. */
static int send_now(int fd, struct sv bytes, const int *fds, unsigned n_fds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes.p,
			     .iov_len = bytes.n };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
	} control = { 0 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (n_fds) {
		struct cmsghdr *cm;

		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		cm = CMSG_FIRSTHDR(&h);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(cm), fds, sizeof(int) * n_fds);
	}
	do {
		n = sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 1;
	/* The last: so many descriptors of this user are on their way. */
	return errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS ?
	       0 : -1;
}

static int enqueue(struct channel *c, struct sv bytes, const struct msg *m,
		   struct err *e)
{
	struct packet *p;

	if (c->queued + bytes.n > CHANNEL_QUEUE_MAX)
		return err_kind(e, ERR_LIMIT, "the peer does not read");
	p = calloc(1, sizeof *p + bytes.n);
	if (!p)
		return err_sys(e, "queue %s", msg_name(m->kind));
	for (unsigned i = 0; i < m->n_fds; i++) {
		/* The one way that a confined helper has. */
		p->fds[i] = fcntl(m->fds[i], F_DUPFD_CLOEXEC, 0);
		if (p->fds[i] < 0) {
			packet_free(p);
			return err_sys(e, "duplicate a descriptor");
		}
		p->n_fds++;
	}
	memcpy(p->bytes, bytes.p, bytes.n);
	p->n = bytes.n;
	*c->queue_end = p;
	c->queue_end = &p->next;
	c->queued += p->n;
	update_events(c);
	return 0;
}

static int send_encoded(struct channel *c, struct sv bytes,
			const struct msg *m, struct err *e)
{
	int sent = 0;

	if (!c->queue)
		sent = send_now(c->watch.fd, bytes, m->fds, m->n_fds);
	if (sent < 0 && errno != EPIPE && errno != ECONNRESET)
		return err_sys(e, "send %s", msg_name(m->kind));
	/* A broken pipe shows as EPOLLHUP: one place handles the end. */
	if (sent != 0)
		return 0;
	return enqueue(c, bytes, m, e);
}

static int send_batch(struct channel *c, struct err *e)
{
	static const struct msg without_fds;
	int result = 0;

	if (c->batch.n)
		result = send_encoded(c, buf_sv(&c->batch), &without_fds, e);
	buf_reset(&c->batch);
	return result;
}

static void stop_waiting(struct channel *c)
{
	struct channel **at = &waiting[c->is_first ? 0 : 1];

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->is_waiting = false;
}

/* Nobody is there to hear of a failure: it shows as the channel's end. */
static void flush(struct channel *c)
{
	struct err ignored;

	if (!c->is_waiting)
		return;
	if (!c->is_first)
		flush_first();
	stop_waiting(c);
	if (send_batch(c, &ignored) < 0)
		(void)shutdown(c->watch.fd, SHUT_RDWR);
	/* There are many of the others, and most are quiet. */
	if (!c->is_first)
		buf_free(&c->batch);
}

static void flush_first(void)
{
	while (waiting[0])
		flush(waiting[0]);
}

static void flush_all(void)
{
	for (size_t i = 0; i < countof(waiting); i++)
		while (waiting[i])
			flush(waiting[i]);
}

void channel_gather(struct channel *c, bool is_first)
{
	c->gathers = true;
	c->is_first = is_first;
	c->batch = buf_new(BATCH_MAX);
	loop_before_wait(c->loop, flush_all);
}

static bool is_urgent(const struct msg *m)
{
	return m->n_fds || is_secret(m) || m->kind == MSG_FAULT ||
	       m->kind == MSG_PING;
}

static int send_later(struct channel *c, struct sv bytes, const struct msg *m,
		      struct err *e)
{
	bool at_once = is_urgent(m) || bytes.n > BATCH_MAX;

	if (at_once || c->batch.n + bytes.n > BATCH_MAX) {
		/* What leaves early must not overtake what is first. */
		if (!c->is_first)
			flush_first();
		if (send_batch(c, e) < 0)
			return -1;
	}
	if (at_once)
		return send_encoded(c, bytes, m, e);
	if (!c->is_waiting) {
		struct channel **end = &waiting[c->is_first ? 0 : 1];

		while (*end)
			end = &(*end)->next;
		*end = c;
		c->next = NULL;
		c->is_waiting = true;
	}
	buf_put(&c->batch, bytes);
	return buf_check(&c->batch, msg_name(m->kind), e);
}

int channel_send(struct channel *c, const struct msg *m, struct err *e)
{
	static struct buf scratch = { .max = WIRE_SIZE_MAX };
	int result;

	if (!channel_is_open(c))
		return err_kind(e, ERR_PROTO, "the channel is closed");
	buf_reset(&scratch);
	msg_encode(&scratch, m);
	if (buf_check(&scratch, msg_name(m->kind), e) < 0)
		return -1;
	result = c->gathers ? send_later(c, buf_sv(&scratch), m, e) :
			      send_encoded(c, buf_sv(&scratch), m, e);
	wipe(m, scratch.p, scratch.n);
	return result;
}

bool channel_is_full(const struct channel *c)
{
	return c->queue != NULL;
}

void channel_pause(struct channel *c, bool paused)
{
	if (!channel_is_open(c) || c->paused == paused)
		return;
	c->paused = paused;
	update_events(c);
}

static void flush_queue(struct channel *c)
{
	while (c->queue) {
		struct packet *p = c->queue;
		int sent = send_now(c->watch.fd, sv_of(p->bytes, p->n), p->fds,
				    p->n_fds);

		if (sent <= 0)
			break;
		c->queue = p->next;
		if (!c->queue)
			c->queue_end = &c->queue;
		c->queued -= p->n;
		packet_free(p);
	}
	update_events(c);
	if (!c->queue && c->drained)
		c->drained(c);
}

static void take_fds(struct msghdr *h, struct msg *m)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(h); cm; cm = CMSG_NXTHDR(h, cm))
		if (cm->cmsg_level == SOL_SOCKET &&
		    cm->cmsg_type == SCM_RIGHTS) {
			m->n_fds = (unsigned)((cm->cmsg_len - CMSG_LEN(0)) /
					      sizeof(int));
			memcpy(m->fds, CMSG_DATA(cm), m->n_fds * sizeof(int));
		}
}

/* 1 with a message, 0 when there is none yet, -1 at the end (e may be set). */
static int receive(struct channel *c, struct msg *m, size_t *ret_n,
		   struct err *e)
{
	struct iovec iov = { .iov_base = receive_buffer,
			     .iov_len = sizeof receive_buffer };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
	} control;
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof control };
	const int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	ssize_t n = recvmsg(c->watch.fd, &h, flags);

	/* A peer that ended with words of ours unread resets the socket, said
	 * once; what it said before that is still there, its FAULT above all. */
	if (n < 0 && errno == ECONNRESET)
		n = recvmsg(c->watch.fd, &h, flags);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	take_fds(&h, m);
	/* Fewer descriptors than there are places for were left out because
	 * there may be no more of them here: a fault of nobody's. */
	m->is_short = h.msg_flags & MSG_CTRUNC && m->n_fds < WIRE_FDS_MAX;
	if (h.msg_flags & MSG_TRUNC ||
	    (h.msg_flags & MSG_CTRUNC && !m->is_short))
		return err_kind(e, ERR_PROTO, "oversized message");
	*ret_n = (size_t)n;
	return 1;
}

/* Descriptors belong to one message. */
static int decode(const struct channel *c, struct sv *rest, struct msg *m,
		  struct err *e)
{
	if (msg_decode_first(rest, c->peer, c->self, c->phase, m, e) < 0)
		return -1;
	return rest->n == 0 || m->n_fds == 0 ? 0 :
	       err_kind(e, ERR_PROTO, "malformed %s", msg_name(m->kind));
}

/* A process that still takes turns answers, whatever else it waits for. */
static int deliver(struct channel *c, struct msg *m, struct err *e)
{
	struct msg pong = { .kind = MSG_PONG };

	return m->kind == MSG_PING ? channel_send(c, &pong, e) :
				     c->message(c, m, e);
}

/* True: there was one, and there may be more. */
static bool take_packet(struct channel *c)
{
	struct err e = { 0 };
	struct msg m = { 0 };
	size_t n = 0;
	int got = receive(c, &m, &n, &e);
	struct sv rest = sv_of(receive_buffer, n);

	while (got > 0) {
		if (decode(c, &rest, &m, &e) < 0 || deliver(c, &m, &e) < 0)
			got = -1;
		if (!rest.n || !channel_is_open(c))
			break;
	}
	wipe(&m, receive_buffer, n);
	for (unsigned i = 0; i < m.n_fds && i < WIRE_FDS_MAX; i++)
		close_fd(&m.fds[i]);
	if (got < 0 && channel_is_open(c))
		end(c, e.kind ? &e : NULL);
	return got > 0;
}

bool channel_take(struct channel *c)
{
	return channel_is_open(c) && !c->paused && take_packet(c);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct channel *c = container_of(w, struct channel, watch);

	if (events & EPOLLOUT) {
		flush_queue(c);
		if (!channel_is_open(c))
			return;
	}
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	/* A paused channel learns of its peer's end when it reads again, unless
	 * nothing is left to read. */
	if (c->paused && !(events & (EPOLLHUP | EPOLLERR)))
		return;
	(void)take_packet(c);
}

int channel_open(struct channel *c, struct loop *l, int fd, enum role self,
		 enum role peer, enum phase phase, struct err *e)
{
	c->loop = l;
	c->self = self;
	c->peer = peer;
	c->phase = phase;
	c->paused = false;
	c->queue = NULL;
	c->queue_end = &c->queue;
	c->queued = 0;
	c->gathers = c->is_waiting = false;
	c->watch.ready = on_ready;
	return loop_watch(l, &c->watch, fd, EPOLLIN, e);
}
