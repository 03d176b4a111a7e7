/* SPDX-License-Identifier: Apache-2.0 */
#include "sentry_parts.h"

#include <sys/stat.h>
#include <unistd.h>

#include "guards.h"
#include "kept.h"
#include "loop.h"
#include "made.h"
#include "own.h"
#include "tap.h"
#include "walk.h"

static struct creation_rule rules[] = {
	{ .base = { "/ws", 3 }, .tail = { ".envrc", 6 }, .is_default = true },
	{ .base = { "/ws", 3 }, .tail = { ".git/config", 11 },
	  .is_default = true },
	{ .base = { "/ws", 3 }, .tail = { ".stockade-plain-*", 17 },
	  .is_default = true },
};
static struct sv lifted[] = { { "/ws/a/.envrc", 12 } };
static struct plan plan = {
	.creation = rules, .creation_n = countof(rules),
	.lifted = lifted, .lifted_n = countof(lifted),
};
static struct area areas[] = {
	{ .kind = AREA_NAMED, .write = true, .path = { "/ws", 3 },
	  .identity.type = S_IFDIR },
	{ .kind = AREA_PRIVATE, .path = { "/ws/tmp", 7 } },
	{ .kind = AREA_NAMED, .path = { "/ws/s", 5 },
	  .identity.type = S_IFSOCK },
};
static struct grant marks[] = {
	{ .kind = GRANT_HIDE, .is_glob = true, .path = { "/ws/src/**/*.pem", 16 },
	  .text = { "hide", 4 } },
	{ .kind = GRANT_HIDE, .path = { "/ws/secrets", 11 } },
};
static struct builder builder = {
	.plan = &plan, .areas = areas, .areas_n = countof(areas),
	.marks = marks, .marks_n = countof(marks),
};

static struct sentry_name name_of(const char *path, uint32_t type)
{
	return (struct sentry_name){
		.path = sv_str(path), .type = type,
		.name = sv_str(strrchr(path, '/') + 1),
	};
}

static enum sentry_word decide(const char *path, uint32_t type, unsigned look,
			       struct creation_made *made)
{
	const struct sentry_name n = name_of(path, type);
	enum sentry_word word;
	struct sieve sieve = { 0 };
	struct sv why;

	builder.plan = &plan;
	word = sentry_decide(&builder, &n, look, made, &why);
	sentry_sieve(&builder, &sieve);
	if (word != SENTRY_LEAVE && word != SENTRY_SOCKET)
		CHECK(sieve_lets_through(&sieve, n.name.p));
	CHECK(!sieve_lets_through(&sieve, "f1"));
	return word;
}

static void test_what_is_hidden(void)
{
	CHECK(decide("/ws/secrets", S_IFDIR, 0, NULL) == SENTRY_COVER);
	CHECK(decide("/ws/src/a/b.pem", S_IFREG, 0, NULL) == SENTRY_COVER);
	CHECK(decide("/ws/src/b.pem", S_IFLNK, 0, NULL) == SENTRY_COVER);
	CHECK(decide("/ws/b.pem", S_IFREG, 0, NULL) == SENTRY_LEAVE);
	CHECK(decide("/ws/.env", S_IFREG, SENTRY_WRITE, NULL) == SENTRY_LEAVE);
	CHECK(decide("/ws/x", S_IFSOCK, 0, NULL) == SENTRY_SOCKET);
	CHECK(decide("/ws/s", S_IFSOCK, 0, NULL) == SENTRY_LEAVE);
}

static bool is_own(struct creation_made *m, struct sv path, size_t n)
{
	(void)m;
	return sv_starts(path, SV("/ws/own/")) && n == 1;
}

