/* SPDX-License-Identifier: Apache-2.0 */
/* What a secret's value and the name of an entry of the store may be. */
#ifndef POLICY_SECRET_TEXT_H
#define POLICY_SECRET_TEXT_H

#include <stdbool.h>

#include "sv.h"

enum { SECRET_VALUE_MAX = 16384, STORE_NAME_MAX = 128 };

/* NULL, or what is wrong with it, for a message that never has the value. */
const char *secret_value_fault(struct sv value);

/* Letters, digits and `_ . - / @ : +`, the first a letter, a digit or `_`: never
 * taken for a flag, and nothing that a terminal would act on. */
bool store_name_is(struct sv name);
#define STORE_NAME_WORDS "letters, digits and `_ . - / @ : +`"

#endif
