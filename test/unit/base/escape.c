/* SPDX-License-Identifier: Apache-2.0 */
/* What of a command's output a filtered terminal is told. */
#include "escape.h"
#include "tap.h"

#define E "\x1b"

static void pass(const char *in, size_t step, struct buf *out)
{
	struct escape_filter f = { 0 };
	struct sv left = sv_str(in);

	while (left.n) {
		escape_filter(&f, sv_head(left, step), out);
		left = sv_from(left, step < left.n ? step : left.n);
	}
}

/* The same in one piece and byte for byte. */
static void check(const char *in, const char *want)
{
	auto_buf struct buf whole = buf_new(1 << 16), cut = buf_new(1 << 16);

	pass(in, SIZE_MAX, &whole);
	pass(in, 1, &cut);
	CHECK_SV(buf_sv(&whole), want);
	CHECK_SV(buf_sv(&cut), want);
}

static void test_what_programs_need_passes_exactly(void)
{
	static const char *const rows[] = {
		"plain text\r\n\ttab \b\a\v\f\x0e\x0f\x7f",
		/* UTF-8 with bytes that look like controls: 9b, 9c, 9d, 90 */
		"\xc3\x9b\xc4\x9d\xe2\x9c\x9d \xf0\x9f\x98\x80 \xc2\xa0 \xd0\x90",
		E "[0m" E "[1;38;5;200m" E "[38:2::1:2:3m" E "[m" E "[4:3m",
		E "[H" E "[2J" E "[10;20H" E "[K" E "[3A" E "[5;20r" E "[6P",
		E "[?1049h" E "[?25l" E "[?1;7h" E "[?2004h" E "[?2026h",
		E "[?1000h" E "[?1002;1003;1006h" E "[?1004h" E "[?1049l",
		E "[?1;3;4;5;6;9;66;1000;1001;1049l",
		E "[>4;2m" E "[>1u" E "[<u" E "[=1;1u" E "[2 q" E "[!p",
		E "7" E "8" E "=" E ">" E "D" E "E" E "H" E "M" E "c",
		E "(0lqk" E "(B" E ")0" E "#8" E "%G",
		E "[4l" E "[34h" E "[22;0;0t" E "[23;0;0t" E "[5 @" E "[2'}",
		E "]8;;https://h.example/a" E "\\text" E "]8;;" E "\\",
		E "]8;id=1;HTTP://h.example\a" E "]8;;\a",
		E "]11;#000000\a" E "]4;1;rgb:00/11/22" E "\\" E "]104\a",
		E "]9;4;1;50\a",
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		check(rows[i], rows[i]);
}

static void test_what_makes_a_terminal_act_is_left_out(void)
{
	static const char *const rows[] = {
		/* clipboard, title, directory, fonts, files, notifications */
		E "]52;c;ZXZpbA==\a", E "]52;c;?" E "\\", E "]0;t\a", E "]1;t\a",
		E "]2;\xe2\x9c\x9d title" E "\\", E "]lx" E "\\", E "]7;file://h/\a",
		E "]50;?\a", E "]1337;File=name=eA==:eA==\a", E "]9;hello\a",
		E "]777;notify;a;b\a", E "]99;;a" E "\\", E "]133;A\a",
		E "]5522;type=read" E "\\",
		/* colours asked for */
		E "]4;1;?\a", E "]10;?" E "\\", E "]11;?\a", E "]12;?\a",
		E "]21;foreground=?\a", E "]4;1;red;2;?\a", E "]4\a", E "]10;\a",
		E "]10;[menu:x]\a", E "]10;+/a/b\a",
		/* links to what is not the web */
		E "]8;;file:///etc/passwd\a", E "]8;;ssh://h\a", E "]8\a",
		E "]8;;vscode://x\a", E "]8;;javascript:x\a",
		/* other spellings of numbers */
		E "]08;;https://h\a", E "]052;c;eA==\a", E "];;\a", E "]\a",
		/* strings of other kinds, also with one inside */
		E "P$qm" E "\\", E "P+q544e" E "\\", E "P1$r0m" E "\\",
		E "P0;1|17/41" E "\\", E "Pq#0" E "\\",
		E "Ptmux;" E E "]52;c;eA==\a" E "\\",
		E "P" E "]52;c;eA==\a" E "\\",
		E "_Gt=f,a=T;L2V0Yy9wYXNzd2Q=" E "\\", E "^message" E "\\",
		E "Xanything" E "\\", E "ktitle" E "\\",
		/* asked: what it is, where, how */
		E "[c", E "[0c", E "[>c", E "[=c", E "[?1c", E "[5n", E "[6n",
		E "[?6n", E "[?996n", E "[>q", E "[>0q", E "[x", E "[1x",
		E "[?2026$p", E "[4$p", E "[1$w", E "[1;1;1;1;1;1*y", E "[?u",
		E "[?4m", E "[1'|", E "[?1;1;0S", E "[#S", E "[#R", E "Z",
		E "[14t", E "[18t", E "[20t", E "[21t", E "[8;1;1t", E "[2t",
		E "[22t", E "[>2t",
		/* printed; another terminal; keys of its own; its own way */
		E "[5i", E "[?5i", E "[0i", E "[4i", E "[?2l", E "[?38h",
		E "[?42h", E "[?2048h", E "[?2031h", E "[?1001h", E "[?1337h",
		E "[?25;2l", E "[2h", E "[12l", E "[61\"p", E "[?h", E "[h",
		E " G", E " F", E "%@", E "%8", E "%/G", E "(K", E "[1*z",
		E "[1;2]", E "\\", E "n", E "N", E "[1 t", "\x05", "\x18",
		/* eight bits, as a character */
		"\xc2\x9b" "5i", "\xc2\x9d" "52;c;eA==\a",
		"\xc2\x9d" "0;t\xc2\x9c", "\xc2\x90$qm\xc2\x9c",
		"\xc2\x9fG\xc2\x9c", "\xc2\x9a", "\xc2\x84", "\xc2\x9c",
		"\xc2\x9b" "0m", E "]8;;\xc2\x9c", E "]52;c;eA==\x9c",
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		auto_buf struct buf in = buf_new(256), want = buf_new(256);

		buf_printf(&in, "a%s" E "[1mb", rows[i]);
		buf_puts(&want, "a" E "[1mb");
		check(buf_cstr(&in), buf_cstr(&want));
	}
}

static void test_broken_sequences_leave_no_part(void)
{
	check("a" E "[1;2\nb", "a\nb");
	check("a" E "[1" E "[2mb", "a" E "[2mb");
	check("a" E E "[2mb", "a" E "[2mb");
	check("a" E "[?1?25hb", "ab");
	check("a" E "[1?5ib", "ab");
	check("a" E "[ !pb", "ab");
	check("a" E "[1\xc3\xa4m", "a\xc3\xa4m");
	check("a" E "]8;;" E "[1mb", "a" E "[1mb");
	check("a" E "]52;c;\x18" "b", "ab");
	check("a" E "]8;;\xc3\xa4\a" "b", "ab");
	check("a" E "[1;3", "a");
	check("a" E, "a");
	/* The Linux console's have no end. */
	check("a" E "]Rb", "ab");
	check("a" E "]P0123456b", "ab");
	check("a" E "]P012" E "[1mb", "a" E "[1mb");
}

static void test_what_is_no_character_is_shown_as_such(void)
{
	check("a\x9b" "5ib", "a?5ib");
	check("a\xff\xfe b", "a?? b");
	check("a\xc3(b", "a?(b");
	check("a\xe2\x9b" "6nb", "a?6nb");
	check("a\xe2" E "[6nb", "a?b");
	check("a\xc0\x9b" "6nb", "a??6nb");
	check("a\xed\xa0\x80" "b", "a???b");
	check("a\xf4\x90\x80\x80" "b", "a????b");
	check("a\xe2\x9b", "a");
}

static void test_what_is_too_long_is_left_out(void)
{
	auto_buf struct buf in = buf_new(1 << 16), out = buf_new(1 << 16);

	buf_puts(&in, "a" E "]8;;https://h/");
	while (in.n < ESCAPE_HELD + 20)
		buf_putc(&in, 'x');
	buf_puts(&in, "\a" "b" E "[");
	while (in.n < 3 * ESCAPE_HELD)
		buf_puts(&in, "1;");
	buf_puts(&in, "mc");
	check(buf_cstr(&in), "abc");
	/* ... and one byte less than that passes. */
	buf_reset(&in);
	buf_puts(&in, E "]8;;https://h/");
	while (in.n < ESCAPE_HELD - 1)
		buf_putc(&in, 'x');
	buf_putc(&in, '\a');
	pass(buf_cstr(&in), 7, &out);
	CHECK(sv_eq(buf_sv(&in), buf_sv(&out)));
}

int main(void)
{
	RUN(test_what_programs_need_passes_exactly);
	RUN(test_what_makes_a_terminal_act_is_left_out);
	RUN(test_broken_sequences_leave_no_part);
	RUN(test_what_is_no_character_is_shown_as_such);
	RUN(test_what_is_too_long_is_left_out);
	return tap_done();
}
