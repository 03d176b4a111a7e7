/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of the trail as a person reads it: see log_line.h.
 *
 * What a record says was chosen by an agent: every text is made visible before
 * it meets a terminal.
 */
#include "log_line.h"

#include <string.h>

#include "json.h"
#include "own.h"

const char *log_line_text(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text ? text : "";
}

long long log_line_number(const json_t *record, const char *key)
{
	return json_integer_value(json_object_get(record, key));
}

bool log_line_is_denial(const json_t *record)
{
	const char *verdict = log_line_text(record, "verdict");
	const char *event = log_line_text(record, "event");

	return strcmp(verdict, "deny") == 0 || strcmp(verdict, "ask") == 0 ||
	       strcmp(event, "violation") == 0 || strcmp(event, "fault") == 0;
}

static void put_text(struct buf *b, const json_t *record, const char *key)
{
	buf_put_visible(b, sv_str(log_line_text(record, key)));
}

/* A line of its own below the record's, if there is something to say. */
static void put_detail(struct buf *b, const char *label, const char *text)
{
	if (!*text)
		return;
	buf_printf(b, "\n                     %s", label);
	buf_put_visible(b, sv_str(text));
}

static void put_member(struct buf *b, const char *label, const json_t *record,
		       const char *key)
{
	put_detail(b, label, log_line_text(record, key));
}

static void put_members(struct buf *b, const char *label, const json_t *record,
			const char *key)
{
	const json_t *list = json_object_get(record, key);
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *text = json_string_value(one);

		if (text)
			put_detail(b, label, text);
	}
}

/* "16:30:12  deny  " */
static void put_head(struct buf *b, const json_t *record, bool colour)
{
	struct sv time = sv_str(log_line_text(record, "time"));
	const char *verdict = log_line_text(record, "verdict");
	const char *begin = !colour ? "" :
			    log_line_is_denial(record) ? "\033[31m" :
							 "\033[32m";

	/* 2026-11-29T16:30:12.345Z */
	if (time.n > 19)
		buf_put_visible(b, sv_head(sv_from(time, 11), 8));
	buf_printf(b, "  %s%-9s%s  ", begin,
		   *verdict ? verdict : log_line_text(record, "event"),
		   colour ? "\033[0m" : "");
}

void log_line_put_command(struct buf *b, const json_t *record)
{
	const json_t *command = json_object_get(record, "command");
	const json_t *arg;
	size_t i;

	json_array_foreach(command, i, arg) {
		if (i)
			buf_putc(b, ' ');
		buf_put_visible(b, sv_str(json_string_value(arg)));
	}
}

static void put_request(struct buf *b, const json_t *record)
{
	const json_t *secrets = json_object_get(record, "secrets");
	const json_t *name;
	size_t i;

	put_text(b, record, "method");
	buf_putc(b, ' ');
	put_text(b, record, "url");
	json_array_foreach(secrets, i, name) {
		buf_puts(b, i ? ", " : "  [");
		buf_put_visible(b, sv_str(json_string_value(name)));
	}
	if (i)
		buf_putc(b, ']');
	put_member(b, "", record, "reason");
	if (log_line_is_denial(record))
		put_member(b, "rule: ", record, "rule");
}

static void put_relay(struct buf *b, const json_t *record)
{
	put_text(b, record, "protocol");
	buf_putc(b, ' ');
	put_text(b, record, "host");
	buf_printf(b, ":%lld", log_line_number(record, "port"));
	put_member(b, "", record, "reason");
	if (log_line_is_denial(record))
		put_member(b, "rule: ", record, "rule");
}

static void put_run(struct buf *b, const json_t *record)
{
	put_text(b, record, "run");
	buf_puts(b, ": ");
	log_line_put_command(b, record);
	put_member(b, "in ", record, "cwd");
	put_member(b, "keeps ", record, "kept");
}

static void put_end(struct buf *b, const json_t *record)
{
	if (*log_line_text(record, "error")) {
		buf_puts(b, "never started: ");
		put_text(b, record, "error");
		return;
	}
	buf_printf(b, "status %lld; %lld allowed, %lld denied, %lld "
		   "violations",
		   log_line_number(record, "status"),
		   log_line_number(record, "allowed"),
		   log_line_number(record, "denied"),
		   log_line_number(record, "violations"));
	put_member(b, "limit reached: ", record, "limit");
}

