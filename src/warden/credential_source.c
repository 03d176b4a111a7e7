/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where secrets come from: see credential_set.h.
 *
 * Each source ends as a descriptor that vault will read to its end.  A command
 * runs with the user's environment and no terminal input; its standard error
 * is the user's, so that a login tool can say what is wrong.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "credential_set.h"
#include "cur.h"
#include "io.h"
#include "loop.h"
#include "own.h"
#include "statement.h"

enum {
	SOURCE_VALUE_MAX = 16384,
	SETTLE_MS = 2000,	/* from a command's last output to its end */
};

static int draw_placeholder(struct credential *c, struct err *e)
{
	uint8_t noise[PLACEHOLDER_NOISE];

	if (getrandom(noise, sizeof noise, 0) != sizeof noise)
		return err_sys(e, "getrandom");
	return placeholder_make(noise, c->rule->like, &c->placeholder) ? 0 :
	       err_kind(e, ERR_BUG, "a placeholder is too long");
}

static int absent(struct credential *c, struct err *e, const char *what)
{
	const struct secret_rule *rule = c->rule;

	if (rule->optional) {
		c->absent = true;
		return 0;
	}
	/* A proxy's is not optional. */
	if (rule->scopes_n == 0)
		return err_kind(e, ERR_POLICY, "the password: %s", what);
	return err_kind(e, ERR_POLICY, "secret %.*s: %s (write `secret? %.*s` "
			"if it may be missing)", SV_FMT(rule->name), what,
			SV_FMT(rule->name));
}

/* The read end of a pipe that holds the value. */
static int open_value(struct credential *c, struct sv value, struct err *e)
{
	auto_fd int read_fd = -1, write_fd = -1;
	int pair[2];

	if (value.n > SOURCE_VALUE_MAX)
		return err_kind(e, ERR_LIMIT, "secret %.*s is longer than %d "
				"bytes", SV_FMT(c->rule->name),
				SOURCE_VALUE_MAX);
	/* A pipe holds 64 KiB: the write cannot block. */
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	read_fd = pair[0];
	write_fd = pair[1];
	if (io_write_all(write_fd, value, e) < 0)
		return -1;
	c->source_fd = steal_fd(&read_fd);
	return 0;
}

/*
 * Moves a variable's value into a pipe and overwrites it where the kernel put
 * it, so that no clone of this process has it.
 */
static int open_environment(struct credential_set *s, struct credential *c,
			    const char *name, struct err *e)
{
	struct sv value = sv_str(secure_getenv(name));

	if (value.n == 0)
		return absent(c, e, "the variable is not set");
	if (open_value(c, value, e) < 0)
		return -1;
	buf_put_sv(&s->values, value);
	return 0;
}

static int open_file(struct credential *c, const char *path, struct err *e)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
				    O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		auto_buf struct buf what = buf_new(512);

		buf_printf(&what, "%.*s does not exist",
			   SV_FMT(name_tail(sv_str(path))));
		return absent(c, e, buf_cstr(&what));
	}
	if (fd < 0)
		return err_sys(e, "secret %.*s: open %s",
			       SV_FMT(c->rule->name), path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_kind(e, ERR_POLICY, "secret %.*s: %s is not a "
				"regular file", SV_FMT(c->rule->name), path);
	c->source_fd = steal_fd(&fd);
	return 0;
}

