/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the agent is, inside and as the host sees it.
 *
 * An ordinary user stays himself.  Root becomes uid 1000 inside, and outside
 * an id that nobody has: the kernel compares the outside id with 0 in places
 * that no namespace covers (the sysctls above all), so it must never be 0.
 * What root grants by name is then mounted with its owner mapped to that id,
 * and files that the agent makes there belong to that owner on the disk.
 */
#include "builder.h"

#include <unistd.h>

#include "area.h"
#include "io.h"
#include "mount.h"
#include "own.h"
#include "userns.h"

enum {
	AGENT_ID = 1000,
	/* Above what distributions and containers hand out, below the ids that
	 * tools treat as errors; the pid makes it unique among running ones. */
	AGENT_HOST_ID = 2000000000,
	OWNERS_MAX = 8,
	PASSWD_MAX = 1 << 20,
};

static struct sv variable(const struct builder *b, const char *name)
{
	size_t n = strlen(name);

	for (char *const *at = b->in->environ; at && *at; at++)
		if (strncmp(*at, name, n) == 0 && (*at)[n] == '=')
			return sv_str(*at + n + 1);
	return (struct sv){ 0 };
}

/* In /dev and /proc, the sandbox's own, there is no place for one. */
static bool usable_as_home(struct sv home)
{
	return !area_contains(SV("/dev"), home) &&
	       !area_contains(SV("/proc"), home) &&
	       home.n > 1 && home.p[0] == '/' &&
	       sv_find_sv(home, SV("//")) == home.n &&
	       sv_find_sv(home, SV("/.")) == home.n && !sv_ends(home, SV("/"));
}

/* A name that cannot break the line of a passwd file. */
static bool usable_as_name(struct sv name)
{
	return name.n > 0 && name.n <= 32 && sv_is_name(name);
}

/* Field n of a line of a passwd file. */
static struct sv field(struct sv line, int n)
{
	for (; n > 0; n--)
		line = sv_from(line, sv_find(line, ':') + 1);
	return sv_head(line, sv_find(line, ':'));
}

/* This user's line.  Only the local file: the C library would load modules
 * and ask servers for what HOME and USER nearly always say. */
static struct sv passwd_line(struct builder *b, uid_t uid)
{
	struct buf text = buf_new(PASSWD_MAX);
	struct sv rest, found = { 0 };
	struct err ignored;
	uint64_t id;

	if (io_read_file(AT_FDCWD, "/etc/passwd", &text, &ignored) < 0)
		buf_reset(&text);
	for (rest = buf_sv(&text); rest.n && !found.n;) {
		struct sv line = sv_head(rest, sv_find(rest, '\n'));

		rest = sv_from(rest, line.n + 1);
		if (sv_to_u64(field(line, 2), UINT32_MAX, &id) && id == uid)
			found = builder_dup(b, line);
	}
	buf_free(&text);
	return found;
}

/* HOME and USER are believed as names only; the uid is the kernel's. */
void identity_plan(struct builder *b)
{
	struct sv home = variable(b, "HOME"), user = variable(b, "USER");

	if (!usable_as_home(home) || (!usable_as_name(user) &&
				      !b->plan->as_root)) {
		struct sv line = passwd_line(b, geteuid());

		home = usable_as_home(home) ? home : field(line, 5);
		user = usable_as_name(user) ? user : field(line, 0);
	}
	b->home = usable_as_home(home) ? builder_dup(b, home) : SV("/home/agent");
	b->user = !b->plan->as_root && usable_as_name(user) ?
			  builder_dup(b, user) : SV("agent");
}

int identity_begin(struct builder *b, struct err *e)
{
	struct plan *plan = b->plan;

	if (getuid() != geteuid() || getgid() != getegid())
		return err_kind(e, ERR_POLICY,
				"stockade does not run as a setuid program");
	plan->as_root = geteuid() == 0;
	plan->host_uid = geteuid();
	plan->host_gid = getegid();
	if (plan->as_root) {
		plan->uid = plan->gid = AGENT_ID;
		plan->host_uid = AGENT_HOST_ID + (uid_t)getpid();
		plan->host_gid = AGENT_HOST_ID + (gid_t)getpid();
	} else {
		plan->uid = plan->host_uid;
		plan->gid = plan->host_gid;
	}
	builder_step(b, STEP_NAMESPACES, SV(""), SV("user pid time"));
	builder_step(b, STEP_IDENTITY,
		     builder_printf(b, "%u:%u", plan->uid, plan->gid),
		     SV("the agent's ids, never 0 outside"))->source =
		builder_printf(b, "%u:%u", plan->host_uid, plan->host_gid);
	return 0;
}

