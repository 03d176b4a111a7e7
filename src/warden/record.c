/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What warden writes: see record.h.
 *
 * Texts that the agent chose are cut to a bound, and a cut one carries its
 * whole length, so that one request cannot fill the disk.
 */
#include "record.h"

#include "canonical.h"

enum { RECORD_TEXT_MAX = 2048 };

static void put_bounded(struct json *j, const char *key, struct sv v)
{
	json_put_sv(j, key, sv_head(v, RECORD_TEXT_MAX));
	if (v.n > RECORD_TEXT_MAX)
		json_put_u64(j, "cut_from_bytes", v.n);
}

/* All that is written here was decided. */
static struct trail *decided(struct warden *w)
{
	w->trail->worth_syncing = true;
	return w->trail;
}

static void put_url(struct json *j, const struct msg_REQUEST *m)
{
	auto_buf struct buf url = buf_new(HTTP_HEAD_MAX);
	const struct http_request r = {
		.scheme = (enum http_scheme)m->scheme, .host = m->host,
		.port = m->port, .path = m->path,
		.has_query = m->has_query, .query = m->query,
	};

	request_put_url(&r, &url);
	put_bounded(j, "url", buf_sv(&url));
}

static const char *verdict_name(enum verdict v)
{
	return v == VERDICT_ALLOW ? "allow" : v == VERDICT_ASK ? "ask" : "deny";
}

/* Those that the request carries; not those that are only masked. */
static void put_secrets(struct json *j, const struct credential_use *use)
{
	bool any = false;

	for (size_t i = 0; i < use->n; i++) {
		if (use->edits[i].form == EDIT_MASK)
			continue;
		if (!any) {
			json_key(j, "secrets");
			json_open(j, '[');
		}
		any = true;
		json_sv(j, use->credentials[i]->rule->name);
	}
	if (any)
		json_close(j, ']');
}

int record_request(struct warden *w, const struct msg_REQUEST *m,
		   const struct answer *answer,
		   const struct credential_use *use, struct err *e)
{
	struct json *j = trail_begin(decided(w), "request");

	json_put_u64(j, "conn", m->conn);
	json_put_u64(j, "id", m->id);
	json_put_str(j, "verdict", verdict_name(answer->verdict));
	json_put_sv(j, "method", m->method);
	put_url(j, m);
	if (m->upgrade)
		json_put_str(j, "upgrade", "websocket");
	json_key(j, "rule");
	if (answer->rule)
		json_sv(j, answer->rule->text);
	else
		json_nil(j);
	if (answer->verdict != VERDICT_ALLOW)
		put_bounded(j, "reason", answer->reason);
	if (use)
		put_secrets(j, use);
	return trail_commit(w->trail, e);
}

int record_relay(struct warden *w, const struct msg_OPEN *m,
		 const struct relay_answer *answer, struct err *e)
{
	struct json *j = trail_begin(decided(w), "relay");

	json_put_u64(j, "conn", m->conn);
	json_put_u64(j, "id", m->id);
	json_put_str(j, "verdict", verdict_name(answer->verdict));
	json_put_sv(j, "protocol", relay_kind_word((enum relay_kind)m->relay));
	put_bounded(j, "host", m->host);
	json_put_u64(j, "port", m->port);
	json_key(j, "rule");
	if (answer->rule.n)
		json_sv(j, answer->rule);
	else
		json_nil(j);
	if (answer->verdict != VERDICT_ALLOW)
		put_bounded(j, "reason", answer->reason);
	return trail_commit(w->trail, e);
}

int record_refused(struct warden *w, const struct msg_REFUSED *m,
		   struct err *e)
{
	struct json *j = trail_begin(decided(w), "refused");

	json_put_u64(j, "conn", m->conn);
	json_put_str(j, "verdict", "deny");
	put_bounded(j, "host", m->host);
	json_put_u64(j, "port", m->port);
	put_bounded(j, "reason", m->reason);
	return trail_commit(w->trail, e);
}

int record_guard(struct warden *w, struct sv path, struct sv rule,
		 struct err *e)
{
	struct json *j = trail_begin(decided(w), "guard");

	json_put_str(j, "verdict", "deny");
	put_bounded(j, "path", path);
	put_bounded(j, "rule", rule);
	json_put_str(j, "reason", "what has this name would be run outside");
	return trail_commit(w->trail, e);
}