static void test_what_is_guarded(void)
{
	struct creation_made made = { .has = is_own };

	CHECK(decide("/ws/.envrc", S_IFREG, 0, NULL) == SENTRY_LEAVE);
	CHECK(decide("/ws/.envrc", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_GUARD);
	CHECK(decide("/ws/a/.envrc", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_LEAVE);
	CHECK(decide("/ws/own/.envrc", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_LEAVE);
	/* Another spelling is not made by the agent, and was not guarded. */
	CHECK(decide("/ws/.ENVRC", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_LEAVE);
	CHECK(decide("/ws/x/.git/config", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_GUARD);
	CHECK(decide("/ws/own/.git/config", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_LEAVE);
	CHECK(decide("/ws/.git", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_POINTER);
	CHECK(decide("/ws/.git", S_IFDIR, SENTRY_WRITE, &made) == SENTRY_LEAVE);
	CHECK(decide("/ws/.stockade-plain-1", S_IFREG, SENTRY_WRITE, &made) ==
	      SENTRY_LEAVE);
}

static bool goes_below(const char *path, unsigned *look)
{
	const struct sentry_name n = name_of(path, S_IFDIR);

	return sentry_goes_below(&builder, &n, look);
}

static void test_where_it_looks(void)
{
	unsigned look = SENTRY_WRITE;

	CHECK(goes_below("/ws/a", &look) && look == SENTRY_WRITE);
	CHECK(!goes_below("/ws", &look));
	CHECK(!goes_below("/ws/tmp", &look));
	CHECK(goes_below("/ws/node_modules", &look));
	CHECK(look == (SENTRY_WRITE | SENTRY_SHALLOW));
	CHECK(!goes_below("/ws/node_modules/a", &look));
	look = 0;
	/* A pattern may name something there. */
	CHECK(goes_below("/ws/src/node_modules", &look) && look == 0);
	CHECK(goes_below("/ws/.git", &look));
	CHECK(look == (SENTRY_SHALLOW | SENTRY_GIT));
	CHECK(goes_below("/ws/.git/info", &look) && look == SENTRY_SHALLOW);
	CHECK(!goes_below("/ws/.git/info/x", &look));
	CHECK(sentry_must_see(&builder, SV("/ws")));
	CHECK(!sentry_must_see(&builder, SV("/ws/a")));
}

static int add(struct sentry_tree *t, const char *path, uint32_t parent,
	       const char *name)
{
	auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e = { 0 };

	return fd < 0 ? -1 : sentry_tree_add(t, fd, parent, sv_str(name), 0, &e);
}

/* below is NULL for "not known any more". */
static bool is_called(const struct sentry_tree *t, uint32_t dir,
		      const char *base, const char *below)
{
	char room[PATH_MAX];
	const struct sv path = sentry_tree_path(t, dir, room);

	return below ? sv_starts(path, sv_str(base)) &&
		       sv_eq(sv_from(path, strlen(base)), sv_str(below)) :
		       path.n == 0;
}

static void test_directories_keep_their_place(void)
{
	char base[] = "/tmp/sentry.XXXXXX";
	struct sentry_tree t;
	struct err e;
	uint32_t a, b;

	CHECK(mkdtemp(base) && chdir(base) == 0);
	CHECK(mkdir("a", 0700) == 0 && mkdir("a/b", 0700) == 0);
	CHECK(sentry_tree_open(&t, &e) == 0);
	CHECK(add(&t, base, 0, base) == 0);
	CHECK(sentry_tree_take(&t) == 1 && sentry_tree_take(&t) == 0);
	CHECK(add(&t, "a", 1, "a") == 0);
	CHECK(chdir(base) == 0 && add(&t, "a/b", 2, "b") == 0);
	a = sentry_tree_take(&t);
	b = sentry_tree_take(&t);
	CHECK(a == 2 && b == 3 && t.watched == 3);
	/* Found again under another name, it has all below it there. */
	CHECK(chdir(base) == 0 && rename("a", "c") == 0);
	CHECK(add(&t, "c", 1, "c") == 0 && t.watched == 3);
	CHECK(is_called(&t, a, base, "/c"));
	CHECK(is_called(&t, b, base, "/c/b"));
	/* What is gone is kept as long as something seems to be in it. */
	sentry_tree_ignored(&t, t.v[a].wd);
	CHECK(is_called(&t, b, base, NULL) && t.watched == 2);
	sentry_tree_ignored(&t, t.v[b].wd);
	CHECK(sentry_tree_take(&t) == 0 && t.free);
	CHECK(chdir(base) == 0 && rmdir("c/b") == 0 && rmdir("c") == 0);
	CHECK(chdir("/") == 0 && rmdir(base) == 0);
	CHECK(close(t.inotify_fd) == 0);
	for (uint32_t i = 1; i < t.n; i++)
		free(t.v[i].name);
	free(t.v);
	free(t.buckets);
}

static bool is_still(const char *path)
{
	return strcmp(path, "/ws/gone/x") != 0;
}

static void test_what_is_kept(void)
{
	struct kept *k = calloc(1, sizeof *k);

	CHECK(k && !kept_below(k, SV("/"), is_still) && !kept_below(NULL, SV("/"), is_still));
	CHECK(kept_add(k, SV("/ws/a/.envrc")) && kept_add(k, SV("/ws/b/x")));
	CHECK(kept_below(k, SV("/ws"), is_still) && kept_below(k, SV("/ws/a"), is_still));
	CHECK(kept_below(k, SV("/ws/b"), is_still) && !kept_below(k, SV("/ws/b/x"), is_still));
	CHECK(!kept_below(k, SV("/ws/c"), is_still));
	CHECK(kept_add(k, SV("/ws/gone/x")));
	CHECK(!kept_below(k, SV("/ws/gone"), is_still));
	k->n = KEPT_BYTES - 3;
	CHECK(!kept_add(k, SV("/ws/c/x")));
	free(k);
}

static void test_who_looks_on_knows_what_was_made(void)
{
	char base[] = "/tmp/sentry.XXXXXX";
	struct made_log *log = calloc(1, sizeof *log);
	struct made writer = { .log = log }, reader = { 0 };
	size_t seen = 0;

	CHECK(log && mkdtemp(base));
	made_turn(log);
	made_add(&writer, AT_FDCWD, base, 0);
	CHECK(!made_has(&reader, AT_FDCWD, base));
	made_turn(log);
	made_await(log);
	made_follow(&reader, log, &seen);
	CHECK(seen == 1 && made_has(&reader, AT_FDCWD, base));
	CHECK(!made_has(&reader, AT_FDCWD, "/"));
	CHECK(rmdir(base) == 0);
	free(writer.table);
	free(reader.table);
	free(log);
}

static void test_it_hangs_when_it_is_at_one_name_for_long(void)
{
	uint64_t since = 0;

	plan.sentry_since_ms = 0;
	CHECK(!sentry_hangs(&plan, &since) && !sentry_hangs(&plan, &since));
	plan.sentry_since_ms = 1;
	CHECK(!sentry_hangs(&plan, &since) && sentry_hangs(&plan, &since));
	plan.sentry_since_ms = loop_now_ms();
	CHECK(!sentry_hangs(&plan, &since) && !sentry_hangs(&plan, &since));
}

int main(void)
{
	RUN(test_it_hangs_when_it_is_at_one_name_for_long);
	RUN(test_what_is_hidden);
	RUN(test_what_is_guarded);
	RUN(test_where_it_looks);
	RUN(test_directories_keep_their_place);
	RUN(test_what_is_kept);
	RUN(test_who_looks_on_knows_what_was_made);
	return tap_done();
}
