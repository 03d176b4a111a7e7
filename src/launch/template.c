/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template: see template.h.
 *
 * It is made under another name and renamed when it is whole and on the disk,
 * so that one that is there is good: a run that is killed meanwhile, two first
 * runs at once, and a crash of the machine leave nothing half made.
 *
 * Whoever can write to the directory can write what every sandbox reads as its
 * /etc.  It lies in the state directory, which no grant can make writable.
 */
#include "template.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "area.h"
#include "base64.h"
#include "dir.h"
#include "io.h"
#include "mount.h"
#include "own.h"
#include "sha256.h"

/* Part of the name: to be raised when the same plan makes another tree. */
#define TEMPLATE_VERSION "stockade template 1\n"

enum { NAME_BYTES = 16, TEXT_MAX = 1 << 20 };

static bool is_inside(struct sv path)
{
	return area_strictly_contains(SV("/etc"), path) ||
	       area_strictly_contains(SV("/dev"), path);
}

/* Mounts that need a place to be attached to. */
static bool is_mount(const struct step *s)
{
	return s->kind == STEP_BIND || s->kind == STEP_PRIVATE ||
	       s->kind == STEP_DEVICE || s->kind == STEP_TERMINALS;
}

static bool is_content(const struct step *s)
{
	return s->kind == STEP_FILE || s->kind == STEP_COPY ||
	       s->kind == STEP_LINK;
}

static bool is_directory(const struct step *s)
{
	return s->kind == STEP_PRIVATE || s->kind == STEP_TERMINALS ||
	       (s->kind == STEP_BIND && s->identity.type == S_IFDIR);
}

/* With lengths in front, so that no two plans read the same. */
static void describe(const struct step *s, struct buf *text)
{
	struct sv source = is_content(s) ? s->source : SV("");
	struct {
		uint32_t source_n;
		uint16_t target_n;
		uint8_t kind, directory;
	} head = {
		(uint32_t)source.n, (uint16_t)s->target.n, (uint8_t)s->kind,
		is_directory(s),
	};

	buf_put(text, sv_of((const char *)&head, sizeof head));
	buf_put(text, s->target);
	buf_put(text, source);
}

/*
 * What a grant of a directory brings with it is there already.  A file of ours
 * in it is made all the same, and lies hidden below: pid 1 makes none.
 */
static bool has_part(const struct builder *b, const struct step *s)
{
	if (!is_inside(s->target))
		return false;
	if (is_content(s) && (s->flags & STEP_SYSTEM))
		return true;
	return (is_content(s) || is_mount(s)) && !areas_around(b, s->target);
}

/* Marks what the template has, and appends its name to ret. */
static int choose(struct builder *b, struct buf *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(TEXT_MAX);
	struct plan *plan = b->plan;
	uint8_t hash[SHA256_SIZE];

	buf_puts(&text, TEMPLATE_VERSION);
	for (size_t i = 0; i < plan->steps_n; i++) {
		struct step *s = &plan->steps[i];

		if (!has_part(b, s))
			continue;
		s->flags |= is_content(s) ? STEP_READY : STEP_PLACED;
		describe(s, &text);
	}
	if (buf_check(&text, "the plan", e) < 0)
		return -1;
	sha256(buf_sv(&text), hash);
	buf_put_hex(ret, sv_of((const char *)hash, NAME_BYTES));
	return buf_check(ret, "its name", e);
}

struct sv template_version(const struct stat *st,
			   char ret[TEMPLATE_VERSION_SIZE])
{
	const uint64_t version[] = {
		st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec,
	};

	_Static_assert(sizeof version == TEMPLATE_VERSION_SIZE, "all of it");
	memcpy(ret, version, sizeof version);
	return sv_of(ret, sizeof version);
}

static int make_parents(int root_fd, struct sv below, struct err *e)
{
	auto_fd int fd = path_make_dirs(root_fd, area_parent(below), e);

	return fd < 0 ? -1 : 0;
}

