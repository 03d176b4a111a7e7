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

static bool comes_back(int64_t seconds)
{
	struct utc t = utc_of(seconds);
	int64_t again = -1;

	return utc_to_seconds(&t, &again) && again == seconds;
}

static void test_dates_become_seconds_again(void)
{
	struct utc before = { .year = 1969, .month = 12, .day = 31, .hour = 23,
			      .minute = 59, .second = 59 };
	bool right = true;
	int64_t got;

	for (int64_t day = 0; day < 500 * 366; day++)
		right = right && comes_back(day * 86400) &&
			comes_back(day * 86400 + 86399);
	CHECK(right);
	CHECK(utc_to_seconds(&before, &got) && got == -1);
}

static void test_what_is_no_date_is_refused(void)
{
	static const struct utc bad[] = {
		{ 2023, 2, 29, 0, 0, 0 }, { 2024, 2, 30, 0, 0, 0 },
		{ 1900, 2, 29, 0, 0, 0 }, { 2024, 0, 1, 0, 0, 0 },
		{ 2024, 13, 1, 0, 0, 0 }, { 2024, 4, 31, 0, 0, 0 },
		{ 2024, 4, 0, 0, 0, 0 }, { 2024, 4, 1, 24, 0, 0 },
		{ 2024, 4, 1, 0, 60, 0 }, { 2024, 4, 1, 0, 0, 60 },
	};
	const struct utc good = { 2024, 2, 29, 23, 59, 59 };
	int64_t got;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		CHECK(!utc_to_seconds(&bad[i], &got));
	CHECK(utc_to_seconds(&good, &got) && got == 1709251199);
}

int main(void)
{
	RUN(test_dates_become_seconds_again);
	RUN(test_what_is_no_date_is_refused);
	RUN(test_every_day_of_five_centuries_is_right);
	RUN(test_times_of_a_day_are_right);
	RUN(test_what_lies_before_is_the_beginning);
	return tap_done();
}
