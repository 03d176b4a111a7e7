/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade doctor [--json]`: what this kernel and this user allow. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

/* 0 when `stockade run` can work here, 1 when not, 2 for a bad argument. */
int cli_doctor(int argc, char **argv);

#endif
