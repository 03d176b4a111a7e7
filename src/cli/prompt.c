/* SPDX-License-Identifier: Apache-2.0 */
/* Asking without echo: see prompt.h. */
#include "prompt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "own.h"

/* The kernel drops what a line has beyond that, without a word. */
enum { LINE_MAX_TERMINAL = 4095 };

static const int signals[] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE, SIGUSR1, SIGUSR2,
	SIGTSTP, SIGTTIN, SIGTTOU,
};
static volatile sig_atomic_t caught[NSIG];

struct conversation {
	int fd;			/* the terminal; owned */
	struct termios before;
	bool is_changed;
	struct sigaction old[countof(signals)];
	sigset_t mask;		/* as it was */
};

static void on_signal(int number)
{
	caught[number] = 1;
}

static bool is_stop(int number)
{
	return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static bool any_caught(void)
{
	for (size_t i = 0; i < countof(signals); i++)
		if (caught[signals[i]])
			return true;
	return false;
}

/* They come while the terminal is waited for and at no other moment: one before
 * that would leave nobody to end the wait.  What the terminal does to a process in
 * the background answers a call of ours, and is not held back. */
static void catch_signals(struct conversation *c)
{
	struct sigaction ours = { .sa_handler = on_signal };
	sigset_t held;

	(void)sigemptyset(&ours.sa_mask);
	(void)sigemptyset(&held);
	for (size_t i = 0; i < countof(signals); i++)
		if (signals[i] != SIGTTIN && signals[i] != SIGTTOU)
			(void)sigaddset(&held, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &held, &c->mask);
	for (size_t i = 0; i < countof(signals); i++) {
		caught[signals[i]] = 0;
		(void)sigaction(signals[i], &ours, &c->old[i]);
		if (c->old[i].sa_handler == SIG_IGN)
			(void)sigaction(signals[i], &c->old[i], NULL);
	}
}

static int open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

bool prompt_is_possible(void)
{
	auto_fd int fd = open_terminal();

	return fd >= 0;
}

static void say(int fd, const char *text)
{
	size_t n = strlen(text);

	if (write(fd, text, n) != (ssize_t)n)
		return;		/* the answer is what counts */
}

static int hide(struct conversation *c, struct err *e)
{
	struct termios quiet;

	if (tcgetattr(c->fd, &c->before) < 0)
		return err_sys(e, "read the terminal's mode");
	quiet = c->before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	c->is_changed = true;
	/* What was typed before the question is no answer to it. */
	if (tcsetattr(c->fd, TCSAFLUSH, &quiet) < 0)
		return err_sys(e, "hide what is typed");
	return 0;
}

static void restore(struct conversation *c)
{
	if (c->is_changed)
		/* One in the background is stopped for it, below. */
		while (tcsetattr(c->fd, TCSAFLUSH, &c->before) < 0 &&
		       errno == EINTR && !caught[SIGTTOU])
			;
	close_fd(&c->fd);
	for (size_t i = 0; i < countof(signals); i++)
		(void)sigaction(signals[i], &c->old[i], NULL);
	(void)sigprocmask(SIG_SETMASK, &c->mask, NULL);
}

/* One byte: 1; 0 at the end; -1, also at a signal. */
static ssize_t read_byte(const struct conversation *c, char *ret)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	if (ppoll(&p, 1, NULL, &c->mask) < 0)
		return -1;
	return read(c->fd, ret, 1);
}

static int read_line(const struct conversation *from, char *ret, size_t room, size_t *ret_n,
		     struct err *e)
{
	size_t n = 0;
	char c;

	for (;;) {
		ssize_t got = read_byte(from, &c);

		if (got < 0)
			return err_sys(e, "read from the terminal");
		if (got == 0 && n == 0)
			return err_kind(e, ERR_POLICY, "nothing was entered");
		if (got == 0 || c == '\n' || c == '\r')
			break;
		if (n < room)
			ret[n] = c;
		n++;
	}
	explicit_bzero(&c, 1);
	if (n >= LINE_MAX_TERMINAL)
		return err_kind(e, ERR_LIMIT, "too long for a terminal's line: "
				"have a program print it into `stockade secret "
				"set`");
	if (n > room)
		return err_kind(e, ERR_LIMIT, "longer than %zu bytes", room);
	*ret_n = n;
	return 0;
}

static int ask(struct conversation *c, const char *text, char *ret,
	       size_t room, size_t *ret_n, struct err *e)
{
	int rc;

	if (hide(c, e) < 0)
		return -1;
	say(c->fd, text);
	rc = read_line(c, ret, room, ret_n, e);
	say(c->fd, "\n");	/* the person's was not echoed */
	return rc;
}

/* Those that came meanwhile do what they do; true: it is to be asked again. */
static bool deliver(void)
{
	bool again = false;

	for (size_t i = 0; i < countof(signals); i++)
		if (caught[signals[i]]) {
			(void)raise(signals[i]);
			again = again || is_stop(signals[i]);
		}
	return again;
}

int prompt_read(const char *text, char *ret, size_t room, size_t *ret_n,
		struct err *e)
{
	for (;;) {
		struct conversation c = { .fd = open_terminal() };
		int rc;

		if (c.fd < 0)
			return err_sys(e, "open the terminal");
		catch_signals(&c);
		rc = ask(&c, text, ret, room, ret_n, e);
		if (rc < 0 || any_caught())
			explicit_bzero(ret, room);
		restore(&c);
		if (!any_caught())
			return rc;
		if (!deliver())
			return err_kind(e, ERR_POLICY, "interrupted");
	}
}
