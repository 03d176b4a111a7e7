/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "tap.h"

static struct err e;

static void test_clone_wait_gives_status(void)
{
	struct process_end end;
	auto_fd int fd = -1;
	pid_t pid = process_clone(0, &fd, &e);

	if (pid == 0)
		_exit(42);
	CHECK(pid > 0 && fd >= 0);
	CHECK_INT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_INT(process_wait(fd, &end, &e), 0);
	CHECK_INT(process_status(&end), 42);
	CHECK_INT(process_wait(fd, &end, &e), -1);
}

static void test_signal_gives_signal(void)
{
	struct process_end end;
	auto_fd int fd = -1;
	pid_t pid = process_clone(0, &fd, &e);

	if (pid == 0)
		for (;;)
			(void)pause();
	CHECK_INT(process_signal(fd, SIGTERM, &e), 0);
	CHECK_INT(process_wait(fd, &end, &e), 0);
	CHECK_INT(end.signal, SIGTERM);
	CHECK_INT(process_status(&end), 128 + SIGTERM);
	CHECK_INT(process_signal(fd, SIGTERM, &e), -1);
	CHECK_INT(e.code, ESRCH);
}

static void test_clone_new_namespaces(void)
{
	struct process_end end;
	auto_fd int fd = -1;
	pid_t pid = process_clone(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWTIME,
				  &fd, &e);

	if (pid == 0)
		_exit(getpid() == 1 ? 7 : 8);
	CHECK(pid > 0);
	CHECK_INT(process_wait(fd, &end, &e), 0);
	CHECK_INT(end.status, 7);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int close_except(void)
{
	int high = fcntl(1, F_DUPFD, 300), low = fcntl(1, F_DUPFD, 100);
	const int keep[] = { low, 2, -1, 0, 1, 1 };

	NEED(is_open(low) && is_open(high));
	NEED(process_close_except(keep, 6, &child_err) == 0);
	NEED(is_open(1) && is_open(low) && !is_open(high));
	NEED(process_cloexec_from(50, &child_err) == 0);
	NEED(fcntl(low, F_GETFD) == FD_CLOEXEC);
	NEED(process_close_except(NULL, 0, &child_err) == 0);
	return is_open(1) ? CHILD_FAILED : CHILD_OK;
}

static void test_close_except_keeps_the_listed(void)
{
	CHECK_INT(child_run(close_except), CHILD_OK);
}

static int attributes(void)
{
	NEED(process_hide(&child_err) == 0);
	NEED(prctl(PR_GET_DUMPABLE) == 0);
	NEED(process_die_with_parent(SIGKILL, getppid(), &child_err) == 0);
	NEED(process_die_with_parent(SIGKILL, 1234567, &child_err) < 0);
	NEED(child_err.code == ESRCH);
	return CHILD_OK;
}

static void test_attributes(void)
{
	CHECK_INT(child_run(attributes), CHILD_OK);
}

int main(void)
{
	RUN(test_clone_wait_gives_status);
	RUN(test_signal_gives_signal);
	RUN(test_clone_new_namespaces);
	RUN(test_close_except_keeps_the_listed);
	RUN(test_attributes);
	return tap_done();
}
