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
	t = (struct tickets){ 0 };
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

	t = (struct tickets){ 0 };
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

	t = (struct tickets){ 0 };
	CHECK_INT(grant(good, 7, 1), 0);
	CHECK(!redeem(other, 2));
	CHECK(!redeem(empty, 2));
	CHECK(!redeem(zero, 2));
	CHECK(redeem(good, 3));
}

static void test_redeem_after_expiry_fails(void)
{
	t = (struct tickets){ 0 };
	CHECK_INT(grant(good, 7, 1000), 0);
	CHECK(redeem(good, 1000 + TICKET_LIFE_MS - 1));
	CHECK_INT(grant(good, 7, 1000), 0);
	CHECK(!redeem(good, 1000 + TICKET_LIFE_MS));
}

static void test_grant_is_bounded_and_recovers(void)
{
	char bytes[WIRE_TICKET] = { 0 };
	struct claim c = { sv_of(bytes, sizeof bytes), SV("a.example"), 443 };

	t = (struct tickets){ 0 };
	for (unsigned i = 0; i < TICKETS_MAX; i++) {
		bytes[0] = (char)i;
		bytes[1] = (char)(i >> 8);
		if (grant(c, 7, 1) < 0)
			CHECK(false);
	}
	CHECK_INT(grant(good, 7, 2), -1);
	CHECK(redeem(c, 2));
	CHECK_INT(grant(good, 7, 2), 0);
	/* Those that were never redeemed make room when they expire. */
	CHECK_INT(grant(c, 7, 3), -1);
	CHECK_INT(grant(c, 7, 1 + TICKET_LIFE_MS), 0);
}

static void test_grant_malformed_or_known_fails(void)
{
	struct claim short_ticket = { SV("0123"), SV("a.example"), 443 };
	struct claim no_host = { TICKET, SV(""), 443 };
	struct claim no_port = { TICKET, SV("a.example"), 0 };

	t = (struct tickets){ 0 };
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
	RUN(test_grant_is_bounded_and_recovers);
	RUN(test_grant_malformed_or_known_fails);
	return tap_done();
}
