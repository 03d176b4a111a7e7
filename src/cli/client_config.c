/* SPDX-License-Identifier: Apache-2.0 */
/* From a client's configuration to statements: see client_config.h. */
#include "client_config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base64.h"
#include "client_answer.h"
#include "filepath.h"
#include "io.h"
#include "own.h"
#include "run_dir.h"
#include "sha256.h"
#include "text_form.h"

#define CLIENTS_DIR "clients"	/* below the state directory */

enum {
	ANSWER_MAX = 1 << 18, CLIENT_ARENA_MAX = 1 << 20,
	KEY_SIZE = 2 * SHA256_SIZE, KEPT_SECONDS = 24 * 60 * 60,
};

static const struct client {
	struct sv name;		/* in the policy, and of what is kept */
	const char *program;
	int (*ask)(const struct client_program *program, struct buf *ret,
		   struct err *e);
	/* Below each address: the accounts of a registry, also for whatever
	 * else is allowed there. */
	const char *const *denied;
} clients[] = {
	{ SV("npm"), "npm", client_npm,
	  (const char *const[]){ "/-/user/**", "/-/npm/v1/tokens/**",
				 "/-/npm/v1/user", NULL } },
	{ SV("apt"), "apt-get", client_apt,
	  (const char *const[]){ NULL } },
};

static void put_identity(struct buf *b, struct sv path, time_t *newest)
{
	auto_buf struct buf name = buf_new(PATH_MAX);
	struct stat st;

	buf_put(&name, path);
	if (!buf_cstr(&name) || stat(name.p, &st) < 0) {
		buf_puts(b, "absent\n");
		return;
	}
	if (st.st_mtim.tv_sec > *newest)
		*newest = st.st_mtim.tv_sec;
	buf_printf(b, "%llu %llu %lld %lld.%ld %lld.%ld\n",
		   (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
		   (long long)st.st_size, (long long)st.st_mtim.tv_sec,
		   st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
		   st.st_ctim.tv_nsec);
}

static bool is_setting(struct sv variable)
{
	static const struct sv names[] = {
		SV("HOME="), SV("PREFIX="), SV("APT_CONFIG="),
		SV("npm_lifecycle_event="),
	};

	for (size_t i = 0; i < countof(names); i++)
		if (sv_starts(variable, names[i]))
			return true;
	return sv_eq_nocase(sv_head(variable, 11), SV("npm_config_"));
}

/* What the answer depends on, as one number; *newest is when the last of the
 * files was written. */
static int put_key(const struct client_program *program, struct sv answer,
		   struct buf *ret, time_t *newest, struct err *e)
{
	auto_buf struct buf b = buf_new(ANSWER_MAX * 4);
	uint8_t hash[SHA256_SIZE];

	buf_printf(&b, "%s\n%s\n", program->path, program->search);
	put_identity(&b, sv_str(program->path), newest);
	for (char **v = environ; *v; v++)
		if (is_setting(sv_str(*v)))
			buf_printf(&b, "%s\n", *v);
	for (struct sv rest = answer; rest.n;) {
		struct sv file = client_answer_next(&rest, "file");

		if (file.p)
			put_identity(&b, file, newest);
	}
	buf_put(&b, answer);
	if (buf_check(&b, "the configuration", e) < 0)
		return -1;
	sha256(buf_sv(&b), hash);
	buf_put_hex(ret, sv_of((const char *)hash, sizeof hash));
	return 0;
}

/* Is there something that still holds?  It is then in *ret. */
static bool recall(const struct client *c,
		   const struct client_program *program, struct buf *ret)
{
	auto_fd int dir_fd = -1, fd = -1;
	auto_buf struct buf kept = buf_new(ANSWER_MAX);
	auto_buf struct buf key = buf_new(KEY_SIZE + 1);
	struct err why = { 0 };
	struct stat st;
	struct sv answer;
	time_t newest = 0, now = time(NULL);

	if (run_state_open(CLIENTS_DIR, false, &dir_fd, &why) < 0)
		return false;
	fd = openat(dir_fd, c->name.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_mtim.tv_sec > now ||
	    now - st.st_mtim.tv_sec > KEPT_SECONDS ||
	    io_read_all(fd, &kept, &why) < 0 || kept.n <= KEY_SIZE)
		return false;
	answer = sv_from(buf_sv(&kept), KEY_SIZE + 1);
	if (put_key(program, answer, &key, &newest, &why) < 0 ||
	    !sv_eq(buf_sv(&key), sv_head(buf_sv(&kept), KEY_SIZE)))
		return false;
	buf_put(ret, answer);
	return true;
}

static bool write_kept(int dir_fd, const char *name, struct sv key,
		       struct sv answer)
{
	auto_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC |
					      O_NOFOLLOW | O_CLOEXEC, 0600);
	struct err ignored;

	return fd >= 0 && io_write_all(fd, key, &ignored) == 0 &&
	       io_write_all(fd, SV("\n"), &ignored) == 0 &&
	       io_write_all(fd, answer, &ignored) == 0;
}

/* For the next time; where that cannot be, it is asked again. */
static void keep(const struct client *c, const struct client_program *program,
		 struct sv answer, time_t began)
{
	auto_buf struct buf temporary = buf_new(64);
	auto_buf struct buf key = buf_new(KEY_SIZE + 1);
	auto_fd int dir_fd = -1;
	struct err ignored;
	time_t newest = 0;

