/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent may ask of the kernel.
 *
 * An allow-list.  What is dangerous and known is EPERM, so that a program says
 * what was refused; what may be absent from a kernel (io_uring, clone3, and
 * every number not listed) is ENOSYS, so that libraries fall back.
 */
#ifndef KERNEL_FILTER_H
#define KERNEL_FILTER_H

#include "seccomp.h"

/* The agent's filter; static storage. */
const struct seccomp_filter *filter_agent(void);

/* Installs it on the calling process: the last step before exec. */
must_check int filter_apply(struct err *e);

#endif
