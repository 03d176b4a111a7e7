/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a program of the host: see client_program.h. */
#include "client_program.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "loop.h"
#include "own.h"

enum { PATHS_MAX = 1 << 16, ASK_MS = 15000, VARIABLES_MAX = 4096 };

/* What `path` leads to is not in the working directory, which the agent may
 * write; "/" is nobody's. */
static bool is_outside(const char *path, const char *cwd)
{
	auto_free char *real = realpath(path, NULL);
	size_t n = strlen(cwd);

	if (!real)
		return false;
	return n < 2 || strncmp(real, cwd, n) != 0 ||
	       (real[n] != '/' && real[n]);
}

static bool is_program(const char *path, const char *cwd)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0 && is_outside(path, cwd);
}

int client_program_find(const char *name, const char *cwd, struct arena *a,
			struct client_program *ret, struct err *e)
{
	auto_buf struct buf search = buf_new(PATHS_MAX);
	struct sv rest = sv_str(secure_getenv("PATH"));

	*ret = (struct client_program){ 0 };
	buf_puts(&search, "PATH=");
	while (rest.n) {
		auto_buf struct buf at = buf_new(PATH_MAX);
		struct sv folder = sv_cut(&rest, ':');

		buf_put(&at, folder);
		if (folder.n == 0 || folder.p[0] != '/' || !buf_cstr(&at) ||
		    !is_outside(at.p, cwd))
			continue;
		buf_puts(&search, search.n > 5 ? ":" : "");
		buf_put(&search, folder);
		buf_printf(&at, "/%s", name);
		if (ret->path || !buf_cstr(&at) || !is_program(at.p, cwd))
			continue;
		ret->path = arena_str(a, buf_sv(&at));
		if (!ret->path)
			return err_kind(e, ERR_LIMIT, "out of memory");
	}
	if (buf_check(&search, "PATH", e) < 0)
		return -1;
	ret->search = arena_str(a, buf_sv(&search));
	return ret->search ? 0 : err_kind(e, ERR_LIMIT, "out of memory");
}

/* npm exports the settings of the project that it runs a script of: those are
 * the agent's to write. */
static bool is_of_a_script(const char *variable)
{
	return secure_getenv("npm_lifecycle_event") &&
	       strncmp(variable, "npm_", 4) == 0;
}

static int make_environment(const char *search, const char **ret,
			    struct err *e)
{
	size_t n = 0;

	for (char **v = environ; *v; v++) {
		if (strncmp(*v, "PATH=", 5) == 0 || is_of_a_script(*v))
			continue;
		if (n == VARIABLES_MAX - 2)
			return err_kind(e, ERR_LIMIT, "too many variables");
		ret[n++] = *v;
	}
	ret[n++] = search;
	ret[n] = NULL;
	return 0;
}

static int take_output(int fd, struct buf *ret, struct err *e)
{
	const uint64_t due = loop_now_ms() + ASK_MS;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const uint64_t now = loop_now_ms();
		char *room = buf_reserve(ret, 4096);
		ssize_t n;

		if (!room)
			return err_kind(e, ERR_LIMIT, "it says too much");
		if (now >= due)
			return err_kind(e, ERR_LIMIT, "no answer in %d s",
					ASK_MS / 1000);
		if (poll(&p, 1, (int)(due - now)) <= 0)
			continue;
		n = read(fd, room, 4096);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_sys(e, "read its answer");
		ret->n += n > 0 ? (size_t)n : 0;
	}
}

int client_program_ask(const struct client_program *program,
		       char *const *argv, struct buf *ret, struct err *e)
{
	auto_free const char **env = calloc(VARIABLES_MAX, sizeof *env);
	auto_fd int read_fd = -1, write_fd = -1;
	pid_t pid;
	int pair[2], rc;

	if (!env)
		return err_kind(e, ERR_LIMIT, "out of memory");
	if (make_environment(program->search, env, e) < 0)
		return -1;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	read_fd = pair[0];
	write_fd = pair[1];
	rc = child_start(&(struct child){
		.path = program->path, .argv = argv, .cwd = "/",
		.envp = (char *const *)(uintptr_t)env,
		.fds = { CHILD_NULL, write_fd, CHILD_NULL }, .fds_n = 3,
		.own_group = true, .default_signals = true }, &pid);
	if (rc) {
		errno = rc;
		return err_sys(e, "start %s", program->path);
	}
	(void)close(steal_fd(&write_fd));
	rc = take_output(read_fd, ret, e);
	/* All is said, or too late: whatever else it and its own do. */
	(void)kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return rc;
}
