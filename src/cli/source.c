/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run's policy comes from: see source.h. */
#include "source.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_config.h"
#include "io.h"
#include "narrow.h"
#include "nearest.h"
#include "own.h"
#include "parse.h"
#include "program.h"
#include "statement.h"
#include "trust.h"

/* Everything that the places are looked up with. */
struct places {
	struct policy *policy;
	char cwd[PATH_MAX];
	struct sv home;
	struct buf config;		/* $XDG_CONFIG_HOME/stockade, or empty */
	struct buf shipped;		/* where the profiles lie */
	struct buf text;		/* of the profile that was read last */
	struct buf said;		/* of the client that was asked last */
};

static void places_fini(struct places *p)
{
	buf_free(&p->config);
	buf_free(&p->shipped);
	buf_free(&p->text);
	buf_free(&p->said);
}
#define auto_places __attribute__((cleanup(places_fini)))

/* Run from the build folder the helpers are beside the program, and the
 * profiles in the folder next to it. */
static void find_shipped(struct buf *ret)
{
	struct sv dir = program_dir();
	auto_buf struct buf helper = buf_new(PATH_MAX);

	buf_put(&helper, dir);
	buf_puts(&helper, "/stockade-edge");
	if (dir.n && buf_cstr(&helper) && access(helper.p, X_OK) == 0) {
		buf_put(ret, dir);
		buf_puts(ret, "/../policies");
	} else {
		buf_puts(ret, STOCKADE_DATADIR "/policies");
	}
}

static int find_places(struct places *p, struct err *e)
{
	const char *home = secure_getenv("HOME");
	const char *config = secure_getenv("XDG_CONFIG_HOME");

	p->config = buf_new(PATH_MAX);
	p->shipped = buf_new(PATH_MAX);
	p->text = buf_new(POLICY_TEXT_MAX);
	p->said = buf_new(POLICY_TEXT_MAX);
	if (!getcwd(p->cwd, sizeof p->cwd))
		return err_sys(e, "find the working directory");
	if (p->cwd[0] != '/')
		return err_kind(e, ERR_POLICY,
				"the working directory cannot be reached");
	if (home && home[0] == '/')
		p->home = sv_str(home);
	/* The base directory specification: a relative path is ignored. */
	if (config && config[0] == '/') {
		buf_puts(&p->config, config);
		buf_puts(&p->config, "/stockade");
	} else if (p->home.n) {
		buf_put(&p->config, p->home);
		buf_puts(&p->config, "/.config/stockade");
	}
	find_shipped(&p->shipped);
	if (p->config.full || p->shipped.full)
		return err_kind(e, ERR_LIMIT, "a directory's name is too long");
	return 0;
}

/* DIR/NAME in b, as a C string. */
static const char *join(struct buf *b, const struct buf *dir, const char *slash,
			struct sv name)
{
	buf_reset(b);
	buf_put(b, buf_sv(dir));
	buf_puts(b, slash);
	buf_put(b, name);
	return buf_cstr(b);
}

static int keep_file(struct policy *p, struct sv path, struct err *e)
{
	struct sv *kept = arena_push(&p->arena, &p->files, &p->files_n,
				     &p->files_cap);

	if (kept)
		*kept = arena_dup(&p->arena, path);
	return kept && kept->p ? 0 :
		err_kind(e, ERR_LIMIT, "the policy is too large");
}

/* The name in its true directory, which may be a link to the file. */
static int put_name(struct buf *ret, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	auto_free char *dir = !slash ? strdup(".") :
			      slash == path ? strdup("/") :
			      strndup(path, (size_t)(slash - path));
	auto_free char *real = dir ? realpath(dir, NULL) : NULL;

	if (!real)
		return err_sys(e, "find the directory of %s", path);
	buf_puts(ret, real[1] ? real : "");
	buf_putc(ret, '/');
	buf_puts(ret, slash ? slash + 1 : path);
	return buf_check(ret, "the policy's name", e);
}

/* The file, last, and the name that led to it: with another link in its place
 * the next run would read another file. */
static int remember_file(struct policy *p, int fd, const char *path,
			 struct err *e)
{
	auto_buf struct buf name = buf_new(2 * PATH_MAX);
	auto_free char *real = NULL;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %s", path);
	/* A pipe or a terminal has no place that could be protected. */
	if (!S_ISREG(st.st_mode))
		return 0;
	real = realpath(path, NULL);
	if (!real)
		return err_sys(e, "find %s", path);
	if (put_name(&name, path, e) < 0)
		return -1;
	if (!sv_eq(buf_sv(&name), sv_str(real)) &&
	    keep_file(p, buf_sv(&name), e) < 0)
		return -1;
	return keep_file(p, sv_str(real), e);
}

