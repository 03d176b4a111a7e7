/* SPDX-License-Identifier: Apache-2.0 */
/* Where runs are kept: see run_dir.h. */
#include "run_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "dir.h"
#include "io.h"
#include "own.h"
#include "utc.h"

#define SUFFIX ".jsonl"
/* Empty files; the next runs' trails, by rename, from the last to the first. */
#define SPARE ".next."
enum { SPARES = 32, SPARE_NAME_MAX = sizeof SPARE + 10 };

int run_state_path(struct arena *a, struct sv *ret, struct err *e)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	const char *home = secure_getenv("HOME");
	auto_buf struct buf path = buf_new(4096);

	/* The base directory specification: a relative path is ignored. */
	if (state && state[0] == '/') {
		buf_puts(&path, state);
	} else if (home && home[0] == '/') {
		buf_puts(&path, home);
		buf_puts(&path, "/.local/state");
	} else {
		return err_kind(e, ERR_POLICY, "set HOME or XDG_STATE_HOME: "
				"the record of the run has no place to go");
	}
	buf_puts(&path, "/stockade");
	if (buf_check(&path, "the state directory's name", e) < 0)
		return -1;
	*ret = arena_dup(a, buf_sv(&path));
	if (!ret->p)
		return err_kind(e, ERR_LIMIT, "out of memory");
	return 0;
}