static void put_response(struct buf *b, const json_t *record)
{
	buf_printf(b, "%lld, %lld bytes", log_line_number(record, "status"),
		   log_line_number(record, "received_bytes"));
	put_member(b, "", record, "error");
	if (log_line_number(record, "scrubbed"))
		put_detail(b, "", "the origin sent a secret's value back: it "
				  "was masked");
}

static void put_violation(struct buf *b, const json_t *record)
{
	put_text(b, record, "secret");
	buf_puts(b, " in the ");
	put_text(b, record, "where");
	if (*log_line_text(record, "name")) {
		buf_putc(b, ' ');
		put_text(b, record, "name");
	}
	buf_puts(b, " of a request to ");
	put_text(b, record, "host");
}

static void put_revoked(struct buf *b, const json_t *record)
{
	put_text(b, record, "secret");
}

static void put_renewal(struct buf *b, const json_t *record)
{
	bool rejected = *log_line_text(record, "host");

	put_text(b, record, "secret");
	buf_puts(b, *log_line_text(record, "error") ?
			    ": failed, the value stays what it was; " :
		    json_is_true(json_object_get(record, "changed")) ?
			    ": a new value; " : ": the same value again; ");
	buf_puts(b, rejected ? "401 from " : "it was old");
	put_text(b, record, "host");
	put_member(b, "", record, "error");
}

static void put_publish(struct buf *b, const json_t *record)
{
	put_text(b, record, "address");
	buf_printf(b, " to port %lld", log_line_number(record, "port"));
}

static void put_made(struct buf *b, const json_t *record)
{
	put_text(b, record, "path");
}

static void put_left(struct buf *b, const json_t *record)
{
	buf_printf(b, "%lld that run commands when used",
		   log_line_number(record, "count"));
	put_members(b, "", record, "paths");
}

/* What was applied or discarded. */
static void put_changes(struct buf *b, const json_t *record)
{
	if (*log_line_text(record, "unreadable")) {
		buf_puts(b, "changes that could not be read");
		put_member(b, "", record, "unreadable");
		return;
	}
	buf_printf(b, "%lld changes, %lld of them guarded, %lld in conflict",
		   log_line_number(record, "changes"),
		   log_line_number(record, "guarded"),
		   log_line_number(record, "conflicts"));
	if (json_object_get(record, "left"))
		buf_printf(b, "; %lld left: %lld guarded, %lld in conflict",
			   log_line_number(record, "left"),
			   log_line_number(record, "left_guarded"),
			   log_line_number(record, "left_conflicts"));
	put_members(b, "", record, "paths");
	put_members(b, "left: ", record, "left_paths");
}

static void put_undone(struct buf *b, const json_t *record)
{
	put_text(b, record, "reason");
}

static void put_guard(struct buf *b, const json_t *record)
{
	buf_puts(b, "make ");
	put_text(b, record, "path");
	put_member(b, "", record, "rule");
}

static void put_appeared(struct buf *b, const json_t *record)
{
	put_text(b, record, "path");
	put_member(b, "", record, "now");
	put_member(b, "", record, "rule");
}

/* Of a connection and of a fault these are the members that are known, if any. */
static void put_other(struct buf *b, const json_t *record)
{
	put_text(b, record, "host");
	put_text(b, record, "address");
	put_text(b, record, "process");
	put_member(b, "", record, "reason");
}

static const struct {
	const char *event;
	void (*put)(struct buf *b, const json_t *record);
} forms[] = {
	{ "run", put_run },
	{ "request", put_request },
	{ "relay", put_relay },
	{ "response", put_response },
	{ "violation", put_violation },
	{ "revoked", put_revoked },
	{ "renewal", put_renewal },
	{ "publish", put_publish },
	{ "made", put_made },
	{ "guard", put_guard },
	{ "appeared", put_appeared },
	{ "left", put_left },
	{ "end", put_end },
	{ "apply", put_changes },
	{ "discard", put_changes },
	{ "undone", put_undone },
};

void log_line_put(struct buf *b, const json_t *record, bool colour)
{
	const char *event = log_line_text(record, "event");
	size_t i = 0;

	put_head(b, record, colour);
	while (i < countof(forms) && strcmp(event, forms[i].event) != 0)
		i++;
	if (i < countof(forms))
		forms[i].put(b, record);
	else
		put_other(b, record);
	buf_putc(b, '\n');
}
