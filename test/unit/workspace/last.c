/* SPDX-License-Identifier: Apache-2.0 */
/* Kept sandboxes: whose they are, and from when on the next run may have them. */
#include "held.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entry.h"
#include "io.h"
#include "own.h"
#include "tap.h"

static char place[] = "/tmp/unit-last-XXXXXX";
static int store_fd;

static void begin(const char *name, struct held *h)
{
	bool again = false;
	struct err e;

	CHECK_INT(held_keep(store_fd, name, h, &again, &e), 0);
	CHECK(!again);
	CHECK_INT(held_add(h, &(struct held_tree){
				   .path = SV("/a"), .ino = 7, .only = SV("") },
			   &e), 0);
}

static void test_held_keep_comes_back_with_its_trees(void)
{
	struct held h, other;
	bool again;
	struct err e;

	begin("demo", &h);
	CHECK_INT(held_set_last(&h, "20261130-000000-000000", 0, &e), 0);
	/* Not before it is written; and in the meantime nobody else has it. */
	CHECK(!held_is_there(store_fd, "demo"));
	CHECK_INT(held_keep(store_fd, "demo", &other, &again, &e), -1);
	CHECK(again && e.kind == ERR_POLICY);
	held_close(&other);
	CHECK_INT(held_write(&h, &e), 0);
	held_close(&h);

	CHECK_INT(held_keep(store_fd, "demo", &h, &again, &e), 0);
	CHECK(again && h.trees_n == 1 && h.trees[0].ino == 7);
	CHECK(strcmp(h.run, "20261130-000000-000000") == 0);
	CHECK_INT(held_keep(store_fd, "demo", &other, &again, &e), -1);
	CHECK(again && strstr(e.msg, "in use"));
	held_close(&other);
	CHECK_INT(held_remove(&h, &e), 0);
	held_close(&h);
}

static void test_held_last_of_a_run_is_itself(void)
{
	char run[HELD_ID_MAX];
	struct err e;

	CHECK(!held_is_name("20261130-000000-000000"));
	CHECK(held_is_name("demo"));
	CHECK_INT(held_last(store_fd, "20261130-000000-000000", run, &e), 0);
	CHECK(strcmp(run, "20261130-000000-000000") == 0);
	CHECK_INT(held_last(store_fd, "nothing", run, &e), -1);
}

static void test_held_last_in_another_form_is_refused(void)
{
	char run[HELD_ID_MAX];
	struct held h;
	struct err e;
	int fd;

	begin("demo", &h);
	CHECK_INT(held_set_last(&h, "20261130-000000-000000", 0, &e), 0);
	fd = openat(h.fd, "last", O_WRONLY | O_APPEND);
	CHECK(fd >= 0 && io_write_all(fd, SV("x"), &e) == 0);
	(void)close(fd);
	CHECK_INT(held_last(store_fd, "demo", run, &e), -1);
	CHECK_INT(held_await_last(&h, &e), -1);
	CHECK_INT(held_remove(&h, &e), 0);
	held_close(&h);
}

static void test_held_await_last_takes_a_zombie_for_gone(void)
{
	struct held h;
	struct err e;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	CHECK(pid > 0);
	begin("demo", &h);
	CHECK_INT(held_set_last(&h, "20261130-000000-000000", pid, &e), 0);
	CHECK_INT(held_await_last(&h, &e), -1);
	CHECK(e.kind == ERR_POLICY && strstr(e.msg, "not gone yet"));
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(held_await_last(&h, &e), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	CHECK_INT(held_await_last(&h, &e), 0);
	CHECK_INT(held_remove(&h, &e), 0);
	held_close(&h);
}

int main(void)
{
	CHECK(mkdtemp(place) != NULL);
	store_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(test_held_keep_comes_back_with_its_trees);
	RUN(test_held_last_of_a_run_is_itself);
	RUN(test_held_last_in_another_form_is_refused);
	RUN(test_held_await_last_takes_a_zombie_for_gone);
	(void)rmdir(place);
	return tap_done();
}
