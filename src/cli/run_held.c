/* SPDX-License-Identifier: Apache-2.0 */
/* What a run holds: see run_held.h. */
#include "run_held.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "carry.h"
#include "changes.h"
#include "complaint.h"
#include "entry.h"
#include "own.h"
#include "run_dir.h"
#include "seen.h"
#include "spare.h"
#include "sv.h"

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
	for (uint32_t i = 0; i < held_layers(h); i++) {
		auto_fd int fd = -1;
		char name[16];
		struct err ignored;

		(void)snprintf(name, sizeof name, "%" PRIu32, i);
		fd = path_open_beneath(h->fd, sv_str(name), O_RDONLY |
				       O_DIRECTORY, &ignored);
		if (fd >= 0)
			(void)!entry_remove(fd, "work", &ignored);
	}
}

/* A volatile overlay leaves a note that forbids to mount its layers again.  Nobody
 * looks at it any more, and now there is time. */
void run_held_tidy(const struct run_held *r)
{
	for (uint32_t i = 0; r->is_open && r->layers_fd < 0 &&
			     i < held_layers(&r->held); i++) {
		auto_fd int work_fd = -1, inner_fd = -1;
		char name[24];
		struct err ignored;

		(void)snprintf(name, sizeof name, "%" PRIu32 "/work", i);
		work_fd = path_open_beneath(r->held.fd, sv_str(name), O_RDONLY |
					    O_DIRECTORY, &ignored);
		if (work_fd < 0)
			continue;
		inner_fd = entry_open(work_fd, "work", O_RDONLY | O_DIRECTORY,
				      &ignored);
		if (inner_fd >= 0)
			(void)!entry_remove_in(inner_fd, "incompat", &ignored);
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
		trees[i] = (struct launch_tree){
			h->trees[i].path, h->trees[i].ino, h->trees[i].only,
			h->trees[i].layers, h->trees[i].below };
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
	in->held_spare = r->held.is_spare;
	return 0;
}

/* Told now, rather than when the run has ended and nothing can be held. */
static int check_room(const struct run_held *r, struct err *e)
{
	struct statvfs there, layers;
	uint64_t room, size;

	if (fstatvfs(r->held.fd, &there) < 0 ||
	    fstatvfs(r->layers_fd, &layers) < 0)
		return err_sys(e, "ask how much room there is");
	room = (uint64_t)there.f_bavail * there.f_frsize;
	size = (uint64_t)layers.f_blocks * layers.f_frsize;
	if (room >= size)
		return 0;
	return err_kind(e, ERR_LIMIT, "the state directory's file system has "
			"room for %" PRIu64 "M, and `limit workspace` lets the "
			"run hold %" PRIu64 "M", room >> 20, size >> 20);
}

/* The same of files.  Some file systems have as many as there is room for, and
 * say 0. */
static int check_files(const struct run_held *r, const struct limit *files,
		       struct err *e)
{
	struct statvfs there;

	if (!files->set)
		return 0;
	if (fstatvfs(r->held.fd, &there) < 0)
		return err_sys(e, "ask how many files there may be");
	if (there.f_files == 0 || there.f_favail >= files->value)
		return 0;
	return err_kind(e, ERR_LIMIT, "the state directory's file system has "
			"room for %" PRIu64 " files, and `limit %.*s` lets the "
			"run hold more", (uint64_t)there.f_favail,
			SV_FMT(files->shown));
}

int run_held_limit(struct run_held *r, int layers_fd, const struct plan *plan,
		   struct launch_input *in, struct err *e)
{
	r->layers_fd = layers_fd;
	in->layers_fd = layers_fd;
	if (check_room(r, e) < 0 ||
	    check_files(r, &plan->limits.by_kind[LIMIT_WORKSPACE_FILES],
			e) < 0 || carry_begin(&r->held, r->id, e) < 0)
		return -1;
	if (!r->again || carry_in(&r->held, layers_fd, e) == 0)
		return 0;
	return e->code == ENOSPC ?
		       err_ctx(e, "what is held already has to have room in "
			       "`limit workspace`") : -1;
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
		tree = overlay_tree(plan, s);
		if (held_add(&r->held, &(struct held_tree){
				     tree.path, tree.ino, tree.only,
				     tree.layers, tree.below }, e) < 0)
			return -1;
	}
	/* What is in memory is not held yet. */
	return r->layers_fd >= 0 ? 0 : held_write(&r->held, e);
}

