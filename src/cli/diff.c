/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade diff`: the changes that a run holds. */
#include <stdio.h>
#include <unistd.h>

#include "held_verbs.h"
#include "io.h"
#include "json.h"
#include "own.h"

enum { JSON_MAX = 512 << 20 };

static bool is_chosen(const struct change *change)
{
	return change->chosen;
}

static const char *type_of(const struct change *change)
{
	switch (change->mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	default:
		return "other";
	}
}

static void put_change(const struct held_verb *v, const struct change *change,
		       struct json *j)
{
	auto_buf struct buf path = buf_new(4 * PATH_MAX);
	auto_buf struct buf linked = buf_new(4 * PATH_MAX);
	const char letter[2] = { (char)change->kind, 0 };

	held_verb_put_path(v, change, &path);
	json_open(j, '{');
	json_put_str(j, "change", letter);
	json_put_sv(j, "path", buf_sv(&path));
	json_put_str(j, "type", type_of(change));
	json_put_bool(j, "guarded", change->guarded);
	json_put_bool(j, "conflict", change->conflict);
	held_verb_put_linked(v, change, &linked);
	if (linked.n)
		json_put_sv(j, "linked", buf_sv(&linked));
	if (change->refused)
		json_put_str(j, "refused", change->refused);
	json_close(j, '}');
	j->out->full |= path.full || linked.full;
}

static int print_json(const struct held_verb *v, bool any, struct err *e)
{
	auto_buf struct buf out = buf_new(JSON_MAX);
	struct json j = json_pretty(&out);

	json_open(&j, '{');
	json_key(&j, "run");
	if (any)
		json_str(&j, v->held.run);
	else
		json_nil(&j);
	if (any && held_is_name(v->held.id))
		json_put_str(&j, "kept", v->held.id);
	json_key(&j, "changes");
	json_open(&j, '[');
	for (size_t i = 0; any && i < v->changes.n; i++)
		if (v->changes.list[i].chosen)
			put_change(v, &v->changes.list[i], &j);
	json_close(&j, ']');
	json_close(&j, '}');
	buf_putc(&out, '\n');
	if (buf_check(&out, "the list of changes", e) < 0)
		return -1;
	return io_write_all(STDOUT_FILENO, buf_sv(&out), e);
}

static int print_patch(const struct held_verb *v, struct err *e)
{
	bool visible = isatty(STDOUT_FILENO);

	for (size_t i = 0; i < v->changes.n; i++) {
		auto_buf struct buf out = buf_new(JSON_MAX);

		if (!v->changes.list[i].chosen)
			continue;
		if (patch_put(v, &v->changes.list[i], visible, &out, e) < 0 ||
		    io_write_all(STDOUT_FILENO, buf_sv(&out), e) < 0)
			return -1;
	}
	return 0;
}

int diff_main(int argc, char **argv, struct err *e)
{
	bool json = false, patch = false;
	const struct held_flag flags[] = {
		{ "--json", &json }, { "--patch", &patch }, { 0 },
	};
	auto_verb struct held_verb v = { .flags = flags, .store_fd = -1 };
	int any;

	if (held_verb_parse(&v, argc, argv, e) < 0)
		return -1;
	if (json && patch)
		return err_kind(e, ERR_POLICY, "--json and --patch do not go "
				"together");
	any = held_verb_open(&v, false, e);
	if (any < 0)
		return -1;
	if (any && changes_link(&v.held, &v.changes, e) < 0)
		return -1;
	/* Others need not wait for whoever reads the list. */
	close_fd(&v.store_fd);
	if (json)
		return print_json(&v, any, e);
	if (!any)
		return 0;
	return patch ? print_patch(&v, e) : held_verb_list(&v, is_chosen, e);
}
