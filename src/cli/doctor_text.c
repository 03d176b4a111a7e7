/* SPDX-License-Identifier: Apache-2.0 */
/* The report for a person: see doctor_text.h. */
#include "doctor_text.h"

#include <unistd.h>

#include "json.h"
#include "wrap.h"

/* Where the third column begins; what is left of it is never less. */
enum { INDENT = 32, TEXT_MIN = 24 };

size_t doctor_width(void)
{
	size_t width = wrap_width(STDOUT_FILENO);

	return width && width < INDENT + TEXT_MIN ? INDENT + TEXT_MIN : width;
}

static void put_blanks(struct buf *b, size_t n)
{
	while (n--)
		buf_putc(b, ' ');
}

static void put_line(struct buf *b, size_t width, size_t indent, struct sv text)
{
	wrap_put(b, width, indent, text);
	buf_putc(b, '\n');
}

void doctor_put(struct buf *b, size_t width, const char *name,
		const char *state, const char *detail, const char *remedy)
{
	struct sv rest = sv_str(remedy);

	buf_printf(b, "%-22s ", name);
	if (*detail) {
		buf_printf(b, "%-8s ", state);
		put_line(b, width, INDENT, sv_str(detail));
	} else {
		buf_printf(b, "%s\n", state);
	}
	if (!rest.n)
		return;
	put_blanks(b, INDENT);
	buf_puts(b, "-> ");
	put_line(b, width, INDENT + 3, sv_head(rest, sv_find(rest, '\n')));
	/* A file's lines stay as they are: they are there to be copied. */
	rest = sv_from(rest, sv_find(rest, '\n') + 1);
	while (rest.n) {
		struct sv line = sv_head(rest, sv_find(rest, '\n'));

		rest = sv_from(rest, line.n + 1);
		buf_put_visible(b, line);
		buf_putc(b, '\n');
	}
}
