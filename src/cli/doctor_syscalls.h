/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade doctor --syscalls`: what becomes of each system call inside. */
#ifndef CLI_DOCTOR_SYSCALLS_H
#define CLI_DOCTOR_SYSCALLS_H

#include "buf.h"
#include "policy.h"

/* Of a loaded policy, or of none (an empty one). */
void doctor_syscalls(const struct policy *p, bool as_json, struct buf *b);

#endif
