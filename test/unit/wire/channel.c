/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: order, descriptors, back-pressure, the end. */
#include "channel.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own.h"
#include "tap.h"

struct peer {
	struct channel channel;
	struct loop *loop;
	unsigned messages, closed, drained;
	struct err why;
	uint32_t last;
	int fd;
	unsigned stop_at;
	bool was_short;
	struct sv value;	/* of a LEASE: a view that does not hold */
};

static struct loop *turning;

static int on_message(struct channel *c, struct msg *m, struct err *e)
{
	struct peer *p = container_of(c, struct peer, channel);

	p->messages++;
	p->was_short = m->is_short;
	if (m->kind == MSG_SOCKET) {
		if (m->SOCKET.conn == 666)
			return err_kind(e, ERR_PROTO, "no such thing");
		p->last = m->SOCKET.conn;
		if (m->n_fds) {
			p->fd = m->fds[0];
			m->fds[0] = -1;
		}
	}
	if (m->kind == MSG_LEASE) {
		p->value = m->LEASE.value;
		CHECK_SV(p->value, "value");
	}
	if (p->messages == p->stop_at)
		loop_stop(p->loop);
	return 0;
}

static void on_closed(struct channel *c, const struct err *e)
{
	struct peer *p = container_of(c, struct peer, channel);

	p->closed++;
	if (e)
		p->why = *e;
	loop_stop(p->loop);
}

static void on_drained(struct channel *c)
{
	container_of(c, struct peer, channel)->drained++;
}

static void open_as(struct loop *l, struct peer *from, enum role from_role,
		    struct peer *to, enum role to_role)
{
	int fds[2] = { -1, -1 };
	struct err e;

	*from = *to = (struct peer){ .loop = l, .fd = -1 };
	from->channel.message = to->channel.message = on_message;
	from->channel.closed = to->channel.closed = on_closed;
	from->channel.drained = on_drained;
	CHECK(channel_pair(fds, &e) == 0);
	CHECK(channel_open(&from->channel, l, fds[0], from_role, to_role,
			   PHASE_RUN, &e) == 0);
	CHECK(channel_open(&to->channel, l, fds[1], to_role, from_role,
			   PHASE_RUN, &e) == 0);
}

static void open_pair(struct loop *l, struct peer *from, struct peer *to)
{
	open_as(l, from, ROLE_RESOLVE, to, ROLE_DIAL);
}

static void close_pair(struct peer *from, struct peer *to)
{
	channel_close(&from->channel);
	channel_close(&to->channel);
}

/* What dial says of a short response. */
static void send_response(struct peer *from)
{
	struct msg m = { .kind = MSG_RESPONSE };
	struct err e;

	m.RESPONSE.id = 1;
	CHECK(channel_send(&from->channel, &m, &e) == 0);
	m = (struct msg){ .kind = MSG_CHUNK };
	m.CHUNK.data = SV("answer");
	CHECK(channel_send(&from->channel, &m, &e) == 0);
	m = (struct msg){ .kind = MSG_CHUNK_END };
	CHECK(channel_send(&from->channel, &m, &e) == 0);
}

static ssize_t packet_size(const struct peer *p)
{
	char bytes[4096];

	return recv(p->channel.watch.fd, bytes, sizeof bytes,
		    MSG_PEEK | MSG_DONTWAIT);
}

static void stop(struct timer *t)
{
	(void)t;
	loop_stop(turning);
}

/* The loop comes round once. */
static void turn(struct loop *l)
{
	struct timer soon = { .fired = stop };
	struct err e;

	turning = l;
	loop_arm(l, &soon, 0);
	CHECK(loop_run(l, &e) == 0);
}

static struct msg socket_msg(uint32_t conn)
{
	struct msg m = { .kind = MSG_SOCKET };

	m.SOCKET.conn = conn;
	return m;
}

static void test_channel_queues_what_the_kernel_does_not_take(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	unsigned sent = 0;

	open_pair(l, &a, &b);
	while (!channel_is_full(&a.channel) && sent < 100000) {
		struct msg m = socket_msg(sent++);

		CHECK(channel_send(&a.channel, &m, &e) == 0);
	}
	for (int i = 0; i < 10; i++) {
		struct msg m = socket_msg(sent++);

		CHECK(channel_send(&a.channel, &m, &e) == 0);
	}
	b.stop_at = sent;
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.messages, sent);
	CHECK_INT(b.last, sent - 1);	/* in order, to the last */
	CHECK(!channel_is_full(&a.channel));
	CHECK(a.drained >= 1);
	close_pair(&a, &b);
	loop_free(l);
}

