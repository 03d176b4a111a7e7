/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a person for what nobody may see: at the controlling terminal, without
 * echo. */
#ifndef CLI_PROMPT_H
#define CLI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Is there a terminal to ask at? */
bool prompt_is_possible(void);
/*
 * One line, without its end, into ret, which has room for that many bytes.  The
 * terminal's mode comes back on every way out.  A signal that would end or stop
 * this process has its usual effect, behind that; after a stop it is asked again.
 */
must_check int prompt_read(const char *text, char *ret, size_t room,
			   size_t *ret_n, struct err *e);

#endif
