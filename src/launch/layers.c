/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `limit workspace`: what the run holds is, while it lasts, in a tmpfs of that
 * size which only this sandbox has, and no file system of the host's can be
 * filled by it.  It has each overlay's directories, upper and work, as overlay.c
 * would make them in the state directory:
 *
 *	an ordinary user	pid 1 makes it, in his user namespace, and sends it to
 *				the parent, who is the same user
 *	root			the parent makes it; the owners in it are those of the
 *				disk, and are mapped like the tree's
 *
 * The parent keeps a descriptor, by which it carries out what is in it when all
 * that could write has ended.  An overlay takes no layer of a mount that is in no
 * mount namespace (before 6.15), so for pid 1's own it is attached where the
 * layers would be otherwise: in pid 1's mount namespace, and gone with the old
 * root.
 */
#include "init.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include "area.h"
#include "builder.h"
#include "control.h"
#include "mount.h"
#include "own.h"
#include "tmpfs.h"

/* What an overlay has there that is not the agent's: its directory, upper and
 * work, which overlay.c makes, and what the kernel makes in that. */
enum {
	NAMES_MADE = 3,
	NAMES_OF_OVERLAY = 8,
	NAMES_AT_FIRST = NAMES_OF_OVERLAY << 10	/* a run has no more of them */
};

static const struct limit *layers_files(const struct plan *plan)
{
	return &plan->limits.by_kind[LIMIT_WORKSPACE_FILES];
}

void layers_plan(struct builder *b)
{
	const struct limit *l = &b->plan->limits.by_kind[LIMIT_WORKSPACE];
	const struct limit *files = layers_files(b->plan);

	if (!l->set)
		return;
	builder_step(b, STEP_LAYERS, SV(""), files->set ?
		     builder_printf(b, "%.*s, %.*s", SV_FMT(l->shown),
				    SV_FMT(files->shown)) :
		     builder_dup(b, l->shown))->flags = STEP_SYSTEM;
}

static int check_kept(int layers_fd, uint64_t most, const struct limit *files,
		      struct err *e)
{
	struct statvfs st;

	if (fstatvfs(layers_fd, &st) < 0)
		return err_sys(e, "ask how many names it has");
	if (st.f_files - st.f_ffree <= most)
		return 0;
	return err_kind(e, ERR_LIMIT, "what is held already are more names "
			"than `limit %.*s` lets be", SV_FMT(files->shown));
}

/* How many the agent can make is known only when it is known how many
 * overlays there are; what was kept is carried in by then. */
int layers_count(const struct plan *plan, int layers_fd, struct err *e)
{
	const struct limit *files = layers_files(plan);
	/* One is its root. */
	uint64_t most = 1 + files->value;

	if (!files->set)
		return 0;
	if (check_kept(layers_fd, most + plan->overlays_n * NAMES_MADE, files,
		       e) < 0)
		return -1;
	return tmpfs_set_names(layers_fd, most + plan->overlays_n *
			       NAMES_OF_OVERLAY, e);
}

int layers_new(const struct plan *plan, struct err *e)
{
	const struct limit *l = &plan->limits.by_kind[LIMIT_WORKSPACE];
	const struct limit *files = layers_files(plan);

	if (!l->set)
		return err_kind(e, ERR_BUG, "there is no limit");
	/* What the overlays themselves have is not known yet: layers_count(). */
	return tmpfs_new(l->value, files->set ? files->value + NAMES_AT_FIRST :
			 0, e);
}

int layers_make(struct init *in, const struct step *s, struct err *e)
{
	const struct control_note note = { .kind = CONTROL_LAYERS };

	(void)s;
	if (in->plan->as_root)
		return 0;
	in->layers_fd = layers_new(in->plan, e);
	if (in->layers_fd < 0)
		return -1;
	return control_send_fds(in->control_fd, &note, &in->layers_fd, 1, e);
}

/* "HELD/N": they are attached to HELD. */
int layers_show(struct init *in, const struct overlay *o, struct err *e)
{
	auto_fd int at_fd = -1;

	if (in->layers_fd < 0 || in->layers_shown)
		return 0;
	at_fd = path_open_exact(AT_FDCWD, area_parent(o->held), O_PATH |
				O_DIRECTORY, e);
	if (at_fd < 0 || mount_attach(in->layers_fd, at_fd, "", e) < 0 ||
	    layers_count(in->plan, in->layers_fd, e) < 0)
		return -1;
	in->layers_shown = true;
	return 0;
}
