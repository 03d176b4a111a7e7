/* SPDX-License-Identifier: Apache-2.0 */
/* Dates, against the C library's. */
#include "utc.h"

#include <time.h>

#include "tap.h"

static bool is_the_librarys(int64_t seconds)
{
	time_t t = seconds;
	struct utc ours = utc_of(seconds);
	struct tm tm;

	return gmtime_r(&t, &tm) != NULL &&
	       ours.year == (unsigned)tm.tm_year + 1900 &&
	       ours.month == (unsigned)tm.tm_mon + 1 &&
	       ours.day == (unsigned)tm.tm_mday &&
	       ours.hour == (unsigned)tm.tm_hour &&
	       ours.minute == (unsigned)tm.tm_min &&
	       ours.second == (unsigned)tm.tm_sec;
}

static void test_every_day_of_five_centuries_is_right(void)
{
	bool right = true;

	for (int64_t day = 0; day < 500 * 366; day++)
		right = right && is_the_librarys(day * 86400) &&
			is_the_librarys(day * 86400 + 86399);
	CHECK(right);
}

static void test_times_of_a_day_are_right(void)
{
	bool right = true;

	for (int64_t t = 1709164800; t < 1709164800 + 86400; t += 7)
		right = right && is_the_librarys(t);
	CHECK(right);
}

static void test_what_lies_before_is_the_beginning(void)
{
	CHECK_INT(utc_of(-1).year, 1970);
	CHECK_INT(utc_of(-1).second, 0);
}

int main(void)
{
	RUN(test_every_day_of_five_centuries_is_right);
	RUN(test_times_of_a_day_are_right);
	RUN(test_what_lies_before_is_the_beginning);
	return tap_done();
}
