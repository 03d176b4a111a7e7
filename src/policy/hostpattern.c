/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts: see hostpattern.h. */
#include "hostpattern.h"

#include "own.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63 };	/* RFC 1035, 2.3.4 */

static const char literal[] =
	"a literal address is never dialled; name the host "
	"(`reach` gives a name a private address)";

/* What inet_aton() and browsers would read as a number. */
static bool is_numeric(struct sv label)
{
	if (label.n > 2 && label.p[0] == '0' && label.p[1] == 'x')
		label = sv_from(label, 2);
	else
		for (size_t i = 0; i < label.n; i++)
			if (!is_digit(label.p[i]))
				return false;
	for (size_t i = 0; i < label.n; i++)
		if (hex_value(label.p[i]) < 0)
			return false;
	return true;
}

static const char *label_fault(struct sv label)
{
	if (label.n == 0)
		return "an empty label in the host's name";
	if (label.n > LABEL_MAX)
		return "a label of more than 63 bytes in the host's name";
	if (label.p[0] == '-' || label.p[label.n - 1] == '-')
		return "a label may not start or end with a hyphen";
	for (size_t i = 0; i < label.n; i++) {
		char c = label.p[i];

		if (c == '*')
			return "`*` stands for whole labels, and only in front: *.example.com";
		if ((unsigned char)c >= 0x80)
			return "write an international name in its ASCII form (xn--...)";
		if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' &&
		    c != '_')
			return "this character cannot be in a host's name";
	}
	return NULL;
}

const char *hostpattern_name_fault(struct sv v)
{
	struct sv rest = v, label = v;

	if (v.n == 0)
		return "the host is missing";
	if (v.p[0] == '[' || sv_find(v, ':') < v.n)
		return literal;
	if (v.n > NAME_MAX_BYTES)
		return "the host's name has more than 253 bytes";
	if (v.p[v.n - 1] == '.')
		return "write the host's name without the dot at its end";
	for (;;) {
		const char *fault;

		label = sv_head(rest, sv_find(rest, '.'));
		fault = label_fault(label);
		if (fault)
			return fault;
		if (label.n == rest.n)
			break;
		rest = sv_from(rest, label.n + 1);
	}
	return is_numeric(label) ? literal : NULL;
}

const char *hostpattern_fault(struct sv v)
{
	struct sv suffix;

	if (sv_eq(v, SV("*")))
		return NULL;
	if (!sv_starts(v, SV("*.")))
		return hostpattern_name_fault(v);
	suffix = sv_from(v, 2);
	if (suffix.n && sv_find(suffix, '.') == suffix.n)
		return "a wildcard needs at least two labels behind it: *.example.com";
	return hostpattern_name_fault(suffix);
}

bool hostpattern_is_special(struct sv name)
{
	static const struct sv names[] = {
		SV("localhost"), SV("metadata"), SV("metadata.goog"),
		SV("instance-data"), SV("metadata.tencentyun.com"),
		SV("kubernetes.default"), SV("kubernetes.default.svc"),
	};
	static const struct sv suffixes[] = {
		SV(".localhost"), SV(".local"), SV(".internal"),
		SV(".localdomain"), SV(".home.arpa"), SV(".lan"),
	};

	for (size_t i = 0; i < countof(names); i++)
		if (sv_eq(name, names[i]))
			return true;
	for (size_t i = 0; i < countof(suffixes); i++)
		if (sv_ends(name, suffixes[i]))
			return true;
	/* A single label is a name of this network, whatever it is. */
	return sv_find(name, '.') == name.n;
}

struct sv hostpattern_lower(struct arena *a, struct sv v)
{
	char *p = arena_alloc(a, v.n + 1);

	if (!p)
		return (struct sv){ 0 };
	for (size_t i = 0; i < v.n; i++)
		p[i] = ascii_lower(v.p[i]);
	return sv_of(p, v.n);
}
