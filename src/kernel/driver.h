/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which drivers a character device belongs to.
 *
 * A node's name says nothing: anybody who may make nodes calls it what he likes.
 * The kernel says by number who registered it: /proc/devices for majors, where
 * several drivers can share one, and /proc/misc for the minors of misc.
 */
#ifndef KERNEL_DRIVER_H
#define KERNEL_DRIVER_H

#include <sys/types.h>

#include "buf.h"

/* Appends their names, one a line; of misc devices the device's own name.  An
 * error when the kernel names none. */
must_check int driver_names(dev_t number, struct buf *ret, struct err *e);

#endif
