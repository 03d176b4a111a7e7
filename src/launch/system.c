/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the new root that no policy names: system directories, /etc,
 * /dev, /proc, and the private directories.
 *
 * Nothing is copied that is not on a list (system_tables.c).  The files that
 * would tell about the host's users and network are written anew.
 */
#include "builder.h"

#include <stdio.h>
#include <unistd.h>

#include "area.h"
#include "device.h"
#include "glob.h"
#include "io.h"
#include "own.h"
#include "system_tables.h"

enum { COPY_MAX = 16384 };

static const struct sv why = { "system", 6 };

static void add_file(struct builder *b, const char *target, struct sv content)
{
	struct step *s = builder_step(b, STEP_FILE, sv_str(target), why);

	s->source = content;
	s->mode = 0644;
	s->flags = STEP_SYSTEM;
}

static void add_link(struct builder *b, struct sv target, struct sv text)
{
	struct step *s = builder_step(b, STEP_LINK, target, why);

	s->source = text;
	s->flags = STEP_SYSTEM;
}

static void add_directory(struct builder *b, struct sv target, uint16_t mode)
{
	struct step *s = builder_step(b, STEP_DIRECTORY, target, why);

	s->mode = mode;
	s->flags = STEP_SYSTEM;
}

static void add_tree(struct builder *b, struct sv path, uint32_t type)
{
	area_add(b, AREA_SYSTEM, path, why)->identity.type = type;
}

static int add_host_link(struct builder *b, int dirfd, const char *name,
			 struct sv target, struct err *e)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dirfd, name, text, sizeof text);

	if (n < 0)
		return err_sys(e, "read link %.*s", SV_FMT(target));
	add_link(b, target, builder_dup(b, sv_of(text, (size_t)n)));
	return 0;
}

static int plan_roots(struct builder *b, struct err *e)
{
	for (const char *const *at = system_roots; *at; at++) {
		struct sv path = sv_str(*at);
		struct stat st;

		if (fstatat(AT_FDCWD, *at, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode)) {
			if (add_host_link(b, AT_FDCWD, *at, path, e) < 0)
				return -1;
		} else if (S_ISDIR(st.st_mode)) {
			add_tree(b, path, S_IFDIR);
		}
	}
	return 0;
}

/* A regular file of /etc: its contents, when there are few. */
static int plan_etc_file(struct builder *b, int etc_fd, const char *name,
			 struct sv target, struct err *e)
{
	char content[COPY_MAX + 1];
	auto_fd int fd = openat(etc_fd, name, O_RDONLY | O_CLOEXEC |
				O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof content);

	if (n < 0 && (errno == EACCES || errno == EPERM))
		return 0;	/* not ours to read, inside neither */
	if (n < 0)
		return err_sys(e, "read %.*s", SV_FMT(target));
	if (n > COPY_MAX)
		add_tree(b, target, S_IFREG);
	else
		add_file(b, target.p, builder_dup(b, sv_of(content, (size_t)n)));
	return 0;
}

static bool on_etc_list(const char *name)
{
	for (const char *const *at = system_etc; *at; at++)
		if ((*at)[0] == name[0] &&
		    glob_match_segment(sv_str(*at), sv_str(name)))
			return true;
	return false;
}

