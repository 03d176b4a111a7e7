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
#include "sv.h"

/*
 * The agent's filter; static storage.  With `debug` processes may trace each
 * other: the kernel still asks whether this one may trace that one, and in a
 * pid namespace of their own there are no others.
 */
const struct seccomp_filter *filter_agent(bool debug);
/* Does it refuse that call, whatever the arguments? */
bool filter_refuses(const struct seccomp_filter *f, uint32_t nr);

/* What arguments decide about a call that this filter lets them decide about;
 * NULL where there is no such. */
const char *filter_words(uint32_t nr);

/*
 * `syscalls strict`: what ordinary programs need and no more, for behind the
 * agent's filter.  The arguments are left to that one.  rules has room for as
 * many as that has.
 */
void filter_strict(bool debug, struct seccomp_rule *rules,
		   struct seccomp_filter *ret);

/* Installs the agent's filter on the calling process. */
must_check int filter_apply(bool debug, struct err *e);
/* And behind it one more, given as instructions: the last step before exec. */
must_check int filter_narrow(struct sv program, struct err *e);

#endif
