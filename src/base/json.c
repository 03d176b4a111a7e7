/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON: see json.h. */
#include "json.h"

#include <inttypes.h>

static void newline(struct json *j)
{
	if (!j->indent)
		return;
	buf_putc(j->out, '\n');
	for (int i = 1; i < j->indent; i++)
		buf_puts(j->out, "  ");
}

/* What stands before any value or key. */
static void begin(struct json *j)
{
	if (j->comma)
		buf_putc(j->out, ',');
	/* indent 1 is the outermost value: nothing stands before it. */
	if (j->comma || j->indent > 1)
		newline(j);
	j->comma = true;
}

static void value(struct json *j);

void json_open(struct json *j, char bracket)
{
	value(j);
	buf_putc(j->out, bracket);
	j->comma = false;
	if (j->indent)
		j->indent++;
}

void json_close(struct json *j, char bracket)
{
	if (j->indent)
		j->indent--;
	if (j->comma)
		newline(j);
	buf_putc(j->out, bracket);
	j->comma = true;
}

/*
 * Length of the well-formed UTF-8 sequence at the start of v, 0 if there is
 * none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
 */
static size_t utf8_sequence(struct sv v, uint32_t *ret)
{
	uint8_t b = (uint8_t)v.p[0];
	size_t n = b < 0x80 ? 1 : b >= 0xc2 && b < 0xe0 ? 2 :
		   b >= 0xe0 && b < 0xf0 ? 3 : b >= 0xf0 && b < 0xf5 ? 4 : 0;
	uint32_t code = n == 1 ? b : n == 0 ? 0 : b & (0xffU >> (n + 1));

	if (n == 0 || n > v.n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		uint8_t c = (uint8_t)v.p[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c & 0x3f);
	}
	if ((n == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
	    (n == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0;
	*ret = code;
	return n;
}

static void put_escaped(struct buf *b, uint32_t code)
{
	if (code >= 0x10000) {
		code -= 0x10000;
		buf_printf(b, "\\u%04" PRIx32 "\\u%04" PRIx32,
			   0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
	} else {
		buf_printf(b, "\\u%04" PRIx32, code);
	}
}

/* How much of v stands for itself. */
static size_t plain_length(struct sv v)
{
	size_t n = 0;

	while (n < v.n && v.p[n] >= ' ' && v.p[n] <= '~' && v.p[n] != '"' &&
	       v.p[n] != '\\')
		n++;
	return n;
}

static void put_string(struct buf *b, struct sv v)
{
	buf_putc(b, '"');
	for (;;) {
		uint32_t code = 0xfffd;
		size_t n = plain_length(v);
		char c;

		buf_put(b, sv_head(v, n));
		v = sv_from(v, n);
		if (!v.n)
			break;
		n = utf8_sequence(v, &code);
		c = v.p[0];
		if (c == '"' || c == '\\') {
			buf_putc(b, '\\');
			buf_putc(b, c);
		} else if (c == '\n') {
			buf_puts(b, "\\n");
		} else if (c == '\t') {
			buf_puts(b, "\\t");
		} else {
			put_escaped(b, code);
		}
		v = sv_from(v, n ? n : 1);
	}
	buf_putc(b, '"');
}

void json_key(struct json *j, const char *key)
{
	begin(j);
	put_string(j->out, sv_str(key));
	buf_puts(j->out, j->indent ? ": " : ":");
	j->comma = false;
	j->keyed = true;
}

static void value(struct json *j)
{
	/* A value behind its key stands on the key's line. */
	if (!j->keyed)
		begin(j);
	j->keyed = false;
	j->comma = true;
}

void json_sv(struct json *j, struct sv v)
{
	value(j);
	put_string(j->out, v);
}

void json_str(struct json *j, const char *s)
{
	if (s)
		json_sv(j, sv_str(s));
	else
		json_nil(j);
}

void json_u64(struct json *j, uint64_t v)
{
	value(j);
	buf_put_decimal(j->out, v);
}

void json_i64(struct json *j, int64_t v)
{
	value(j);
	buf_printf(j->out, "%" PRId64, v);
}

void json_bool(struct json *j, bool v)
{
	value(j);
	buf_puts(j->out, v ? "true" : "false");
}

void json_nil(struct json *j)
{
	value(j);
	buf_puts(j->out, "null");
}

void json_put_sv(struct json *j, const char *key, struct sv v)
{
	json_key(j, key);
	json_sv(j, v);
}

void json_put_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

void json_put_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

/* Controls, what turns the direction of text, and what shows as nothing. */
static bool is_visible(uint32_t code)
{
	static const struct { uint32_t first, last; } hidden[] = {
		{ 0, 0x1f },		{ 0x7f, 0x9f },
		{ 0xad, 0xad },		{ 0x61c, 0x61c },
		{ 0x115f, 0x1160 },	{ 0x180b, 0x180f },
		{ 0x200b, 0x200f },	{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },	{ 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f },	{ 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 },	{ 0xfff0, 0xfffb },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return false;
	return true;
}

size_t visible_length(struct sv v)
{
	size_t at = 0;

	for (;;) {
		uint32_t code = 0;
		size_t n;

		/* Most text is nothing else. */
		while (at < v.n && v.p[at] >= ' ' && v.p[at] <= '~')
			at++;
		n = at < v.n ? utf8_sequence(sv_from(v, at), &code) : 0;
		if (n == 0 || !is_visible(code))
			return at;
		at += n;
	}
}

void buf_put_visible(struct buf *b, struct sv v)
{
	for (;;) {
		size_t n = visible_length(v);
		uint32_t code;

		buf_put(b, sv_head(v, n));
		v = sv_from(v, n);
		if (v.n == 0)
			return;
		/* The whole character, or one byte that belongs to none. */
		n = utf8_sequence(v, &code);
		if (n == 0)
			n = 1;
		for (size_t i = 0; i < n; i++)
			buf_printf(b, "\\x%02x", (uint8_t)v.p[i]);
		v = sv_from(v, n);
	}
}
