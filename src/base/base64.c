/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 and hexadecimal: see base64.h. */
#include "base64.h"

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void buf_put_base64(struct buf *b, struct sv v)
{
	for (size_t i = 0; i < v.n; i += 3) {
		size_t n = v.n - i < 3 ? v.n - i : 3;
		uint32_t bits = (uint32_t)(uint8_t)v.p[i] << 16;
		char quad[4];

		if (n > 1)
			bits |= (uint32_t)(uint8_t)v.p[i + 1] << 8;
		if (n > 2)
			bits |= (uint8_t)v.p[i + 2];
		for (size_t k = 0; k < 4; k++)
			quad[k] = k <= n ? base64_digits[bits >> (18 - 6 * k) &
							 63] : '=';
		buf_put(b, sv_of(quad, 4));
	}
}

int base64_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The last group of four; the number of bytes it carries, 0 when malformed. */
static size_t unbase64_last(const char *quad, char *ret)
{
	size_t digits = 4;
	uint32_t bits = 0;

	if (quad[3] == '=')
		digits = quad[2] == '=' ? 2 : 3;
	for (size_t k = 0; k < 4; k++) {
		int value = k < digits ? base64_value(quad[k]) : 0;

		if (value < 0)
			return 0;
		bits = bits << 6 | (uint32_t)value;
	}
	if ((digits == 2 && (bits & 0xffff)) || (digits == 3 && (bits & 0xff)))
		return 0;
	ret[0] = (char)(bits >> 16 & 0xff);
	ret[1] = (char)(bits >> 8 & 0xff);
	ret[2] = (char)(bits & 0xff);
	return digits - 1;
}

/* A distribution's roots are 220 KB of it: all groups but the last. */
static bool unbase64_whole(struct sv v, char *ret)
{
	uint8_t value[256];

	memset(value, 0xff, sizeof value);
	for (uint8_t i = 0; i < 64; i++)
		value[(uint8_t)base64_digits[i]] = i;
	for (size_t i = 0; i < v.n; i += 4) {
		uint8_t a = value[(uint8_t)v.p[i]];
		uint8_t b = value[(uint8_t)v.p[i + 1]];
		uint8_t c = value[(uint8_t)v.p[i + 2]];
		uint8_t d = value[(uint8_t)v.p[i + 3]];

		if ((a | b | c | d) & 0x80)
			return false;
		*ret++ = (char)(a << 2 | b >> 4);
		*ret++ = (char)((b << 4 & 0xff) | c >> 2);
		*ret++ = (char)((c << 6 & 0xff) | d);
	}
	return true;
}

bool buf_put_unbase64(struct buf *b, struct sv v)
{
	size_t whole = v.n / 4 ? v.n - 4 : 0, n;
	char last[3];
	char *at;

	if (v.n % 4)
		return false;
	if (v.n == 0)
		return !b->full;
	n = unbase64_last(v.p + whole, last);
	if (n == 0)
		return false;
	at = buf_reserve(b, whole / 4 * 3 + n);
	if (!at || !unbase64_whole(sv_head(v, whole), at))
		return false;
	b->n += whole / 4 * 3;
	buf_put(b, sv_of(last, n));
	return !b->full;
}

void buf_put_hex(struct buf *b, struct sv v)
{
	static const char digits[] = "0123456789abcdef";
	char *at = buf_reserve(b, 2 * v.n);

	if (!at)
		return;
	for (size_t i = 0; i < v.n; i++) {
		*at++ = digits[(uint8_t)v.p[i] >> 4];
		*at++ = digits[(uint8_t)v.p[i] & 15];
	}
	b->n += 2 * v.n;
}
