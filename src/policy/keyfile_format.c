/* SPDX-License-Identifier: Apache-2.0 */
/* A file's name and its format: see keyfile_format.h. */
#include "keyfile_format.h"

#include "own.h"

static struct sv file_name(struct sv path)
{
	size_t at = path.n;

	while (at && path.p[at - 1] != '/')
		at--;
	return sv_from(path, at);
}

static bool ends_in(struct sv name, const struct sv *ends, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sv_ends(name, ends[i]))
			return true;
	return false;
}

enum keyfile_format keyfile_format_of(struct sv path)
{
	static const struct sv other[] = { SV(".yml"), SV(".yaml"), SV(".toml") };
	struct sv name = file_name(path);

	if (sv_ends(name, SV(".json")))
		return KEYFILE_JSON;
	if (sv_eq(name, SV(".netrc")) || sv_eq(name, SV("_netrc")) ||
	    sv_eq(name, SV("netrc")))
		return KEYFILE_NETRC;
	if (sv_starts(name, SV(".env.")) || sv_ends(name, SV(".env")))
		return KEYFILE_DOTENV;
	return ends_in(name, other, countof(other)) ? KEYFILE_WHOLE :
						      KEYFILE_INI;
}

const char *keyfile_format_name(enum keyfile_format f)
{
	static const char *const names[] = {
		[KEYFILE_WHOLE] = "a value", [KEYFILE_JSON] = "JSON",
		[KEYFILE_INI] = "INI", [KEYFILE_NETRC] = "netrc",
		[KEYFILE_DOTENV] = "dotenv",
	};

	return (size_t)f < countof(names) ? names[f] : "";
}

/* RFC 6901: each part behind a slash, in which ~0 is ~ and ~1 is a slash. */
static bool is_pointer(struct sv key)
{
	if (key.n == 0 || key.p[0] != '/')
		return false;
	for (size_t i = 0; i < key.n; i++)
		if (key.p[i] == '~' &&
		    (i + 1 == key.n ||
		     (key.p[i + 1] != '0' && key.p[i + 1] != '1')))
			return false;
	return true;
}

const char *keyfile_format_fault(enum keyfile_format f, struct sv key)
{
	if (f == KEYFILE_WHOLE)
		return "an entry is read from JSON, INI, netrc and dotenv files; "
		       "of this one a `from command` can print it";
	if (f == KEYFILE_JSON && !is_pointer(key))
		return "an entry of a JSON file is named by a JSON Pointer, as "
		       "/auths/images.example/auth";
	if (key.n == 0)
		return "the key is empty";
	return key.n > KEYFILE_KEY_MAX ? "the key is too long" : NULL;
}
