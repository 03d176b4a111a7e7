/* SPDX-License-Identifier: Apache-2.0 */
/* Views: see sv.h. */
#include "sv.h"

bool sv_eq_nocase(struct sv a, struct sv b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

size_t sv_find(struct sv v, char c)
{
	const char *hit = v.n ? memchr(v.p, c, v.n) : NULL;

	return hit ? (size_t)(hit - v.p) : v.n;
}

size_t sv_find_sv(struct sv v, struct sv needle)
{
	const char *hit;

	if (needle.n == 0 || v.n < needle.n)
		return v.n;
	hit = memmem(v.p, v.n, needle.p, needle.n);
	return hit ? (size_t)(hit - v.p) : v.n;
}

struct sv sv_trim(struct sv v)
{
	while (v.n && (v.p[0] == ' ' || v.p[0] == '\t'))
		v = sv_from(v, 1);
	while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t'))
		v.n--;
	return v;
}

struct sv sv_cut(struct sv *rest, char separator)
{
	struct sv part = sv_head(*rest, sv_find(*rest, separator));

	*rest = sv_from(*rest, part.n + 1);
	return part;
}

int sv_compare_paths(struct sv a, struct sv b)
{
	size_t n = a.n < b.n ? a.n : b.n;

	for (size_t i = 0; i < n; i++) {
		unsigned char x = (unsigned char)a.p[i];
		unsigned char y = (unsigned char)b.p[i];

		if (x != y)
			return x == '/' ? -1 : y == '/' ? 1 : x < y ? -1 : 1;
	}
	return (a.n > b.n) - (a.n < b.n);
}

bool sv_to_u64(struct sv v, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (v.n == 0 || v.n > 20 || (v.n > 1 && v.p[0] == '0'))
		return false;
	for (size_t i = 0; i < v.n; i++) {
		if (!is_digit(v.p[i]) ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(v.p[i] - '0'),
					   &value))
			return false;
	}
	if (value > max)
		return false;
	*ret = value;
	return true;
}

int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sv_is_name(struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!is_unreserved(v.p[i]) || v.p[i] == '~')
			return false;
	return true;
}
