/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that are carried without being read: see relay_face.h. */
#include "relay_face.h"

#include <sys/socket.h>

#include "client_hello.h"
#include "cur.h"
#include "own.h"
#include "proxy.h"
#include "tls.h"

enum {
	LOOK_MS = 30000,	/* for a whole ClientHello */
	HALF_MS = 600000,	/* the agent has ended, and nothing moves */
	NO_RELAY = 421,		/* warden's word for it */
	ALERT_ACCESS_DENIED = 49, ALERT_INTERNAL_ERROR = 80,
};

/* By kind, a bit for each port; RELAY_NONE: of the loopback. */
static uint8_t ports[RELAY_TLS + 1][65536 / 8];

int relay_learn(struct sv hints, struct err *e)
{
	struct cur c = cur_of(hints);

	while (!c.bad && c.rest.n) {
		uint8_t kind = cur_u8(&c);
		uint16_t port = cur_u16(&c);

		if (kind > RELAY_TLS)
			c.bad = true;
		else if (port == 0)
			memset(ports[kind], 0xff, sizeof ports[kind]);
		else
			ports[kind][port / 8] |= (uint8_t)(1U << port % 8);
	}
	return c.bad ? err_kind(e, ERR_PROTO, "malformed EDGE_START") : 0;
}

bool relay_is_local_port(uint16_t port)
{
	return ports[RELAY_NONE][port / 8] >> port % 8 & 1;
}

/* Nothing but a relay can go there: to wait for the client's first byte would
 * hang it. */
static bool server_speaks_first(uint16_t port)
{
	static const uint16_t first[] = { 21, 22, 25, 110, 143, 3306 };

	for (size_t i = 0; i < countof(first); i++)
		if (first[i] == port)
			return true;
	return false;
}

bool relay_may_be(const struct conn *c, enum relay_kind kind)
{
	uint16_t port = c->port;

	if (c->host_n == 0 || (kind == RELAY_TCP ? c->no_tcp : c->no_tls))
		return false;
	return ports[kind][port / 8] >> port % 8 & 1 ||
	       (kind == RELAY_TCP && server_speaks_first(port));
}

void relay_suggest(struct conn *c, enum relay_kind kind, const char *why)
{
	auto_buf struct buf b = buf_new(512);

	buf_puts(&b, why);
	/* A literal address has no name that a rule could have. */
	if (c->host_n)
		buf_printf(&b, "; `allow %s %.*s:%u`%s would carry it unread",
			   kind == RELAY_TLS ? "tls" : "tcp",
			   SV_FMT(conn_host(c)), c->port,
			   c->edge->intercept && kind == RELAY_TLS ?
			   ", in place of all other rules for it," : "");
	conn_refused(c, buf_sv(&b));
}

static void ask(struct conn *c, enum relay_kind kind, const char *fault)
{
	struct call *call = c->calls;
	struct exchange *x = call_begin(call);
	struct msg m = { .kind = MSG_OPEN };

	if (!x) {
		conn_abort(c);
		return;
	}
	c->relay = (uint8_t)kind;
	x->id = ++call->last_id;
	x->untaken = true;
	m.OPEN = (struct msg_OPEN){
		.conn = call->number, .id = x->id, .relay = (uint8_t)kind,
		.host = conn_host(c), .port = c->port,
		.only = kind == RELAY_TCP && server_speaks_first(c->port),
		.fault = sv_str(fault ? fault : ""),
	};
	call_set_state(call, CALL_VERDICT);
	edge_tell(c->edge, &m);
}

void relay_ask(struct conn *c, enum relay_kind kind)
{
	conn_speak(c, &relay_face);
	ask(c, kind, NULL);
}

void relay_start(struct conn *c)
{
	if (relay_may_be(c, RELAY_TCP)) {
		relay_ask(c, RELAY_TCP);
	} else if (conn_is_literal(c) && server_speaks_first(c->dest.port)) {
		conn_refused(c, SV("a literal address is never dialled; use a"
				   " host name"));
		conn_close(c);
	}
}

void relay_look(struct conn *c)
{
	c->relay = RELAY_TLS;
	conn_speak(c, &relay_face);
}

/* The socket is not to wake us for what was seen already. */
static void wait_beyond(struct conn *c, size_t n)
{
	int lowat = (int)n + 1;

	(void)setsockopt(c->watch.fd, SOL_SOCKET, SO_RCVLOWAT, &lowat,
			 sizeof lowat);
}

/*
 * Nothing is taken: TLS reads the socket itself where this is no relay, and
 * what was judged is what will be sent.
 */