/* In the reaper, which has no standard descriptors: nothing is told. */
static void carry_after_us(const void *arg)
{
	struct run_held r = *(const struct run_held *)arg;
	struct pollfd gone = { .fd = r.pidfd, .events = POLLIN };
	struct err ignored;

	/* Nothing inside writes any more when its pid 1 is dead. */
	while (poll(&gone, 1, -1) < 0 && errno == EINTR)
		;
	/* We may have been killed late. */
	if (!carry_is_pending(r.store_fd, r.held.id) ||
	    carry_out(&r.held, r.layers_fd, &ignored) < 0)
		return;
	if (changes_any(&r.held, &ignored) == 0)
		(void)!held_remove(&r.held, &ignored);
	else
		(void)!seen_note_directories(&r.held, &ignored);
}

int run_held_guard(struct run_held *r, int pidfd, struct err *e)
{
	const int keep[] = { r->store_fd, r->held.fd, r->layers_fd, pidfd };

	if (r->layers_fd < 0)
		return 0;
	r->pidfd = pidfd;
	return reaper_start_job(&r->reaper, &(struct reaper_job){
				.keep = keep, .n = countof(keep),
				.undo = carry_after_us, .arg = r }, e);
}

void run_held_explain(const struct run_held *r, struct err *e)
{
	if (r->is_open && r->again && r->held.trees_n)
		(void)err_ctx(e, "continue the kept sandbox %s", r->held.id);
}

static void remove_it(struct run_held *r)
{
	struct err e;

	if (spare_give(&r->held))
		return;
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

/* Only what is on the disk is held. */
static int carry(struct run_held *r, struct err *e)
{
	struct err ignored;

	if (r->layers_fd < 0 || carry_out(&r->held, r->layers_fd, e) == 0)
		return 0;
	if (carry_is_whole(&r->held))
		return err_ctx(e, "what run %s holds is on the disk, but not in "
			       "its place yet, which the next stockade tries "
			       "again", r->id);
	(void)!(r->again ? carry_forget(&r->held, &ignored) :
			   held_remove(&r->held, &ignored));
	return err_ctx(e, "nothing that run %s has changed is held: carry it "
		       "out of memory", r->id);
}

static void say(struct run_held *r)
{
	char text[200];
	struct err e;
	int any = changes_any(&r->held, &e);

	if (any == 0) {
		remove_it(r);
		return;
	}
	remove_work(&r->held);
	if (any > 0 && seen_note_directories(&r->held, &e) < 0)
		any = -1;
	sync_it(&r->held);
	tell(&r->held, text, sizeof text);
	if (any < 0)
		complain("what was held cannot be compared: ", e.msg, false);
	complain("", text, false);
}

/* Not closed yet: until the run's last record is written, nobody else may write
 * to its trail. */
int run_held_end(struct run_held *r, struct err *e)
{
	bool nothing;
	int rc;

	if (!r->is_open)
		return 0;
	/* Most often; it spares a wait for the disk. */
	nothing = r->layers_fd >= 0 && !r->again &&
		  carry_is_empty(&r->held, r->layers_fd);
	rc = nothing ? 0 : carry(r, e);
	reaper_dismiss(&r->reaper);
	close_fd(&r->layers_fd);
	if (nothing)
		remove_it(r);
	else if (rc == 0)
		say(r);
	r->is_open = false;
	return rc;
}

void run_held_fini(struct run_held *r)
{
	struct err ignored;

	if (r->is_open && r->held.fd >= 0) {
		if (!r->again)
			remove_it(r);
		else if (r->layers_fd >= 0)
			(void)!carry_forget(&r->held, &ignored);
	}
	r->is_open = false;
	reaper_dismiss(&r->reaper);
	close_fd(&r->layers_fd);
	held_close(&r->held);
	close_fd(&r->store_fd);
}
