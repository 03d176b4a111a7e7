/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade log`, `stockade log verify` and `stockade runs`. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "err.h"

/* The exit status, 1 for a trail that is not intact; -1 and e on an error. */
int log_main(int argc, char **argv, struct err *e);
int runs_main(int argc, char **argv, struct err *e);

#endif
