/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers that edge gives by itself: see page.h.
 *
 * What they quote comes from the agent or from the policy.  In the head only
 * printable ASCII passes, so that no answer can be split; in the body it goes
 * through the JSON writer, or through buf_put_visible().
 */
#include "page.h"

#include "h1_response.h"
#include "json.h"
#include "own.h"

enum { PHRASE_MAX = 180, SLUG_MAX = 64, REQUEST_MAX = 1024 };

bool page_wants_plain(struct sv user_agent)
{
	/* The latter is `go` itself, or a program that asked for no type; over
	 * HTTP/2 there is no phrase that it could show instead. */
	return sv_starts(user_agent, SV("git/")) ||
	       sv_starts(user_agent, SV("Go-http-client/"));
}

bool page_wants_grpc(struct sv content_type)
{
	struct sv kind = SV("application/grpc");

	/* Not grpc-web, whose end is in the body. */
	return sv_starts(content_type, kind) &&
	       (content_type.n == kind.n || content_type.p[kind.n] == '+' ||
		content_type.p[kind.n] == ';');
}

static void put_ascii(struct buf *b, struct sv v, size_t max)
{
	for (size_t i = 0; i < v.n && i < max; i++)
		buf_putc(b, v.p[i] >= ' ' && v.p[i] <= '~' ? v.p[i] : '?');
}

/* "no rule allows GET of this" as "no-rule-allows-get-of-this". */
static void put_slug(struct buf *b, struct sv v)
{
	bool dash = false;
	size_t start = b->n;

	for (size_t i = 0; i < v.n && b->n - start < SLUG_MAX; i++) {
		char c = ascii_lower(v.p[i]);

		if (!is_alpha(c) && !is_digit(c)) {
			dash = b->n > start;
			continue;
		}
		if (dash)
			buf_putc(b, '-');
		dash = false;
		buf_putc(b, c);
	}
	if (b->n == start)
		buf_puts(b, "policy");
}

static bool is_denial(const struct page *p)
{
	return p->status == 403 || p->status == 426 || p->status == 429;
}

/* Ours or the origin's fault, not the request's. */
static bool is_failure(const struct page *p)
{
	return p->status >= 500 && p->status != 501 && p->status != 505;
}

static const char *advice_of(const struct page *p)
{
	if (is_denial(p) && p->allow_with.n)
		return "This is the policy of the sandbox, not a fault: another"
		       " try, another tool or another way will not help. The"
		       " person who started stockade can add the line in"
		       " allow_with.";
	if (is_denial(p))
		return "This is the policy of the sandbox, not a fault: another"
		       " try, another tool or another way will not help.";
	if (is_failure(p))
		return "The request was not refused by policy; it could not be"
		       " carried out.";
	return "The request is malformed or too large; it was not sent on.";
}

static const char *error_of(const struct page *p)
{
	return is_denial(p) ? "denied by stockade" :
	       is_failure(p) ? "failed in stockade" : "refused by stockade";
}

static void put_or_null(struct json *j, const char *key, struct sv v)
{
	json_key(j, key);
	if (v.n)
		json_sv(j, v);
	else
		json_nil(j);
}

static void put_json(struct buf *b, const struct page *p)
{
	struct json j = json_pretty(b);

	json_open(&j, '{');
	json_put_str(&j, "error", error_of(p));
	put_or_null(&j, "request", sv_head(p->request, REQUEST_MAX));
	put_or_null(&j, "rule", p->rule);
	json_put_sv(&j, "reason", p->reason);
	put_or_null(&j, "allow_with", p->allow_with);
	json_put_str(&j, "advice", advice_of(p));
	json_close(&j, '}');
	buf_putc(b, '\n');
}

static void put_line(struct buf *b, const char *name, struct sv v)
{
	if (v.n == 0)
		return;
	buf_puts(b, name);
	buf_put_visible(b, v);
	buf_putc(b, '\n');
}

static void put_plain(struct buf *b, const struct page *p)
{
	buf_printf(b, "%s: ", error_of(p));
	buf_put_visible(b, p->reason);
	buf_putc(b, '\n');
	put_line(b, "request: ", sv_head(p->request, REQUEST_MAX));
	put_line(b, "rule: ", p->rule);
	put_line(b, "allowed with: ", p->allow_with);
	buf_printf(b, "%s\n", advice_of(p));
}

void page_put_body(struct buf *out, const struct page *p)
{
	auto_buf struct buf body = buf_new(PAGE_MAX);

	if (p->plain)
		put_plain(&body, p);
	else
		put_json(&body, p);
	if (body.full) {
		/* Quoting can grow what it quotes; the reason is in the head. */
		buf_reset(&body);
		buf_puts(&body, p->plain ? "denied by stockade\n" :
				"{\"error\": \"denied by stockade\"}\n");
	}
	buf_put(out, buf_sv(&body));
}

struct sv page_type(const struct page *p)
{
	return p->plain ? SV("text/plain") : SV("application/json");
}

void page_put_denial(struct buf *out, const struct page *p)
{
	if (is_denial(p))
		put_slug(out, p->reason);
}

unsigned int page_grpc_status(const struct page *p)
{
	enum { PERMISSION_DENIED = 7, RESOURCE_EXHAUSTED, INTERNAL = 13,
	       UNAVAILABLE };

	if (p->status == 429)
		return RESOURCE_EXHAUSTED;
	if (is_denial(p))
		return PERMISSION_DENIED;
	return is_failure(p) ? UNAVAILABLE : INTERNAL;
}

/* Percent-encoded, as that field is everywhere. */
static void put_percent(struct buf *b, struct sv v)
{
	for (size_t i = 0; i < v.n && i < REQUEST_MAX; i++) {
		char c = v.p[i];

		if (c >= ' ' && c <= '~' && c != '%')
			buf_putc(b, c);
		else
			buf_put_percent(b, sv_of(&c, 1));
	}
}

void page_put_grpc_message(struct buf *out, const struct page *p)
{
	buf_printf(out, "%s: ", error_of(p));
	put_percent(out, p->reason);
	if (p->allow_with.n == 0)
		return;
	buf_puts(out, "; allowed with: ");
	put_percent(out, p->allow_with);
}

void page_put(struct buf *out, const struct page *p)
{
	auto_buf struct buf body = buf_new(PAGE_MAX);

	page_put_body(&body, p);
	buf_printf(out, "HTTP/1.1 %u %s by stockade: ", p->status,
		   h1_phrase(p->status));
	put_ascii(out, p->reason, PHRASE_MAX);
	buf_printf(out, "\r\nContent-Type: %.*s\r\nContent-Length: %zu\r\n",
		   SV_FMT(page_type(p)), body.n);
	if (is_denial(p)) {
		buf_puts(out, "Stockade-Denied: ");
		page_put_denial(out, p);
		buf_puts(out, "\r\n");
	}
	buf_puts(out, "Cache-Control: no-store\r\n");
	if (p->close)
		buf_puts(out, "Connection: close\r\n\r\n");
	else if (p->http10)
		buf_puts(out, "Connection: keep-alive\r\n\r\n");
	else
		buf_puts(out, "\r\n");
	if (!p->head_only)
		buf_put(out, buf_sv(&body));
}
