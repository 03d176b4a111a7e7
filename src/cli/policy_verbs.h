/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs about the policy itself.  Each takes its own arguments (argv[0] is
 * the verb), writes to stdout, and returns the exit status, or -1 with *e set
 * (main says why and exits with 125).
 */
#ifndef CLI_POLICY_VERBS_H
#define CLI_POLICY_VERBS_H

#include "err.h"

int policy_main(int argc, char **argv, struct err *e);
int check_main(int argc, char **argv, struct err *e);
int trust_main(int argc, char **argv, struct err *e);

#endif
