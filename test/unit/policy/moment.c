/* SPDX-License-Identifier: Apache-2.0 */
/* Moments: what is one, and the one way in which it is printed. */
#include "tap.h"

#include "moment.h"
#include "own.h"

static const struct {
	const char *text, *utc;
	uint64_t seconds;
} good[] = {
	{ "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", 0 },
	{ "2026-12-31T18:00:00Z", "2026-12-31T18:00:00Z", 1798740000 },
	{ "2026-12-31T18:00:00+01:00", "2026-12-31T17:00:00Z", 1798736400 },
	{ "2026-12-31T18:00:00-05:30", "2026-12-31T23:30:00Z", 1798759800 },
	{ "2027-01-01T00:30:00+01:00", "2026-12-31T23:30:00Z", 1798759800 },
	{ "2026-12-31T18:00:00+00:00", "2026-12-31T18:00:00Z", 1798740000 },
	{ "2028-02-29T23:59:59-23:59", "2028-03-01T23:58:59Z", 1835567939 },
	{ "1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00Z", 0 },
	{ "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", 253402300799 },
};

static const char *const bad[] = {
	"", "Z", "30m", "90", "20261231T180000Z", "2026-12-31", "18:00:00Z",
	"2026-12-31T18:00:00", "2026-12-31T18:00Z", "2026-12-31 18:00:00Z",
	"2026-12-31t18:00:00Z", "2026-12-31T18:00:00z", "2026-12-31T18:00:00ZZ",
	"2026-12-31T18:00:00.5Z", "2026-12-31T18:00:00+1:00",
	"2026-12-31T18:00:00+0100", "2026-12-31T18:00:00+01",
	"2026-12-31T18:00:00+24:00", "2026-12-31T18:00:00+01:60",
	"2026-12-31T18:00:00 +01:00", "2026-12-31T24:00:00Z",
	"2026-12-31T23:60:00Z", "2026-12-31T23:59:60Z", "2026-02-29T00:00:00Z",
	"2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
	"+026-12-31T18:00:00Z", "02026-12-31T18:00:00Z", "0000-01-01T00:00:00Z",
	"1970-01-01T00:00:00+00:01", "1969-12-31T23:59:59Z",
	"9999-12-31T23:59:59-00:01", "2026/12/31T18:00:00Z",
};

static void test_what_is_a_moment(void)
{
	for (size_t i = 0; i < countof(good); i++) {
		auto_buf struct buf b = buf_new(64);
		uint64_t got = 1;

		CHECK(moment_parse(sv_str(good[i].text), &got));
		CHECK(got == good[i].seconds);
		moment_put(&b, got);
		CHECK_SV(buf_sv(&b), good[i].utc);
	}
}

static void test_what_is_none(void)
{
	for (size_t i = 0; i < countof(bad); i++) {
		uint64_t got;
		bool is_one = moment_parse(sv_str(bad[i]), &got);

		if (is_one)
			printf("# %s\n", bad[i]);
		CHECK(!is_one);
	}
}

int main(void)
{
	RUN(test_what_is_a_moment);
	RUN(test_what_is_none);
	return tap_done();
}
