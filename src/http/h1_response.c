/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Response heads, and the writers: see h1_response.h.
 *
 * A response is as hostile as a request: what could be read in two ways could
 * hand the end of one response to the next request of the agent.  Anything odd
 * is refused, and the origin's connection is never used again.
 */
#include "h1_response.h"

#include "field.h"
#include "h1_head.h"
#include "own.h"
#include "target.h"

#define WEBSOCKET_FIELDS "connection: upgrade\r\nupgrade: websocket\r\n"

static int line_parse(struct sv line, struct http_response *r, bool *http10,
		      struct h1_refusal *why)
{
	int version = h1_version(sv_head(line, 8));
	struct sv status = sv_from(line, 9), phrase;
	uint64_t code;

	if (version < 0 || line.n < 12 || line.p[8] != ' ')
		return h1_refuse(why, 502, "the status line is malformed");
	phrase = sv_from(status, 3);
	if (!sv_to_u64(sv_head(status, 3), 599, &code) || code < 100)
		return h1_refuse(why, 502, "the status is not 100 to 599");
	/* The phrase itself is dropped, as is a missing one. */
	if (phrase.n && phrase.p[0] != ' ')
		return h1_refuse(why, 502, "the status line is malformed");
	if (!is_field_value(sv_trim(phrase)))
		return h1_refuse(why, 502, "the status line has a control "
					   "character");
	r->status = (uint16_t)code;
	*http10 = version == 0;
	return 0;
}

/* RFC 9112, 6.3, without its tolerance. */
static int body_take(const struct h1_framing *f, struct sv method, bool http10,
		     struct http_response *r, struct h1_refusal *why)
{
	bool bodiless = r->status < 200 || r->status == 204 ||
			r->status == 304;

	if (f->chunked && f->has_length)
		return h1_refuse(why, 502, "both Transfer-Encoding and "
					   "Content-Length");
	if (f->chunked && http10)
		return h1_refuse(why, 502, "Transfer-Encoding in HTTP/1.0");
	r->close = f->wants_close || http10;
	if (r->status == 101) {
		if (!f->wants_websocket || f->chunked || f->has_length || http10)
			return h1_refuse(why, 502, "a switch to no protocol "
						   "that is carried");
		r->upgrade = r->close = true;
		r->body = HTTP_BODY_CLOSE;
	} else if (bodiless || sv_eq(method, SV("HEAD"))) {
		r->body = HTTP_BODY_NONE;
		/* It may send a body all the same: read nothing behind it. */
		if (r->status != 304 && bodiless && (f->chunked || f->length))
			r->close = true;
	} else if (f->chunked) {
		r->body = HTTP_BODY_CHUNKED;
	} else if (f->has_length) {
		r->body = HTTP_BODY_LENGTH;
		r->length = f->length;
	} else {
		r->body = HTTP_BODY_CLOSE;
		r->close = true;
	}
	return 0;
}

/* The length of what GET would have given is the whole point of HEAD. */
int h1_keep_length(uint64_t length, struct arena *a, struct http_fields *f,
		   struct h1_refusal *why)
{
	struct http_field *grown = arena_alloc(a, (f->n + 1) * sizeof(*grown));
	char *text = arena_alloc(a, 20);
	size_t n = 20;

	if (!grown || !text)
		return h1_refuse(why, 502, "the head needs too much memory");
	do {
		text[--n] = (char)('0' + length % 10);
		length /= 10;
	} while (length);
	if (f->n)
		memcpy(grown, f->v, f->n * sizeof(*grown));
	grown[f->n] = (struct http_field){ SV("content-length"),
					   sv_of(text + n, 20 - n) };
	f->v = grown;
	f->n++;
	return 0;
}

/*
 * Names of codings have no case (RFC 9112, 7), and some origins write "Chunked".
 * Of a request, whose client can be told, only the usual form is taken.
 */
static void fold_coding(struct http_fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (sv_eq(f->v[i].name, SV("transfer-encoding")) &&
		    sv_eq_nocase(f->v[i].value, SV("chunked")))
			f->v[i].value = SV("chunked");
}

static int head_parse(struct sv head, struct sv method, struct arena *a,
		      struct http_response *r, struct h1_refusal *why)
{
	struct sv line = h1_line(&head);
	struct h1_framing framing;
	bool http10 = false;

	if (line_parse(line, r, &http10, why) < 0 ||
	    h1_fields_parse(head, a, &r->fields, why) < 0)
		return -1;
	fold_coding(&r->fields);
	if (h1_framing_take(&r->fields, &framing, why) < 0 ||
	    body_take(&framing, method, http10, r, why) < 0)
		return -1;
	if (sv_eq(method, SV("HEAD")) && framing.has_length &&
	    r->status >= 200 && r->status != 204 && r->status != 304)
		return h1_keep_length(framing.length, a, &r->fields, why);
	return 0;
}

