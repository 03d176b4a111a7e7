/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal's filter: see escape.h; escape_allows.c says what may pass.
 *
 * Bytes become characters first, as the bytes of a character may look like
 * eight-bit controls.  A terminal takes such a control also for what its
 * character says (U+009B), so that one begins a sequence here, too, which
 * never passes; a byte that is part of no character is shown as '?'.
 */
#include "escape.h"

enum { ENQ = 0x05, BEL = 0x07, CAN = 0x18, SUB = 0x1a, ESC = 0x1b };

static void hold(struct escape_filter *f, char c)
{
	if (f->held_n < sizeof f->held)
		f->held[f->held_n++] = c;
	else
		f->refused = true;
}

static void begin(struct escape_filter *f, bool refused)
{
	f->state = ESCAPE_BEGUN;
	f->refused = refused;
	f->held_n = 0;
	hold(f, ESC);
}

static void leave_out(struct escape_filter *f)
{
	f->state = ESCAPE_TEXT;
	f->held_n = 0;
}

static void end(struct escape_filter *f, struct buf *out)
{
	struct sv whole = sv_of(f->held, f->held_n);

	if (!f->refused && escape_allows(whole))
		buf_put(out, whole);
	leave_out(f);
}

/* ENQ is answered; CAN begins transfers of files, and means nothing here. */
static void text(struct escape_filter *f, uint32_t code, struct buf *out)
{
	f->state = ESCAPE_TEXT;
	f->held_n = 0;
	if (code == ESC)
		begin(f, false);
	else if (code != ENQ && code != CAN)
		buf_put(out, sv_of(f->unit, f->unit_n));
}

static void begun(struct escape_filter *f, uint32_t code, struct buf *out)
{
	if (code < 0x20 || code > 0x7e) {
		text(f, code, out);
		return;
	}
	hold(f, (char)code);
	if (code < 0x30) {
		f->refused |= f->state == ESCAPE_MIDDLE;
		f->state = ESCAPE_MIDDLE;
	} else if (f->state == ESCAPE_MIDDLE) {
		end(f, out);
	} else if (code == '[') {
		f->state = ESCAPE_CONTROL;
	} else if (code == ']') {
		f->state = ESCAPE_STRING;
	} else if (strchr("PX^_k", (int)code)) {
		f->state = ESCAPE_STRING;
		f->refused = true;
	} else {
		end(f, out);
	}
}

static void control(struct escape_filter *f, uint32_t code, struct buf *out)
{
	if (code < 0x20 || code > 0x7e) {
		text(f, code, out);
		return;
	}
	hold(f, (char)code);
	if (code >= 0x40)
		end(f, out);
}

/* The Linux console's ESC ] R and ESC ] P have no end: what follows is text. */
static bool is_palette(struct escape_filter *f, uint32_t code)
{
	bool first = f->held_n == 2 && f->held[1] == ']';

	if (!first || (code != 'P' && code != 'R'))
		return false;
	leave_out(f);
	if (code == 'P') {
		f->state = ESCAPE_PALETTE;
		f->digits = 7;
	}
	return true;
}

static void string(struct escape_filter *f, uint32_t code, struct buf *out)
{
	if (is_palette(f, code))
		return;
	if (code == ESC) {
		f->state = ESCAPE_STRING_END;
	} else if (code == CAN || code == SUB) {
		leave_out(f);
	} else if (code == BEL) {
		hold(f, BEL);
		end(f, out);
	} else if (code < 0x20 || code > 0x7e) {
		f->refused = true;
	} else {
		hold(f, (char)code);
	}
}

static void string_end(struct escape_filter *f, uint32_t code,
		       struct buf *out)
{
	if (code == '\\') {
		hold(f, ESC);
		hold(f, '\\');
		end(f, out);
	} else {
		begin(f, false);
		begun(f, code, out);
	}
}

static void palette(struct escape_filter *f, uint32_t code, struct buf *out)
{
	if (code > 0x7e || hex_value((char)code) < 0)
		text(f, code, out);
	else if (--f->digits == 0)
		leave_out(f);
}

/* U+0080 to U+009F: ESC and a letter in one. */
static void eight_bit(struct escape_filter *f, uint32_t code, struct buf *out)
{
	if (code == 0x9c && f->state >= ESCAPE_STRING) {
		leave_out(f);
		return;
	}
	begin(f, true);
	begun(f, code - 0x40, out);
}

static void take(struct escape_filter *f, uint32_t code, struct buf *out)
{
	static void (*const by_state[])(struct escape_filter *, uint32_t,
					struct buf *) = {
		[ESCAPE_TEXT] = text, [ESCAPE_BEGUN] = begun,
		[ESCAPE_MIDDLE] = begun, [ESCAPE_CONTROL] = control,
		[ESCAPE_STRING] = string, [ESCAPE_STRING_END] = string_end,
		[ESCAPE_PALETTE] = palette,
	};

	if (code >= 0x80 && code < 0xa0)
		eight_bit(f, code, out);
	else
		by_state[f->state](f, code, out);
	f->unit_n = 0;
}

/* Bytes that are no character.  0x9c ends a string for who reads bytes. */
static void take_broken(struct escape_filter *f, struct buf *out)
{
	bool ends = f->unit[0] == (char)0x9c;

	f->unit_n = 0;
	if (f->state >= ESCAPE_STRING && f->state != ESCAPE_PALETTE) {
		f->state = ESCAPE_STRING;
		f->refused = true;
		if (ends)
			leave_out(f);
		return;
	}
	leave_out(f);
	buf_putc(out, '?');
}

/* How long the character is that begins with c; 0: none does. */
static uint8_t unit_length(uint8_t c)
{
	return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 :
	       c < 0xf5 ? 4 : 0;
}

/* Whether c may be the next byte: no overlong form, no surrogate, nothing
 * above U+10FFFF. */
static bool continues(const struct escape_filter *f, uint8_t c)
{
	uint8_t first = (uint8_t)f->unit[0], low = 0x80, high = 0xbf;

	if (f->unit_n == 1) {
		low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : low;
		high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : high;
	}
	return c >= low && c <= high;
}

static uint32_t unit_code(const struct escape_filter *f)
{
	uint8_t first = (uint8_t)f->unit[0];
	uint32_t code = f->unit_n == 1 ? first : first & (0xffU >> (f->unit_n + 1));

	for (size_t i = 1; i < f->unit_n; i++)
		code = code << 6 | ((uint8_t)f->unit[i] & 0x3f);
	return code;
}

static void take_byte(struct escape_filter *f, uint8_t c, struct buf *out)
{
	if (f->unit_n && !continues(f, c))
		take_broken(f, out);
	if (f->unit_n == 0)
		f->unit_whole = unit_length(c);
	f->unit[f->unit_n++] = (char)c;
	if (f->unit_whole == 0)
		take_broken(f, out);
	else if (f->unit_n == f->unit_whole)
		take(f, unit_code(f), out);
}

/* Most of what is printed, at once. */
static size_t plain(struct sv in)
{
	size_t n = 0;

	while (n < in.n && in.p[n] >= 0x20 && in.p[n] < 0x7f)
		n++;
	return n;
}

void escape_filter(struct escape_filter *f, struct sv in, struct buf *out)
{
	while (in.n) {
		size_t n = f->state == ESCAPE_TEXT && f->unit_n == 0 ?
				   plain(in) : 0;

		if (n)
			buf_put(out, sv_head(in, n));
		else
			take_byte(f, (uint8_t)in.p[n++], out);
		in = sv_from(in, n);
	}
}
