/* SPDX-License-Identifier: Apache-2.0 */
/* What a run holds: see run_held.h. */
#include "run_held.h"

#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "apply.h"
#include "complaint.h"
#include "entry.h"
#include "held_record.h"
#include "own.h"
#include "run_dir.h"
#include "seen.h"

/* Told whoever asked for something else. */
int run_held_recover_in(int store_fd, struct err *e)
{
	char id[HELD_ID_MAX], run[HELD_ID_MAX];

	switch (apply_recover(store_fd, id, e)) {
	case APPLY_NOTHING:
		return 0;
	case APPLY_COMPLETED:
		complain("", "an apply that was interrupted is completed now",
			 false);
		return 0;
	case APPLY_UNDONE:
		complain("", "an apply that was interrupted is undone now",
			 false);
		return held_last(store_fd, id, run, e) < 0 ? -1 :
		       held_record_undone(run, SV("the apply was interrupted"),
					  e);
	default:
		return -1;
	}
}

int run_held_recover(struct err *e)
{
	auto_fd int store_fd = -1;
	struct err none;

	/* Where nothing was ever held, there is nothing to be done. */
	if (run_state_open(HELD_STORE, false, &store_fd, &none) < 0 ||
	    !journal_is_there(store_fd))
		return 0;
	return run_held_recover_in(store_fd, e);
}

/* The launch refuses symbolic links: the name that it has in truth. */
static int find_path(struct run_held *r, struct err *e)
{
	char link[32];
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", r->held.fd);
	n = readlink(link, r->path, sizeof r->path - 1);
	if (n < 0)
		return err_sys(e, "read %s", link);
	r->path[n] = 0;
	return 0;
}

/* The kernel's own directory, which only a mount needs. */
static void remove_work(const struct held *h)
{
	for (size_t i = 0; i < h->trees_n; i++) {
		auto_fd int fd = -1;
		char name[24];
		struct err ignored;

		(void)snprintf(name, sizeof name, "%zu", i);
		fd = path_open_beneath(h->fd, sv_str(name), O_RDONLY |
				       O_DIRECTORY, &ignored);
		if (fd >= 0)
			(void)!entry_remove(fd, "work", &ignored);
	}
}

static int open_held(struct run_held *r, struct sv keep, struct err *e)
{
	char name[HELD_ID_MAX];

	if (keep.n == 0)
		return held_make(r->store_fd, r->id, &r->held, e);
	(void)snprintf(name, sizeof name, "%.*s", SV_FMT(keep));
	return held_keep(r->store_fd, name, &r->held, &r->again, e);
}

/* What an earlier run of that name has left: with which trees. */
static int continue_it(struct run_held *r, struct launch_input *in,
		       struct err *e)
{
	struct held *h = &r->held;
	struct launch_tree *trees = arena_alloc(&h->arena, h->trees_n *
						sizeof *trees);

	if (!trees)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (size_t i = 0; i < h->trees_n; i++)
		trees[i] = (struct launch_tree){ h->trees[i].path,
						 h->trees[i].ino,
						 h->trees[i].only };
	in->held_trees = trees;
	in->held_trees_n = h->trees_n;
	remove_work(h);
	return 0;
}

int run_held_begin(struct run_held *r, const char *id, struct sv keep,
		   struct launch_input *in, struct err *e)
{
	r->id = id;
	if (run_state_open(HELD_STORE, true, &r->store_fd, e) < 0 ||
	    run_held_recover_in(r->store_fd, e) < 0)
		return -1;
	/* Still under the store's lock: nobody sweeps what is just made. */
	held_sweep(r->store_fd);
	r->is_open = true;
	r->again = keep.n > 0;	/* until it is known to be new */
	if (open_held(r, keep, e) < 0 || find_path(r, e) < 0 ||
	    (r->again && continue_it(r, in, e) < 0))
		return -1;
	if (flock(r->store_fd, LOCK_UN) < 0)
		return err_sys(e, "unlock the held changes");
	in->held = r->path;
	return 0;
}

int run_held_note(struct run_held *r, const struct plan *plan, pid_t pid,
		  struct err *e)
{
	if (!r->is_open)
		return 0;
	if (held_is_name(r->held.id) &&
	    held_set_last(&r->held, r->id, pid, e) < 0)
		return -1;
	if (r->again)
		return 0;
	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *s = &plan->steps[i];
		struct launch_tree tree;

		if (s->kind != STEP_OVERLAY)
			continue;
		tree = overlay_tree(s);
		if (held_add(&r->held, &(struct held_tree){
				     tree.path, tree.ino, tree.only }, e) < 0)
			return -1;
	}
	return held_write(&r->held, e);
}

void run_held_explain(const struct run_held *r, struct err *e)
{
	if (r->is_open && r->again && r->held.trees_n)
		(void)err_ctx(e, "continue the kept sandbox %s", r->held.id);
}

static void remove_it(struct run_held *r)
{
	struct err e;

	if (held_remove(&r->held, &e) < 0)
		complain("remove what the run has not written: ", e.msg,
			 false);
}

static void tell(const struct held *h, char *text, size_t n)
{
	if (held_is_name(h->id))
		(void)snprintf(text, n, "the kept sandbox %s holds changes: "
			       "`stockade diff %s` shows them, `stockade apply "
			       "%s` makes them on the host", h->id, h->id,
			       h->id);
	else
		(void)snprintf(text, n, "run %s holds changes: "
			       "`stockade diff` shows them, `stockade apply` "
			       "makes them on the host", h->id);
}

/* The overlay has synced nothing, not even where the agent asked for it. */
static void sync_it(const struct held *h)
{
	if (syncfs(h->fd) < 0)
		complain("what is held may not be on the disk yet: ",
			 strerror(errno), false);
}

/* Not closed yet: until the run's last record is written, nobody else may write
 * to its trail. */
void run_held_end(struct run_held *r)
{
	struct err e;
	int any;

	if (!r->is_open)
		return;
	any = changes_any(&r->held, &e);
	if (any == 0) {
		remove_it(r);
	} else {
		char text[200];

		remove_work(&r->held);
		if (any > 0 && seen_note_directories(&r->held, &e) < 0)
			any = -1;
		sync_it(&r->held);
		tell(&r->held, text, sizeof text);
		if (any < 0)
			complain("what was held cannot be compared: ", e.msg,
				 false);
		complain("", text, false);
	}
	r->is_open = false;
}

void run_held_fini(struct run_held *r)
{
	if (r->is_open && r->held.fd >= 0 && !r->again)
		remove_it(r);
	r->is_open = false;
	held_close(&r->held);
	close_fd(&r->store_fd);
}
