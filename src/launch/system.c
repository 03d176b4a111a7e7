/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the new root that no policy names: system directories, /etc,
 * /dev, /proc, and the private directories.
 *
 * Nothing is copied that is not on a list (system_tables.c).  The files that
 * would tell about the host's users and network are written anew.  What of
 * this lies in /etc and /dev comes from a template (template.h).
 */
#include "builder.h"

#include <stdio.h>
#include <unistd.h>

#include "area.h"
#include "device.h"
#include "own.h"
#include "system_tables.h"

enum { COPY_MAX = 16384 };	/* bytes; what is longer is bound */

static const struct sv why = { "system", 6 };

static struct step *add(struct builder *b, enum step_kind kind,
			struct sv target)
{
	struct step *s = builder_step(b, kind, target, why);

	s->flags = STEP_SYSTEM;
	return s;
}

static void add_file(struct builder *b, const char *target, struct sv content)
{
	add(b, STEP_FILE, sv_str(target))->source = content;
}

static void add_link(struct builder *b, struct sv target, struct sv text)
{
	add(b, STEP_LINK, target)->source = text;
}

static void add_directory(struct builder *b, struct sv target, uint16_t mode)
{
	add(b, STEP_DIRECTORY, target)->mode = mode;
}

static void add_tree(struct builder *b, struct sv path, uint32_t type)
{
	area_add(b, AREA_SYSTEM, path, why)->identity.type = type;
}

static int add_host_link(struct builder *b, struct sv path, struct err *e)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path.p, text, sizeof text);

	if (n < 0)
		return err_sys(e, "read link %s", path.p);
	add_link(b, path, builder_dup(b, sv_of(text, (size_t)n)));
	return 0;
}

/* Which file it is, and which version of it: what is different when anything
 * was written to it. */
static struct sv version_of(struct builder *b, const struct stat *st)
{
	return builder_printf(b, "%ju:%ju %jd %jd.%09ld %jd.%09ld",
			      (uintmax_t)st->st_dev, (uintmax_t)st->st_ino,
			      (intmax_t)st->st_size,
			      (intmax_t)st->st_mtim.tv_sec,
			      st->st_mtim.tv_nsec,
			      (intmax_t)st->st_ctim.tv_sec,
			      st->st_ctim.tv_nsec);
}

/* A regular file: a copy, where it is small. */
static void plan_file(struct builder *b, const struct stat *st,
			  struct sv target)
{
	struct step *s;

	if (st->st_size > COPY_MAX) {
		add_tree(b, target, S_IFREG);
		return;
	}
	/* Root reads every file, but the agent is nobody's owner. */
	if (b->plan->as_root && !(st->st_mode & S_IROTH))
		return;
	s = add(b, STEP_COPY, target);
	s->source = version_of(b, st);
	s->identity = (struct path_identity){
		.dev = st->st_dev, .ino = st->st_ino, .type = S_IFREG,
	};
}

static int plan_entry(struct builder *b, const char *path, struct err *e)
{
	struct sv target;
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;	/* not there, or not for us */
	target = builder_dup(b, sv_str(path));
	if (S_ISLNK(st.st_mode))
		return add_host_link(b, target, e);
	if (S_ISDIR(st.st_mode))
		add_tree(b, target, S_IFDIR);
	else if (S_ISREG(st.st_mode))
		plan_file(b, &st, target);
	return 0;
}

static int plan_roots(struct builder *b, struct err *e)
{
	for (const char *const *at = system_roots; *at; at++)
		if (plan_entry(b, *at, e) < 0)
			return -1;
	return 0;
}

/* /etc/ssl/... */
static int plan_paths(struct builder *b, struct err *e)
{
	struct sv made = { 0 };

	for (const char *const *at = system_paths; *at; at++) {
		struct sv dir = area_parent(sv_str(*at));

		if (!sv_eq(made, dir))
			add_directory(b, builder_dup(b, dir), 0755);
		made = dir;
		if (plan_entry(b, *at, e) < 0)
			return -1;
	}
	return 0;
}

static int plan_name(struct builder *b, const struct system_name *name,
		     unsigned number, struct err *e)
{
	char path[64];

	if (name->last)
		(void)snprintf(path, sizeof path, "/etc/%s%u%s", name->name,
			       number, name->rest);
	else
		(void)snprintf(path, sizeof path, "/etc/%s", name->name);
	return plan_entry(b, path, e);
}

static int plan_etc(struct builder *b, struct err *e)
{
	for (const struct system_name *at = system_etc; at->name; at++)
		for (unsigned i = at->first; i <= at->last; i++)
			if (plan_name(b, at, i, e) < 0)
				return -1;
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
	add_file(b, "/etc/hostname", SV(HOST_NAME "\n"));
	add_file(b, "/etc/nsswitch.conf", SV(
		"passwd: files\ngroup: files\nhosts: files dns\n"
		"networks: files\nprotocols: files\nservices: files\n"
		"ethers: files\nrpc: files\n"));
	add_file(b, "/etc/hosts", SV(
		"127.0.0.1\tlocalhost " HOST_NAME "\n"
		"::1\tlocalhost ip6-localhost ip6-loopback\n"));
	if (b->plan->wants_ca) {	/* mounted over (special.c) */
		add_file(b, "/etc/stockade/ca.pem", SV(""));
		add_file(b, "/etc/stockade/bundle.pem", SV(""));
	}
	/* Whatever address is asked, the question is answered by edge. */
	add_file(b, "/etc/resolv.conf", SV("nameserver 10.111.0.1\n"));
}

static void plan_devices(struct builder *b)
{
	add(b, STEP_TEMPLATE, SV("/dev"));
	for (const struct device *d = device_list; d->name; d++) {
		struct sv path = builder_printf(b, "/dev/%s", d->name);

		add(b, STEP_DEVICE, path)->source = path;
	}
	add(b, STEP_TERMINALS, SV("/dev/pts"));
}

static void plan_proc(struct builder *b)
{
	add(b, STEP_PROC, SV("/proc"))->why = SV("read-only, hidepid");
	for (const char *const *at = system_proc_hidden; *at; at++) {
		char path[64];
		struct stat st;
		struct step *s;

		/* The same kernel, so the same names as in the host's. */
		(void)snprintf(path, sizeof path, "/proc/%s", *at);
		if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    (st.st_uid == 0 && !(st.st_mode & 077)))
			continue;
		s = add(b, STEP_COVER, builder_dup(b, sv_str(path)));
		s->identity.type = st.st_mode & S_IFMT;
	}
}

int system_plan(struct builder *b, struct err *e)
{
	add(b, STEP_ROOT, SV("/"));
	if (plan_roots(b, e) < 0)
		return -1;
	add(b, STEP_TEMPLATE, SV("/etc"));
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
