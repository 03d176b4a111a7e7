/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory of a unit test's own, for a test that needs files to look at.
 * One at a time: place_begin() ... place_end().
 */
#ifndef TEST_PLACE_H
#define TEST_PLACE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "io.h"
#include "own.h"
#include "tap.h"

static char place_top[64];

static inline void place_begin(const char *name)
{
	(void)snprintf(place_top, sizeof place_top, "/tmp/%s-XXXXXX", name);
	CHECK(mkdtemp(place_top) != NULL);
}

static inline void place_end(void)
{
	struct err e;

	CHECK_INT(entry_remove(AT_FDCWD, place_top, &e), 0);
}

/* The path of what is called so there, until the next call. */
static inline const char *place_at(const char *name)
{
	static char path[300];

	(void)snprintf(path, sizeof path, "%s/%s", place_top, name);
	return path;
}

static inline void place_mkdir(const char *name)
{
	CHECK_INT(mkdir(place_at(name), 0700), 0);
}

static inline void place_put(const char *name, const char *text)
{
	auto_fd int fd = open(place_at(name), O_WRONLY | O_CREAT | O_CLOEXEC,
			      0600);
	struct err e;

	CHECK(fd >= 0 && io_write_all(fd, sv_str(text), &e) == 0);
}

/* The caller owns it. */
static inline int place_open_dir(const char *name)
{
	int fd = open(place_at(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

#endif