static bool look(struct conn *c)
{
	static char bytes[CLIENT_HELLO_BYTES_MAX];
	struct client_hello h;
	const char *fault;
	ssize_t n;

	if (!c->readable) {
		c->want_read = true;
		return false;
	}
	n = recv(c->watch.fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		c->readable = false;
		return true;
	}
	/* Woken for no more than there was: there will be no more. */
	if (n <= 0 || (size_t)n == c->scanned) {
		conn_refused(c, SV("the client left in the middle of a"
				   " ClientHello"));
		conn_close(c);
		return false;
	}
	c->scanned = (size_t)n;
	switch (client_hello_parse(sv_of(bytes, (size_t)n), &h)) {
	case CLIENT_HELLO_MORE:
		wait_beyond(c, c->scanned);
		c->readable = false;
		return true;
	case CLIENT_HELLO_WHOLE:
		fault = client_hello_fault(&h, conn_host(c));
		break;
	case CLIENT_HELLO_BAD:
	default:
		fault = h.fault;
		break;
	}
	wait_beyond(c, 0);
	c->scanned = 0;
	ask(c, RELAY_TLS, fault);
	return true;
}

/* Nothing more will be said to the agent; a WebSocket may have TLS. */
static void shut(struct conn *c)
{
	if (c->tls && tls_shutdown(c->tls) == TLS_WANT_WRITE) {
		c->want_write = true;
		return;
	}
	c->shut = true;
	(void)shutdown(c->watch.fd, SHUT_WR);
}

static bool carry(struct conn *c, struct call *call)
{
	struct exchange *x = call->exchange;

	if (c->out.n == 0)
		buf_free(&c->out);
	if (x->response_done && c->out.n == 0 && !c->shut)
		shut(c);
	if (x->body_done || call_is_full(call))
		return false;
	if (c->in.n) {
		if (call_send(call, buf_sv(&c->in)))
			buf_consume(&c->in, c->in.n);
		return true;
	}
	if (c->eof) {
		call_send_end(call);
		return true;
	}
	if (conn_fill(c, CONN_READ))
		return true;
	/* A quiet relay costs no memory. */
	buf_free(&c->in);
	return false;
}

static bool relay_step(struct conn *c)
{
	struct call *call = c->calls;

	if (call->state == CALL_IDLE)
		return look(c);
	return call->state == CALL_EXCHANGE && carry(c, call);
}

static void check_deadline(struct conn *c, uint64_t waited_ms)
{
	if (c->calls->state == CALL_IDLE && waited_ms >= LOOK_MS) {
		conn_refused(c, SV("the ClientHello did not arrive in time"));
		conn_close(c);
	} else if (c->calls->state == CALL_EXCHANGE && c->eof &&
		   waited_ms >= HALF_MS) {
		conn_abort(c);
	}
}

static void end(struct call *call, const struct http_fields *trailers)
{
	(void)call;
	(void)trailers;
}

static void nothing(struct call *call)
{
	(void)call;
}

static void no_interim(struct call *call, const struct http_response *r)
{
	(void)call;
	(void)r;
}

/* It is connected. */
static void response(struct call *call, struct http_response *r)
{
	struct conn *c = call->conn;

	(void)r;
	if (c->connect)
		proxy_put_established(c);
	c->connect = false;
}

static void data(struct call *call, struct sv piece)
{
	buf_put(&call->conn->out, piece);
}

/* None of its bytes was taken: it goes on as if it had not been asked for. */
static void decline(struct conn *c)
{
	if (c->relay == RELAY_TCP)
		c->no_tcp = true;
	else
		c->no_tls = true;
	c->relay = RELAY_NONE;
	c->face = NULL;
	c->readable = true;
	conn_set_state(c, CONN_OPENING);
	if (c->connect)
		proxy_put_established(c);
	c->connect = false;
}

static void put_alert(struct buf *b, uint8_t alert)
{
	static const uint8_t head[] = { 21, 3, 3, 0, 2, 2 };	/* fatal */

	buf_put(b, sv_of((const char *)head, sizeof head));
	buf_putc(b, (char)alert);
}

static void page(struct call *call, struct page *p)
{
	struct conn *c = call->conn;
	auto_buf struct buf asked = buf_new(512);

	if (p->status == NO_RELAY) {
		decline(c);
	} else if (c->connect) {
		buf_printf(&asked, "CONNECT %.*s:%u", SV_FMT(conn_host(c)),
			   c->port);
		p->request = buf_sv(&asked);
		p->head_only = false;
		p->close = true;
		page_put(&c->out, p);
		conn_finish(c);
	} else if (c->relay == RELAY_TLS) {
		put_alert(&c->out, p->status == 403 ? ALERT_ACCESS_DENIED :
						      ALERT_INTERNAL_ERROR);
		conn_finish(c);
	} else {
		conn_abort(c);
	}
}

/* The stream may have ended before all of the agent's bytes were taken. */
static void over(struct call *call)
{
	const struct exchange *x = call->exchange;

	if (!x || exchange_is_over(x))
		conn_finish(call->conn);
	else
		conn_abort(call->conn);
}

static void abort_connection(struct call *call)
{
	conn_abort(call->conn);
}

static bool is_backed_up(const struct call *call)
{
	return call->conn->out.n > 0;
}

const struct face relay_face = {
	.step = relay_step,
	.check_deadline = check_deadline,
	.proceed = nothing,
	.interim = no_interim,
	.response = response,
	.data = data,
	.end = end,
	.page = page,
	.done = over,
	.abort = abort_connection,
	.is_backed_up = is_backed_up,
};
