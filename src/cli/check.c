/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade check`: may it?
 *
 *	stockade check [FLAGS] read ~/.ssh/id_rsa
 *	stockade check [FLAGS] 'POST https://api.example.com/v1/x' 'write .'
 *	stockade check --explain 'GET https://a.example.com/x' ['GET ...']
 *	stockade check [FLAGS] 'tcp git.example.com:22' 'tls example.com'
 *	stockade check [FLAGS] wss://a.example.com/feed tcp://git.example.com:22
 *
 * The answer comes from the functions that decide in a run.  Files are judged
 * by their names, as they are written: links are not followed.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "explain.h"
#include "filepath.h"
#include "io.h"
#include "json.h"
#include "match.h"
#include "match_file.h"
#include "match_relay.h"
#include "own.h"
#include "policy_verbs.h"
#include "question_url.h"
#include "source.h"
#include "statement.h"
#include "system_tables.h"
#include "text_form.h"

enum { CHECK_ARENA_MAX = 16 << 20 };

/* What is said of one question, whichever kind it is. */
struct verdict_line {
	struct sv question;
	bool allowed;
	struct sv rule;			/* the statement that decided, or empty */
	const struct origin *origin;	/* its place */
	struct sv reason;
	struct sv allow_with;
	struct sv secrets;		/* names that would be put in */
	struct sv bounded;		/* the same, with their bounds */
	struct sv limits;		/* that it would count for */
	bool is_websocket;
	bool is_request;		/* it has the one form that follows */
	struct question request;
};

struct check {
	struct policy policy;
	struct arena arena;
	char cwd[PATH_MAX];
	struct sv home;
	bool json, explain;
};

static void check_fini(struct check *c)
{
	policy_free(&c->policy);
	arena_free(&c->arena);
}
#define auto_check __attribute__((cleanup(check_fini)))

static bool is_at_or_below(struct sv path, const char *dir)
{
	struct sv d = sv_str(dir);

	return sv_starts(path, d) && (path.n == d.n || path.p[d.n] == '/');
}

static bool is_system_etc(struct sv path)
{
	for (size_t i = 0; system_etc[i]; i++)
		if (is_at_or_below(path, system_etc[i]))
			return true;
	for (size_t i = 0; system_written[i]; i++)
		if (sv_eq(path, sv_str(system_written[i])))
			return true;
	return false;
}

static bool is_private(const struct check *c, struct sv path)
{
	for (size_t i = 0; system_privates[i].path; i++)
		if (is_at_or_below(path, system_privates[i].path))
			return true;
	return c->home.n > 1 && is_at_or_below(path, c->home.p);
}

/* Directories that are the sandbox's own, which no statement opens. */
static bool is_own(struct sv path)
{
	return is_at_or_below(path, "/proc") || is_at_or_below(path, "/dev") ||
	       is_at_or_below(path, "/etc") || is_at_or_below(path, "/sys");
}

static void say(struct verdict_line *v, bool allowed, struct sv reason)
{
	v->allowed = allowed;
	v->reason = reason;
	if (allowed)
		v->allow_with = (struct sv){ 0 };
}

/* What every sandbox has, where the statements say nothing. */
static void judge_system(const struct check *c, struct sv path, bool write,
			 struct verdict_line *v)
{
	bool shown = is_system_etc(path);

	for (size_t i = 0; system_roots[i]; i++)
		shown |= is_at_or_below(path, system_roots[i]);
	if (is_private(c, path)) {
		if (write)
			say(v, true, SV("the sandbox has its own, which is "
					"gone afterwards; the host's is not "
					"touched"));
		else
			say(v, false, SV("the sandbox has its own, empty at "
					 "the start; the host's is not "
					 "visible"));
	} else if (is_at_or_below(path, "/proc") ||
		   is_at_or_below(path, "/dev")) {
		say(v, !write, SV("the sandbox's own, with nothing of the host's"));
	} else if (shown) {
		say(v, !write, SV("part of the system, which is readable and "
				  "never writable"));
	}
	if (is_own(path))
		v->allow_with = (struct sv){ 0 };
}

static int judge_file(struct check *c, bool write, struct sv word,
		      struct verdict_line *v, struct err *e)
{
	struct filepath f;
	const char *fault = filepath_clean(word, sv_str(c->cwd), c->home,
					   &c->arena, &f);
	struct file_question q = { .write = write };
	struct file_answer answer;

	if (!fault && f.is_glob)
		fault = "ask about one path, without wildcards";
	if (fault)
		return err_kind(e, ERR_POLICY, "%.*s: %s",
				WORD_FMT(v->question), fault);
	q.path = f.path;
	/* In these the working directory is not part of the sandbox. */
	if (strcmp(c->cwd, "/") != 0 && !is_own(sv_str(c->cwd)))
		q.cwd = sv_str(c->cwd);
	if (match_file(&c->policy, &q, &c->arena, &answer, e) < 0)
		return -1;
	say(v, answer.allowed, answer.reason);
	v->allow_with = answer.allow_with;
	if (answer.grant) {
		v->rule = answer.grant->text;
		v->origin = &answer.grant->origin;
	}
	if (!answer.covered)
		judge_system(c, q.path, write, v);
	/* Whatever is, or is not, around it. */
	for (size_t i = 0; !write && i < c->policy.secrets_n; i++) {
		const struct secret_rule *r = &c->policy.secrets[i];

		if (!sv_eq(r->place, q.path))
			continue;
		say(v, true, SV("the sandbox has its own, with placeholders; "
				"the host's is not visible"));
		v->rule = r->text;
		v->origin = &r->origin;
		return 0;
	}
	/* Whatever grants the directory around it. */
	for (size_t i = 0; i < c->policy.secrets_n; i++) {
		const struct secret_rule *r = &c->policy.secrets[i];

		if (r->source != SECRET_FILE || !sv_eq(r->source_arg, q.path))
			continue;
		say(v, false, SV("a secret is read from it, so it is hidden"));
		v->rule = r->text;
		v->origin = &r->origin;
		v->allow_with = (struct sv){ 0 };
	}
	return 0;
}

static void put_secrets(struct check *c, const struct question *q,
			struct verdict_line *v)
{
	auto_buf struct buf b = buf_new(4096), bounded = buf_new(8192);

	for (size_t i = 0; i < c->policy.secrets_n; i++) {
		const struct secret_rule *r = &c->policy.secrets[i];
		bool is_bounded = text_form_has_bounds(r);

		if (!match_secret(r, q))
			continue;
		buf_puts(&b, b.n ? " " : "");
		buf_put(&b, r->name);
		buf_printf(&bounded, "%s%.*s%s", bounded.n ? " " : "",
			   SV_FMT(r->name), is_bounded ? " (" : "");
		text_form_bounds(&bounded, r);
		buf_puts(&bounded, is_bounded ? ")" : "");
	}
	v->secrets = arena_dup(&c->arena, buf_sv(&b));
	v->bounded = arena_dup(&c->arena, buf_sv(&bounded));
}

/* What a run may use of these is not known here. */
static void put_limits(struct check *c, const struct question *q,
		       struct verdict_line *v)
{
	auto_buf struct buf b = buf_new(4096);

	for (size_t i = 0; i < c->policy.budgets_n; i++) {
		const struct budget_rule *r = &c->policy.budgets[i];

		if (r->host.n && !match_host(r->host, q->host))
			continue;
		buf_puts(&b, b.n ? ", " : "");
		buf_put(&b, r->text);
	}
	v->limits = arena_dup(&c->arena, buf_sv(&b));
}

static void say_relay(struct verdict_line *v, const struct relay_answer *answer)
{
	say(v, answer->verdict == VERDICT_ALLOW, answer->reason);
	v->allow_with = answer->allow_with;
	v->rule = answer->rule;
	v->origin = answer->origin;
}

/* Where a rule says tcp or tls, nobody sees a request: 1 when that is so. */
static int judge_unread(struct check *c, const struct question *q,
			struct verdict_line *v, struct err *e)
{
	static const enum relay_kind kinds[] = { RELAY_TCP, RELAY_TLS };

	for (size_t i = 0; i < (q->tls ? 2 : 1); i++) {
		const struct relay_question relay = {
			.kind = kinds[i], .host = q->host, .port = q->port,
		};
		struct relay_answer answer;

		if (match_relay(&c->policy, &relay, &c->arena, &answer, e) < 0)
			return -1;
		if (!answer.opaque)
			continue;
		say_relay(v, &answer);
		return 1;
	}
	return 0;
}

static int judge_request(struct check *c, struct sv method, struct sv url,
			 struct verdict_line *v, struct err *e)
{
	struct question q = { 0 };
	const char *fault = question_url(method, url, &c->arena, &q,
					 &v->is_websocket);
	struct answer answer;
	int unread;

	if (fault) {
		say(v, false, sv_str(fault));
		return 0;
	}
	unread = judge_unread(c, &q, v, e);
	if (unread)
		return unread < 0 ? -1 : 0;
	if (match_request(&c->policy, &q, &c->arena, &answer, e) < 0)
		return -1;
	say(v, answer.verdict == VERDICT_ALLOW, answer.reason);
	v->is_request = true;
	v->request = q;
	v->allow_with = answer.allow_with;
	if (answer.rule) {
		v->rule = answer.rule->text;
		v->origin = &answer.rule->origin;
	}
	if (v->allowed)
		put_secrets(c, &q, v);
	if (v->allowed)
		put_limits(c, &q, v);
	return 0;
}

static bool is_of_file(struct sv question)
{
	return sv_starts(question, SV("read ")) ||
	       sv_starts(question, SV("write "));
}

/* "tcp ..." and "tcp://..." */
static bool is_of_relay(struct sv question)
{
	struct sv behind = sv_from(question, 3);

	return (sv_starts(question, SV("tcp")) ||
		sv_starts(question, SV("tls"))) &&
	       (sv_starts(behind, SV(" ")) || sv_starts(behind, SV("://")));
}

static bool is_of_request(struct sv question)
{
	return !is_of_file(question) && !is_of_relay(question);
}

static int judge_relay(struct check *c, enum relay_kind kind, struct sv where,
		       struct verdict_line *v, struct err *e)
{
	struct relay_question q = { .kind = kind };
	const char *fault = question_endpoint(where, &c->arena, &q);
	struct relay_answer answer;

	if (fault) {
		say(v, false, sv_str(fault));
		return 0;
	}
	if (match_relay(&c->policy, &q, &c->arena, &answer, e) < 0)
		return -1;
	say_relay(v, &answer);
	return 0;
}

static int judge(struct check *c, struct sv question, struct verdict_line *v,
		 struct err *e)
{
	struct sv word = sv_head(question, sv_find(question, ' '));
	struct sv rest = sv_trim(sv_from(question, word.n));

	*v = (struct verdict_line){ .question = question };
	if (is_of_relay(question))
		return judge_relay(c, word.p[1] == 'c' ? RELAY_TCP : RELAY_TLS,
				   rest.n ? rest : word, v, e);
	if (sv_eq_nocase(sv_head(word, 6), SV("wss://")) ||
	    sv_eq_nocase(sv_head(word, 5), SV("ws://")))
		return judge_request(c, (struct sv){ 0 }, question, v, e);
	if (rest.n == 0)
		return err_kind(e, ERR_POLICY,
			"%.*s is no question (read PATH, write PATH, "
			"METHOD https://HOST/PATH, wss://HOST/PATH, "
			"tcp HOST:PORT, or tls HOST)", WORD_FMT(question));
	if (is_of_file(question))
		return judge_file(c, word.p[0] == 'w', rest, v, e);
	if (sv_eq(word, SV("exec")))
		return err_kind(e, ERR_UNSUPP,
			"which program runs is no boundary of stockade: "
			"what it can read and reach is");
	return judge_request(c, word, rest, v, e);
}

static void print_line(struct buf *b, const struct check *c,
		       const struct verdict_line *v,
		       const struct verdict_line *first)
{
	buf_puts(b, v->allowed ? "yes  " : "no   ");
	buf_put_visible(b, v->question);
	buf_puts(b, "\n     ");
	buf_put_visible(b, v->reason);
	if (v->secrets.n) {
		buf_puts(b, "\n     with the secret: ");
		buf_put(b, v->bounded);
	}
	if (v->limits.n) {
		buf_puts(b, "\n     within: ");
		buf_put(b, v->limits);
	}
	if (v->allow_with.n) {
		buf_puts(b, "\n     to allow it: ");
		buf_put_visible(b, v->allow_with);
	}
	buf_putc(b, '\n');
	if (!c->explain || !v->is_request)
		return;
	explain_put(&c->policy, &v->request, b);
	if (first && first->is_request)
		explain_put_pair(&c->policy, &first->request, &v->request, b);
}

/* With --explain; first is NULL, or what came before. */
static void put_explained(struct json *j, const struct check *c,
			  const struct verdict_line *v,
			  const struct verdict_line *first)
{
	if (!c->explain || !v->is_request)
		return;
	explain_put_json(&c->policy, &v->request, j);
	if (first && first->is_request)
		explain_put_pair_json(&c->policy, &first->request,
				      &v->request, j);
}

static void put_json(struct json *j, const struct check *c,
		     const struct verdict_line *v,
		     const struct verdict_line *first)
{
	json_open(j, '{');
	json_put_sv(j, "question", v->question);
	json_put_bool(j, "allowed", v->allowed);
	json_put_sv(j, "reason", v->reason);
	if (v->is_websocket)
		json_put_str(j, "upgrade", "websocket");
	if (v->rule.n)
		json_put_sv(j, "rule", v->rule);
	if (v->origin) {
		auto_buf struct buf b = buf_new(256);

		origin_put(&b, v->origin);
		json_put_sv(j, "origin", buf_sv(&b));
	}
	if (v->allow_with.n)
		json_put_sv(j, "allow_with", v->allow_with);
	if (v->secrets.n)
		json_put_sv(j, "secrets", v->secrets);
	if (v->bounded.n > v->secrets.n)
		json_put_sv(j, "bounded", v->bounded);
	if (v->limits.n)
		json_put_sv(j, "limits", v->limits);
	put_explained(j, c, v, first);
	json_close(j, '}');
}

/* `read PATH` may be one argument or two, as may `GET https://...`; `wss://...`
 * is one. */
