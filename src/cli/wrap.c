/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that end between words: see wrap.h. */
#include "wrap.h"

#include <sys/ioctl.h>

#include "json.h"

size_t wrap_width(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

void wrap_put(struct buf *b, size_t width, size_t indent, struct sv text)
{
	size_t column = indent;
	bool first = true;

	while (text.n) {
		struct sv word = sv_head(text, sv_find(text, ' '));

		text = sv_from(text, word.n + 1);
		if (!first && width && column + 1 + word.n > width) {
			buf_printf(b, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			buf_putc(b, ' ');
			column++;
		}
		buf_put_visible(b, word);
		column += word.n;
		first = false;
	}
}
