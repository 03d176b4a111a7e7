/* SPDX-License-Identifier: Apache-2.0 */
/* Dates: see utc.h. */
#include "utc.h"

#include <stdbool.h>

enum { DAY = 24 * 60 * 60 };

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_of(unsigned year, unsigned month)
{
	static const uint8_t days[] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
	};

	return days[month - 1] + (month == 2 && is_leap(year) ? 1U : 0U);
}

struct utc utc_of(int64_t seconds)
{
	uint64_t now = seconds > 0 ? (uint64_t)seconds : 0;
	uint64_t days = now / DAY;
	unsigned rest = (unsigned)(now % DAY);
	struct utc t = {
		.year = 1970, .month = 1, .hour = rest / 3600,
		.minute = rest / 60 % 60, .second = rest % 60,
	};

	/* 400 years have 146097 days. */
	t.year += (unsigned)(days / 146097 * 400);
	days %= 146097;
	for (; days >= 365U + is_leap(t.year); t.year++)
		days -= 365U + is_leap(t.year);
	for (; days >= days_of(t.year, t.month); t.month++)
		days -= days_of(t.year, t.month);
	t.day = (unsigned)days + 1;
	return t;
}
