/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's connections: one request after the other, each with its own end. */
#include "conn.h"

#include "own.h"
#include "tap.h"

#define auto_conns __attribute__((cleanup(conn_remove_all)))

static bool takes(struct conn *c, uint32_t id)
{
	struct err e = { 0 };

	return conn_take(c, id, SV("a.test"), 443, &e) == 0;
}

static bool ends(struct conn *c, uint32_t id)
{
	struct err e = { 0 };

	return conn_done(c, id, &e) == 0;
}

static void test_requests_come_in_order(void)
{
	auto_conns struct warden w = { 0 };
	struct conn *c = conn_add(&w, 5);

	CHECK(conn_find(&w, 5) == c && !conn_find(&w, 6));
	CHECK(!takes(c, 0) && !takes(c, 2));
	CHECK(takes(c, 1) && !takes(c, 1) && takes(c, 2));
	CHECK_SV(buf_sv(&c->host), "a.test");
}

/* 0 is not a connection's: a LEASE of that number is the proxy's login. */
static void test_connections_count_from_one(void)
{
	auto_conns struct warden w = { 0 };

	CHECK(!takes(conn_add(&w, 0), 1));
	CHECK(takes(conn_add(&w, 1), 1));
}

static void test_each_dispatched_request_has_one_end(void)
{
	auto_conns struct warden w = { 0 };
	struct conn *c = conn_add(&w, 5);

	CHECK(takes(c, 1) && !ends(c, 1));
	conn_dispatch(c);
	CHECK(!ends(c, 0) && !ends(c, 2) && ends(c, 1) && !ends(c, 1));
	/* The next one may have been read before. */
	CHECK(takes(c, 2));
	conn_dispatch(c);
	CHECK(takes(c, 3) && ends(c, 2) && !ends(c, 3));
}

static void test_what_may_be_claimed_is_the_newest_request_s(void)
{
	auto_conns struct warden w = { 0 };
	struct conn *c = conn_add(&w, 5);

	CHECK(takes(c, 1));
	c->secrets[c->n_secrets++] = 7;
	conn_dispatch(c);
	c->claimed = true;
	CHECK(takes(c, 2) && c->n_secrets == 0 && !c->claimed && !c->dispatched);
}

int main(void)
{
	RUN(test_requests_come_in_order);
	RUN(test_connections_count_from_one);
	RUN(test_each_dispatched_request_has_one_end);
	RUN(test_what_may_be_claimed_is_the_newest_request_s);
	return tap_done();
}
