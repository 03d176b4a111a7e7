/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device files of /dev, known by number.
 *
 * What is bound into a sandbox as /dev/null must be the null device: a host
 * with a prepared file in its place would otherwise collect what is written.
 */
#ifndef KERNEL_DEVICE_H
#define KERNEL_DEVICE_H

#include "err.h"

struct device {
	const char *name;	/* below /dev */
	unsigned major;
	unsigned minor;
};

/* null, zero, full, random, urandom, tty; ended by a NULL name. */
extern const struct device device_list[];

/* Is what fd refers to (O_PATH, or a copy of its mount) that device? */
must_check int device_check(int fd, const struct device *d, struct err *e);

#endif
