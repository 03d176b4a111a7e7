/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo terminals: see pty.h. */
#include "pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "own.h"

int pty_open(int devpts_fd, struct pty *ret, struct err *e)
{
	const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
	auto_fd int master = openat(devpts_fd, "ptmx", flags);
	auto_fd int slave = -1;
	int unlock = 0;
	unsigned index;

	if (master < 0)
		return err_sys(e, "open ptmx");
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return err_sys(e, "unlock the terminal");
	if (ioctl(master, TIOCGPTN, &index) < 0)
		return err_sys(e, "number of the terminal");
	/* By descriptor: a path could lead to another instance (4.13). */
	slave = ioctl(master, TIOCGPTPEER, flags);
	if (slave < 0)
		return err_sys(e, "open the terminal's inner side");
	*ret = (struct pty){
		.master = steal_fd(&master), .slave = steal_fd(&slave),
		.index = index,
	};
	return 0;
}

int pty_copy_size(int from, int to, struct err *e)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) < 0)
		return err_sys(e, "read the window size");
	if (ioctl(to, TIOCSWINSZ, &size) < 0)
		return err_sys(e, "set the window size");
	return 0;
}

int pty_control(int slave, struct err *e)
{
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_sys(e, "take the controlling terminal");
	return 0;
}

int pty_raw(int fd, struct pty_mode *old, struct err *e)
{
	struct termios now;

	if (tcgetattr(fd, &now) < 0)
		return err_sys(e, "read the terminal's mode");
	if (!old->saved) {
		old->termios = now;
		old->saved = true;
	}
	cfmakeraw(&now);
	if (tcsetattr(fd, TCSADRAIN, &now) < 0)
		return err_sys(e, "set the terminal's mode");
	return 0;
}

void pty_restore(int fd, const struct pty_mode *old)
{
	int saved = errno;

	if (old->saved)
		(void)tcsetattr(fd, TCSADRAIN, &old->termios);
	errno = saved;
}
