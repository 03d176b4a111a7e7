/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade caches`: what `cache` statements have kept, with its size and the
 * time of its last use; `stockade caches remove` ends that.
 *
 * Sizes are counted by open directories, without following a link, down to a
 * depth and a number of entries: what is beyond is not counted, and that is
 * said.
 */
#include "caches.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_store.h"
#include "dir.h"
#include "io.h"
#include "json.h"
#include "own.h"
#include "run_dir.h"
#include "utc.h"

enum {
	DEPTH_MAX = 64, ENTRIES_MAX = 1000000, OUTPUT_MAX = 16 << 20,
	ABOUT_MAX = 1 << 20, PREFIX_MIN = 6,
};

struct size {
	uint64_t bytes;
	unsigned entries, depth;
	bool partial;
};

static void count(int at_fd, const char *name, struct size *s)
{
	auto_fd int fd = -1;
	auto_dir DIR *dir = NULL;
	const struct dirent *entry;
	struct stat st;

	if (s->entries >= ENTRIES_MAX || s->depth > DEPTH_MAX ||
	    fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		s->partial = true;
		return;
	}
	s->entries++;
	s->bytes += (uint64_t)st.st_blocks * 512;
	if (!S_ISDIR(st.st_mode))
		return;
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	dir = dir_take(&fd);
	if (!dir) {
		s->partial = true;
		return;
	}
	s->depth++;
	while ((entry = dir_next(dir)) != NULL)
		count(dirfd(dir), entry->d_name, s);
	s->depth--;
}

static void put_size(struct buf *b, const struct size *s)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	uint64_t tenths = s->bytes * 10;
	size_t unit = 0;

	for (; tenths >= 10240 && unit + 1 < countof(units); unit++)
		tenths /= 1024;
	buf_printf(b, "%s%5" PRIu64, s->partial ? ">" : " ", tenths / 10);
	buf_printf(b, ".%" PRIu64 " %-3s", tenths % 10, units[unit]);
}

static void put_time(struct buf *b, int64_t seconds)
{
	struct utc t = utc_of(seconds);

	buf_printf(b, "%04u-%02u-%02uT%02u:%02u:%02uZ", t.year, t.month,
		   t.day, t.hour, t.minute, t.second);
}

static struct sv next_line(struct sv *rest)
{
	struct sv line = sv_head(*rest, sv_find(*rest, '\n'));

	*rest = sv_from(*rest, line.n + 1);
	return line;
}

/* One cache; what is known of it is on record beside it. */
static void put_cache(int store_fd, const char *key, struct buf *out,
		      struct json *j)
{
	auto_buf struct buf about = buf_new(ABOUT_MAX);
	auto_buf struct buf when = buf_new(64);
	auto_fd int fd = openat(store_fd, key, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC);
	struct size size = { 0 };
	struct stat st = { 0 };
	struct err ignored;
	struct sv rest, path;

	if (fd < 0)
		return;
	if (fstatat(fd, CACHE_ABOUT, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    io_read_file(fd, CACHE_ABOUT, &about, &ignored) < 0)
		buf_reset(&about);	/* one that is just being made */
	count(fd, CACHE_DATA, &size);
	put_time(&when, st.st_mtim.tv_sec);
	rest = buf_sv(&about);
	path = next_line(&rest);
	if (!j) {
		buf_printf(out, "%s  ", key);
		put_size(out, &size);
		buf_printf(out, "  %.*s  ", SV_FMT(buf_sv(&when)));
		buf_put_visible(out, path);
		while (rest.n) {
			buf_puts(out, "  ");
			buf_put_visible(out, next_line(&rest));
		}
		buf_putc(out, '\n');
		return;
	}
	json_open(j, '{');
	json_put_str(j, "key", key);
	json_put_sv(j, "path", path);
	json_key(j, "policy");
	json_open(j, '[');
	while (rest.n)
		json_sv(j, next_line(&rest));
	json_close(j, ']');
	json_put_u64(j, "bytes", size.bytes);
	json_put_bool(j, "partial", size.partial);
	json_put_sv(j, "last_use", buf_sv(&when));
	json_close(j, '}');
}

/* Names in the arena, sorted; none where there is no store. */
static int list_keys(struct arena *a, int *ret_fd, struct sv **ret,
		     size_t *ret_n, struct err *e)
{
	auto_dir DIR *dir = NULL;
	const struct dirent *entry;
	size_t n = 0, cap = 0;
	struct sv *keys = NULL;

	*ret = NULL;
	*ret_n = 0;
	if (run_state_open(CACHE_STORE, false, ret_fd, e) < 0)
		return e->kind == ERR_SYS && e->code == ENOENT ? 0 : -1;
	dir = fdopendir(dup(*ret_fd));
	if (!dir)
		return err_sys(e, "read the caches");
	while ((entry = readdir(dir)) != NULL) {
		struct sv *key;

		if (!cache_is_key(sv_str(entry->d_name)))
			continue;
		key = arena_push(a, &keys, &n, &cap);
		if (key)
			*key = arena_dup(a, sv_str(entry->d_name));
		if (!key || !key->p)
			return err_kind(e, ERR_LIMIT, "too many caches");
	}
	*ret = keys;
	*ret_n = n;
	return 0;
}

static int print_all(bool as_json, struct err *e)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_buf struct buf out = buf_new(OUTPUT_MAX);
	struct json j = json_pretty(&out);
	auto_fd int store_fd = -1;
	struct sv *keys;
	size_t n;

	if (list_keys(&a, &store_fd, &keys, &n, e) < 0)
		return -1;
	if (as_json)
		json_open(&j, '[');
	else if (n)
		buf_printf(&out, "%-32s  %-12s  %-20s  %s\n", "key", "size",
			   "last use", "path and policy");
	for (size_t i = 0; i < n; i++)
		put_cache(store_fd, keys[i].p, &out, as_json ? &j : NULL);
	if (as_json) {
		json_close(&j, ']');
		buf_putc(&out, '\n');
	}
	if (buf_check(&out, "the list", e) < 0)
		return -1;
	return io_write_all(STDOUT_FILENO, buf_sv(&out), e);
}

/* The one key that starts so. */
static int find_key(const struct sv *keys, size_t n, struct sv wanted,
		    struct sv *ret, struct err *e)
{
	const struct sv *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (wanted.n < PREFIX_MIN || !sv_starts(keys[i], wanted))
			continue;
		if (found)
			return err_kind(e, ERR_POLICY, "more than one cache "
					"starts with %.*s",
					SV_FMT(sv_head(wanted, 40)));
		found = &keys[i];
	}
	if (!found)
		return err_kind(e, ERR_POLICY, "there is no cache %.*s; "
				"`stockade caches` lists them",
				SV_FMT(sv_head(wanted, 40)));
	*ret = *found;
	return 0;
}

static int remove_named(int argc, char **argv, struct err *e)
{
	auto_arena struct arena a = arena_new(1 << 20);
	auto_fd int store_fd = -1;
	bool all = argc == 1 && strcmp(argv[0], "--all") == 0;
	struct sv *keys, key = { 0 };
	size_t n;
	int rc = 0;

	if (argc == 0)
		return err_kind(e, ERR_POLICY, "expected: stockade caches "
				"remove KEY... | --all");
	if (list_keys(&a, &store_fd, &keys, &n, e) < 0)
		return -1;
	/* One that is in use keeps no other. */
	for (size_t i = 0; all && i < n; i++)
		if (cache_remove(store_fd, keys[i].p, e) < 0)
			rc = -1;
	for (int i = 0; !all && i < argc; i++)
		if (find_key(keys, n, sv_str(argv[i]), &key, e) < 0 ||
		    cache_remove(store_fd, key.p, e) < 0)
			return -1;
	return rc;
}

int caches_main(int argc, char **argv, struct err *e)
{
	bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;

	if (argc > 1 && strcmp(argv[1], "remove") == 0)
		return remove_named(argc - 2, argv + 2, e);
	if (argc > 1 && !as_json)
		return err_kind(e, ERR_POLICY, "unknown argument '%.64s' "
				"(expected: stockade caches [--json] | remove "
				"KEY...|--all)", argv[1]);
	return print_all(as_json, e);
}