/* Like mkdir -p; what it makes is closed to others. */
static int make_dirs(const char *path, struct err *e)
{
	auto_buf struct buf part = buf_new(4096);

	for (const char *at = path + 1;; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		buf_reset(&part);
		buf_put(&part, sv_of(path, (size_t)(at - path)));
		if (!buf_cstr(&part))
			return err_kind(e, ERR_LIMIT, "out of memory");
		if (mkdir(part.p, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "create %s for the state directory "
				       "(XDG_STATE_HOME, else HOME, says where "
				       "that is)", part.p);
		if (*at == '\0')
			return 0;
	}
}

static int open_state(int *ret, bool create, struct err *e)
{
	auto_arena struct arena a = arena_new(8192);
	auto_fd int fd = -1;
	struct sv path;

	if (run_state_path(&a, &path, e) < 0)
		return -1;
	fd = open(path.p, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && create) {
		if (make_dirs(path.p, e) < 0)
			return -1;
		fd = open(path.p, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_sys(e, "open %s", path.p);
	/* Whoever can write there could forge a record, or trust. */
	if (io_check_ours(fd, path.p, e) < 0)
		return -1;
	*ret = steal_fd(&fd);
	return 0;
}

int run_state_open(const char *name, bool create, int *ret_fd, struct err *e)
{
	const int flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
	auto_fd int state = -1, fd = -1;

	if (open_state(&state, create, e) < 0)
		return -1;
	fd = openat(state, name, flags);
	if (fd < 0 && errno == ENOENT && create) {
		if (mkdirat(state, name, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "create the %s directory", name);
		fd = openat(state, name, flags);
	}
	if (fd < 0)
		return err_sys(e, "open the %s directory", name);
	if (io_check_ours(fd, name, e) < 0)
		return -1;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int open_runs(int *ret, bool create, struct err *e)
{
	return run_state_open("runs", create, ret, e);
}

/* Just what run_prepare() makes, and nobody has written to it. */
static int check_spare(int fd, const char *name, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "look at %s", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 07777) != 0600 || st.st_nlink != 1 || st.st_size)
		return err_kind(e, ERR_DENIED, "the audit trail %s was "
				"prepared by a former run, and is no longer "
				"an empty file of that run", name);
	return 0;
}

static int open_spare(int runs, const char *name, struct err *e)
{
	auto_fd int fd = openat(runs, name, O_WRONLY | O_APPEND | O_NOFOLLOW |
				O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open the audit trail %s", name);
	if (check_spare(fd, name, e) < 0)
		return -1;
	return steal_fd(&fd);
}

static int make_trail(int runs, const char *name, struct err *e)
{
	auto_fd int fd = openat(runs, name, O_WRONLY | O_CREAT | O_EXCL |
				O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "create the audit trail %s", name);
	if (fchmod(fd, 0600) < 0)	/* whatever the umask is */
		return err_sys(e, "set the mode of %s", name);
	return steal_fd(&fd);
}

static const char *spare_name(char name[SPARE_NAME_MAX], unsigned i)
{
	(void)snprintf(name, SPARE_NAME_MAX, SPARE "%u", i);
	return name;
}

static bool has_spare(int runs, unsigned i)
{
	char name[SPARE_NAME_MAX];

	return faccessat(runs, spare_name(name, i), F_OK,
			 AT_SYMLINK_NOFOLLOW) == 0;
}

void run_prepare(void)
{
	auto_fd int runs = -1;
	char name[SPARE_NAME_MAX];
	struct err ignored;

	if (open_runs(&runs, false, &ignored) < 0 || has_spare(runs, 0))
		return;
	for (unsigned i = 0; i < SPARES; i++) {
		int fd = make_trail(runs, spare_name(name, i), &ignored);

		if (fd >= 0)
			(void)close(fd);
	}
}

int run_new_id(char ret_id[RUN_ID_MAX], struct err *e)
{
	struct timespec now;
	struct utc t;
	uint16_t noise;
	int n;

	if (clock_gettime(CLOCK_REALTIME, &now) < 0)
		return err_sys(e, "read the clock");
	if (getrandom(&noise, sizeof noise, 0) != sizeof noise)
		return err_sys(e, "getrandom");
	t = utc_of(now.tv_sec);
	n = snprintf(ret_id, RUN_ID_MAX,
		     "%04u%02u%02u-%02u%02u%02u-%07x%03x", t.year, t.month,
		     t.day, t.hour, t.minute, t.second,
		     (unsigned)(((uint64_t)now.tv_nsec << 28) / 1000000000),
		     noise & 0xfffU);
	if (n < 0 || n >= RUN_ID_MAX)
		return err_kind(e, ERR_BUG, "the name of the run");
	return 0;
}

/* By bisection, as they are taken in order. */
static unsigned count_spares(int runs)
{
	unsigned low = 0, high = SPARES;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (has_spare(runs, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool take_spare(int runs, const char *name)
{
	char spare[SPARE_NAME_MAX];

	/* Another run may be faster, as often as there are spares. */
	for (unsigned i = 0; i < SPARES; i++) {
		unsigned n = count_spares(runs);

		if (n == 0)
			return false;
		if (renameat2(runs, spare_name(spare, n - 1), runs, name,
			      RENAME_NOREPLACE) == 0)
			return true;
		if (errno != ENOENT)
			return false;
	}
	return false;
}

int run_create(const char *id, int *ret_fd, struct err *e)
{
	char name[RUN_ID_MAX + sizeof SUFFIX];
	auto_fd int runs = -1;

	if (open_runs(&runs, true, e) < 0)
		return -1;
	(void)snprintf(name, sizeof name, "%s" SUFFIX, id);
	/* The name first, which only one run gets, then the file. */
	*ret_fd = take_spare(runs, name) ? open_spare(runs, name, e) :
					   make_trail(runs, name, e);
	return *ret_fd < 0 ? -1 : 0;
}

int run_open_append(const char *id, int *ret_fd, struct err *e)
{
	char name[RUN_ID_MAX + sizeof SUFFIX];
	auto_fd int runs = -1;

	if (open_runs(&runs, false, e) < 0)
		return -1;
	(void)snprintf(name, sizeof name, "%s" SUFFIX, id);
	*ret_fd = openat(runs, name, O_RDWR | O_APPEND | O_NOFOLLOW |
			 O_NONBLOCK | O_CLOEXEC);
	if (*ret_fd < 0)
		return err_sys(e, "open the audit trail %s", name);
	return 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct sv *x = a, *y = b;

	return -strcmp(x->p, y->p);
}

int run_list(struct arena *a, struct sv **ret, size_t *ret_n, struct err *e)
{
	auto_dir DIR *d = NULL;
	auto_fd int runs = -1;
	struct sv *ids = NULL;
	size_t n = 0, cap = 0;
	const struct dirent *entry;

	if (open_runs(&runs, false, e) < 0) {
		if (e->kind != ERR_SYS || e->code != ENOENT)
			return -1;
		*ret = NULL;
		*ret_n = 0;
		return 0;
	}
	d = dir_take(&runs);
	if (!d)
		return err_sys(e, "read the runs directory");
	while ((entry = readdir(d))) {
		struct sv *id, name;

		name = sv_str(entry->d_name);
		if (name.p[0] == '.' || !sv_ends(name, SV(SUFFIX)) ||
		    name.n >= RUN_ID_MAX + strlen(SUFFIX))
			continue;
		name = sv_head(name, name.n - strlen(SUFFIX));
		id = arena_push(a, &ids, &n, &cap);
		if (id)
			*id = arena_dup(a, name);
		if (!id || !id->p)
			return err_kind(e, ERR_LIMIT, "out of memory");
	}
	if (n)
		qsort(ids, n, sizeof *ids, newest_first);
	*ret = ids;
	*ret_n = n;
	return 0;
}

int run_open(struct sv id, int *ret_fd, char ret_id[RUN_ID_MAX], struct err *e)
{
	auto_arena struct arena a = arena_new(RUN_LIST_MAX);
	char name[RUN_ID_MAX + sizeof SUFFIX];
	auto_fd int runs = -1;
	struct sv *ids;
	size_t n;

	if (!id.p) {
		if (run_list(&a, &ids, &n, e) < 0)
			return -1;
		if (n == 0)
			return err_kind(e, ERR_POLICY, "there is no run yet");
		id = ids[0];
	}
	if (id.n == 0 || id.n >= RUN_ID_MAX || sv_find(id, '/') < id.n ||
	    id.p[0] == '.')
		return err_kind(e, ERR_POLICY, "no run is named '%.*s'",
				SV_FMT(id));
	(void)snprintf(name, sizeof name, "%.*s" SUFFIX, SV_FMT(id));
	if (open_runs(&runs, false, e) < 0)
		return -1;
	*ret_fd = openat(runs, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
			 O_NONBLOCK);
	if (*ret_fd < 0 && errno == ENOENT)
		return err_kind(e, ERR_POLICY, "there is no run %.*s; "
				"`stockade runs` lists them", SV_FMT(id));
	if (*ret_fd < 0)
		return err_sys(e, "open the audit trail %s", name);
	(void)snprintf(ret_id, RUN_ID_MAX, "%.*s", SV_FMT(id));
	return 0;
}
