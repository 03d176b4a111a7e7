/* SPDX-License-Identifier: Apache-2.0 */
/* What differs in one held change: for `stockade diff --patch`. */
#include <fcntl.h>
#include <unistd.h>

#include "entry.h"
#include "held_verbs.h"
#include "io.h"
#include "json.h"
#include "own.h"
#include "unified.h"

enum { SHOWN_MAX = 16 << 20 };

/* One side of a change. */
struct side {
	bool exists;
	struct stat st;
	struct buf text;	/* of a file, a link's words */
	bool too_large;
};

static int read_file(int dir_fd, const char *name, struct side *ret,
		     bool ours, struct err *e)
{
	auto_fd int fd = ours ? entry_open(dir_fd, name, 0, e) :
				openat(dir_fd, name, O_RDONLY | O_NOFOLLOW |
				       O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return ours ? -1 : err_sys(e, "open %.200s", name);
	if (io_read_all(fd, &ret->text, e) == 0)
		return 0;
	ret->too_large = e->kind == ERR_LIMIT;
	return ret->too_large ? 0 : -1;
}

static int read_side(int tree_fd, const struct change *change, bool ours,
		     struct side *ret, struct err *e)
{
	auto_fd int dir_fd = path_open_beneath(tree_fd,
					       change_parent(change->path),
					       O_RDONLY | O_DIRECTORY, e);
	const char *name = change_base(change->path).p;
	int found;

	*ret = (struct side){ .text = buf_new(SHOWN_MAX) };
	/* Where the directory is new, the host has none. */
	if (dir_fd < 0)
		return ours ? -1 : 0;
	found = entry_look(dir_fd, name, &ret->st, e);
	if (found <= 0 || entry_is_whiteout(&ret->st))
		return found < 0 ? -1 : 0;
	ret->exists = true;
	if (S_ISLNK(ret->st.st_mode))
		return entry_read_link(dir_fd, name, &ret->text, e);
	return S_ISREG(ret->st.st_mode) ?
		       read_file(dir_fd, name, ret, ours, e) : 0;
}

static bool is_file(const struct side *s)
{
	return s->exists && S_ISREG(s->st.st_mode);
}

static void put_name(const struct change *change, bool exists, char side,
		     struct buf *b)
{
	if (!exists) {
		buf_puts(b, "/dev/null\n");
		return;
	}
	buf_printf(b, "%c/", side);
	buf_put_visible(b, change->path);
	buf_putc(b, '\n');
}

static int put_files(const struct change *change, const struct side *old,
		     const struct side *new, bool visible, struct buf *b,
		     struct err *e)
{
	struct sv a = buf_sv(&old->text), c = buf_sv(&new->text);

	if (old->too_large || new->too_large || unified_is_binary(a) ||
	    unified_is_binary(c)) {
		buf_puts(b, "Binary or too large to show\n");
		return 0;
	}
	if (sv_eq(a, c))
		return 0;
	buf_puts(b, "--- ");
	put_name(change, is_file(old), 'a', b);
	buf_puts(b, "+++ ");
	put_name(change, is_file(new), 'b', b);
	return unified_put(b, a, c, visible, e);
}

static void put_link(const struct side *s, char sign, struct buf *b)
{
	if (!s->exists || !S_ISLNK(s->st.st_mode))
		return;
	buf_putc(b, sign);
	buf_put_visible(b, buf_sv(&s->text));
	buf_putc(b, '\n');
}

static int put_sides(const struct change *change, const struct side *old,
		     const struct side *new, bool visible, struct buf *b,
		     struct err *e)
{
	mode_t a = old->st.st_mode, c = new->st.st_mode;

	if (old->exists && new->exists && ((a ^ c) & S_IFMT) == 0 &&
	    ((a ^ c) & 01777) && !S_ISLNK(a))
		buf_printf(b, "mode %o -> %o\n", a & 01777, c & 01777);
	put_link(old, '-', b);
	put_link(new, '+', b);
	return is_file(old) || is_file(new) ?
		       put_files(change, old, new, visible, b, e) : 0;
}

int patch_put(const struct held_verb *v, const struct change *change,
	      bool visible, struct buf *b, struct err *e)
{
	auto_fd int lower_fd = held_open_lower(&v->held, change->tree, e);
	auto_fd int upper_fd = lower_fd < 0 ? -1 :
			       held_open_upper(&v->held, change->tree, e);
	struct side old = { 0 }, new = { 0 };
	int rc;

	if (upper_fd < 0)
		return -1;
	held_verb_put_line(v, change, b);
	rc = read_side(lower_fd, change, false, &old, e);
	if (rc == 0 && change->kind != CHANGE_DELETED)
		rc = read_side(upper_fd, change, true, &new, e);
	if (rc == 0)
		rc = put_sides(change, &old, &new, visible, b, e);
	buf_free(&old.text);
	buf_free(&new.text);
	if (rc < 0)
		return err_ctx(e, "%.*s", SV_FMT(change->path));
	return buf_check(b, "the differences", e);
}
