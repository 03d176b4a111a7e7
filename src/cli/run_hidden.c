/* SPDX-License-Identifier: Apache-2.0 */
/* What every run hides: see run_hidden.h. */
#include "run_hidden.h"

#include <limits.h>

#include "own.h"
#include "run_control.h"
#include "run_dir.h"
#include "secret_file.h"

static int hide(struct policy *p, struct sv path, struct sv text,
		struct origin origin, struct err *e)
{
	struct grant *g = arena_push(&p->arena, &p->grants, &p->grants_n,
				     &p->grants_cap);

	if (!g || !path.p)
		return err_kind(e, ERR_LIMIT, "out of memory");
	*g = (struct grant){
		.kind = GRANT_HIDE, .optional = true, .path = path,
		.origin = origin, .text = text,
	};
	return 0;
}

/* A secret's file is the host's business, also inside a granted tree. */
static int hide_secret_files(struct policy *p, struct err *e)
{
	for (size_t i = 0; i < p->secrets_n; i++) {
		const struct secret_rule *rule = &p->secrets[i];

		if (rule->source == SECRET_FILE &&
		    hide(p, rule->source_arg, rule->text, rule->origin, e) < 0)
			return -1;
	}
	return 0;
}

static int hide_own(struct policy *p, const char *dir, struct err *e)
{
	auto_buf struct buf path = buf_new(PATH_MAX);
	struct sv state;

	if (run_state_path(&p->arena, &state, e) < 0)
		return -1;
	buf_put(&path, state);
	buf_putc(&path, '/');
	buf_puts(&path, dir);
	if (buf_check(&path, "the state directory's name", e) < 0)
		return -1;
	return hide(p, arena_dup(&p->arena, buf_sv(&path)),
		    SV("hidden by default"), (struct origin){ 0 }, e);
}

int run_hide(struct policy *p, struct err *e)
{
	/* By its sockets this run and others are asked, and a socket can be
	 * connected to where its tree can only be read.  The store is nothing
	 * without its passphrase, at which nobody inside shall guess. */
	return hide_secret_files(p, e) < 0 ||
	       hide_own(p, CONTROL_DIR, e) < 0 ? -1 :
	       hide_own(p, SECRET_DIR, e);
}

int run_make_hidden(struct err *e)
{
	auto_fd int fd = -1;

	/* The other one holds nothing yet where it is not there; what appears
	 * later is hidden then. */
	return run_state_open(CONTROL_DIR, true, &fd, e);
}