static int plan_etc_entry(struct builder *b, int etc_fd,
			  const struct dirent *entry, struct err *e)
{
	struct sv target = builder_printf(b, "/etc/%s", entry->d_name);
	unsigned char type = entry->d_type;
	struct stat st;

	if (type == DT_UNKNOWN) {
		if (fstatat(etc_fd, entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "stat %.*s", SV_FMT(target));
		type = (unsigned char)IFTODT(st.st_mode);
	}
	if (type == DT_LNK)
		return add_host_link(b, etc_fd, entry->d_name, target, e);
	if (type == DT_DIR)
		add_tree(b, target, S_IFDIR);
	if (type == DT_REG)
		return plan_etc_file(b, etc_fd, entry->d_name, target, e);
	return 0;
}

/* /etc/ssl/... */
static int plan_paths(struct builder *b, struct err *e)
{
	struct sv made = { 0 };

	for (const char *const *at = system_paths; *at; at++) {
		struct sv path = sv_str(*at), dir = area_parent(path);
		struct stat st;

		if (fstatat(AT_FDCWD, *at, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!sv_eq(made, dir))
			add_directory(b, builder_dup(b, dir), 0755);
		made = dir;
		if (S_ISDIR(st.st_mode))
			add_tree(b, path, S_IFDIR);
		else if (S_ISLNK(st.st_mode) &&
			 add_host_link(b, AT_FDCWD, *at, path, e) < 0)
			return -1;
		else if (S_ISREG(st.st_mode) &&
			 plan_etc_file(b, AT_FDCWD, *at, path, e) < 0)
			return -1;
	}
	return 0;
}

static int plan_etc(struct builder *b, struct err *e)
{
	auto_dir DIR *dir = opendir("/etc");
	const struct dirent *entry;

	if (!dir)
		return err_sys(e, "open /etc");
	for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0)
		if (on_etc_list(entry->d_name) &&
		    plan_etc_entry(b, dirfd(dir), entry, e) < 0)
			return -1;
	if (errno)
		return err_sys(e, "read /etc");
	return 0;
}

static struct sv login_shell(const struct builder *b)
{
	for (char *const *at = b->plan->envp; at && *at; at++) {
		struct sv v = sv_str(*at);

		if (sv_starts(v, SV("SHELL=/")) && sv_find(v, ':') == v.n &&
		    sv_find(v, '\n') == v.n)
			return sv_from(v, 6);
	}
	return SV("/bin/sh");
}

static void plan_names(struct builder *b)
{
	unsigned uid = b->plan->uid, gid = b->plan->gid;

	add_file(b, "/etc/passwd", builder_printf(b,
		"root:x:0:0:root:/:/usr/sbin/nologin\n"
		"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"
		"%.*s:x:%u:%u::%.*s:%.*s\n", SV_FMT(b->user), uid, gid,
		SV_FMT(b->home), SV_FMT(login_shell(b))));
	add_file(b, "/etc/group", builder_printf(b,
		"root:x:0:\nnogroup:x:65534:\n%.*s:x:%u:\n",
		SV_FMT(b->user), gid));
	add_file(b, "/etc/nsswitch.conf", SV(
		"passwd: files\ngroup: files\nhosts: files dns\n"
		"networks: files\nprotocols: files\nservices: files\n"
		"ethers: files\nrpc: files\n"));
	add_file(b, "/etc/hosts", SV(
		"127.0.0.1\tlocalhost stockade\n"
		"::1\tlocalhost ip6-localhost ip6-loopback\n"));
	/* Whatever address is asked, the question is answered by edge. */
	add_file(b, "/etc/resolv.conf", SV("nameserver 10.111.0.1\n"));
}

static void plan_devices(struct builder *b)
{
	add_directory(b, SV("/dev"), 0755);
	for (const struct device *d = device_list; d->name; d++) {
		struct step *s = builder_step(b, STEP_DEVICE,
			builder_printf(b, "/dev/%s", d->name), why);

		s->source = s->target;
		s->flags = STEP_SYSTEM;
	}
	builder_step(b, STEP_TERMINALS, SV("/dev/pts"), why)->flags =
		STEP_SYSTEM;
}

static void plan_proc(struct builder *b)
{
	builder_step(b, STEP_PROC, SV("/proc"), SV("read-only, hidepid"))->flags =
		STEP_SYSTEM;
	for (const char *const *at = system_proc_hidden; *at; at++) {
		char path[64];
		struct stat st;
		struct step *s;

		/* The same kernel, so the same names as in the host's. */
		(void)snprintf(path, sizeof path, "/proc/%s", *at);
		if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    (st.st_uid == 0 && !(st.st_mode & 077)))
			continue;
		s = builder_step(b, STEP_COVER, builder_dup(b, sv_str(path)),
				 why);
		s->identity.type = st.st_mode & S_IFMT;
		s->flags = STEP_SYSTEM;
	}
}

int system_plan(struct builder *b, struct err *e)
{
	builder_step(b, STEP_ROOT, SV("/"), why)->flags = STEP_SYSTEM;
	if (plan_roots(b, e) < 0)
		return -1;
	add_directory(b, SV("/etc"), 0755);
	if (plan_etc(b, e) < 0 || plan_paths(b, e) < 0)
		return -1;
	plan_names(b);
	add_directory(b, SV("/var"), 0755);
	plan_devices(b);
	plan_proc(b);
	for (const struct system_link *at = system_links; at->path; at++)
		add_link(b, sv_str(at->path), sv_str(at->target));
	for (const struct system_private *at = system_privates; at->path; at++)
		area_add(b, AREA_PRIVATE, sv_str(at->path), why)->mode =
			at->mode;
	area_add(b, AREA_PRIVATE, b->home, SV("an empty home"))->mode = 0700;
	add_directory(b, SV("/run"), 0755);
	add_directory(b, SV("/run/user"), 0755);
	add_directory(b, builder_printf(b, "/run/user/%u", b->plan->uid), 0700);
	add_directory(b, SV("/run/shm"), 01777);
	return 0;
}
