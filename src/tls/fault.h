/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL's errors as ours, and how its library is started. */
#ifndef TLS_FAULT_H
#define TLS_FAULT_H

#include "err.h"

/*
 * Starts libcrypto without its configuration file: the caller is or will be
 * confined, and a file of the machine must not weaken what is written here.
 * Must come before any other call; may be repeated.
 */
must_check int fault_start(struct err *e);
/*
 * The same for a process that only signs, before any other call: without the
 * list of all algorithms by their old names, a third of the whole start, which
 * verifying needs; and without ciphers.
 */
must_check int fault_start_signer(struct err *e);

/* Sets *e from OpenSSL's error queue, empties that, and returns -1. */
int fault_set(struct err *e, const char *what);

#endif