static struct sv next_question(struct check *c, char **argv, int argc, int *i)
{
	auto_buf struct buf b = buf_new(1 << 16);

	buf_puts(&b, argv[*i]);
	if (!strchr(argv[*i], ' ') && !question_has_scheme(sv_str(argv[*i])) &&
	    *i + 1 < argc) {
		buf_putc(&b, ' ');
		buf_puts(&b, argv[++*i]);
	}
	++*i;
	return b.full ? (struct sv){ 0 } : arena_dup(&c->arena, buf_sv(&b));
}

/* All answers, then the output: an error prints nothing. */
static int answer_all(struct check *c, int argc, char **argv, struct err *e)
{
	auto_buf struct buf out = buf_new(CHECK_ARENA_MAX);
	struct json j = json_pretty(&out);
	struct verdict_line lines[2];
	bool all = true;
	int n = 0;

	if (c->json)
		json_open(&j, '[');
	for (int i = 0; i < argc;) {
		struct sv question = next_question(c, argv, argc, &i);
		struct verdict_line *v = &lines[n ? 1 : 0];
		struct verdict_line *first = n++ ? &lines[0] : NULL;

		if (judge(c, question, v, e) < 0)
			return -1;
		if (c->explain && (n > 2 || !is_of_request(question)))
			return err_kind(e, ERR_POLICY, "--explain is about one "
					"request, or the difference of two");
		all = all && v->allowed;
		if (c->json)
			put_json(&j, c, v, first);
		else
			print_line(&out, c, v, first);
	}
	if (c->json) {
		json_close(&j, ']');
		buf_putc(&out, '\n');
	}
	if (buf_check(&out, "the answer", e) < 0 ||
	    io_write_all(STDOUT_FILENO, buf_sv(&out), e) < 0)
		return -1;
	return all ? 0 : 1;
}

int check_main(int argc, char **argv, struct err *e)
{
	static struct source_options options;
	auto_check struct check c = { .arena = arena_new(CHECK_ARENA_MAX) };
	const char *home = secure_getenv("HOME");
	const struct flag_spec own[] = {
		{ .name = "json", .set = &c.json },
		{ .name = "explain", .set = &c.explain },
		{ 0 },
	};
	int first = 0;

	if (flags_parse(own, &options, argc, argv, &first, e) < 0)
		return -1;
	if (first >= argc)
		return err_kind(e, ERR_POLICY,
			"expected: stockade check [FLAGS] QUESTION... "
			"(read PATH, write PATH, 'METHOD https://HOST/PATH', "
			"wss://HOST/PATH, 'tcp HOST:PORT', or 'tls HOST')");
	if (!getcwd(c.cwd, sizeof c.cwd))
		return err_sys(e, "find the working directory");
	if (home && home[0] == '/')
		c.home = sv_str(home);
	if (source_load(&options, &c.policy, e) < 0)
		return -1;
	return answer_all(&c, argc - first, argv + first, e);
}