static void test_channel_carries_a_descriptor(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(1);
	int pipes[2];
	char c = 0;

	open_pair(l, &a, &b);
	CHECK(pipe(pipes) == 0);
	m.n_fds = 1;
	m.fds[0] = pipes[0];
	b.stop_at = 1;
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(loop_run(l, &e) == 0);
	CHECK(write(pipes[1], "x", 1) == 1);
	CHECK(b.fd >= 0 && read(b.fd, &c, 1) == 1 && c == 'x');
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	close_fd(&b.fd);
	close_pair(&a, &b);
	loop_free(l);
}

static void test_channel_without_room_for_a_descriptor_says_so(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(7);
	struct rlimit before, none;

	open_pair(l, &a, &b);
	m.n_fds = 1;
	m.fds[0] = 0;
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = before;
	none.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	b.stop_at = 1;
	CHECK(loop_run(l, &e) == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK_INT(b.last, 7);
	CHECK_INT(b.fd, -1);
	CHECK(b.was_short);
	/* With room, it is as ever. */
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	b.stop_at = 2;
	CHECK(loop_run(l, &e) == 0);
	CHECK(b.fd >= 0 && !b.was_short);
	close_fd(&b.fd);
	close_pair(&a, &b);
	loop_free(l);
}

static void test_channel_refused_message_ends_it_with_the_reason(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(666);

	open_pair(l, &a, &b);
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.closed, 1);
	CHECK_INT(b.why.kind, ERR_PROTO);
	CHECK(!channel_is_open(&b.channel));
	channel_close(&a.channel);
	loop_free(l);
}

static void test_channel_that_gathers_sends_one_packet(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer dial, edge;
	ssize_t one;

	open_as(l, &dial, ROLE_DIAL, &edge, ROLE_EDGE);
	send_response(&dial);
	edge.stop_at = 3;
	one = packet_size(&edge);
	CHECK(one > 0);
	CHECK(loop_run(l, &e) == 0);
	channel_gather(&dial.channel, false);
	send_response(&dial);
	CHECK(packet_size(&edge) < 0);
	channel_pause(&edge.channel, true);
	turn(l);
	CHECK(packet_size(&edge) > one);
	channel_pause(&edge.channel, false);
	edge.stop_at = 6;
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(edge.messages, 6);
	/* Its end is an end of the waiting as well. */
	send_response(&dial);
	channel_close(&dial.channel);
	CHECK(packet_size(&edge) > one);
	edge.stop_at = 0;
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(edge.messages, 9);
	CHECK_INT(edge.closed, 1);
	loop_free(l);
}

static void test_channel_whose_bytes_are_many_sends_more_packets(void)
{
	static char bytes[WIRE_CHUNK_MAX];
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer dial, edge;

	open_as(l, &dial, ROLE_DIAL, &edge, ROLE_EDGE);
	channel_gather(&dial.channel, false);
	for (int i = 0; i < 3; i++) {
		struct msg m = { .kind = MSG_CHUNK };

		m.CHUNK.data = sv_of(bytes, sizeof bytes);
		CHECK(channel_send(&dial.channel, &m, &e) == 0);
	}
	CHECK(packet_size(&edge) > 0);
	edge.stop_at = 3;
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(edge.messages, 3);
	close_pair(&dial, &edge);
	loop_free(l);
}

static void test_channel_what_is_urgent_waits_for_nobody(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(1);
	int pipes[2];

	open_pair(l, &a, &b);
	channel_gather(&a.channel, false);
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(packet_size(&b) < 0);
	CHECK(pipe(pipes) == 0);
	m = socket_msg(2);
	m.n_fds = 1;
	m.fds[0] = pipes[0];
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(packet_size(&b) > 0);
	b.stop_at = 2;
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.last, 2);		/* behind what had waited */
	CHECK(b.fd >= 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	close_fd(&b.fd);
	close_pair(&a, &b);
	loop_free(l);
}