/* 1: read; 0: there is none; -1. */
static int read_policy(struct places *p, const char *path, bool regular,
		       struct buf *ret, struct err *e)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	auto_fd int fd = open(path, regular ? flags | O_NONBLOCK : flags);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %s", path);
	if (regular && !S_ISREG(st.st_mode))
		return err_kind(e, ERR_POLICY, "%s is no regular file", path);
	if (io_read_all(fd, ret, e) < 0)
		return err_ctx(e, "read %s", path);
	if (p && remember_file(p->policy, fd, path, e) < 0)
		return -1;
	return 1;
}

int source_read_regular(const char *path, struct buf *ret, struct err *e)
{
	int got = read_policy(NULL, path, true, ret, e);

	if (got == 0)
		return err_kind(e, ERR_POLICY, "%s does not exist", path);
	return got < 0 ? -1 : 0;
}

static void offer_names(const char *dir, struct nearest *n, struct arena *a)
{
	auto_dir DIR *d = opendir(dir);
	const struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			nearest_offer(n, arena_dup(a, sv_str(entry->d_name)));
}

static int no_profile(struct places *p, struct sv name, struct buf *path,
		      struct err *e)
{
	auto_arena struct arena a = arena_new(1 << 18);
	struct nearest n = nearest_to(name);

	if (p->config.n && join(path, &p->config, "/", SV("policies")))
		offer_names(path->p, &n, &a);
	if (buf_cstr(&p->shipped))
		offer_names(p->shipped.p, &n, &a);
	if (n.best.p)
		return err_kind(e, ERR_POLICY,
			"there is no profile %.*s; did you mean %.*s?",
			SV_FMT(name), SV_FMT(n.best));
	return err_kind(e, ERR_POLICY, "there is no profile %.*s",
			SV_FMT(name));
}

/* The user's own profiles come first: they may replace a shipped one. */
static int load_profile(void *ctx, struct sv name, struct sv *ret_text,
			struct err *e)
{
	struct places *p = ctx;
	auto_buf struct buf path = buf_new(PATH_MAX);
	int got = 0;

	buf_reset(&p->text);
	if (p->config.n) {
		if (!join(&path, &p->config, "/policies/", name))
			return err_kind(e, ERR_LIMIT, "the name is too long");
		got = read_policy(p, path.p, true, &p->text, e);
	}
	if (got == 0) {
		if (!join(&path, &p->shipped, "/", name))
			return err_kind(e, ERR_LIMIT, "the name is too long");
		got = read_policy(p, path.p, true, &p->text, e);
	}
	if (got == 0)
		return no_profile(p, name, &path, e);
	*ret_text = buf_sv(&p->text);
	return got < 0 ? -1 : 0;
}

static int ask_client(void *ctx, struct sv client, struct sv *ret_text,
		      struct err *e)
{
	struct places *p = ctx;

	buf_reset(&p->said);
	if (client_config(client, p->cwd, &p->said, e) < 0)
		return -1;
	*ret_text = buf_sv(&p->said);
	return 0;
}

static struct policy_source source_of(struct places *p, const char *name,
				      struct sv text)
{
	return (struct policy_source){
		.name = sv_str(name), .text = text, .base = sv_str(p->cwd),
		.home = p->home, .load = load_profile, .ask = ask_client,
		.load_ctx = p,
	};
}

static int load_flags(struct places *p, const struct source_options *o,
		      struct err *e)
{
	struct policy_source s = source_of(p, "", (struct sv){ 0 });

	for (size_t i = 0; i < o->statements_n; i++) {
		const struct source_flag *f = &o->statements[i];

		if (policy_flag(p->policy, sv_of(f->word, f->word_n),
				sv_str(f->value), &s, e) < 0)
			return -1;
	}
	return 0;
}

/* What this run's policy is known by, when the last `read` was a file. */
static int name_policy(struct policy *p, size_t files_before, struct err *e)
{
	struct sv *named;

	if (p->files_n == files_before)
		return 0;	/* a pipe */
	named = arena_push(&p->arena, &p->named, &p->named_n, &p->named_cap);
	if (!named)
		return err_kind(e, ERR_LIMIT, "the policy is too large");
	*named = p->files[p->files_n - 1];
	return 0;
}

static int load_files(struct places *p, const struct source_options *o,
		      struct err *e)
{
	for (size_t i = 0; i < o->files_n; i++) {
		auto_buf struct buf text = buf_new(POLICY_TEXT_MAX);
		size_t before = p->policy->files_n;
		int got = read_policy(p, o->files[i], false, &text, e);
		struct policy_source s = source_of(p, o->files[i],
						   buf_sv(&text));

		if (got == 0)
			return err_kind(e, ERR_POLICY,
					"the policy file %s does not exist",
					o->files[i]);
		if (got < 0 || name_policy(p->policy, before, e) < 0 ||
		    policy_parse(p->policy, &s, e) < 0)
			return -1;
	}
	return 0;
}

