/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical names: see name.h. */
#include "name.h"

static bool is_label(struct sv label)
{
	if (label.n < 1 || label.n > 63)
		return false;
	for (size_t i = 0; i < label.n; i++) {
		char c = label.p[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '_' &&
		    c != '-')
			return false;
	}
	return label.p[0] != '-' && label.p[label.n - 1] != '-';
}

/* A last label that some parser takes for the end of an IPv4 address. */
static bool is_number(struct sv label)
{
	size_t i = sv_starts(label, SV("0x")) ? 2 : 0;
	bool hex = i > 0;

	for (; i < label.n; i++)
		if (hex ? hex_value(label.p[i]) < 0 : !is_digit(label.p[i]))
			return false;
	return true;
}

bool name_is_canonical(struct sv name)
{
	if (name.n > 253)
		return false;
	for (;;) {
		size_t dot = sv_find(name, '.');
		struct sv label = sv_head(name, dot);

		if (!is_label(label))
			return false;
		if (dot == name.n)
			return !is_number(label);
		name = sv_from(name, dot + 1);
	}
}
