/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `client npm` and `client apt`: what a client of the host is configured to
 * download from, as statements.
 *
 * The client itself is asked, outside.  Its answer is kept in the state
 * directory, for a day at most and while the files that it was taken from, and
 * the variables that it depends on, are as they were.
 */
#ifndef CLI_CLIENT_CONFIG_H
#define CLI_CLIENT_CONFIG_H

#include "buf.h"

/* cwd is the working directory, which may be the agent's to write. */
must_check int client_config(struct sv client, const char *cwd,
			     struct buf *ret, struct err *e);

#endif
