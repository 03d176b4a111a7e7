/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade doctor [--json]`: what this kernel and this user allow; with
 * `--syscalls [FLAGS]`, which system calls work inside. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "err.h"

/* 0 when `stockade run` can work here, 1 when not, -1 when it cannot tell. */
int doctor_main(int argc, char **argv, struct err *e);

#endif
