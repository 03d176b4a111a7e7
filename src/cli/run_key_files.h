/* SPDX-License-Identifier: Apache-2.0 */
/* Files with placeholders that the policy wants made inside. */
#ifndef CLI_RUN_KEY_FILES_H
#define CLI_RUN_KEY_FILES_H

#include "credential_set.h"
#include "launch.h"

/* Puts them into *in; their memory is the policy's.  set is NULL where the plan is
 * only looked at: the files are empty then. */
must_check int run_key_files(struct policy *p, const struct credential_set *set,
			     struct launch_input *in, struct err *e);

#endif
