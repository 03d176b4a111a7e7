/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files of placeholders: see keyfile_text.h. */
#include "keyfile_text.h"

#include <jansson.h>
#include <stdlib.h>

#include "base64.h"
#include "own.h"

/* SECTION.NAME by its last dot; npm's names have dots, and no section. */
static struct sv ini_name(struct sv key, struct sv *ret_section)
{
	size_t at = key.n;

	while (at && key.p[at - 1] != '.')
		at--;
	if (at < 2 || sv_starts(key, SV("//")))
		at = 0;
	*ret_section = sv_head(key, at ? at - 1 : 0);
	return sv_from(key, at);
}

/* No line's end, and nothing that is syntax somewhere. */
static bool is_plain(struct sv v, const char *syntax)
{
	for (size_t i = 0; i < v.n; i++)
		if ((uint8_t)v.p[i] < ' ' || v.p[i] == 0x7f ||
		    strchr(syntax, v.p[i]))
			return false;
	return v.n > 0 && v.p[0] != '#';
}

static const char *netrc_fault(const struct keyfile_entry *entry)
{
	if (entry->base64)
		return "a netrc file has the password as it is";
	if (entry->user.n == 0)
		return "a netrc file has a login: as basic USER";
	if (!is_plain(entry->key, " \"'\\"))
		return "expected the name of a machine";
	return is_plain(entry->user, " \"'\\") ? NULL :
	       "a login in a netrc file has no blank, quote or backslash";
}

static const char *ini_fault(const struct keyfile_entry *entry)
{
	struct sv section, name = ini_name(entry->key, &section);

	if (!is_plain(name, "=[];\"'\\") || sv_trim(name).n < name.n ||
	    (section.n && !is_plain(section, "=[];\"'\\")))
		return "expected NAME, or SECTION.NAME";
	return entry->user.n == 0 || is_plain(entry->user, ";#\"'\\") ? NULL :
	       "the user's name has what programs read differently there";
}

const char *keyfile_text_fault(enum keyfile_format f,
			       const struct keyfile_entry *entry)
{
	const char *fault = f == KEYFILE_WHOLE ?
		"only JSON, INI, netrc and dotenv files can be made" :
		keyfile_format_fault(f, entry->key);

	if (fault)
		return fault;
	if (entry->base64 && entry->user.n == 0)
		return "`base64` is of a user and the value: as basic USER";
	if (f == KEYFILE_NETRC)
		return netrc_fault(entry);
	if (f == KEYFILE_INI)
		return ini_fault(entry);
	return f == KEYFILE_DOTENV && !sv_is_name(entry->key) ?
	       "expected the name of a variable" : NULL;
}

bool keyfile_text_clash(enum keyfile_format f, struct sv a, struct sv b)
{
	struct sv shorter = a.n < b.n ? a : b, longer = a.n < b.n ? b : a;

	if (f == KEYFILE_NETRC)
		return sv_eq_nocase(a, b);
	/* In JSON a value has nothing below it. */
	return sv_starts(longer, shorter) &&
	       (longer.n == shorter.n ||
		(f == KEYFILE_JSON && longer.p[shorter.n] == '/'));
}

static void put_value(struct buf *b, const struct keyfile_entry *entry)
{
	auto_buf struct buf plain = buf_new(1024);

	if (!entry->base64) {
		buf_put(b, entry->value);
		return;
	}
	buf_put(&plain, entry->user);
	buf_putc(&plain, ':');
	buf_put(&plain, entry->value);
	buf_put_base64(b, buf_sv(&plain));
	b->full |= plain.full;
}

/* One name of a JSON Pointer. */
static bool put_name(struct buf *b, struct sv part)
{
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];

		if (c == '~')
			c = part.p[++i] == '1' ? '/' : '~';
		buf_putc(b, c);
	}
	return buf_cstr(b) != NULL;
}

static bool set_pointer(json_t *at, const struct keyfile_entry *entry)
{
	auto_buf struct buf value = buf_new(2048);
	struct sv rest = sv_from(entry->key, 1);

	put_value(&value, entry);
	for (;;) {
		auto_buf struct buf name = buf_new(KEYFILE_KEY_MAX);
		bool is_last = sv_find(rest, '/') == rest.n;
		json_t *below;

		if (!put_name(&name, sv_cut(&rest, '/')) || !buf_cstr(&value))
			return false;
		if (is_last)
			return json_object_set_new(at, buf_cstr(&name),
				json_string(buf_cstr(&value))) == 0;
		below = json_object_get(at, buf_cstr(&name));
		if (!below) {
			below = json_object();
			if (json_object_set_new(at, buf_cstr(&name), below) < 0)
				return false;
		}
		at = below;
	}
}

static void put_json(struct buf *b, const struct keyfile_entry *v, size_t n)
{
	json_t *root = json_object();
	char *text = NULL;
	bool good = root != NULL;

	for (size_t i = 0; good && i < n; i++)
		good = set_pointer(root, &v[i]);
	if (good)
		text = json_dumps(root, JSON_INDENT(2));
	if (text)
		buf_puts(b, text);
	else
		b->full = true;
	buf_putc(b, '\n');
	free(text);
	json_decref(root);
}

static void put_line(struct buf *b, struct sv name, const char *is,
		     const struct keyfile_entry *entry)
{
	buf_put(b, name);
	buf_puts(b, is);
	put_value(b, entry);
	buf_putc(b, '\n');
}

/* Those of one section together, whose header is there once. */
static void put_section(struct buf *b, struct sv section,
			const struct keyfile_entry *v, size_t n)
{
	if (section.n)
		buf_printf(b, "[%.*s]\n", SV_FMT(section));
	for (size_t i = 0; i < n; i++) {
		struct sv of, name = ini_name(v[i].key, &of);

		if (!sv_eq(of, section))
			continue;
		if (section.n && v[i].user.n && !v[i].base64 &&
		    sv_eq(name, SV("password")))
			buf_printf(b, "username = %.*s\n", SV_FMT(v[i].user));
		/* npm's own way; Python takes it as well. */
		put_line(b, name, section.n ? " = " : "=", &v[i]);
	}
}

static void put_ini(struct buf *b, const struct keyfile_entry *v, size_t n)
{
	/* What has no section stands in front of all. */
	put_section(b, (struct sv){ 0 }, v, n);
	for (size_t i = 0; i < n; i++) {
		struct sv section, other;
		size_t k = 0;

		(void)ini_name(v[i].key, &section);
		while (k < i && (ini_name(v[k].key, &other),
				 !sv_eq(other, section)))
			k++;
		if (section.n && k == i)
			put_section(b, section, v, n);
	}
}

void keyfile_text_put(struct buf *b, enum keyfile_format f,
		      const struct keyfile_entry *v, size_t n)
{
	if (f == KEYFILE_JSON)
		put_json(b, v, n);
	else if (f == KEYFILE_INI)
		put_ini(b, v, n);
	for (size_t i = 0; i < n; i++) {
		if (f == KEYFILE_DOTENV)
			put_line(b, v[i].key, "=", &v[i]);
		if (f != KEYFILE_NETRC)
			continue;
		buf_printf(b, "machine %.*s login %.*s ", SV_FMT(v[i].key),
			   SV_FMT(v[i].user));
		put_line(b, SV("password"), " ", &v[i]);
	}
}
