/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the agent: see stream.h. */
#include "stream.h"

#include "exchange.h"
#include "own.h"
#include "relay_exchange.h"

enum { BUCKETS = 4096 };

static struct stream *buckets[BUCKETS];
static unsigned n_streams;
/* A stream may end in a callback of its own channel, which still looks at it
 * afterwards: it is freed when the loop has come round. */
static struct stream *grave;
static struct timer burial;

static struct stream **slot_of(uint32_t conn)
{
	struct stream **at = &buckets[conn % BUCKETS];

	while (*at && (*at)->conn != conn)
		at = &(*at)->next;
	return at;
}

struct stream *stream_find(uint32_t conn)
{
	return *slot_of(conn);
}

static void bury(struct timer *t)
{
	(void)t;
	while (grave) {
		struct stream *s = grave;

		grave = s->next;
		free(s);
	}
}

static void remove_stream(struct stream *s)
{
	*slot_of(s->conn) = s->next;
	n_streams--;
	channel_close(&s->edge);
	loop_disarm(s->dial->loop, &s->linger);
	s->next = grave;
	grave = s;
	burial.fired = bury;
	loop_arm(s->dial->loop, &burial, 0);
}

static void on_lingered(struct timer *t)
{
	remove_stream(container_of(t, struct stream, linger));
}

void stream_hold(struct stream *s, bool held)
{
	s->held = held;
	channel_pause(&s->edge, held && !s->unread);
}

void stream_rest(struct stream *s, bool body_ended)
{
	s->exchange = NULL;
	s->unread += !body_ended;
	stream_hold(s, true);
}

void stream_finish(struct stream *s)
{
	s->exchange = NULL;
	s->relay = NULL;
	s->over = true;
	channel_pause(&s->edge, false);
}

void stream_end(struct stream *s)
{
	stream_finish(s);
	loop_arm(s->dial->loop, &s->linger, STREAM_LINGER_MS);
}

void stream_refuse(struct stream *s, uint32_t id)
{
	struct msg done = { .kind = MSG_DONE, .DONE = {
		.conn = s->conn, .id = id, .error = SV("out of memory") } };

	dial_report(s->dial, &done);
	stream_end(s);
}

void stream_mask_all(uint32_t secret, struct sv values)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct stream *s = buckets[i]; s; s = s->next) {
			if (s->exchange)
				exchange_mask(s->exchange, secret, values);
			else if (s->relay)
				relay_mask(s->relay, secret, values);
		}
}

static void drain(struct stream *s, const struct msg *m)
{
	if (m->kind == MSG_BODY_END)
		s->unread--;
	stream_hold(s, s->held);
}

static int on_message(struct channel *c, struct msg *m, struct err *e)
{
	struct stream *s = container_of(c, struct stream, edge);

	/* A paused channel is read only when its peer is gone. */
	if (c->paused)
		return -1;
	if (s->over)
		return 0;
	if (s->unread)
		drain(s, m);
	else if (s->relay)
		relay_message(s->relay, m);
	else if (!s->exchange)
		return err_kind(e, ERR_PROTO, "a body without a request");
	else if (m->kind == MSG_BODY)
		exchange_body(s->exchange, m->BODY.data);
	else
		exchange_body_end(s->exchange);
	return 0;
}

static void on_closed(struct channel *c, const struct err *e)
{
	struct stream *s = container_of(c, struct stream, edge);

	if (s->exchange)
		exchange_abandon(s->exchange, e ? "edge broke the rules" :
						  "the agent hung up");
	if (s->relay)
		relay_abandon(s->relay, e ? "edge broke the rules" :
					    "the agent hung up");
	remove_stream(s);
}

static void on_drained(struct channel *c)
{
	struct stream *s = container_of(c, struct stream, edge);

	if (s->exchange)
		exchange_resume(s->exchange);
	else if (s->relay)
		relay_resume(s->relay);
}

int stream_open(struct dial *d, uint32_t conn, int edge_fd, struct err *e)
{
	auto_fd int fd = edge_fd;
	struct stream *s;

	if (stream_find(conn))
		return err_kind(e, ERR_PROTO, "STREAM for a known connection");
	/* edge sees the end of its channel and answers for itself. */
	s = n_streams < STREAMS_MAX ? calloc(1, sizeof *s) : NULL;
	if (!s)
		return 0;
	s->dial = d;
	s->conn = conn;
	s->edge.message = on_message;
	s->edge.closed = on_closed;
	s->edge.drained = on_drained;
	s->linger.fired = on_lingered;
	if (channel_open(&s->edge, d->loop, fd, ROLE_DIAL, ROLE_EDGE,
			 PHASE_RUN, e) < 0) {
		free(s);
		return -1;
	}
	(void)steal_fd(&fd);
	/* A short response leaves as one packet: head, body and end. */
	channel_gather(&s->edge, false);
	stream_hold(s, true);
	s->next = buckets[conn % BUCKETS];
	buckets[conn % BUCKETS] = s;
	n_streams++;
	return 0;
}
