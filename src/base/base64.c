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

/* One group of four; the number of bytes it carries, 0 when malformed. */
static size_t unbase64_quad(const char *quad, bool last, char *ret)
{
	size_t digits = 4;
	uint32_t bits = 0;

	if (last && quad[3] == '=')
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

bool buf_put_unbase64(struct buf *b, struct sv v)
{
	size_t before = b->n;

	if (v.n % 4)
		return false;
	for (size_t i = 0; i < v.n; i += 4) {
		char bytes[3];
		size_t n = unbase64_quad(v.p + i, i + 4 == v.n, bytes);

		if (n == 0) {
			b->n = before;
			return false;
		}
		buf_put(b, sv_of(bytes, n));
	}
	return !b->full;
}

void buf_put_hex(struct buf *b, struct sv v)
{
	for (size_t i = 0; i < v.n; i++)
		buf_printf(b, "%02x", (uint8_t)v.p[i]);
}