	buf_printf(&temporary, "%s.%ld", c->name.p, (long)getpid());
	/* The file may have been written since it was read. */
	if (put_key(program, answer, &key, &newest, &ignored) < 0 ||
	    newest >= began - 1 || !buf_cstr(&temporary) ||
	    run_state_open(CLIENTS_DIR, true, &dir_fd, &ignored) < 0)
		return;
	if (!write_kept(dir_fd, temporary.p, buf_sv(&key), answer) ||
	    renameat(dir_fd, temporary.p, dir_fd, c->name.p) < 0)
		(void)unlinkat(dir_fd, temporary.p, 0);
}

static const char remedy[] =
	"; `allow GET,HEAD HOST/PATH/**` says the same without asking";

static int ask(const struct client *c, const char *cwd, struct buf *ret,
	       struct err *e)
{
	auto_arena struct arena a = arena_new(CLIENT_ARENA_MAX);
	struct client_program program;
	time_t began = time(NULL);

	if (client_program_find(c->program, cwd, &a, &program, e) < 0)
		return -1;
	if (!program.path)
		return err_kind(e, ERR_POLICY, "there is no %s outside of the "
				"working directory%s", c->program, remedy);
	if (recall(c, &program, ret))
		return 0;
	if (c->ask(&program, ret, e) < 0) {
		struct err why = *e;

		return err_kind(e, ERR_POLICY, "ask %s: %.60s%s", c->program,
				why.msg, remedy);
	}
	if (buf_check(ret, "the client's answer", e) < 0)
		return -1;
	keep(c, &program, buf_sv(ret), began);
	return 0;
}

static bool is_url_char(char c)
{
	return is_unreserved(c) || (c && strchr("%/:@!$&'()+,;=[]", c));
}

/* Without scheme, user, usual port and slash at the end; .p NULL for what is no
 * such address. */
static struct sv target_of(struct sv url, struct sv *ret_scheme)
{
	bool tls = sv_starts(url, SV("https://"));
	struct sv usual = tls ? SV(":443") : SV(":80");
	struct sv rest = sv_from(url, tls ? 8 : 7), authority;

	if (!tls && !sv_starts(url, SV("http://")))
		return (struct sv){ 0 };
	for (size_t i = 0; i < url.n; i++)
		if (!is_url_char(url.p[i]))
			return (struct sv){ 0 };
	*ret_scheme = sv_head(url, tls ? 8 : 7);
	while (sv_ends(rest, SV("/")))
		rest.n--;
	for (authority = sv_head(rest, sv_find(rest, '/'));
	     sv_find(authority, '@') < authority.n;
	     authority = sv_head(rest, sv_find(rest, '/')))
		rest = sv_from(rest, sv_find(authority, '@') + 1);
	if (sv_ends(authority, usual) && authority.n == rest.n)
		rest.n -= usual.n;
	return rest;
}

static void put_rule(struct buf *b, const char *start, struct sv target,
		     const char *end)
{
	auto_buf struct buf word = buf_new(ANSWER_MAX);

	buf_put(&word, target);
	buf_puts(&word, end);
	buf_puts(b, start);
	text_form_word(b, buf_sv(&word));
	buf_putc(b, '\n');
	b->full |= word.full;
}

static int put_url(const struct client *c, struct sv url, bool set,
		   struct buf *ret, struct err *e)
{
	struct sv scheme, target = target_of(url, &scheme);
	auto_buf struct buf value = buf_new(ANSWER_MAX);

	if (!target.p)
		return err_kind(e, ERR_POLICY,
				"%s names \"%.*s\", which is no address that a "
				"rule can hold%s", c->program,
				(int)(url.n < 60 ? url.n : 60), url.p, remedy);
	if (set) {
		buf_printf(&value, "npm_config_registry=%.*s%.*s/",
			   SV_FMT(scheme), SV_FMT(target));
		put_rule(ret, "env set ", buf_sv(&value), "");
		return 0;
	}
	put_rule(ret, "allow GET,HEAD ", target, "/**");
	for (size_t i = 0; c->denied[i]; i++)
		put_rule(ret, "deny * ", target, c->denied[i]);
	return 0;
}

static void put_guard(struct sv path, struct buf *ret)
{
	auto_arena struct arena a = arena_new(4 * FILEPATH_MAX);
	struct filepath f = { .path = path };
	struct sv written = filepath_written(&f, &a);

	ret->full |= !written.p;
	put_rule(ret, "guard? ", written, "");
}

int client_config(struct sv client, const char *cwd, struct buf *ret,
		  struct err *e)
{
	auto_buf struct buf answer = buf_new(ANSWER_MAX);
	const struct client *c = clients;

	while (c < clients + countof(clients) && !sv_eq(c->name, client))
		c++;
	if (c == clients + countof(clients))
		return err_kind(e, ERR_BUG, "an unknown client");
	if (ask(c, cwd, &answer, e) < 0)
		return -1;
	for (struct sv rest = buf_sv(&answer); rest.n;) {
		struct sv line = sv_head(rest, sv_find(rest, '\n'));
		struct sv at = line, url = client_answer_next(&rest, "url");
		struct sv set = client_answer_next(&at, "set");
		struct sv guard;

		at = line;
		guard = client_answer_next(&at, "guard");
		if ((url.p && put_url(c, url, false, ret, e) < 0) ||
		    (set.p && put_url(c, set, true, ret, e) < 0))
			return -1;
		if (guard.p)
			put_guard(guard, ret);
	}
	return buf_check(ret, "the client's statements", e);
}
