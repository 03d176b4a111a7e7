/* SPDX-License-Identifier: Apache-2.0 */
/* Dates: see utc.h. */
#include "utc.h"

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

/* Days before the 1st of January of that year, from the year 0 on. */
static int64_t days_before(unsigned year)
{
	unsigned past = year ? year - 1 : 0;

	return year ? 366 + 365 * (int64_t)past + past / 4 - past / 100 +
			      past / 400 : 0;
}

bool utc_to_seconds(const struct utc *t, int64_t *ret)
{
	int64_t days;

	if (t->month < 1 || t->month > 12 || t->day < 1 ||
	    t->day > days_of(t->year, t->month) || t->hour > 23 ||
	    t->minute > 59 || t->second > 59)
		return false;
	days = days_before(t->year) - days_before(1970) + t->day - 1;
	for (unsigned month = 1; month < t->month; month++)
		days += days_of(t->year, month);
	*ret = days * DAY + t->hour * 3600 + t->minute * 60 + t->second;
	return true;
}
