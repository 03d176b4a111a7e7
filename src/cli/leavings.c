/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent has made that runs commands when it is used: see leavings.h. */
#include "leavings.h"

#include <stdio.h>
#include <unistd.h>

#include "json.h"

/* Of the names shown; the log has all of them. */
enum { PATHS_MAX = 1 << 20, SHOWN_MAX = 4, SHOWN_TEXT_MAX = 200 };

void leavings_take(struct leavings *l, struct sv paths, int count)
{
	if (!l->paths.max)
		l->paths = buf_new(PATHS_MAX);
	if (count >= 0)
		buf_reset(&l->paths);
	l->count = count >= 0 ? count : l->count + 1;
	if (l->paths.n)
		buf_putc(&l->paths, '\0');
	buf_put(&l->paths, paths);
}

static void put_paths(struct buf *b, struct sv paths, int count)
{
	int shown = 0;

	for (; paths.n && shown < SHOWN_MAX; shown++) {
		struct sv path = sv_head(paths, sv_find(paths, '\0'));

		buf_puts(b, shown ? ", " : " ");
		/* The end says what it is. */
		if (path.n > SHOWN_TEXT_MAX) {
			buf_puts(b, "...");
			buf_put_visible(b, sv_from(path, path.n -
						   SHOWN_TEXT_MAX));
		} else {
			buf_put_visible(b, path);
		}
		paths = sv_from(paths, path.n + 1);
	}
	if (shown < count)
		buf_puts(b, ", ...");
}

void leavings_tell(const struct leavings *l, const char *run)
{
	auto_buf struct buf b = buf_new(65536);

	if (l->count > 0 && isatty(STDERR_FILENO)) {
		buf_printf(&b, "stockade: the agent made %d %s when used, "
			   "`stockade log %s` has all:", l->count,
			   l->count == 1 ? "thing that runs commands" :
					   "things that run commands", run);
		put_paths(&b, buf_sv(&l->paths), l->count);
		(void)fprintf(stderr, "%.*s\n", SV_FMT(buf_sv(&b)));
	}
}

void leavings_fini(struct leavings *l)
{
	buf_free(&l->paths);
}