int credential_start_command(const struct credential *c, bool again,
			     pid_t *ret_pid, int *ret_fd, struct err *e)
{
	auto_arena struct arena a = arena_new(65536);
	const char *command = arena_str(&a, c->rule->source_arg);
	char *argv[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
			 (char *)(uintptr_t)command, NULL };
	auto_fd int read_fd = -1, write_fd = -1;
	int pair[2], rc;
	pid_t pid;

	if (!command)
		return err_kind(e, ERR_LIMIT, "out of memory");

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	read_fd = pair[0];
	write_fd = pair[1];
	/* vault waits for no part of it: one that is not there is none. */
	if (fcntl(read_fd, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(e, "fcntl");
	/* At the start a Ctrl-C is for it to heed, and what it says for the person;
	 * later the terminal is the agent's. */
	rc = child_start(&(struct child){
		.path = "/bin/sh", .argv = argv, .envp = environ,
		.fds = { CHILD_NULL, write_fd, again ? CHILD_NULL : CHILD_SAME },
		.fds_n = 3, .own_group = again, .default_signals = again },
		&pid);
	errno = rc;
	if (rc)
		return err_sys(e, "secret %.*s: start `%s`",
			       SV_FMT(c->rule->name), command);
	*ret_pid = pid;
	*ret_fd = steal_fd(&read_fd);
	return 0;
}

/* stockade-seal writes the value where vault reads it; the store is open. */
static int open_store(struct credential *c, struct seal *seal, struct err *e)
{
	const struct sv name = c->rule->source_arg;
	auto_fd int read_fd = -1, write_fd = -1;
	int pair[2], got;

	if (!seal || seal->fd < 0)
		return absent(c, e, "the store of secrets has no such entry");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(e, "pipe");
	read_fd = pair[0];
	write_fd = pair[1];
	got = seal_ask(seal, &(struct seal_request){
			.verb = SEAL_GET, .text = name, .fd = write_fd },
		       NULL, e);
	if (got < 0)
		return err_ctx(e, "secret %.*s: the entry %.*s of the store",
			       SV_FMT(c->rule->name), SV_FMT(name));
	if (got == 0)
		return absent(c, e, "the store of secrets has no such entry");
	c->source_fd = steal_fd(&read_fd);
	return 0;
}

static int open_source(struct credential_set *s, struct credential *c,
		       struct err *e)
{
	const struct secret_rule *rule = c->rule;
	auto_arena struct arena a = arena_new(65536);
	const char *arg = arena_str(&a, rule->source == SECRET_ENV &&
						       !rule->source_arg.n ?
					       rule->name : rule->source_arg);

	if (!arg)
		return err_kind(e, ERR_LIMIT, "out of memory");
	switch (rule->source) {
	case SECRET_ENV:
		return open_environment(s, c, arg, e);
	case SECRET_FILE:
		return open_file(c, arg, e);
	case SECRET_COMMAND:
		return credential_start_command(c, false, &c->command_pid,
						&c->source_fd, e);
	case SECRET_STORE:
		return open_store(c, s->seal, e);
	}
	return err_kind(e, ERR_BUG, "unknown secret source");
}

/* The variable that a rule reads, as a C string. */
static bool variable_of(const struct secret_rule *rule, char ret[256])
{
	struct sv from = rule->source_arg.n ? rule->source_arg : rule->name;

	if (rule->source != SECRET_ENV || from.n >= 256)
		return false;
	memcpy(ret, from.p, from.n);
	ret[from.n] = '\0';
	return true;
}

static void wipe_variable(const struct secret_rule *rule)
{
	char name[256], *value;

	if (!variable_of(rule, name))
		return;
	value = secure_getenv(name);
	if (value)
		explicit_bzero(value, strlen(value));
	(void)unsetenv(name);
}

/* After the commands were started: they may need the variables. */
static void wipe_environment(const struct policy *p)
{
	for (size_t i = 0; i < p->secrets_n; i++)
		wipe_variable(&p->secrets[i]);
}

/* At once, because a buffer that grows leaves copies of its content. */
static void reserve_values(struct buf *values, const struct policy *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->secrets_n; i++) {
		char name[256];

		if (variable_of(&p->secrets[i], name))
			n += sizeof(uint64_t) +
			     sv_str(secure_getenv(name)).n;
	}
	(void)buf_reserve(values, n);
}

int credential_set_init(struct credential_set *s, const struct policy *p,
			struct seal *seal, struct err *e)
{
	*s = (struct credential_set){
		.values = buf_new(1 << 20), .seal = seal,
	};
	if (p->secrets_n == 0)
		return 0;
	s->v = calloc(p->secrets_n, sizeof *s->v);
	if (!s->v)
		return err_sys(e, "allocate the secrets' table");
	s->n = p->secrets_n;
	s->read_ms = credential_clock_ms();
	reserve_values(&s->values, p);
	for (size_t i = 0; i < s->n; i++)
		s->v[i] = (struct credential){ .rule = &p->secrets[i],
					       .source_fd = -1 };
	if (credential_set_check(s, e) < 0)
		return -1;
	for (size_t i = 0; i < s->n; i++)
		if (draw_placeholder(&s->v[i], e) < 0 ||
		    open_source(s, &s->v[i], e) < 0)
			return -1;
	s->seal = NULL;
	wipe_environment(p);
	return buf_check(&s->values, "the secrets", e);
}

int credential_set_login(struct credential_set *s,
			 const struct secret_rule *rule, struct sv known,
			 struct err *e)
{
	s->login = (struct credential){ .rule = rule, .source_fd = -1 };
	s->has_login = true;
	if (known.n)
		return open_value(&s->login, known, e);
	if (open_source(s, &s->login, e) < 0)
		return -1;
	wipe_variable(rule);
	return buf_check(&s->values, "the secrets", e);
}

int credential_set_missed(struct credential_set *s, struct sv numbers,
			  struct err *e)
{
	struct cur c = cur_of(numbers);

	while (c.rest.n && !c.bad) {
		uint32_t i = cur_u32(&c);

		if (c.bad || i >= s->n || !s->v[i].rule->optional)
			return err_kind(e, ERR_PROTO, "malformed READY");
		s->v[i].absent = true;
	}
	return 0;
}

void credential_set_forget(struct credential_set *s)
{
	buf_wipe(&s->values);
}

/* False when the command still runs after the grace; it is killed then. */
static bool await_command(struct credential *c, int *ret_status)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	const uint64_t late_ms = loop_now_ms() + SETTLE_MS;
	pid_t pid = c->command_pid, got;

	while ((got = waitpid(pid, ret_status, WNOHANG)) == 0 &&
	       loop_now_ms() < late_ms)
		(void)nanosleep(&pause, NULL);
	if (got == pid)
		c->command_pid = 0;
	/* credential_set_fini() kills and reaps the one that is late. */
	return got == pid;
}

static int settle(struct credential *c, struct err *e)
{
	int status = 0;

	if (c->command_pid == 0)
		return 0;
	if (!await_command(c, &status))
		return err_kind(e, ERR_POLICY, "secret %.*s: its command goes "
				"on after its output", SV_FMT(c->rule->name));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_kind(e, ERR_POLICY, "secret %.*s: its command "
				"failed with status %d", SV_FMT(c->rule->name),
				WIFEXITED(status) ? WEXITSTATUS(status) :
						    128 + WTERMSIG(status));
	return 0;
}

int credential_set_settle(struct credential_set *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++)
		if (settle(&s->v[i], e) < 0)
			return -1;
	return s->has_login ? settle(&s->login, e) : 0;
}

static void credential_fini(struct credential *c)
{
	close_fd(&c->source_fd);
	if (!c->command_pid)
		return;
	(void)kill(c->command_pid, SIGKILL);
	(void)waitpid(c->command_pid, NULL, 0);
}

void credential_set_fini(struct credential_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		credential_fini(&s->v[i]);
	if (s->has_login)
		credential_fini(&s->login);
	free(s->v);
	buf_wipe(&s->values);
	*s = (struct credential_set){ 0 };
}
