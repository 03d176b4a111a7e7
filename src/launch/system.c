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
#include "glob.h"
#include "java.h"
#include "own.h"
#include "system_tables.h"
#include "template.h"

enum { COPY_MAX = 65536 };	/* bytes; what is longer is bound */

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

static int add_host_link(struct builder *b, const char *path, struct err *e)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof text);

	if (n < 0)
		return err_sys(e, "read link %s", path);
	add_link(b, sv_str(path), builder_dup(b, sv_of(text, (size_t)n)));
	return 0;
}

/* Masks cover what lies in a tree (walk.c): no copy does, nor a tree itself. */
static bool is_hidden(const struct builder *b, struct sv path)
{
	for (size_t i = 0; i < b->policy->grants_n; i++) {
		const struct grant *g = &b->policy->grants[i];

		if (g->kind == GRANT_HIDE &&
		    (g->is_glob ? glob_match(g->path, path) :
				  area_contains(g->path, path)))
			return true;
	}
	return false;
}

/* A regular file: a copy, where it is small. */
static void plan_file(struct builder *b, const char *path,
		      const struct stat *st)
{
	char version[TEMPLATE_VERSION_SIZE];
	struct step *s;

	if (st->st_size > COPY_MAX) {
		add_tree(b, sv_str(path), S_IFREG);
		return;
	}
	/* Root reads every file, but the agent is nobody's owner. */
	if (b->plan->as_root && !(st->st_mode & S_IROTH))
		return;
	if (is_hidden(b, sv_str(path)))
		return;
	s = add(b, STEP_COPY, sv_str(path));
	s->source = builder_dup(b, template_version(st, version));
}

/* Of each what is there, and may be looked at. */
static int plan_list(struct builder *b, const char *const *list, struct err *e)
{
	for (; *list; list++) {
		const char *path = *list;
		struct stat st;

		builder_at(b, sv_str(path));
		if (is_hidden(b, area_parent(sv_str(path))) ||
		    lstat(path, &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode) && add_host_link(b, path, e) < 0)
			return -1;
		if (S_ISDIR(st.st_mode))
			add_tree(b, sv_str(path), S_IFDIR);
		if (S_ISREG(st.st_mode))
			plan_file(b, path, &st);
	}
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

/* Of the authority: what is mounted over (trust.c), and who reads it by its
 * own way alone, policies of the administrator of a machine. */
static void plan_trust(struct builder *b)
{
	add_file(b, "/etc/stockade/ca.pem", SV(""));
	add_file(b, "/etc/stockade/bundle.pem", SV(""));
	add_file(b, "/etc/stockade/browser.json", SV(""));
	add_file(b, JAVA_STORE, SV(""));
	for (const char *const *at = system_browsers; *at; at++)
		add_link(b, builder_printf(b, "%s/policies/managed/stockade."
					   "json", *at),
			 SV("/etc/stockade/browser.json"));
	add_file(b, "/etc/firefox/policies/policies.json", SV(
		"{\"policies\":{\"Certificates\":{\"Install\":"
		"[\"/etc/stockade/ca.pem\"]}}}\n"));
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
	if (b->plan->wants_ca)
		plan_trust(b);
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
	for (const char *const *at = system_proc_hidden; *at; at++)
		add(b, STEP_COVER, sv_str(*at));
}

int system_plan(struct builder *b, struct err *e)
{
	add(b, STEP_ROOT, SV("/"))->source =
		b->plan->limits.by_kind[LIMIT_DISK].shown;
	plan_proc(b);
	if (plan_list(b, system_roots, e) < 0)
		return -1;
	add(b, STEP_TEMPLATE, SV("/etc"));
	if (plan_list(b, system_etc, e) < 0)
		return -1;
	plan_names(b);
	add_directory(b, SV("/var"), 0755);
	plan_devices(b);
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
