/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time that passes 40 times as fast, for LD_PRELOAD: so that a test can wait
 * for a helper's deadline of a minute.
 */
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPEED = 40 };

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, t);
	long long ns;

	if (rc < 0 || clock != CLOCK_MONOTONIC)
		return rc;
	/* It counts from the boot: no overflow within centuries / SPEED. */
	ns = t->tv_nsec * (long long)SPEED;
	t->tv_sec = t->tv_sec * SPEED + (time_t)(ns / 1000000000);
	t->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	if (timeout > 0)
		timeout = (timeout + SPEED - 1) / SPEED;
	return (int)syscall(SYS_epoll_pwait, fd, events, n, timeout, NULL, 0);
}
