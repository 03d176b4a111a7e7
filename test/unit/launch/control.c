/* SPDX-License-Identifier: Apache-2.0 */
/* What the two sides of a launch hear of each other when one of them ends. */
#include "control.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

static struct control_in heard;

static void test_a_failure_is_heard_that_came_before_a_note_was_read(void)
{
	struct control_note plan = { .kind = CONTROL_PLAN };
	struct control_note failed = { .kind = CONTROL_FAILED, .value = 125 };
	struct err e = { 0 };
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
		  0);
	CHECK_INT(control_send(pair[0], &plan, SV(""), &e), 0);
	CHECK_INT(control_send(pair[1], &failed, SV(""), &e), 0);
	(void)close(pair[1]);
	/* What the parent takes as a reason to listen (sandbox.c). */
	CHECK_INT(control_send(pair[0], &plan, SV(""), &e), -1);
	CHECK_INT(e.code, EPIPE);
	CHECK_INT(control_receive(pair[0], &heard, false, &e), 1);
	CHECK_INT(heard.note.kind, CONTROL_FAILED);
	CHECK_INT(heard.note.value, 125);
	CHECK_INT(control_receive(pair[0], &heard, false, &e), 0);
	(void)close(pair[0]);
}

static void test_the_end_is_heard_behind_a_note_that_was_not_read(void)
{
	struct control_note go = { .kind = CONTROL_GO };
	struct err e = { 0 };
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
		  0);
	CHECK_INT(control_send(pair[0], &go, SV("pem"), &e), 0);
	(void)close(pair[1]);
	CHECK_INT(control_receive(pair[0], &heard, false, &e), 0);
	(void)close(pair[0]);
}

/* pid 1 with no descriptor left still gets the command's listener (spawn.c). */
static void test_the_number_of_a_closed_end_is_enough(void)
{
	struct control_note none = { .kind = CONTROL_NONE };
	struct err e = { 0 };
	struct rlimit all, few;
	int pair[2], spare;

	CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
		  0);
	CHECK_INT(control_send_fds(pair[1], &none, &pair[1], 1, &e), 0);
	CHECK_INT(control_send_fds(pair[1], &none, &pair[1], 1, &e), 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &all), 0);
	spare = dup(pair[0]);
	(void)close(spare);
	few = all;
	few.rlim_cur = (rlim_t)spare;	/* all below are in use */
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
	CHECK_INT(control_receive(pair[0], &heard, false, &e), -1);
	(void)close(pair[1]);
	CHECK_INT(control_receive(pair[0], &heard, false, &e), 1);
	CHECK_INT(heard.fds_n, 1);
	CHECK_INT(heard.fds[0], pair[1]);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &all), 0);
	(void)close(heard.fds[0]);
	(void)close(pair[0]);
}

int main(void)
{
	RUN(test_a_failure_is_heard_that_came_before_a_note_was_read);
	RUN(test_the_end_is_heard_behind_a_note_that_was_not_read);
	RUN(test_the_number_of_a_closed_end_is_enough);
	return tap_done();
}
