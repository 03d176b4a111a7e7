/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A date in UTC.  The C library's gmtime_r() reads the time zone's file first,
 * which takes longer than all that is done with the date.
 */
#ifndef BASE_UTC_H
#define BASE_UTC_H

#include <stdbool.h>
#include <stdint.h>

struct utc {
	unsigned year, month, day;	/* from 1 */
	unsigned hour, minute, second;
};

/* Seconds since 1970; what lies before is 1970-01-01 00:00:00. */
struct utc utc_of(int64_t seconds);
/* The same back, also before 1970; false for what is no date.  A minute has 60
 * seconds here. */
bool utc_to_seconds(const struct utc *t, int64_t *ret);

#endif
