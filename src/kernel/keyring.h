/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's keyrings: a key of this user's that is kept for a while.
 *
 * It lies in the user's keyring of this user namespace, so that another terminal
 * finds it.  Only who possesses it may do anything with it, and never is it
 * there with more: it is made in this process's own keyring, bounded, and linked
 * from there.  A process inside has another user namespace, and none of these
 * calls (filter.c).
 */
#ifndef KERNEL_KEYRING_H
#define KERNEL_KEYRING_H

#include <stdint.h>

#include "err.h"
#include "sv.h"

/* Replaces one of that name; it ends after so many seconds. */
must_check int keyring_put(const char *name, struct sv key, uint32_t seconds,
			   struct err *e);
/* 1: the key, of exactly n bytes, is in ret; 0: there is none (or none that
 * could be used); -1 where the kernel has or lends no keyring. */
must_check int keyring_get(const char *name, char *ret, size_t n,
			   struct err *e);
/* 1: it was taken away; 0: there was none; -1 as above. */
must_check int keyring_remove(const char *name, struct err *e);

#endif
