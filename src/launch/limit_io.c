/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `limit io`: so many bytes a second from each disk, and to each.
 *
 * The groups are made before anybody knows what will be visible, so this limit
 * is set later, before the plan goes to pid 1.  The disks are those below every
 * tree that the box shows, with what is mounted in it, and below the state,
 * where caches and held changes are.  One of them that cannot be limited is an
 * error: what is held for one disk and not for the other is no limit.
 *
 * A page is written back in the name of the group whose memory it is.  So the
 * run's group needs the memory controller too; without it its pages would be
 * those of the group around, which has no limit.
 */
#include "limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "builder.h"
#include "io.h"
#include "own.h"

enum { MOUNTS_MAX = 16 << 20 };

static size_t place_of_io(const struct plan_limits *l)
{
	size_t i = 0;

	while (i < l->places_n && !(l->places[i].controllers & 1u << CGROUP_IO))
		i++;
	return i;
}

int limits_io_place(struct plan_limits *l, struct err *e)
{
	struct limits_place *p = &l->places[place_of_io(l)];

	if (p->at.version != 2 || !cgroup_offers(p->at.dir_fd, CGROUP_MEMORY))
		return err_kind(e, ERR_UNSUPP, "the control group %s has no "
				"memory controller, without which nobody "
				"knows who has written what", p->at.path);
	p->controllers |= 1u << CGROUP_MEMORY;
	return 0;
}

static int add(struct plan_limits *l, const struct disk_mount *m,
	       const struct disk_view *view, struct err *e)
{
	struct disk d;
	int rc = disk_of_mount(m, view, &d, e);

	if (rc <= 0)
		return rc;
	for (size_t i = 0; i < l->disks_n; i++)
		if (l->disks[i].major == d.major &&
		    l->disks[i].minor == d.minor)
			return 0;
	if (l->disks_n == LIMITS_DISKS_MAX)
		return err_kind(e, ERR_LIMIT, "more than %d disks",
				LIMITS_DISKS_MAX);
	l->disks[l->disks_n++] = d;
	return 0;
}

int limits_add_disks(struct plan_limits *l, struct sv path, struct sv mounts,
		     const struct disk_view *view, struct err *e)
{
	char name[PATH_MAX];
	struct disk_mount m;
	bool found = false;
	struct stat st;

	(void)snprintf(name, sizeof name, "%.*s", SV_FMT(path));
	if (stat(name, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at %s", name);
	while (disk_next_mount(&mounts, &m)) {
		bool here = m.device.major == major(st.st_dev) &&
			    m.device.minor == minor(st.st_dev);

		/* One of the mounts of this file system is enough. */
		if ((!(here && !found) && !disk_mount_is_below(&m, path)))
			continue;
		found |= here;
		if (add(l, &m, view, e) < 0)
			return err_ctx(e, "%s", name);
	}
	/* btrfs and others have numbers of their own for parts of theirs. */
	return found ? 0 : err_kind(e, ERR_UNSUPP, "%s is on a file system "
				    "that has no disk of its own", name);
}

static bool is_shown(const struct step *s)
{
	return s->kind == STEP_BIND || s->kind == STEP_OVERLAY;
}

/* Of an overlay, where changes are held. */
static struct sv source_of(const struct plan *plan, const struct step *s)
{
	return s->kind == STEP_OVERLAY ? plan->overlays[s->overlay].held :
					 s->source;
}

static int find_all(struct builder *b, struct sv mounts,
		    const struct disk_view *view, struct err *e)
{
	struct plan_limits *l = &b->plan->limits;

	if (b->in->store &&
	    limits_add_disks(l, sv_str(b->in->store), mounts, view, e) < 0)
		return -1;
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		const struct step *s = &b->plan->steps[i];
		struct sv source;

		if (!is_shown(s))
			continue;
		source = source_of(b->plan, s);
		if ((source.n &&
		     limits_add_disks(l, source, mounts, view, e) < 0) ||
		    ((!source.n || s->kind == STEP_OVERLAY) &&
		     limits_add_disks(l, s->target, mounts, view, e) < 0))
			return -1;
	}
	return 0;
}

static int find_disks(struct builder *b, struct err *e)
{
	auto_buf struct buf mounts = buf_new(MOUNTS_MAX);
	auto_fd int block_fd = open("/sys/dev/block", O_RDONLY | O_DIRECTORY |
				    O_CLOEXEC);
	auto_fd int ext4_fd = open("/proc/fs/ext4", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	const struct disk_view view = { block_fd, ext4_fd };

	if (block_fd < 0)
		return err_sys(e, "open /sys/dev/block");
	if (io_read_file(AT_FDCWD, "/proc/self/mountinfo", &mounts, e) < 0)
		return -1;
	return find_all(b, buf_sv(&mounts), &view, e);
}

/* What --explain says was written when no disk was known. */
static void say_again(struct builder *b)
{
	auto_buf struct buf text = buf_new(4096);

	limits_put_groups(&b->plan->limits, &text);
	for (size_t i = 0; i < b->plan->early; i++)
		if (b->plan->steps[i].kind == STEP_CGROUP)
			b->plan->steps[i].why = builder_dup(b, buf_sv(&text));
}

int limits_plan_io(struct builder *b, struct err *e)
{
	struct limit *limit = &b->plan->limits.by_kind[LIMIT_IO];

	if (!limit->set)
		return 0;
	if (find_disks(b, e) < 0) {
		if (!limit->optional || e->kind != ERR_UNSUPP)
			return err_ctx(e, "%.*s", SV_FMT(limit->text));
		limit->set = false;
	}
	say_again(b);
	return 0;
}

int limits_set_io(const struct plan_limits *l, const struct limits_groups *g,
		  struct err *e)
{
	uint64_t bytes = l->by_kind[LIMIT_IO].value;
	size_t at = place_of_io(l);

	if (!l->by_kind[LIMIT_IO].set)
		return 0;
	if (at >= g->n)
		return err_kind(e, ERR_BUG, "there is no group");
	if (!cgroup_has(g->v[at].dir_fd, "io.max"))
		return err_kind(e, ERR_UNSUPP, "%.*s: this kernel has no io.max "
				"(CONFIG_BLK_DEV_THROTTLING)",
				SV_FMT(l->by_kind[LIMIT_IO].text));
	for (size_t i = 0; i < l->disks_n; i++) {
		char text[96];

		(void)snprintf(text, sizeof text,
			       "%u:%u rbps=%" PRIu64 " wbps=%" PRIu64,
			       l->disks[i].major, l->disks[i].minor, bytes,
			       bytes);
		if (cgroup_set(g->v[at].dir_fd, "io.max", text, e) < 0)
			return err_ctx(e, "%.*s",
				       SV_FMT(l->by_kind[LIMIT_IO].text));
	}
	return 0;
}
