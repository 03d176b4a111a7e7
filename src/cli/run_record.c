/* SPDX-License-Identifier: Apache-2.0 */
/* A run's own records: see run_record.h. */
#include "run_record.h"

#include <unistd.h>

#include "cur.h"
#include "own.h"

enum { ARGUMENT_MAX = 4096 };	/* recorded of each */

int run_record_name(struct run_record *r, struct err *e)
{
	return r->id[0] ? 0 : run_new_id(r->id, e);
}

int run_record_init(struct run_record *r, struct err *e)
{
	int fd;

	if (run_record_name(r, e) < 0 || run_create(r->id, &fd, e) < 0)
		return -1;
	trail_open(&r->trail, fd);
	if (r->most)
		r->trail.most = r->most;
	return 0;
}

void run_record_fini(struct run_record *r)
{
	trail_close(&r->trail);
	buf_free(&r->command);
}

int run_record_command(struct run_record *r,
		       const struct credential_set *secrets, char *const *argv,
		       struct err *e)
{
	auto_buf struct buf text = buf_new(AUDIT_LINE_MAX);

	r->command = buf_new(AUDIT_LINE_MAX);
	for (char *const *arg = argv; *arg; arg++) {
		buf_reset(&text);
		credential_set_redact(secrets, sv_str(*arg), &text);
		buf_put_sv(&r->command, sv_head(buf_sv(&text), ARGUMENT_MAX));
	}
	return buf_check(&r->command, "the command's arguments", e);
}

int run_record_start(struct run_record *r, const char *cwd, struct err *e)
{
	struct json *j = trail_begin(&r->trail, "run");
	struct cur arguments = cur_of(buf_sv(&r->command));

	json_put_str(j, "run", r->id);
	json_put_str(j, "version", STOCKADE_VERSION);
	json_put_u64(j, "uid", getuid());
	json_put_str(j, "cwd", cwd);
	if (r->kept.n)
		json_put_sv(j, "kept", r->kept);
	json_key(j, "command");
	json_open(j, '[');
	while (arguments.rest.n && !arguments.bad)
		json_sv(j, cur_sv(&arguments, ARGUMENT_MAX));
	json_close(j, ']');
	return trail_commit(&r->trail, e);
}

int run_record_end(struct run_record *r, const struct warden *w, int status,
		   struct sv limit, struct err *e)
{
	struct json *j = trail_begin_last(&r->trail, "end");

	json_key(j, "status");
	json_i64(j, status);
	if (limit.n)
		json_put_sv(j, "limit", limit);
	json_put_u64(j, "allowed", w->allowed);
	json_put_u64(j, "denied", w->denied);
	json_put_u64(j, "violations", w->violations);
	if (trail_commit(&r->trail, e) < 0)
		return -1;
	return trail_sync(&r->trail, e);
}

void run_record_failed(struct run_record *r, const struct err *why)
{
	struct json *j = trail_begin_last(&r->trail, "end");
	struct err ignored;

	json_put_str(j, "error", why->msg);
	/* The run fails with `why`; a second trouble would hide it. */
	if (trail_commit(&r->trail, &ignored) < 0)
		return;
}
