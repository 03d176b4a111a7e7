/* SPDX-License-Identifier: Apache-2.0 */
#include "tickets.h"

#include "tap.h"

#define TICKET SV("0123456789abcdef")
#define OTHER SV("0123456789abcdeF")

static struct tickets t;
static const struct claim good = { { "0123456789abcdef", 16 },
				   { "api.example", 11 }, 443 };

static int grant(struct claim c, uint32_t secret, uint64_t now_ms)
{
	struct err e = { 0 };

	return tickets_grant(&t, &c, secret, now_ms, &e);
}

static bool redeem(struct claim c, uint64_t now_ms)
{
	uint32_t secret = 0;

	return tickets_redeem(&t, &c, now_ms, &secret) && secret == 7;
}

static void test_redeem_granted_once(void)
{
	tickets_fini(&t);
	CHECK(!redeem(good, 1));
	CHECK_INT(grant(good, 7, 1), 0);
	CHECK(redeem(good, 2));
	CHECK(!redeem(good, 3));
}

static void test_redeem_elsewhere_spends_the_ticket(void)
{
	struct claim host = { TICKET, SV("evil.example"), 443 };
	struct claim longer = { TICKET, SV("api.example."), 443 };
	struct claim port = { TICKET, SV("api.example"), 8443 };

	tickets_fini(&t);
	CHECK_INT(grant(good, 7, 1), 0);
	CHECK(!redeem(host, 2));
	CHECK(!redeem(good, 3));
	CHECK_INT(grant(good, 7, 4), 0);
	CHECK(!redeem(port, 5));
	CHECK(!redeem(good, 6));
	CHECK_INT(grant(good, 7, 7), 0);
	CHECK(!redeem(longer, 8));
	CHECK(!redeem(good, 9));
}

static void test_redeem_foreign_ticket_spends_nothing(void)
{
	struct claim other = { OTHER, SV("api.example"), 443 };
	struct claim empty = { SV(""), SV("api.example"), 443 };
	struct claim zero = { SV("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
			      SV("api.example"), 443 };

	tickets_fini(&t);
	CHECK_INT(grant(good, 7, 1), 0);
	CHECK(!redeem(other, 2));
	CHECK(!redeem(empty, 2));
	CHECK(!redeem(zero, 2));
	CHECK(redeem(good, 3));
}

static void test_redeem_after_expiry_fails(void)
{
	tickets_fini(&t);
	CHECK_INT(grant(good, 7, 1000), 0);
	CHECK(redeem(good, 1000 + WIRE_TICKET_MS - 1));
	CHECK_INT(grant(good, 7, 1000), 0);
	CHECK(!redeem(good, 1000 + WIRE_TICKET_MS));
}

/* One of many, each with bytes of its own. */
static struct claim numbered(char bytes[WIRE_TICKET], unsigned i)
{
	memset(bytes, 0, WIRE_TICKET);
	/* Neighbours share a bucket, too. */
	i = i * 2654435761u;
	memcpy(bytes, &i, sizeof i);
	return (struct claim){ sv_of(bytes, WIRE_TICKET), SV("a.example"),
			       443 };
}

static void test_many_are_found_and_each_once(void)
{
	enum { MANY = 10000 };
	char bytes[WIRE_TICKET];
	unsigned missing = 0, twice = 0;

	tickets_fini(&t);
	for (unsigned i = 0; i < MANY; i++)
		missing += grant(numbered(bytes, i), 7, 1) < 0;
	CHECK_INT(t.n, MANY);
	CHECK(t.n_buckets >= MANY);
	for (unsigned i = 0; i < MANY; i++) {
		struct claim c = numbered(bytes, i * 7919 % MANY);

		missing += !redeem(c, 2);
		twice += redeem(c, 2);
	}
	CHECK_INT(missing, 0);
	CHECK_INT(twice, 0);
	/* The memory went with them. */
	CHECK_INT(t.n, 0);
	CHECK(!t.buckets && t.n_buckets == TICKETS_FEW);
}

static void test_beyond_the_most_the_oldest_ends(void)
{
	char bytes[WIRE_TICKET];
	unsigned failed = 0;

	tickets_fini(&t);
	for (unsigned i = 0; i < TICKETS_MAX; i++)
		failed += grant(numbered(bytes, i), 7, 1) < 0;
	CHECK_INT(failed, 0);
	CHECK_INT(grant(good, 7, 2), 0);
	CHECK_INT(t.n, TICKETS_MAX);
	CHECK(!redeem(numbered(bytes, 0), 3));
	CHECK(redeem(numbered(bytes, 1), 3));
	CHECK(redeem(numbered(bytes, TICKETS_MAX - 1), 3));
	CHECK(redeem(good, 3));
}

static void test_expire_ends_the_oldest_in_order(void)
{
	char bytes[WIRE_TICKET];

	tickets_fini(&t);
	CHECK_INT(tickets_expire(&t, 1), 0);
	for (unsigned i = 0; i < 100; i++)
		CHECK_INT(grant(numbered(bytes, i), 7, 1000 + i), 0);
	CHECK(redeem(numbered(bytes, 50), 1100));
	CHECK_INT(tickets_expire(&t, 1100), WIRE_TICKET_MS - 100);
	CHECK_INT(tickets_expire(&t, 1049 + WIRE_TICKET_MS), 2);
	CHECK_INT(t.n, 49);
	CHECK(!redeem(numbered(bytes, 49), 1100));
	CHECK(redeem(numbered(bytes, 51), 1100));
	CHECK_INT(tickets_expire(&t, 1099 + WIRE_TICKET_MS), 0);
	CHECK_INT(t.n, 0);
}

static void test_grant_malformed_or_known_fails(void)
{
	struct claim short_ticket = { SV("0123"), SV("a.example"), 443 };
	struct claim no_host = { TICKET, SV(""), 443 };
	struct claim no_port = { TICKET, SV("a.example"), 0 };

	tickets_fini(&t);
	CHECK_INT(grant(short_ticket, 7, 1), -1);
	CHECK_INT(grant(no_host, 7, 1), -1);
	CHECK_INT(grant(no_port, 7, 1), -1);
	CHECK_INT(grant(good, 7, 1), 0);
	CHECK_INT(grant(good, 8, 1), -1);
	CHECK(redeem(good, 2));
}

int main(void)
{
	RUN(test_redeem_granted_once);
	RUN(test_redeem_elsewhere_spends_the_ticket);
	RUN(test_redeem_foreign_ticket_spends_nothing);
	RUN(test_redeem_after_expiry_fails);
	RUN(test_many_are_found_and_each_once);
	RUN(test_beyond_the_most_the_oldest_ends);
	RUN(test_expire_ends_the_oldest_in_order);
	RUN(test_grant_malformed_or_known_fails);
	tickets_fini(&t);
	return tap_done();
}
