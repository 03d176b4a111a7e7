/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade secret`: `revoke NAME [RUN]`, for which run_control.h says what is
 * said, and the store's verbs (secret_store.h). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "dir.h"
#include "own.h"
#include "run_control.h"
#include "run_dir.h"
#include "secret_store.h"
#include "words.h"

enum { ANSWER_S = 5 };

/* 1: *ret is a conversation with that run; 0: it does not run. */
static int call(int dir_fd, const char *run, int *ret, struct err *e)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	struct sockaddr_un at;
	auto_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof patience) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		       sizeof patience) < 0)
		return err_sys(e, "make a socket");
	if (run_control_address(dir_fd, run, &at, e) < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0) {
		*ret = steal_fd(&fd);
		return 1;
	}
	/* It was killed, and its name is never used again. */
	if (errno == ECONNREFUSED)
		(void)unlinkat(dir_fd, run, 0);
	else if (errno != ENOENT)
		return err_sys(e, "speak to the run %s", run);
	return 0;
}

/* 1: `ok`; 0: an error, which *e holds; -1: there was no answer. */
static int ask(int fd, const char *verb, struct sv name, const char *run,
	       struct err *e)
{
	auto_buf struct buf line = buf_new(CONTROL_LINE_MAX);
	char text[CONTROL_LINE_MAX];
	struct sv said;
	ssize_t n;

	buf_printf(&line, "%s %.*s\n", verb, SV_FMT(name));
	if (buf_check(&line, "the secret's name", e) < 0)
		return -1;
	if (send(fd, line.p, line.n, MSG_NOSIGNAL) < 0)
		return err_sys(e, "ask the run %s", run);
	n = recv(fd, text, sizeof text, 0);
	if (n < 0 && errno == EAGAIN)
		return err_kind(e, ERR_LIMIT, "the run %s does not answer", run);
	if (n < 0)
		return err_sys(e, "hear the run %s", run);
	said = sv_of(text, (size_t)n);
	if (sv_eq(said, SV("ok\n")))
		return 1;
	if (!sv_starts(said, SV("error ")) || !sv_ends(said, SV("\n")))
		return err_kind(e, ERR_PROTO, "the run %s has ended", run);
	said = sv_from(sv_head(said, said.n - 1), strlen("error "));
	(void)err_kind(e, ERR_POLICY, "run %s: %.*s", run, SV_FMT(said));
	return 0;
}

/* 1: it has the secret; 0: it has not, or does not run. */
static int has(int dir_fd, const char *run, struct sv name, struct err *e)
{
	auto_fd int fd = -1;
	struct err none;
	int rc = call(dir_fd, run, &fd, e);

	if (rc <= 0)
		return rc;
	rc = ask(fd, "has", name, run, &none);
	if (rc < 0)
		*e = none;
	return rc;
}

static DIR *read_folder(int dir_fd, struct err *e)
{
	auto_fd int again = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	DIR *d = again < 0 ? NULL : dir_take(&again);

	if (!d)
		(void)err_sys(e, "read the %s directory", CONTROL_DIR);
	return d;
}

/* Those that have it, their names with blanks between. */
static int find_all(int dir_fd, struct sv name, struct buf *ret,
		    struct err *e)
{
	auto_dir DIR *d = read_folder(dir_fd, e);
	const struct dirent *entry;

	if (!d)
		return -1;
	while ((entry = readdir(d))) {
		int rc;

		if (entry->d_name[0] == '.' ||
		    strlen(entry->d_name) >= RUN_ID_MAX)
			continue;
		rc = has(dir_fd, entry->d_name, name, e);
		if (rc < 0)
			return -1;
		if (rc)
			buf_printf(ret, "%s%s", ret->n ? " " : "",
				   entry->d_name);
	}
	return buf_check(ret, "the list of runs", e);
}

/* The one run that has it. */
static int find(int dir_fd, struct sv name, char ret[RUN_ID_MAX],
		struct err *e)
{
	auto_buf struct buf all = buf_new(1 << 20);

	if (find_all(dir_fd, name, &all, e) < 0)
		return -1;
	if (all.n == 0)
		return err_kind(e, ERR_POLICY, "no run that is under way has "
				"the secret %.*s", SV_FMT(name));
	if (sv_find(buf_sv(&all), ' ') < all.n)
		return err_kind(e, ERR_POLICY, "several runs have the secret "
				"%.*s; name one: %.*s", SV_FMT(name),
				SV_FMT(buf_sv(&all)));
	(void)snprintf(ret, RUN_ID_MAX, "%.*s", SV_FMT(buf_sv(&all)));
	return 0;
}

static int take_away(int dir_fd, struct sv name, const char *run, struct err *e)
{
	auto_fd int fd = -1;
	int rc = call(dir_fd, run, &fd, e);

	if (rc == 0)
		return err_kind(e, ERR_POLICY, "the run %s is not under way, "
				"or has no secrets", run);
	if (rc < 0 || ask(fd, "revoke", name, run, e) <= 0)
		return -1;
	(void)printf("revoked: %.*s in the run %s\n", SV_FMT(name), run);
	return 0;
}

static int open_folder(int *ret, struct err *e)
{
	if (run_state_open(CONTROL_DIR, false, ret, e) == 0)
		return 0;
	if (e->kind == ERR_SYS && e->code == ENOENT)
		return err_kind(e, ERR_POLICY, "no run with secrets is under "
				"way");
	return -1;
}

static int revoke_secret(int argc, char **argv, struct err *e)
{
	auto_fd int dir_fd = -1;
	char run[RUN_ID_MAX];
	struct sv name;

	if (argc < 2 || argc > 3)
		return err_kind(e, ERR_POLICY, "expected: stockade secret "
				"revoke NAME [RUN]");
	name = sv_str(argv[1]);
	if (!words_is_variable(name))
		return err_kind(e, ERR_POLICY, "'%.64s' is no name of a secret",
				argv[1]);
	if (argc == 3 && (argv[2][0] == '.' || !argv[2][0] ||
			  strchr(argv[2], '/') || strlen(argv[2]) >= RUN_ID_MAX))
		return err_kind(e, ERR_POLICY, "no run is named '%.64s'",
				argv[2]);
	if (open_folder(&dir_fd, e) < 0)
		return -1;
	if (argc == 3)
		(void)snprintf(run, sizeof run, "%s", argv[2]);
	else if (find(dir_fd, name, run, e) < 0)
		return -1;
	return take_away(dir_fd, name, run, e);
}

static const struct {
	const char *name;
	int (*main)(int argc, char **argv, struct err *e);
} verbs[] = {
	{ "set", secret_set }, { "list", secret_list },
	{ "remove", secret_remove }, { "unlock", secret_unlock },
	{ "lock", secret_lock }, { "revoke", revoke_secret },
};

int secret_main(int argc, char **argv, struct err *e)
{
	for (size_t i = 0; argc > 1 && i < countof(verbs); i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].main(argc - 1, argv + 1, e);
	return err_kind(e, ERR_POLICY, "expected: stockade secret set NAME, list, "
			"remove NAME, unlock, lock, or revoke NAME [RUN]");
}
