/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade run`: the main job. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "err.h"

/* Instead of 128 + SIGINT: Ctrl-C on the terminal has ended the command, and a
 * shell that runs us in a loop ends that only when it has ended us as well. */
enum { RUN_INTERRUPTED = 256 };

/* The command's own status; 124 to 127 and 128+n as in stockade(1); -1 with *e
 * set when the sandbox could not be made. */
int run_main(int argc, char **argv, struct err *e);

#endif
