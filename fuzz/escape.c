/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal's filter: any cut gives the same output, a second pass changes
 * nothing, text passes as it is, and a reader that knows only what is
 * forbidden, and reads bytes as the most careless terminal does, finds none
 * of it in what comes out.
 */
#include "escape.h"
#include "fuzz.h"

static void filter(struct sv in, size_t step, struct buf *out)
{
	struct escape_filter f = { 0 };

	for (size_t at = 0; at < in.n; at += step) {
		struct sv piece = sv_head(sv_from(in, at), step);
		size_t before = out->n;

		escape_filter(&f, piece, out);
		MUST(out->n - before <= piece.n + ESCAPE_HELD);
	}
	MUST(!out->full && out->n <= in.n);
}

/* Behind ESC [: the letter, whatever stands before it. */
static void check_control(struct sv s)
{
	size_t n = 0;

	while (n < s.n && (uint8_t)s.p[n] < '@')
		n++;
	MUST(n < s.n);		/* nothing is cut off */
	MUST(!strchr("cinxyvw|", s.p[n]) || (n && s.p[n - 1] == '$' &&
					     strchr("vx", s.p[n])));
	if (s.p[n] == 't')
		MUST(sv_starts(s, SV("22;")) || sv_starts(s, SV("23;")) ||
		     s.p[n - 1] == '$');
	if (s.p[0] == '?')
		MUST(strchr("hlrsJKW", s.p[n]));
	if (s.p[n] == 'q')
		MUST(n && strchr(" \"#", s.p[n - 1]));
	if (s.p[n] == 'p')
		MUST(n && strchr("!#", s.p[n - 1]));
	MUST(!sv_starts(s, SV("?2h")) && !sv_starts(s, SV("?2l")));
}

/* Behind ESC ]: what kind it is, and that nothing is asked. */
static void check_string(struct sv s)
{
	static const char *const kinds[] = {
		"4;", "8;", "9;4;", "10;", "11;", "12;", "17;", "19;", "104",
		"110", "111", "112", "117", "119",
	};
	size_t bell = sv_find(s, '\a'), escape = sv_find(s, '\x1b');
	size_t n = bell < escape ? bell : escape;
	bool known = false;

	MUST(n < s.n);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		known |= sv_starts(s, sv_str(kinds[i]));
	MUST(known);
	MUST(s.p[0] == '8' || sv_find(sv_head(s, n), '?') == n);
	MUST(escape > bell || sv_starts(sv_from(s, n), SV("\x1b\\")));
}

static void check_output(struct sv out)
{
	for (size_t i = 0; i < out.n; i++) {
		struct sv rest = sv_from(out, i + 1);

		MUST(out.p[i] != 0x05 && out.p[i] != 0x18);
		/* U+0080 to U+009F */
		MUST(out.p[i] != (char)0xc2 || (rest.n &&
						(uint8_t)rest.p[0] >= 0xa0));
		if (out.p[i] != 0x1b)
			continue;
		MUST(rest.n);
		MUST(strchr("[]\\78=>DEHMc()*+#%", rest.p[0]));
		if (rest.p[0] == '[')
			check_control(sv_from(rest, 1));
		else if (rest.p[0] == ']')
			check_string(sv_from(rest, 1));
		else if (rest.p[0] == '%')
			MUST(sv_starts(rest, SV("%G")));
	}
}

/* Visible ASCII, and what every program uses. */
static void check_text(struct sv in)
{
	auto_buf struct buf text = buf_new(1 << 16), out = buf_new(1 << 16);

	for (size_t i = 0; i < in.n; i++) {
		uint8_t c = (uint8_t)in.p[i];

		if (c < 0x80 && c != 0x1b && c != 0x05 && c != 0x18)
			buf_putc(&text, (char)c);
		else if (c >= 0xc3 && c < 0xe0)
			buf_printf(&text, "%c%c", c, (int)(0x80 + i % 0x40));
	}
	filter(buf_sv(&text), 1 + in.n % 7, &out);
	MUST(sv_eq(buf_sv(&text), buf_sv(&out)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sv in = fuzz_input(data, size);
	size_t step = 1 + fuzz_byte(&in) % 16;
	auto_buf struct buf whole = buf_new(1 << 16), cut = buf_new(1 << 16);
	auto_buf struct buf twice = buf_new(1 << 16);

	if (in.n == 0)
		return 0;
	filter(in, in.n, &whole);
	filter(in, step, &cut);
	MUST(sv_eq(buf_sv(&whole), buf_sv(&cut)));
	filter(buf_sv(&whole), step, &twice);
	MUST(sv_eq(buf_sv(&whole), buf_sv(&twice)));
	check_output(buf_sv(&whole));
	check_text(in);
	return 0;
}
