/* SPDX-License-Identifier: Apache-2.0 */
/* What every run hides, whatever its policy grants. */
#ifndef CLI_RUN_HIDDEN_H
#define CLI_RUN_HIDDEN_H

#include "policy.h"

/* Adds a `hide` of each to the policy: the files that its secrets come from, the
 * folder by whose sockets runs are spoken to, and that of the store. */
must_check int run_hide(struct policy *p, struct err *e);

/* Makes the folder of the sockets: before the plan, which hides what is there. */
must_check int run_make_hidden(struct err *e);

#endif