int record_made(struct warden *w, struct sv path, struct err *e)
{
	struct json *j = trail_begin(decided(w), "made");

	put_bounded(j, "path", path);
	return trail_commit(w->trail, e);
}

int record_appeared(struct warden *w, struct sv path, struct sv rule,
		    bool read_only, struct err *e)
{
	struct json *j = trail_begin(decided(w), "appeared");

	put_bounded(j, "path", path);
	json_put_str(j, "now", read_only ? "read-only" : "hidden");
	put_bounded(j, "rule", rule);
	return trail_commit(w->trail, e);
}

int record_left(struct warden *w, int count, struct sv paths, struct err *e)
{
	struct json *j = trail_begin_last(decided(w), "left");

	json_key(j, "count");
	json_i64(j, count);
	json_key(j, "paths");
	json_open(j, '[');
	while (paths.n) {
		struct sv path = sv_head(paths, sv_find(paths, '\0'));

		json_sv(j, path);
		paths = sv_from(paths, path.n + 1);
	}
	json_close(j, ']');
	return trail_commit(w->trail, e);
}

int record_published(struct warden *w, uint16_t port, struct sv from,
		     struct err *e)
{
	struct json *j = trail_begin(decided(w), "publish");

	json_put_u64(j, "port", port);
	json_put_sv(j, "address", from);
	return trail_commit(w->trail, e);
}

int record_violation(struct warden *w, const struct violation *v,
		     struct err *e)
{
	struct json *j = trail_begin(decided(w), "violation");

	json_put_u64(j, "conn", v->conn);
	json_put_u64(j, "id", v->id);
	json_put_sv(j, "secret",
		    v->credential ? v->credential->rule->name : SV("?"));
	put_bounded(j, "where", v->where);
	if (v->name.n)
		put_bounded(j, "name", v->name);
	put_bounded(j, "host", v->host);
	json_put_str(j, "reason", "a placeholder was sent where it is never "
				  "replaced; the value did not leave");
	return trail_commit(w->trail, e);
}

int record_revoked(struct warden *w, struct sv name, struct err *e)
{
	json_put_sv(trail_begin_last(decided(w), "revoked"), "secret", name);
	return trail_commit(w->trail, e);
}

int record_renewal(struct warden *w, const struct renewed *r, struct err *e)
{
	struct json *j = trail_begin(decided(w), "renewal");

	json_put_sv(j, "secret", r->secret);
	json_put_str(j, "because", r->because);
	if (r->host.n)
		put_bounded(j, "host", r->host);
	if (r->error.n)
		put_bounded(j, "error", r->error);
	else
		json_put_bool(j, "changed", r->changed);
	return trail_commit(w->trail, e);
}

int record_connected(struct warden *w, const struct msg_CONNECTED *m,
		     struct err *e)
{
	struct json *j = trail_begin(decided(w), "connect");

	json_put_u64(j, "conn", m->conn);
	json_put_u64(j, "id", m->id);
	if (m->error.n) {
		json_put_str(j, "verdict", "deny");
		put_bounded(j, "reason", m->error);
	}
	if (m->address.n)
		put_bounded(j, "address", m->address);
	if (m->proxy.n)
		put_bounded(j, "proxy", m->proxy);
	return trail_commit(w->trail, e);
}

int record_done(struct warden *w, const struct msg_DONE *m, struct err *e)
{
	struct json *j = trail_begin_last(decided(w), "response");

	json_put_u64(j, "conn", m->conn);
	json_put_u64(j, "id", m->id);
	json_put_u64(j, "status", m->status);
	json_put_u64(j, "sent_bytes", m->sent);
	json_put_u64(j, "received_bytes", m->received);
	if (m->scrubbed)
		json_put_u64(j, "scrubbed", m->scrubbed);
	if (m->error.n)
		put_bounded(j, "error", m->error);
	return trail_commit(w->trail, e);
}

int record_fault(struct warden *w, const char *who, struct sv text,
		 struct err *e)
{
	struct json *j = trail_begin_last(decided(w), "fault");

	json_put_str(j, "process", who);
	put_bounded(j, "reason", text);
	return trail_commit(w->trail, e);
}
