/* SPDX-License-Identifier: Apache-2.0 */
/* The report for a person: see doctor_text.h. */
#include "doctor_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "json.h"

/* Where the third column begins; what is left of it is never less. */
enum { INDENT = 32, TEXT_MIN = 24 };

size_t doctor_width(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	if (size.ws_col == 0)
		return 80;
	return size.ws_col < INDENT + TEXT_MIN ? INDENT + TEXT_MIN :
						 size.ws_col;
}

static void put_blanks(struct buf *b, size_t n)
{
	while (n--)
		buf_putc(b, ' ');
}

/* Words up to the width, the lines after the first as far in as it is. */
static void put_wrapped(struct buf *b, size_t width, size_t indent,
			struct sv text)
{
	size_t column = indent;

	while (text.n) {
		struct sv word = sv_head(text, sv_find(text, ' '));

		text = sv_from(text, word.n + 1);
		if (column > indent && width && column + 1 + word.n > width) {
			buf_putc(b, '\n');
			put_blanks(b, indent);
			column = indent;
		} else if (column > indent) {
			buf_putc(b, ' ');
			column++;
		}
		buf_put_visible(b, word);
		column += word.n;
	}
	buf_putc(b, '\n');
}

void doctor_put(struct buf *b, size_t width, const char *name,
		const char *state, const char *detail, const char *remedy)
{
	struct sv rest = sv_str(remedy);

	buf_printf(b, "%-22s ", name);
	if (*detail) {
		buf_printf(b, "%-8s ", state);
		put_wrapped(b, width, INDENT, sv_str(detail));
	} else {
		buf_printf(b, "%s\n", state);
	}
	if (!rest.n)
		return;
	put_blanks(b, INDENT);
	buf_puts(b, "-> ");
	put_wrapped(b, width, INDENT + 3, sv_head(rest, sv_find(rest, '\n')));
	/* A file's lines stay as they are: they are there to be copied. */
	rest = sv_from(rest, sv_find(rest, '\n') + 1);
	while (rest.n) {
		struct sv line = sv_head(rest, sv_find(rest, '\n'));

		rest = sv_from(rest, line.n + 1);
		buf_put_visible(b, line);
		buf_putc(b, '\n');
	}
}
