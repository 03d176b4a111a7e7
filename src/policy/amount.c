/* SPDX-License-Identifier: Apache-2.0 */
/* Amounts and their units: see amount.h. */
#include "amount.h"

#include <inttypes.h>

/* The largest first, as they are tried when an amount is printed. */
struct unit_info {
	struct sv name;
	uint64_t factor;
};
static const struct unit_info times[] = {
	{ SV("d"), DAY_MS }, { SV("h"), 3600000 }, { SV("m"), 60000 },
	{ SV("s"), 1000 }, { SV("ms"), 1 }, { { 0 }, 0 },
};
static const struct unit_info sizes[] = {
	{ SV("T"), TIB }, { SV("G"), MIB << 10 }, { SV("M"), MIB },
	{ SV("K"), KIB }, { { 0 }, 0 },
};
static const struct unit_info counts[] = { { SV(""), 1 }, { { 0 }, 0 } };

static const struct unit_info *units_of(enum unit unit)
{
	return unit == UNIT_TIME ? times : unit == UNIT_BYTES ? sizes : counts;
}

static size_t digits_of(struct sv v)
{
	size_t n = 0;

	while (n < v.n && is_digit(v.p[n]))
		n++;
	return n;
}

/* 2, 1.5 or 0.25, in thousandths. */
static bool to_cores(struct sv v, uint64_t *ret)
{
	size_t point = sv_find(v, '.');
	struct sv part = sv_from(v, point + 1);
	uint64_t whole, thousandths = 0;

	if (!sv_to_u64(sv_head(v, point), 4096, &whole))
		return false;
	if (point < v.n && (part.n == 0 || part.n > 3 ||
			    digits_of(part) != part.n))
		return false;
	for (size_t i = 0; i < 3; i++)
		thousandths = thousandths * 10 +
			      (i < part.n ? (uint64_t)(part.p[i] - '0') : 0);
	*ret = whole * 1000 + thousandths;
	return true;
}

bool amount_parse(struct sv v, enum unit unit, uint64_t *ret)
{
	size_t digits = digits_of(v);
	uint64_t n;

	if (unit == UNIT_CORES)
		return to_cores(v, ret);
	/* Nothing is the same in every unit. */
	if (unit == UNIT_BYTES && sv_eq(v, SV("0"))) {
		*ret = 0;
		return true;
	}
	for (const struct unit_info *u = units_of(unit); u->factor; u++) {
		if (!sv_eq(sv_from(v, digits), u->name))
			continue;
		if (!sv_to_u64(sv_head(v, digits), INT64_MAX / u->factor, &n))
			return false;
		*ret = n * u->factor;
		return true;
	}
	return false;
}

void amount_put(struct buf *b, enum unit unit, uint64_t amount)
{
	const struct unit_info *u = units_of(unit);

	if (unit == UNIT_CORES) {
		buf_printf(b, "%" PRIu64 ".%03" PRIu64, amount / 1000,
			   amount % 1000);
		while (b->p && b->p[b->n - 1] == '0')
			b->n--;
		if (b->p && b->p[b->n - 1] == '.')
			b->n--;
		return;
	}
	if (amount == 0) {
		buf_putc(b, '0');
		return;
	}
	while (amount % u->factor)
		u++;
	buf_printf(b, "%" PRIu64 "%.*s", amount / u->factor, SV_FMT(u->name));
}