static int partial_check(struct sv in, struct h1_refusal *why)
{
	size_t n = in.n < 5 ? in.n : 5;

	if (!sv_eq(sv_head(in, n), sv_head(SV("HTTP/"), n)))
		return h1_refuse(why, 502, "this is not HTTP");
	if (in.n >= HTTP_HEAD_MAX)
		return h1_refuse(why, 502, "the head is longer than 65536 "
					   "bytes");
	return 0;
}

ssize_t h1_parse_response(struct sv in, struct sv method, struct arena *a,
			  struct h1_response *ret)
{
	struct http_response r = { 0 };
	struct h1_refusal why = { 0 };
	ssize_t n = in.n ? h1_head_length(sv_head(in, HTTP_HEAD_MAX)) : H1_MORE;
	struct sv head;

	if (n == H1_BAD)
		(void)h1_refuse(&why, 502, "a line does not end in CRLF");
	else if (n == H1_MORE && partial_check(in, &why) == 0)
		return H1_MORE;
	if (n > 0) {
		head = arena_dup(a, sv_of(in.p, (size_t)n));
		if (!head.p)
			(void)h1_refuse(&why, 502, "the head needs too much "
						   "memory");
		else if (head_parse(head, method, a, &r, &why) == 0) {
			*ret = (struct h1_response){ .response = r };
			return n;
		}
	}
	*ret = (struct h1_response){ .reason = why.reason };
	return H1_BAD;
}

static void put_field(struct buf *b, struct sv name, struct sv value)
{
	buf_put(b, name);
	buf_put(b, SV(": "));
	buf_put(b, value);
	buf_put(b, SV("\r\n"));
}

static void put_fields(struct buf *b, const struct http_fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		put_field(b, f->v[i].name, f->v[i].value);
}

static void put_framing(struct buf *b, enum http_body body, uint64_t length)
{
	if (body == HTTP_BODY_LENGTH)
		buf_printf(b, "content-length: %ju\r\n", (uintmax_t)length);
	else if (body == HTTP_BODY_CHUNKED)
		buf_puts(b, "transfer-encoding: chunked\r\n");
}

void h1_write_request(struct buf *b, const struct http_request *r)
{
	buf_put(b, r->method);
	buf_putc(b, ' ');
	buf_put(b, r->path);
	if (r->has_query) {
		buf_putc(b, '?');
		buf_put(b, r->query);
	}
	buf_puts(b, " HTTP/1.1\r\nhost: ");
	buf_put(b, r->host);
	if (r->port != scheme_port(r->scheme))
		buf_printf(b, ":%u", (unsigned)r->port);
	buf_puts(b, "\r\n");
	put_fields(b, &r->fields);
	put_framing(b, r->body, r->length);
	/* What is of this hop must be named as such. */
	buf_puts(b, r->upgrade ? WEBSOCKET_FIELDS "\r\n" :
		    r->trailers ? "te: trailers\r\nconnection: te, keep-alive"
				  "\r\n\r\n" :
				  "connection: keep-alive\r\n\r\n");
}

void h1_write_response_head(struct buf *b, const struct http_response *r,
			    bool keep_alive)
{
	buf_printf(b, "HTTP/1.1 %u %s\r\n", (unsigned)r->status,
		   h1_phrase(r->status));
	put_fields(b, &r->fields);
	if (r->upgrade)
		buf_puts(b, WEBSOCKET_FIELDS);
	if (r->status >= 200) {
		put_framing(b, r->body, r->length);
		buf_printf(b, "connection: %s\r\n",
			   keep_alive && r->body != HTTP_BODY_CLOSE
				   ? "keep-alive" : "close");
	}
	buf_puts(b, "\r\n");
}

const char *h1_phrase(uint16_t status)
{
	static const struct {
		uint16_t status;
		const char *phrase;
	} phrases[] = {
		{ 100, "Continue" }, { 101, "Switching Protocols" },
		{ 103, "Early Hints" }, { 200, "OK" },
		{ 201, "Created" }, { 202, "Accepted" },
		{ 203, "Non-Authoritative Information" },
		{ 204, "No Content" }, { 205, "Reset Content" },
		{ 206, "Partial Content" }, { 207, "Multi-Status" },
		{ 300, "Multiple Choices" }, { 301, "Moved Permanently" },
		{ 302, "Found" }, { 303, "See Other" },
		{ 304, "Not Modified" }, { 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" }, { 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 402, "Payment Required" },
		{ 403, "Forbidden" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
		{ 407, "Proxy Authentication Required" },
		{ 408, "Request Timeout" }, { 409, "Conflict" },
		{ 410, "Gone" }, { 411, "Length Required" },
		{ 412, "Precondition Failed" }, { 413, "Content Too Large" },
		{ 414, "URI Too Long" }, { 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" }, { 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" }, { 424, "Failed Dependency" },
		{ 425, "Too Early" }, { 426, "Upgrade Required" },
		{ 428, "Precondition Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 451, "Unavailable For Legal Reasons" },
		{ 500, "Internal Server Error" }, { 501, "Not Implemented" },
		{ 502, "Bad Gateway" }, { 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
		{ 511, "Network Authentication Required" },
	};

	for (size_t i = 0; i < countof(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "";
}
