/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade run`: the main job. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "err.h"

/* The command's own status; 124 to 127 and 128+n as in stockade(1); -1 with *e
 * set when the sandbox could not be made. */
int run_main(int argc, char **argv, struct err *e);

#endif
