/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stockade-resolve: looks names up, checks the addresses, connects, and hands
 * the sockets to dial.
 *
 *	warden --CONNECT--> resolve --SOCKET--> dial
 *	                       `----CONNECTED--> warden
 *
 * It is the one helper that can make a socket, and it holds nothing worth
 * taking: no secret, no policy, no byte of a request.  It hears warden alone;
 * what name servers answer is parsed by the C library.
 *
 * It ends with warden, with dial, or by its own error, which it reports.
 */
#include "channel.h"
#include "confine.h"
#include "lookup.h"
#include "own.h"
#include "connect.h"

static struct loop *loop;
static struct channel warden, dial;
static int status;	/* of the process */

static void stop(const struct err *e)
{
	struct err ignored;
	struct msg m = { .kind = MSG_FAULT };

	if (e)
		status = 1;
	if (e && channel_is_open(&warden)) {
		m.FAULT.text = sv_str(e->msg);
		(void)channel_send(&warden, &m, &ignored);
	}
	loop_stop(loop);
}

/* To a peer that is gone, the end arrives by itself: `closed`. */
static void send_or_stop(struct channel *to, const struct msg *m)
{
	struct err e = { 0 };

	if (channel_is_open(to) && channel_send(to, m, &e) < 0)
		stop(&e);
}

static void on_finished(const struct connect_end *end)
{
	struct sv address = sv_str(end->address), error = sv_str(end->error);
	struct msg socket = { .kind = MSG_SOCKET, .SOCKET = {
		.conn = end->conn, .id = end->id, .error = error,
		.proxied = end->proxy[0] != 0, .address = address } };
	struct msg connected = { .kind = MSG_CONNECTED, .CONNECTED = {
		.conn = end->conn, .id = end->id, .address = address,
		.error = error, .proxy = sv_str(end->proxy) } };

	if (end->fd >= 0) {
		socket.n_fds = 1;
		socket.fds[0] = end->fd;
	}
	/* The record first: what is used has been reported. */
	send_or_stop(&warden, &connected);
	send_or_stop(&dial, &socket);
}

static const struct connect_sink sink = { .finished = on_finished };

static int refuse(struct channel *c, struct msg *m, struct err *e)
{
	(void)c;
	return err_kind(e, ERR_PROTO, "unexpected %s", msg_name(m->kind));
}

static void on_closed(struct channel *c, const struct err *e)
{
	(void)c;
	stop(e);
}

static int start(struct msg *m, struct err *e)
{
	if (m->n_fds != 1)
		return err_kind(e, ERR_PROTO, "no socket to dial");
	dial.message = refuse;
	dial.closed = on_closed;
	if (channel_open(&dial, loop, m->fds[0], ROLE_RESOLVE, ROLE_DIAL,
			 PHASE_RUN, e) < 0)
		return -1;
	m->fds[0] = -1;
	if (lookup_init(loop, e) < 0 ||
	    confine_helper(CONFINE_RESOLVE, e) < 0)
		return -1;
	warden.phase = PHASE_RUN;
	return 0;
}

static int on_warden(struct channel *c, struct msg *m, struct err *e)
{
	if (m->kind == MSG_RESOLVE_START) {
		/* Reported here: `closed` comes when the channel is gone. */
		if (start(m, e) < 0)
			stop(e);
		return 0;
	}
	if (m->kind != MSG_CONNECT)
		return refuse(c, m, e);
	connect_start(loop, &m->CONNECT, &sink);
	return 0;
}

int main(void)
{
	struct err e = { 0 };

	channel_raise_descriptors();	/* two for each connection */
	loop = loop_new(&e);
	warden.message = on_warden;
	warden.closed = on_closed;
	if (!loop || channel_open(&warden, loop, 3, ROLE_RESOLVE, ROLE_WARDEN,
				  PHASE_BOOT, &e) < 0)
		return 1;
	if (loop_run(loop, &e) < 0)
		stop(&e);
	return status;
}
