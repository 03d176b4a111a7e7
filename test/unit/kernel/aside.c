/* SPDX-License-Identifier: Apache-2.0 */
/* Work by a process that can be left behind. */
#include "aside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "tap.h"

enum { LONG_MS = 60000, SHORT_MS = 30 };

static struct err e;
static _Atomic uint64_t until_ms;

struct seen {
	pid_t pid;
	bool has_descriptors;
	char *allocated;
};

static void look_around(void *arg)
{
	struct seen *seen = arg;

	seen->pid = getpid();
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			seen->has_descriptors = true;
	seen->allocated = strdup("kept");
	errno = EXDEV;
}

static void test_what_it_did_is_there(void)
{
	struct seen seen = { 0 };

	until_ms = loop_now_ms() + LONG_MS;
	CHECK_INT(aside_run(look_around, &seen, &until_ms, &e), 0);
	CHECK(seen.pid > 0 && seen.pid != getpid());
	CHECK(!seen.has_descriptors);
	CHECK(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
	CHECK(seen.allocated && strcmp(seen.allocated, "kept") == 0);
	free(seen.allocated);
	/* Reaped. */
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
}

static void hang(void *arg)
{
	int *times = arg;

	until_ms = loop_now_ms() + SHORT_MS;
	++*times;
	for (;;)
		(void)pause();
}

static void test_what_does_not_come_back_is_left(void)
{
	struct seen seen = { 0 };
	int times = 0;

	/* It has moved the time. */
	until_ms = loop_now_ms() + SHORT_MS;
	CHECK_INT(aside_run(hang, &times, &until_ms, &e), 1);
	CHECK_INT(times, 1);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
	until_ms = loop_now_ms() + LONG_MS;
	CHECK_INT(aside_run(look_around, &seen, &until_ms, &e), 0);
	free(seen.allocated);
}

static void crash(void *arg)
{
	(void)arg;
	(void)kill(getpid(), SIGKILL);
}

static void test_its_own_end_is_an_error(void)
{
	until_ms = loop_now_ms() + LONG_MS;
	CHECK_INT(aside_run(crash, NULL, &until_ms, &e), -1);
	CHECK_INT(e.kind, ERR_BUG);
}

int main(void)
{
	RUN(test_what_it_did_is_there);
	RUN(test_what_does_not_come_back_is_left);
	RUN(test_its_own_end_is_an_error);
	return tap_done();
}