/* On the disk before the template has its name. */
static int finish_file(int fd, struct err *e)
{
	if (fsync(fd) < 0)
		return err_sys(e, "write to the disk");
	return 0;
}

static int create(int root_fd, const struct step *s, struct err *e)
{
	int fd = openat(root_fd, s->target.p + 1, O_WRONLY | O_CREAT | O_EXCL |
			O_NOFOLLOW | O_CLOEXEC, 0644);

	return fd < 0 ? err_sys(e, "make the file") : fd;
}

static int make_file(int root_fd, const struct step *s, struct err *e)
{
	auto_fd int fd = create(root_fd, s, e);

	if (fd < 0 || io_write_all(fd, s->source, e) < 0)
		return -1;
	return finish_file(fd, e);
}

/* Before and after it is copied it has to be what the plan has seen. */
static int check_version(int fd, const struct step *s, struct err *e)
{
	char now[TEMPLATE_VERSION_SIZE];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "identify it");
	if (!sv_eq(template_version(&st, now), s->source))
		return err_kind(e, ERR_DENIED, "it was changed meanwhile");
	return 0;
}

static int make_copy(int root_fd, const struct step *s, struct err *e)
{
	auto_fd int from_fd = open(s->target.p, O_RDONLY | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	auto_fd int to_fd = -1;

	if (from_fd < 0 && (errno == EACCES || errno == EPERM))
		return 0;	/* not ours to read, inside neither */
	if (from_fd < 0)
		return err_sys(e, "open it");
	if (check_version(from_fd, s, e) < 0)
		return -1;
	to_fd = create(root_fd, s, e);
	if (to_fd < 0 || io_copy(to_fd, from_fd, e) < 0 ||
	    check_version(from_fd, s, e) < 0)
		return -1;
	return finish_file(to_fd, e);
}

static int make_place(int root_fd, const struct step *s, struct err *e)
{
	struct sv below = sv_from(s->target, 1);
	auto_fd int fd = is_directory(s) ? path_make_dirs(root_fd, below, e) :
					   path_make_file(root_fd, below, 0644,
							  e);

	return fd < 0 ? -1 : 0;
}

static int make_entry(int root_fd, const struct step *s, struct err *e)
{
	struct sv below = sv_from(s->target, 1);

	if (s->kind == STEP_LINK)
		return path_make_symlink(root_fd, below, s->source, e);
	if (s->kind != STEP_FILE && s->kind != STEP_COPY)
		return make_place(root_fd, s, e);
	if (make_parents(root_fd, below, e) < 0)
		return -1;
	return s->kind == STEP_FILE ? make_file(root_fd, s, e) :
				      make_copy(root_fd, s, e);
}

static int finish_directory(int root_fd, const char *name, struct err *e)
{
	auto_fd int fd = openat(root_fd, name, O_RDONLY | O_DIRECTORY |
				O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open %s", name) : finish_file(fd, e);
}

static int fill(const struct plan *plan, int root_fd, struct err *e)
{
	for (size_t i = 0; i < plan->steps_n; i++) {
		const struct step *s = &plan->steps[i];

		if ((s->flags & (STEP_READY | STEP_PLACED)) &&
		    make_entry(root_fd, s, e) < 0)
			return err_ctx(e, "%.*s", SV_FMT(s->target));
	}
	return finish_directory(root_fd, "etc", e) < 0 ||
	       finish_directory(root_fd, "dev", e) < 0 ||
	       finish_directory(root_fd, ".", e) < 0 ? -1 : 0;
}

/* What failed half-way; what cannot be removed is left, under its odd name. */
static void remove_tree(int dir_fd, const char *name)
{
	auto_fd int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC);
	auto_dir DIR *dir = dir_take(&fd);
	const struct dirent *entry;

	while (dir && (entry = dir_next(dir)) != NULL)
		if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			remove_tree(dirfd(dir), entry->d_name);
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static int make_as(const struct plan *plan, int store_fd, const char *name,
		   struct err *e)
{
	/* The parent has one thread, and modes are not the user's choice. */
	mode_t mask = umask(022);
	auto_fd int root_fd = -1;
	int rc;

	if (mkdirat(store_fd, name, 0755) == 0)
		root_fd = openat(store_fd, name, O_RDONLY | O_DIRECTORY |
				 O_NOFOLLOW | O_CLOEXEC);
	rc = root_fd < 0 ? err_sys(e, "make the directory") :
			   fill(plan, root_fd, e);
	(void)umask(mask);
	return rc;
}

static int make(const struct plan *plan, int store_fd, const char *name,
		struct err *e)
{
	char draft[32];
	uint64_t noise;
	int rc;

	if (getrandom(&noise, sizeof noise, 0) != sizeof noise)
		return err_sys(e, "getrandom");
	(void)snprintf(draft, sizeof draft, ".new-%016" PRIx64, noise);
	rc = make_as(plan, store_fd, draft, e);
	/* Not over one that is not empty: it was quicker, and is equal. */
	if (rc == 0 && renameat(store_fd, draft, store_fd, name) < 0 &&
	    errno != EEXIST && errno != ENOTEMPTY)
		rc = err_sys(e, "name it");
	remove_tree(store_fd, draft);
	return rc;
}

/* O_PATH of the template, or -1 with errno in e->code. */
static int open_made(int store_fd, const char *name, struct err *e)
{
	auto_fd int fd = openat(store_fd, name, O_PATH | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open %s", name);
	return io_check_ours(fd, name, e) < 0 ? -1 : steal_fd(&fd);
}

static int open_or_make(const struct plan *plan, int store_fd,
			const char *name, struct err *e)
{
	int fd = open_made(store_fd, name, e);

	if (fd >= 0 || e->kind != ERR_SYS || e->code != ENOENT)
		return fd;
	if (make(plan, store_fd, name, e) < 0)
		return err_ctx(e, "make %s", name);
	return open_made(store_fd, name, e);
}

/* What pid 1 will mount.  Started by root it has no right to look below root's
 * state directory, and is given the tree. */
static int aim(struct builder *b, struct step *s, int template_fd,
	       struct sv path, struct err *e)
{
	auto_fd int fd = path_open_exact(template_fd, sv_from(s->target, 1),
					 O_PATH | O_DIRECTORY, e);

	if (fd < 0 || path_identify(fd, &s->identity, e) < 0)
		return -1;
	s->source = builder_printf(b, "%.*s%.*s", SV_FMT(path),
				   SV_FMT(s->target));
	if (!b->plan->as_root)
		return 0;
	s->tree_fd = mount_clone_restricted(fd, "", false, MOUNT_ATTR_NOSUID |
					    MOUNT_ATTR_NODEV |
					    MOUNT_ATTR_RDONLY, e);
	if (s->tree_fd < 0)
		return -1;
	s->flags |= STEP_TREE;
	return 0;
}

static int use(struct builder *b, const char *name, struct err *e)
{
	struct plan *plan = b->plan;
	struct area store;		/* what it is called in truth */
	auto_fd int store_fd = -1;
	auto_fd int fd = -1;
	struct sv path;

	if (area_resolve(b, sv_str(b->in->store), &store, e) < 0)
		return -1;
	store_fd = path_open_exact(AT_FDCWD, store.path, O_RDONLY |
				   O_DIRECTORY, e);
	fd = store_fd < 0 ? -1 : open_or_make(plan, store_fd, name, e);
	if (fd < 0)
		return err_ctx(e, "%.*s", SV_FMT(store.path));
	path = builder_printf(b, "%.*s/%s", SV_FMT(store.path), name);
	for (size_t i = 0; i < plan->steps_n; i++)
		if (plan->steps[i].kind == STEP_TEMPLATE &&
		    aim(b, &plan->steps[i], fd, path, e) < 0)
			return -1;
	return 0;
}

int template_plan(struct builder *b, struct err *e)
{
	auto_buf struct buf name = buf_new(2 * NAME_BYTES + 1);

	if (choose(b, &name, e) < 0)
		return -1;
	return b->in->store ? use(b, buf_cstr(&name), e) : 0;
}
