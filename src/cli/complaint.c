/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a person: see complaint.h. */
#include "complaint.h"

#include <stdio.h>
#include <unistd.h>

#include "buf.h"
#include "wrap.h"

/* All bytes as \xNN, and the rest. */
enum { COMPLAINT_MAX = 4096 };

#define NAME "stockade: "

/* The end of the line: what is quoted from a policy is indented, and a name
 * with a line break in it could go on with anything. */
static size_t line_end(struct sv text)
{
	size_t at = 0;

	for (;;) {
		at += sv_find(sv_from(text, at), '\n');
		if (at >= text.n || sv_starts(sv_from(text, at + 1), SV("  ")))
			return at < text.n ? at : text.n;
		at++;
	}
}

void complain(const char *what, const char *text, bool raw)
{
	auto_buf struct buf b = buf_new(COMPLAINT_MAX);
	struct sv rest = sv_str(text);
	/* With a terminal in raw mode a line break is not all it takes. */
	size_t width = raw || *what ? 0 : wrap_width(STDERR_FILENO);
	size_t indent = sizeof NAME - 1;

	buf_puts(&b, NAME);
	buf_puts(&b, what);
	/* What is quoted below the first line, a `^` points into. */
	for (; rest.n; indent = width = 0) {
		size_t end = line_end(rest);

		wrap_put(&b, width, indent, sv_head(rest, end));
		if (end < rest.n)
			buf_putc(&b, '\n');
		rest = sv_from(rest, end + 1);
	}
	buf_putc(&b, '\n');
	if (raw && isatty(STDERR_FILENO))
		buf_putc(&b, '\r');
	/* Nobody is left to tell when this fails. */
	(void)fwrite(b.p, 1, b.n, stderr);
}
