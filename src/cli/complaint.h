/* SPDX-License-Identifier: Apache-2.0 */
/* What goes to a person's terminal, one line on standard error. */
#ifndef CLI_COMPLAINT_H
#define CLI_COMPLAINT_H

#include <stdbool.h>

/*
 * "stockade: " and both texts.  They may quote names of files and words of
 * helpers, which an agent chose: what a terminal would act upon is shown as
 * \xNN, and a line break only kept where a policy's line is quoted below.
 * With `raw` the terminal may be in raw mode.
 */
void complain(const char *what, const char *text, bool raw);

#endif
