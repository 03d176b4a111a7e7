/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of a file: see keyfile.h. */
#include "keyfile.h"

#include "own.h"

int keyfile_fault(struct err *e, struct sv text, const char *p,
		  const char *what)
{
	size_t line = 1;

	for (size_t i = 0; i < text.n && text.p + i < p; i++)
		line += text.p[i] == '\n';
	return err_kind(e, ERR_POLICY, "line %zu: %s", line, what);
}

bool keyfile_has(struct sv v, const char *any)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] && strchr(any, v.p[i]))
			return true;
	return false;
}

int keyfile_find(enum keyfile_format f, struct sv text, struct sv key,
		 struct buf *ret, struct err *e)
{
	static keyfile_reader *const readers[] = {
		[KEYFILE_JSON] = keyfile_json, [KEYFILE_INI] = keyfile_ini,
		[KEYFILE_NETRC] = keyfile_netrc,
		[KEYFILE_DOTENV] = keyfile_dotenv,
	};
	int got;

	if ((size_t)f >= countof(readers) || !readers[f])
		return err_kind(e, ERR_PROTO, "a file of no known format");
	got = readers[f](text, key, ret, e);
	if (got > 0 && ret->full)
		return err_kind(e, ERR_POLICY, "the entry is longer than %zu "
				"bytes", ret->max);
	if (got > 0 && ret->n == 0)
		return err_kind(e, ERR_POLICY, "the entry is empty");
	return got;
}
