/* SPDX-License-Identifier: Apache-2.0 */
/* Moments as RFC 3339 writes them: see moment.h. */
#include "moment.h"

#include "utc.h"

enum { DATE_SIZE = 19 };	/* what stands before the Z or the offset */

/* In a form 0 is a digit, all else itself. */
static bool has_form(struct sv v, struct sv form)
{
	if (v.n != form.n)
		return false;
	for (size_t i = 0; i < v.n; i++)
		if (form.p[i] == '0' ? !is_digit(v.p[i]) : v.p[i] != form.p[i])
			return false;
	return true;
}

/* n digits from there on; the form has been looked at. */
static unsigned number_at(struct sv v, size_t at, size_t n)
{
	unsigned number = 0;

	for (size_t i = at; i < at + n; i++)
		number = number * 10 + (unsigned)(v.p[i] - '0');
	return number;
}

/* Seconds to add to local time for UTC. */
static bool parse_offset(struct sv v, int64_t *ret)
{
	struct sv hours = sv_from(v, 1);
	unsigned hour, minute;

	*ret = 0;
	if (sv_eq(v, SV("Z")))
		return true;
	if (v.n == 0 || (v.p[0] != '+' && v.p[0] != '-') ||
	    !has_form(hours, SV("00:00")))
		return false;
	hour = number_at(hours, 0, 2);
	minute = number_at(hours, 3, 2);
	*ret = (int64_t)hour * 3600 + minute * 60;
	if (v.p[0] == '+')
		*ret = -*ret;
	return hour < 24 && minute < 60;
}

bool moment_parse(struct sv v, uint64_t *ret)
{
	struct sv date = sv_head(v, DATE_SIZE);
	int64_t local, offset;

	if (!has_form(date, SV("0000-00-00T00:00:00")) ||
	    !parse_offset(sv_from(v, DATE_SIZE), &offset))
		return false;
	if (!utc_to_seconds(&(struct utc){
			.year = number_at(date, 0, 4),
			.month = number_at(date, 5, 2),
			.day = number_at(date, 8, 2),
			.hour = number_at(date, 11, 2),
			.minute = number_at(date, 14, 2),
			.second = number_at(date, 17, 2) }, &local))
		return false;
	local += offset;
	if (local < 0 || utc_of(local).year > 9999)
		return false;
	*ret = (uint64_t)local;
	return true;
}

void moment_put(struct buf *b, uint64_t moment)
{
	struct utc t = utc_of((int64_t)moment);

	buf_printf(b, "%04u-%02u-%02uT%02u:%02u:%02uZ", t.year, t.month, t.day,
		   t.hour, t.minute, t.second);
}
