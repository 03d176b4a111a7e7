/* SPDX-License-Identifier: Apache-2.0 */
#include "pty.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "child.h"
#include "mount.h"
#include "own.h"
#include "tap.h"

static int open_pair(struct pty *pty)
{
	static const struct mount_option options[] = {
		{ "ptmxmode", "0666" }, { "mode", "0620" },
	};
	auto_fd int fd = -1;

	NEED(child_enter(CLONE_NEWNS) == 0);
	fd = mount_new_fs("devpts", options, countof(options), 0, &child_err);
	NEED(fd >= 0);
	NEED(pty_open(fd, pty, &child_err) == 0);
	return CHILD_OK;
}

static int talk(void)
{
	struct pty pty;
	struct pty_mode mode = { 0 };
	struct winsize size = { .ws_row = 33, .ws_col = 99 };
	char text[8];

	NEED(open_pair(&pty) == CHILD_OK);
	NEED(pty.index == 0);
	NEED(isatty(pty.slave));
	NEED(write(pty.slave, "ab", 2) == 2);
	NEED(read(pty.master, text, sizeof text) == 2);
	NEED(ioctl(pty.master, TIOCSWINSZ, &size) == 0);
	size.ws_row = 0;
	NEED(pty_copy_size(pty.master, pty.slave, &child_err) == 0);
	NEED(ioctl(pty.slave, TIOCGWINSZ, &size) == 0 && size.ws_row == 33);
	NEED(pty_raw(pty.slave, &mode, &child_err) == 0);
	NEED(pty_raw(pty.slave, &mode, &child_err) == 0);
	{
		struct termios now;

		NEED(tcgetattr(pty.slave, &now) == 0);
		NEED(!(now.c_lflag & (ICANON | ECHO)));
		pty_restore(pty.slave, &mode);
		NEED(tcgetattr(pty.slave, &now) == 0);
		NEED(now.c_lflag & ICANON);
	}
	NEED(setsid() > 0);
	NEED(pty_control(pty.slave, &child_err) == 0);
	NEED(tcgetpgrp(pty.slave) == getpgrp());
	return CHILD_OK;
}

static void test_pair_of_an_own_instance(void)
{
	CHECK_INT(child_run(talk), CHILD_OK);
}

static void test_raw_not_a_terminal_is_an_error(void)
{
	struct pty_mode mode = { 0 };
	struct err e;
	auto_fd int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	CHECK_INT(pty_raw(fd, &mode, &e), -1);
	CHECK(!mode.saved);
	pty_restore(fd, &mode);
}

int main(void)
{
	RUN(test_pair_of_an_own_instance);
	RUN(test_raw_not_a_terminal_is_an_error);
	return tap_done();
}
