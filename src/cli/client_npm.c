/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm's registries: the usual one, and those of scopes (`@scope:registry`).
 *
 * Inside, the home and with it ~/.npmrc is another one: a registry that was
 * chosen is told to npm there by its variable, and a default one is not, so
 * that a project's own choice still counts.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "client_answer.h"
#include "io.h"
#include "json_text.h"
#include "own.h"

enum { ANSWER_MAX = 1 << 20, NPMRC_MAX = 1 << 20 };

static struct sv string_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? sv_of(json_string_value(value),
					     json_string_length(value)) :
				       (struct sv){ 0 };
}

/* npm's built-in settings, beside the program that its name leads to. */
static void put_builtin(const struct client_program *npm, struct buf *ret)
{
	auto_free char *real = realpath(npm->path, NULL);
	auto_buf struct buf path = buf_new(PATH_MAX);
	struct sv dir = sv_str(real);

	for (int up = 0; up < 2; up++) {
		while (dir.n && dir.p[dir.n - 1] != '/')
			dir.n--;
		dir.n -= dir.n ? 1 : 0;
	}
	buf_put(&path, dir);
	buf_puts(&path, "/npmrc");
	if (dir.n && !path.full)
		(void)client_answer_put(ret, "file", buf_sv(&path));
}

/* Some line of an npmrc starts with the setting's name. */
static bool file_sets_registry(struct sv path)
{
	auto_buf struct buf name = buf_new(PATH_MAX);
	auto_buf struct buf text = buf_new(NPMRC_MAX);
	struct err ignored;
	struct sv rest;

	buf_put(&name, path);
	if (!buf_cstr(&name) ||
	    io_read_file(AT_FDCWD, name.p, &text, &ignored) < 0)
		return false;
	for (rest = buf_sv(&text); rest.n;) {
		struct sv line = sv_trim(sv_cut(&rest, '\n'));
		struct sv key = sv_trim(sv_head(line, sv_find(line, '=')));

		if (key.n < line.n && sv_eq(key, SV("registry")))
			return true;
	}
	return false;
}

static bool is_chosen(struct sv answer)
{
	static const struct sv variable = SV("npm_config_registry");

	for (char **v = environ; *v; v++)
		if (sv_eq_nocase(sv_head(sv_str(*v),
					 sv_find(sv_str(*v), '=')), variable))
			return true;
	while (answer.n) {
		struct sv file = client_answer_next(&answer, "file");

		if (file.p && file_sets_registry(file))
			return true;
	}
	return false;
}

static bool put_registries(const json_t *root, struct buf *ret)
{
	const char *key;
	json_t *value;
	bool all = client_answer_put(ret, "url", string_of(root, "registry"));

	json_object_foreach((json_t *)(uintptr_t)root, key, value)
		if (key[0] == '@' && sv_ends(sv_str(key), SV(":registry")) &&
		    json_is_string(value))
			all &= client_answer_put(ret, "url",
						 string_of(root, key));
	return all;
}

int client_npm(const struct client_program *npm, struct buf *ret,
	       struct err *e)
{
	static const char *const argv[] = {
		"npm", "config", "list", "--json", "--no-update-notifier",
		"--logs-max=0", "--loglevel=silent", NULL,
	};
	auto_buf struct buf said = buf_new(ANSWER_MAX);
	auto_json json_t *root = NULL;
	struct sv user;

	if (client_program_ask(npm, (char *const *)(uintptr_t)argv, &said,
			       e) < 0)
		return -1;
	root = json_text_parse(buf_sv(&said), SV("its answer"), e);
	if (!root)
		return -1;
	if (!put_registries(root, ret))
		return err_kind(e, ERR_POLICY,
				"it names no registry, or none that can be read");
	user = string_of(root, "userconfig");
	put_builtin(npm, ret);
	(void)client_answer_put(ret, "file", SV("/.npmrc"));
	(void)client_answer_put(ret, "file", string_of(root, "globalconfig"));
	(void)client_answer_put(ret, "file", user);
	if (user.n && user.p[0] == '/')
		(void)client_answer_put(ret, "guard", user);
	if (is_chosen(buf_sv(ret)))
		(void)client_answer_put(ret, "set", string_of(root, "registry"));
	return 0;
}
