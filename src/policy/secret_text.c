/* SPDX-License-Identifier: Apache-2.0 */
/* What a secret's value and the name of an entry may be: see secret_text.h. */
#include "secret_text.h"

/* A value becomes a part of a header field: what could end that or hide in it is
 * refused, never repaired. */
const char *secret_value_fault(struct sv value)
{
	if (value.n == 0)
		return "its source is empty";
	if (value.n > SECRET_VALUE_MAX)
		return "longer than 16384 bytes";
	for (size_t i = 0; i < value.n; i++)
		if (value.p[i] <= ' ' || value.p[i] > '~')
			return "not one line of visible ASCII";
	return NULL;
}

static bool is_plain(char c)
{
	return is_alpha(c) || is_digit(c) || c == '_';
}

bool store_name_is(struct sv name)
{
	if (name.n == 0 || name.n > STORE_NAME_MAX || !is_plain(name.p[0]))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (!is_plain(name.p[i]) &&
		    (!name.p[i] || !strchr(".-/@:+", name.p[i])))
			return false;
	return true;
}