static void test_channel_what_is_first_is_not_overtaken(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b, c, d;
	struct msg m = socket_msg(1);
	int pipes[2];

	open_pair(l, &a, &b);
	open_pair(l, &c, &d);
	channel_gather(&a.channel, true);
	channel_gather(&c.channel, false);
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(channel_send(&c.channel, &m, &e) == 0);
	CHECK(packet_size(&b) < 0 && packet_size(&d) < 0);
	CHECK(pipe(pipes) == 0);
	m.n_fds = 1;
	m.fds[0] = pipes[0];
	CHECK(channel_send(&c.channel, &m, &e) == 0);
	CHECK(packet_size(&b) > 0 && packet_size(&d) > 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	close_pair(&a, &b);
	close_pair(&c, &d);
	loop_free(l);
}

static void test_channel_a_ping_is_answered_by_itself(void)
{
	const struct msg ping = { .kind = MSG_PING };
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer warden = { .loop = l, .fd = -1 }, dial = warden;
	int fds[2] = { -1, -1 };

	CHECK(channel_pair(fds, &e) == 0);
	warden.channel.message = dial.channel.message = on_message;
	warden.channel.closed = dial.channel.closed = on_closed;
	warden.stop_at = 1;
	CHECK(channel_open(&warden.channel, l, fds[0], ROLE_WARDEN, ROLE_DIAL,
			   PHASE_RUN, &e) == 0);
	CHECK(channel_open(&dial.channel, l, fds[1], ROLE_DIAL, ROLE_WARDEN,
			   PHASE_BOOT, &e) == 0);
	CHECK(channel_send(&warden.channel, &ping, &e) == 0);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(warden.messages, 1);
	CHECK_INT(dial.messages, 0);
	CHECK_INT(warden.closed + dial.closed, 0);
	channel_close(&warden.channel);
	channel_close(&dial.channel);
	loop_free(l);
}

static void test_channel_garbage_ends_it(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;

	open_pair(l, &a, &b);
	CHECK(send(a.channel.watch.fd, "\xff\xff", 2, 0) == 2);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.closed, 1);
	CHECK_INT(b.messages, 0);
	CHECK_INT(b.why.kind, ERR_PROTO);
	channel_close(&a.channel);
	loop_free(l);
}

static void test_channel_peer_gone_is_no_error(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;

	open_pair(l, &a, &b);
	channel_close(&a.channel);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.closed, 1);
	CHECK_INT(b.why.kind, ERR_NONE);
	CHECK_INT(a.closed, 0);
	loop_free(l);
}

static void test_channel_last_message_before_the_end_arrives(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(5);

	open_pair(l, &a, &b);
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	channel_close(&a.channel);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.messages, 1);
	CHECK_INT(b.closed, 1);
	loop_free(l);
}

/* Its end has a message of ours unread: the socket is reset. */
static void test_channel_last_words_of_a_peer_that_did_not_listen_arrive(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer a, b;
	struct msg m = socket_msg(5);

	open_pair(l, &a, &b);
	CHECK(channel_send(&a.channel, &m, &e) == 0);
	CHECK(send(b.channel.watch.fd, "unread", 6, 0) == 6);
	channel_close(&a.channel);
	CHECK(loop_run(l, &e) == 0);
	CHECK_INT(b.messages, 1);
	CHECK_INT(b.last, 5);
	CHECK_INT(b.closed, 1);
	loop_free(l);
}

static void test_channel_keeps_no_secret(void)
{
	struct err e;
	struct loop *l = loop_new(&e);
	struct peer from, to;
	const struct msg m = { .kind = MSG_LEASE,
			       .LEASE.value = SV("value") };

	open_as(l, &from, ROLE_VAULT, &to, ROLE_DIAL);
	to.stop_at = 1;
	CHECK(channel_send(&from.channel, &m, &e) == 0);
	CHECK(loop_run(l, &e) == 0);
	/* The receive buffer is still there, and what was read is not. */
	CHECK(to.value.n == 5 &&
	      memcmp(to.value.p, (const char[5]){ 0 }, 5) == 0);
	close_pair(&from, &to);
	loop_free(l);
}

int main(void)
{
	RUN(test_channel_queues_what_the_kernel_does_not_take);
	RUN(test_channel_carries_a_descriptor);
	RUN(test_channel_without_room_for_a_descriptor_says_so);
	RUN(test_channel_refused_message_ends_it_with_the_reason);
	RUN(test_channel_that_gathers_sends_one_packet);
	RUN(test_channel_whose_bytes_are_many_sends_more_packets);
	RUN(test_channel_what_is_urgent_waits_for_nobody);
	RUN(test_channel_what_is_first_is_not_overtaken);
	RUN(test_channel_a_ping_is_answered_by_itself);
	RUN(test_channel_keeps_no_secret);
	RUN(test_channel_garbage_ends_it);
	RUN(test_channel_peer_gone_is_no_error);
	RUN(test_channel_last_message_before_the_end_arrives);
	RUN(test_channel_last_words_of_a_peer_that_did_not_listen_arrive);
	return tap_done();
}
