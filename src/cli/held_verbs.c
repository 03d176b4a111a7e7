/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What diff, apply and discard share: see held_verbs.h.
 *
 * Names in held changes were chosen by an agent: they are made visible before
 * they meet a terminal.
 */
#include "held_verbs.h"

#include <stdio.h>
#include <unistd.h>

#include "io.h"
#include "json.h"
#include "own.h"
#include "run_dir.h"
#include "run_held.h"

enum { LIST_MAX = 256 << 20 };

void held_verb_fini(struct held_verb *v)
{
	if (v->is_open)
		held_close(&v->held);
	close_fd(&v->store_fd);
}

static int one_argument(struct held_verb *v, const char *verb, char *arg,
			struct err *e)
{
	for (const struct held_flag *f = v->flags; f && f->name; f++) {
		if (strcmp(arg, f->name) == 0) {
			*f->set = true;
			return 0;
		}
	}
	if (arg[0] == '-')
		return err_kind(e, ERR_POLICY, "unknown flag '%.64s'; paths "
				"come behind --: stockade %s [RUN] -- PATH...",
				arg, verb);
	if (v->run)
		return err_kind(e, ERR_POLICY, "one run at a time; paths come "
				"behind --: stockade %s [RUN] -- PATH...",
				verb);
	v->run = arg;
	return 0;
}

int held_verb_parse(struct held_verb *v, int argc, char **argv, struct err *e)
{
	int i = 1;

	v->store_fd = -1;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (one_argument(v, argv[0], argv[i], e) < 0)
			return -1;
	if (i + 1 < argc) {
		v->paths = argv + i + 1;
		v->paths_n = argc - i - 1;
	}
	if (!getcwd(v->cwd, sizeof v->cwd))
		return err_sys(e, "find the working directory");
	return 0;
}

static int open_run(struct held_verb *v, const char *id, bool settle,
		    struct err *e)
{
	v->is_open = true;
	if (held_open(v->store_fd, id, &v->held, e) < 0 ||
	    changes_find(&v->held, settle, &v->changes, e) < 0)
		return -1;
	return 0;
}