/*
 * `id` on disk is `as` inside, everything else is what it is.  An overlay's
 * own files are made by root, who has to be somebody on the disk: with `back`,
 * `as`, which nobody has, is `id` inside.
 */
static struct userns_map owner_map(uint32_t id, uint32_t as, bool back)
{
	struct userns_map map = { 0 };
	uint32_t low = id < as ? id : as, high = id < as ? as : id;
	struct userns_range *range = map.range;

	*range++ = (struct userns_range){ id, as, 1 };
	if (low)
		*range++ = (struct userns_range){ 0, 0, low };
	if (high - low > 1)
		*range++ = (struct userns_range){ low + 1, low + 1,
						  high - low - 1 };
	if (back)
		*range++ = (struct userns_range){ as, id, 1 };
	*range++ = (struct userns_range){ high + 1, high + 1,
					  UINT32_MAX - high - 1 };
	map.n = (unsigned)(range - map.range);
	return map;
}

struct owner {
	uid_t uid;
	gid_t gid;
	int userns_fd;
};

struct owners {
	bool back;
	size_t n;
	struct owner list[OWNERS_MAX];
};

static void owners_close(struct owners *owners)
{
	for (size_t i = 0; i < owners->n; i++)
		close_fd(&owners->list[i].userns_fd);
}

/* One namespace serves every grant of the same owner. */
static int owner_userns(struct owners *owners, struct plan *plan,
			const struct area *area, struct err *e)
{
	struct userns_map uids = owner_map(area->owner, plan->host_uid,
					   owners->back);
	struct userns_map gids = owner_map(area->group, plan->host_gid,
					   owners->back);
	int fd;

	for (size_t i = 0; i < owners->n; i++)
		if (owners->list[i].uid == area->owner &&
		    owners->list[i].gid == area->group)
			return owners->list[i].userns_fd;
	if (owners->n == OWNERS_MAX)
		return err_kind(e, ERR_LIMIT,
				"grants of more than %d different owners",
				OWNERS_MAX);
	fd = userns_make(&uids, &gids, e);
	if (fd >= 0)
		owners->list[owners->n++] = (struct owner){
			area->owner, area->group, fd };
	return fd;
}

static int idmap_step(struct owners *owners, const struct builder *b,
		      const struct area *area, struct step *s, struct err *e)
{
	int userns_fd = owner_userns(owners, b->plan, area, e);
	auto_fd int fd = userns_fd < 0 || s->kind == STEP_OVERLAY ? -1 :
			 path_open_exact(AT_FDCWD, s->source, O_PATH, e);
	auto_fd int tree_fd = -1;
	struct path_identity now;

	if (userns_fd >= 0 && s->kind == STEP_OVERLAY)
		return overlay_mapped(b, s, userns_fd, e);
	if (fd < 0 || path_identify(fd, &now, e) < 0)
		return -1;
	if (!path_same(&now, &s->identity))
		return err_kind(e, ERR_DENIED, "it was replaced meanwhile");
	tree_fd = mount_clone(fd, "", true, e);
	if (tree_fd < 0)
		return -1;
	if (mount_idmap(tree_fd, userns_fd, true, e) < 0)
		return err_ctx(e, "started by root, and its file system cannot "
			       "map owners; run as an ordinary user, or grant "
			       "a directory of another file system");
	/* Here, where the host's root does it: nothing inside can undo it. */
	if (mount_set_attrs(tree_fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			    (s->flags & STEP_WRITE ? 0 : MOUNT_ATTR_RDONLY),
			    true, e) < 0)
		return -1;
	s->tree_fd = steal_fd(&tree_fd);
	s->flags |= STEP_TREE;
	return 0;
}

int idmap_plan(struct builder *b, struct err *e)
{
	__attribute__((cleanup(owners_close))) struct owners owners = {
		.back = overlay_is_asked(b),
	};

	if (!b->plan->as_root)
		return 0;
	for (size_t i = 0; i < b->plan->steps_n; i++) {
		struct step *s = &b->plan->steps[i];
		const struct area *area =
			s->kind == STEP_BIND || s->kind == STEP_OVERLAY ?
				areas_find(b, s->target) : NULL;

		/* A cache that is not there yet is only to be looked at. */
		if (!area || area->kind == AREA_SYSTEM ||
		    (area->source.n && !area->identity.ino))
			continue;
		if (idmap_step(&owners, b, area, s, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(s->target));
	}
	return 0;
}