/* A project proposes; only what the user has reviewed is used. */
static int load_project(struct places *p, struct err *e)
{
	auto_buf struct buf text = buf_new(POLICY_TEXT_MAX);
	size_t before = p->policy->files_n;
	int got = read_policy(p, SOURCE_PROJECT_FILE, true, &text, e);
	struct policy_source s = source_of(p, SOURCE_PROJECT_FILE,
					   buf_sv(&text));
	enum trust trust;

	if (got <= 0)
		return got;
	if (trust_look(p->policy->files[p->policy->files_n - 1],
		       buf_sv(&text), &trust, e) < 0)
		return -1;
	if (trust != TRUST_HOLDS)
		return err_kind(e, ERR_POLICY,
			"%s %s: read it, then run `stockade trust`, or name a "
			"policy with --policy FILE",
			SOURCE_PROJECT_FILE, trust == TRUST_CHANGED ?
				"has changed since it was trusted" :
				"is the project's proposal, and not trusted");
	if (name_policy(p->policy, before, e) < 0)
		return -1;
	return policy_parse(p->policy, &s, e);
}

static int load_user(struct places *p, struct err *e)
{
	auto_buf struct buf text = buf_new(POLICY_TEXT_MAX);
	auto_buf struct buf path = buf_new(PATH_MAX);
	int got;

	if (p->config.n == 0)
		return 0;
	if (!join(&path, &p->config, "/", SV("policy")))
		return err_kind(e, ERR_LIMIT, "the path is too long");
	got = read_policy(p, path.p, false, &text, e);
	if (got > 0) {
		struct policy_source s = source_of(p, path.p, buf_sv(&text));

		return policy_parse(p->policy, &s, e);
	}
	return got;
}

/* A profile may not open anything, but it is guarded as a policy is: what the
 * next run may do is not for this one to say. */
static int load_filter(struct places *p, struct syscalls_rule *r,
		       struct seccomp_filter *ret, struct err *e)
{
	auto_buf struct buf text = buf_new(POLICY_TEXT_MAX);
	struct arena *a = &p->policy->arena;
	const char *path = arena_str(a, r->path);
	struct syscall_profile *profile = arena_make(a, struct syscall_profile);
	int got;

	if (!path || !profile)
		return err_kind(e, ERR_LIMIT, "the policy is too large");
	got = read_policy(p, path, true, &text, e);
	if (got == 0 && !r->optional)
		return err_kind(e, ERR_POLICY, "%.*s does not exist; `syscalls? "
				"FILE` makes it optional",
				SV_FMT(name_tail(r->path)));
	if (got <= 0)
		return got;
	if (syscall_profile_parse(buf_sv(&text), r->path, a, profile, e) < 0 ||
	    narrow_profile(profile, name_tail(r->path), p->policy->debug, a,
			   ret, e) < 0)
		return -1;
	r->profile = profile;
	return 1;
}

static int load_filters(struct places *p, struct err *e)
{
	struct policy *policy = p->policy;

	for (size_t i = 0; i < policy->syscalls_n; i++) {
		struct syscalls_rule *r = &policy->syscalls[i];
		struct seccomp_filter *f = arena_make(&policy->arena,
						      struct seccomp_filter);
		int got = 1;

		if (!f)
			return err_kind(e, ERR_LIMIT, "the policy is too large");
		if (!r->strict)
			got = load_filter(p, r, f, e);
		else if (narrow_strict(policy->debug, &policy->arena, f, e) < 0)
			return -1;
		if (got < 0)
			return -1;
		if (got == 0)
			continue;
		r->filter = f;
		if (narrow_compile(f, r->strict ? SV("syscalls strict") :
				   name_tail(r->path), &policy->arena,
				   &r->program, e) < 0)
			return -1;
	}
	return 0;
}

int source_load(const struct source_options *o, struct policy *ret,
		struct err *e)
{
	auto_places struct places p = { .policy = ret };

	*ret = policy_new();
	if (find_places(&p, e) < 0 || load_flags(&p, o, e) < 0)
		return -1;
	if ((o->files_n ? load_files(&p, o, e) : load_project(&p, e)) < 0 ||
	    load_user(&p, e) < 0)
		return -1;
	if (policy_check(ret, e) < 0)
		return -1;
	return load_filters(&p, e);
}

int source_folders(struct arena *a, struct sv ret[2], struct err *e)
{
	auto_places struct places p = { 0 };

	if (find_places(&p, e) < 0)
		return -1;
	ret[0] = arena_dup(a, buf_sv(&p.config));
	ret[1] = arena_dup(a, buf_sv(&p.shipped));
	return ret[0].p && ret[1].p ? 0 :
		err_kind(e, ERR_LIMIT, "out of memory");
}
