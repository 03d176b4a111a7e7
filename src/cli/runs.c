/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade runs`: the runs on record, and what each still holds.
 *
 * Of a trail the first record is read, which has the command, and the last one
 * of the run itself, which has its status; what became of its changes is
 * recorded behind that.
 */
#include "log.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "held.h"
#include "io.h"
#include "json.h"
#include "log_line.h"
#include "own.h"
#include "run_dir.h"
#include "run_held.h"
#include "trail.h"

static bool is_afterwards(const json_t *record)
{
	const char *event = log_line_text(record, "event");

	return strcmp(event, "apply") == 0 || strcmp(event, "undone") == 0 ||
	       strcmp(event, "discard") == 0;
}

/* The last record that is the run's own, parsed; NULL without one. */
static json_t *load_last(struct sv all)
{
	while (all.n) {
		json_t *record;
		size_t from;

		if (all.p[all.n - 1] == '\n')
			all.n--;
		for (from = all.n; from > 0 && all.p[from - 1] != '\n';)
			from--;
		record = json_loadb(all.p + from, all.n - from, 0, NULL);
		if (!is_afterwards(record))
			return record;
		json_decref(record);
		all.n = from;
	}
	return NULL;
}

/* The first and the last record of a run, which the caller releases; what cannot
 * be read is left alone. */
static void load_ends(struct sv id, json_t **ret_first, json_t **ret_last)
{
	auto_buf struct buf text = buf_new(AUDIT_TRAIL_MAX);
	auto_fd int fd = -1;
	char name[RUN_ID_MAX];
	struct err e;
	struct sv all;
	size_t first_n;

	if (run_open(id, &fd, name, &e) < 0 ||
	    io_read_all(fd, &text, &e) < 0)
		return;
	all = buf_sv(&text);
	first_n = sv_find(all, '\n');
	*ret_first = json_loadb(all.p, first_n, 0, NULL);
	*ret_last = load_last(all);
}

/* What is there of a run's changes, and under which name, if it is kept. */
struct holding {
	bool held;
	char kept[HELD_ID_MAX];
};

static struct holding holding_of(int store_fd, const struct sv *held, size_t n,
				 struct sv id)
{
	struct holding h = { 0 };

	for (size_t i = 0; i < n; i++) {
		char run[HELD_ID_MAX];
		struct err ignored;

		if (held_last(store_fd, held[i].p, run, &ignored) < 0 ||
		    !sv_eq(sv_str(run), id))
			continue;
		h.held = true;
		if (held_is_name(held[i].p))
			(void)snprintf(h.kept, sizeof h.kept, "%s", held[i].p);
	}
	return h;
}

/* One run of the list: its first record, and its last, if it has ended. */
struct listed {
	struct sv id;
	const json_t *first, *last;
	const json_t *status;	/* NULL without one */
	bool ended;
	const struct holding *holding;
};

static void put_listed_json(struct buf *b, const struct listed *r)
{
	struct json j = json_line(b);

	json_open(&j, '{');
	json_put_sv(&j, "run", r->id);
	json_put_str(&j, "started", log_line_text(r->first, "time"));
	json_put_bool(&j, "ended", r->ended);
	json_key(&j, "status");
	if (json_is_integer(r->status))
		json_i64(&j, json_integer_value(r->status));
	else
		json_nil(&j);
	json_put_u64(&j, "denied",
		     (uint64_t)log_line_number(r->last, "denied"));
	json_put_bool(&j, "held", r->holding->held);
	if (r->holding->kept[0])
		json_put_str(&j, "kept", r->holding->kept);
	json_close(&j, '}');
}

static void put_listed(struct buf *b, const struct listed *r)
{
	buf_put_visible(b, r->id);
	buf_puts(b, "  ");
	if (json_is_integer(r->status))
		buf_printf(b, "%6lld  %4lld denied  ",
			   json_integer_value(r->status),
			   log_line_number(r->last, "denied"));
	else
		buf_printf(b, "%6s  %11s  ", "-", r->ended ? "failed" : "");
	if (r->holding->kept[0])
		buf_printf(b, "[kept %s] ", r->holding->kept);
	else
		buf_puts(b, r->holding->held ? "[held] " : "");
	log_line_put_command(b, r->first);
}

static void print_run(struct sv id, const struct holding *h, bool as_json)
{
	auto_buf struct buf b = buf_new(AUDIT_LINE_MAX * 4);
	struct listed r = { .id = id, .holding = h };
	json_t *first = NULL, *last = NULL;

	load_ends(id, &first, &last);
	r.first = first;
	r.last = last;
	r.status = json_object_get(last, "status");
	r.ended = last && strcmp(log_line_text(last, "event"), "end") == 0;
	if (as_json)
		put_listed_json(&b, &r);
	else
		put_listed(&b, &r);
	(void)printf("%.*s\n", SV_FMT(buf_sv(&b)));
	json_decref(first);
	json_decref(last);
}

int runs_main(int argc, char **argv, struct err *e)
{
	auto_arena struct arena a = arena_new(RUN_LIST_MAX);
	bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
	auto_fd int store_fd = -1;
	struct err none;
	struct sv *ids, *held = NULL;
	size_t n, held_n = 0;

	if (argc > 1 && !as_json)
		return err_kind(e, ERR_POLICY, "unknown argument '%.64s' "
				"(only --json is known)", argv[1]);
	if (run_list(&a, &ids, &n, e) < 0)
		return -1;
	if (n && !as_json)
		(void)printf("%-28s%6s  %11s  %s\n", "run", "status", "",
			     "command");
	if (run_held_recover(e) < 0)
		return -1;
	if (run_state_open("held", false, &store_fd, &none) < 0)
		store_fd = -1;
	if (store_fd >= 0 && held_list(store_fd, &a, &held, &held_n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct holding h = holding_of(store_fd, held, held_n,
						    ids[i]);

		print_run(ids[i], &h, as_json);
	}
	return 0;
}
