/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade log` and `stockade runs`: see log.h.
 *
 * What a record says was chosen by an agent: every text is made visible before
 * it meets a terminal.
 */
#include "log.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "held.h"
#include "io.h"
#include "json.h"
#include "own.h"
#include "run_dir.h"
#include "run_held.h"
#include "verify.h"

enum {
	LOG_FILE_MAX = 256 << 20,
	LOG_FOLLOW_NS = 200000000,
};

struct log_flags {
	bool denied, json, follow, colour;
	struct sv run;		/* .p NULL: the newest */
};

static const char *text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "";
}

static bool is_denial(const json_t *record)
{
	const char *verdict = text_of(record, "verdict");

	return strcmp(verdict, "deny") == 0 || strcmp(verdict, "ask") == 0 ||
	       strcmp(text_of(record, "event"), "violation") == 0 ||
	       strcmp(text_of(record, "event"), "fault") == 0;
}

static void put_text(struct buf *b, const char *text)
{
	buf_put_visible(b, sv_str(text));
}

/* "16:30:12  deny  " */
static void put_head(struct buf *b, const json_t *record, const char *word,
		     const struct log_flags *f)
{
	struct sv time = sv_str(text_of(record, "time"));
	const char *colour = !f->colour ? "" :
			     is_denial(record) ? "\033[31m" : "\033[32m";

	/* 2026-11-29T16:30:12.345Z */
	if (time.n > 19)
		buf_put_visible(b, sv_head(sv_from(time, 11), 8));
	buf_printf(b, "  %s%-9s%s  ", colour, word, f->colour ? "\033[0m" : "");
}

static void put_detail(struct buf *b, const char *label, const char *text)
{
	if (!*text)
		return;
	buf_printf(b, "\n                     %s", label);
	put_text(b, text);
}

static void put_request(struct buf *b, const json_t *record)
{
	const json_t *secrets = json_object_get(record, "secrets");
	const json_t *name;
	size_t i;

	put_text(b, text_of(record, "method"));
	buf_putc(b, ' ');
	put_text(b, text_of(record, "url"));
	json_array_foreach(secrets, i, name) {
		buf_puts(b, i ? ", " : "  [");
		put_text(b, json_string_value(name));
		if (i + 1 == json_array_size(secrets))
			buf_putc(b, ']');
	}
	put_detail(b, "", text_of(record, "reason"));
	if (is_denial(record))
		put_detail(b, "rule: ", text_of(record, "rule"));
}

static void put_command(struct buf *b, const json_t *record)
{
	const json_t *command = json_object_get(record, "command");
	const json_t *arg;
	size_t i;

	put_text(b, text_of(record, "run"));
	buf_puts(b, ": ");
	json_array_foreach(command, i, arg) {
		if (i)
			buf_putc(b, ' ');
		put_text(b, json_string_value(arg));
	}
	put_detail(b, "in ", text_of(record, "cwd"));
	put_detail(b, "keeps ", text_of(record, "kept"));
}

static void put_end(struct buf *b, const json_t *record)
{
	const char *error = text_of(record, "error");

	if (*error) {
		buf_puts(b, "never started: ");
		put_text(b, error);
		return;
	}
	buf_printf(b, "status %lld; %lld allowed, %lld denied, %lld "
		   "violations",
		   json_integer_value(json_object_get(record, "status")),
		   json_integer_value(json_object_get(record, "allowed")),
		   json_integer_value(json_object_get(record, "denied")),
		   json_integer_value(json_object_get(record, "violations")));
	put_detail(b, "limit reached: ", text_of(record, "limit"));
}

static long long count_of(const json_t *record, const char *key)
{
	return json_integer_value(json_object_get(record, key));
}

static void put_paths(struct buf *b, const char *label, const json_t *list)
{
	const json_t *path;
	size_t i;

	json_array_foreach(list, i, path) {
		const char *text = json_string_value(path);

		if (text)
			put_detail(b, label, text);
	}
}

/* `apply` and `discard`. */
static void put_change(struct buf *b, const json_t *record)
{
	const char *why = text_of(record, "unreadable");

	if (*why) {
		buf_puts(b, "changes that could not be read");
		put_detail(b, "", why);
		return;
	}
	buf_printf(b, "%lld changes, %lld of them guarded, %lld in conflict",
		   count_of(record, "changes"), count_of(record, "guarded"),
		   count_of(record, "conflicts"));
	if (json_object_get(record, "left"))
		buf_printf(b, "; %lld left: %lld guarded, %lld in conflict",
			   count_of(record, "left"),
			   count_of(record, "left_guarded"),
			   count_of(record, "left_conflicts"));
	put_paths(b, "", json_object_get(record, "paths"));
	put_paths(b, "left: ", json_object_get(record, "left_paths"));
}

static void put_left(struct buf *b, const json_t *record)
{
	buf_printf(b, "%lld that run commands when used",
		   count_of(record, "count"));
	put_paths(b, "", json_object_get(record, "paths"));
}

static bool is_afterwards(const json_t *record)
{
	const char *event = text_of(record, "event");

	return strcmp(event, "apply") == 0 || strcmp(event, "undone") == 0 ||
	       strcmp(event, "discard") == 0;
}

static void put_record(struct buf *b, const json_t *record,
		       const struct log_flags *f)
{
	const char *event = text_of(record, "event");
	const char *verdict = text_of(record, "verdict");

	put_head(b, record, *verdict ? verdict : event, f);
	if (strcmp(event, "request") == 0) {
		put_request(b, record);
	} else if (strcmp(event, "run") == 0) {
		put_command(b, record);
	} else if (strcmp(event, "end") == 0) {
		put_end(b, record);
	} else if (strcmp(event, "response") == 0) {
		buf_printf(b, "%lld, %lld bytes",
			   json_integer_value(
				   json_object_get(record, "status")),
			   json_integer_value(json_object_get(
				   record, "received_bytes")));
		put_detail(b, "", text_of(record, "error"));
	} else if (strcmp(event, "violation") == 0) {
		put_text(b, text_of(record, "secret"));
		buf_puts(b, " in the ");
		put_text(b, text_of(record, "where"));
		buf_puts(b, " of a request to ");
		put_text(b, text_of(record, "host"));
	} else if (strcmp(event, "publish") == 0) {
		put_text(b, text_of(record, "address"));
		buf_printf(b, " to port %lld", json_integer_value(
				   json_object_get(record, "port")));
	} else if (strcmp(event, "made") == 0) {
		put_text(b, text_of(record, "path"));
	} else if (strcmp(event, "left") == 0) {
		put_left(b, record);
	} else if (strcmp(event, "apply") == 0 ||
		   strcmp(event, "discard") == 0) {
		put_change(b, record);
	} else if (strcmp(event, "undone") == 0) {
		put_text(b, text_of(record, "reason"));
	} else if (strcmp(event, "guard") == 0) {
		buf_puts(b, "make ");
		put_text(b, text_of(record, "path"));
		put_detail(b, "", text_of(record, "rule"));
	} else {
		put_text(b, text_of(record, "host"));
		put_text(b, text_of(record, "address"));
		put_text(b, text_of(record, "process"));
		put_detail(b, "", text_of(record, "reason"));
	}
	buf_putc(b, '\n');
}

/* Prints one line of the trail, if it is asked for; true at the run's end. */
static bool print_line(struct sv line, const struct log_flags *f)
{
	auto_buf struct buf b = buf_new(AUDIT_LINE_MAX * 4);
	json_t *record = json_loadb(line.p, line.n, JSON_REJECT_DUPLICATES,
				    NULL);
	bool is_end = strcmp(text_of(record, "event"), "end") == 0;

	if (!record) {
		buf_puts(&b, "          malformed  ");
		buf_put_visible(&b, sv_head(line, 200));
		buf_putc(&b, '\n');
	} else if (!f->denied || is_denial(record)) {
		if (f->json) {
			buf_put(&b, line);
			buf_putc(&b, '\n');
		} else {
			put_record(&b, record, f);
		}
	}
	json_decref(record);
	(void)fwrite(b.p, 1, b.n, stdout);
	return is_end;
}

static int print_trail(int fd, const struct log_flags *f, struct err *e)
{
	auto_buf struct buf text = buf_new(LOG_FILE_MAX);
	bool ended = false;

	for (;;) {
		struct timespec pause = { .tv_nsec = LOG_FOLLOW_NS };
		size_t n, at = 0;

		if (io_read_all(fd, &text, e) < 0)
			return err_ctx(e, "read the audit trail");
		while ((n = sv_find(sv_from(buf_sv(&text), at), '\n')) <
		       text.n - at) {
			ended |= print_line(sv_of(text.p + at, n), f);
			at += n + 1;
		}
		/* Once, not for each line: a trail can be long. */
		buf_consume(&text, at);
		if (fflush(stdout) == EOF)
			return err_sys(e, "write");
		if (!f->follow || ended)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
}

static int verify(struct sv run, struct err *e)
{
	auto_buf struct buf text = buf_new(LOG_FILE_MAX);
	struct verdict_of_trail v;
	char id[RUN_ID_MAX];
	auto_fd int fd = -1;

	if (run_open(run, &fd, id, e) < 0 || io_read_all(fd, &text, e) < 0)
		return -1;
	if (verify_trail(buf_sv(&text), &v, e) < 0) {
		(void)printf("run %s: NOT intact: %s\n", id, e->msg);
		return 1;
	}
	(void)printf("run %s: %llu records, intact, %s\nhash %.*s\n", id,
		     (unsigned long long)v.records,
		     v.sealed ? "complete" :
				"without an end (interrupted or running)",
		     AUDIT_HASH_HEX, v.hash);
	return 0;
}

static int bad_flag(const char *flag, struct err *e)
{
	return err_kind(e, ERR_POLICY, "unknown flag '%.64s' (--denied, "
			"--follow and --json are known)", flag);
}

int log_main(int argc, char **argv, struct err *e)
{
	struct log_flags f = { .colour = isatty(STDOUT_FILENO) };
	bool verifying = argc > 1 && strcmp(argv[1], "verify") == 0;
	char id[RUN_ID_MAX];
	auto_fd int fd = -1;

	for (int i = verifying ? 2 : 1; i < argc; i++) {
		if (strcmp(argv[i], "--denied") == 0)
			f.denied = true;
		else if (strcmp(argv[i], "--json") == 0)
			f.json = true;
		else if (strcmp(argv[i], "--follow") == 0)
			f.follow = true;
		else if (argv[i][0] == '-')
			return bad_flag(argv[i], e);
		else if (f.run.p)
			return err_kind(e, ERR_POLICY, "one run at a time");
		else
			f.run = sv_str(argv[i]);
	}
	if (verifying)
		return verify(f.run, e);
	if (run_open(f.run, &fd, id, e) < 0)
		return -1;
	return print_trail(fd, &f, e);
}

/* The last line of all that is no apply or discard, parsed. */
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

/* The first and the last record of a run, parsed; NULL where missing. */
static void load_ends(struct sv id, json_t **ret_first, json_t **ret_last)
{
	auto_buf struct buf text = buf_new(LOG_FILE_MAX);
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

/* What a run holds, and under which name, if it is kept. */
struct holding {
	bool held;
	char kept[HELD_ID_MAX];
};

/* Of those that are there. */
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

static long long denied_of(const struct listed *r)
{
	return json_integer_value(json_object_get(r->last, "denied"));
}

static void put_listed_json(struct buf *b, const struct listed *r)
{
	struct json j = json_line(b);

	json_open(&j, '{');
	json_put_sv(&j, "run", r->id);
	json_put_str(&j, "started", text_of(r->first, "time"));
	json_put_bool(&j, "ended", r->ended);
	json_key(&j, "status");
	if (json_is_integer(r->status))
		json_i64(&j, json_integer_value(r->status));
	else
		json_nil(&j);
	json_put_u64(&j, "denied", (uint64_t)denied_of(r));
	json_put_bool(&j, "held", r->holding->held);
	if (r->holding->kept[0])
		json_put_str(&j, "kept", r->holding->kept);
	json_close(&j, '}');
}

static void put_listed(struct buf *b, const struct listed *r)
{
	const json_t *arg;
	size_t i;

	buf_put_visible(b, r->id);
	buf_puts(b, "  ");
	if (json_is_integer(r->status))
		buf_printf(b, "%6lld  %4lld denied  ",
			   json_integer_value(r->status), denied_of(r));
	else
		buf_printf(b, "%6s  %11s  ", "-", r->ended ? "failed" : "");
	if (r->holding->kept[0])
		buf_printf(b, "[kept %s] ", r->holding->kept);
	else
		buf_puts(b, r->holding->held ? "[held] " : "");
	json_array_foreach(json_object_get(r->first, "command"), i, arg) {
		if (i)
			buf_putc(b, ' ');
		put_text(b, json_string_value(arg));
	}
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
	r.ended = last && strcmp(text_of(last, "event"), "end") == 0;
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
		(void)printf("%-24s%6s  %11s  %s\n", "run", "status", "",
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