/* Newest first; what was left of a killed run that changed nothing goes. */
static int open_newest(struct held_verb *v, bool settle, struct err *e)
{
	auto_arena struct arena a = arena_new(RUN_LIST_MAX);
	struct err ignored;
	struct sv *ids;
	size_t n;

	if (held_list(v->store_fd, &a, &ids, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (open_run(v, ids[i].p, settle, e) < 0) {
			bool running = v->held.trees_n == 0;

			if (!running)
				return -1;
		} else if (v->changes.n) {
			return 1;
		} else {
			(void)!held_remove(&v->held, &ignored);
		}
		held_close(&v->held);
		v->is_open = false;
	}
	return 0;
}

/* RUN may be the last run of a kept sandbox. */
static int find_kept(const struct held_verb *v, char ret[HELD_ID_MAX],
		     struct err *e)
{
	auto_arena struct arena a = arena_new(RUN_LIST_MAX);
	char run[HELD_ID_MAX];
	struct err ignored;
	struct sv *ids;
	size_t n;

	(void)snprintf(ret, HELD_ID_MAX, "%s", v->run);
	if (held_is_there(v->store_fd, v->run))
		return 0;
	if (held_list(v->store_fd, &a, &ids, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (held_last(v->store_fd, ids[i].p, run, &ignored) == 0 &&
		    strcmp(run, v->run) == 0)
			(void)snprintf(ret, HELD_ID_MAX, "%s", ids[i].p);
	return 0;
}

static int open_named(struct held_verb *v, bool settle, struct err *e)
{
	char id[HELD_ID_MAX];

	if (strlen(v->run) >= sizeof id)
		return err_kind(e, ERR_POLICY, "run %.64s holds no changes; "
				"`stockade runs` says which do", v->run);
	return find_kept(v, id, e) < 0 ? -1 : open_run(v, id, settle, e);
}

/* path, relative to cwd, without dots and double slashes. */
static int make_absolute(const char *cwd, const char *path, struct buf *ret,
			 struct err *e)
{
	auto_buf struct buf whole = buf_new(4 * PATH_MAX);
	struct sv rest;

	if (path[0] != '/')
		buf_puts(&whole, cwd);
	buf_putc(&whole, '/');
	buf_puts(&whole, path);
	for (rest = buf_sv(&whole); rest.n;) {
		struct sv name = sv_head(rest, sv_find(rest, '/'));

		rest = sv_from(rest, name.n + 1);
		if (name.n == 0 || sv_eq(name, SV(".")))
			continue;
		if (sv_eq(name, SV(".."))) {
			while (ret->n && ret->p[--ret->n] != '/')
				;
			continue;
		}
		buf_putc(ret, '/');
		buf_put(ret, name);
	}
	whole.full |= ret->full;
	return buf_check(&whole, "a path", e);
}

void held_verb_put_path(const struct held_verb *v, const struct change *change,
			struct buf *b)
{
	buf_put(b, v->held.trees[change->tree].path);
	buf_putc(b, '/');
	buf_put(b, change->path);
}

/* Chooses what the path names, and all below; the number of those. */
static int choose(const struct held_verb *v, const char *path, size_t *ret_n,
		  struct err *e)
{
	auto_buf struct buf wanted = buf_new(4 * PATH_MAX);
	auto_buf struct buf b = buf_new(4 * PATH_MAX);

	*ret_n = 0;
	if (make_absolute(v->cwd, path, &wanted, e) < 0)
		return -1;
	for (size_t i = 0; i < v->changes.n; i++) {
		struct change *change = &v->changes.list[i];

		buf_reset(&b);
		held_verb_put_path(v, change, &b);
		if (!sv_eq(buf_sv(&b), buf_sv(&wanted)) &&
		    !change_is_below(buf_sv(&b), buf_sv(&wanted)))
			continue;
		change->chosen = true;
		++*ret_n;
	}
	return 0;
}

static int choose_all(const struct held_verb *v, struct err *e)
{
	for (int i = 0; i < v->paths_n; i++) {
		size_t n;

		if (choose(v, v->paths[i], &n, e) < 0)
			return -1;
		if (n == 0)
			return err_kind(e, ERR_POLICY, "run %s holds no change "
					"of %.200s", v->held.id, v->paths[i]);
	}
	for (size_t i = 0; v->paths_n == 0 && i < v->changes.n; i++)
		v->changes.list[i].chosen = true;
	return 0;
}

int held_verb_open(struct held_verb *v, bool settle, struct err *e)
{
	int rc;

	if (run_state_open(HELD_STORE, false, &v->store_fd, e) < 0) {
		if (e->kind != ERR_SYS || e->code != ENOENT)
			return -1;
		return !v->run ? 0 :
		       err_kind(e, ERR_POLICY, "run %.64s holds no changes",
				v->run);
	}
	if (run_held_recover_in(v->store_fd, e) < 0)
		return -1;
	rc = v->run ? open_named(v, settle, e) :
		      open_newest(v, settle, e);
	if (rc < 0 || !v->is_open)
		return rc;
	return choose_all(v, e) < 0 ? -1 : 1;
}

int held_verb_tidy(struct held_verb *v, struct err *e)
{
	int any = changes_any(&v->held, e);

	if (any == 0)
		return held_remove(&v->held, e);
	return any < 0 ? -1 : 0;
}

void held_verb_choose_parents(const struct held_verb *v)
{
	const struct change *next = NULL;	/* the first one chosen behind */

	/* What is in a directory follows it at once. */
	for (size_t i = v->changes.n; i > 0; i--) {
		struct change *at = &v->changes.list[i - 1];

		if (next && next->tree == at->tree && S_ISDIR(at->mode) &&
		    at->kind != CHANGE_MODIFIED &&
		    change_is_below(next->path, at->path))
			at->chosen = true;
		if (at->chosen)
			next = at;
	}
}

/* Relative where that is shorter, as git says it. */
static struct sv shown_path(const struct held_verb *v, struct sv path)
{
	struct sv cwd = sv_str(v->cwd);

	return change_is_below(path, cwd) && cwd.n > 1 ?
		       sv_from(path, cwd.n + 1) : path;
}

void held_verb_put_linked(const struct held_verb *v,
			  const struct change *change, struct buf *b)
{
	struct sv linked = change_linked(&v->changes, change);

	if (linked.n == 0)
		return;
	buf_put(b, v->held.trees[change->tree].path);
	buf_putc(b, '/');
	buf_put(b, linked);
}

static void put_linked(const struct held_verb *v, const struct change *change,
		       struct buf *b)
{
	auto_buf struct buf path = buf_new(4 * PATH_MAX);

	held_verb_put_linked(v, change, &path);
	b->full |= path.full;
	if (path.n == 0)
		return;
	buf_puts(b, "  (linked to ");
	buf_put_visible(b, shown_path(v, buf_sv(&path)));
	buf_putc(b, ')');
}

void held_verb_put_line(const struct held_verb *v, const struct change *change,
			struct buf *b)
{
	auto_buf struct buf path = buf_new(4 * PATH_MAX);

	held_verb_put_path(v, change, &path);
	b->full |= path.full;
	buf_putc(b, (char)change->kind);
	buf_puts(b, "  ");
	buf_put_visible(b, shown_path(v, buf_sv(&path)));
	buf_puts(b, S_ISDIR(change->mode) ? "/" : "");
	put_linked(v, change, b);
	if (change->refused)
		buf_printf(b, "  (never applied: %s)", change->refused);
	if (change->conflict)
		buf_puts(b, "  (conflict: changed on the host meanwhile)");
	if (change->guarded)
		buf_puts(b, "  (guarded)");
	buf_putc(b, '\n');
}

int held_verb_list(const struct held_verb *v,
		   bool (*wanted)(const struct change *change), struct err *e)
{
	auto_buf struct buf out = buf_new(LIST_MAX);

	for (size_t i = 0; i < v->changes.n; i++)
		if (wanted(&v->changes.list[i]))
			held_verb_put_line(v, &v->changes.list[i], &out);
	if (buf_check(&out, "the list of changes", e) < 0)
		return -1;
	return io_write_all(STDOUT_FILENO, buf_sv(&out), e);
}
