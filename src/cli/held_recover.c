/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was killed in the middle of held changes: an `apply`, or a run that had them
 * in memory.  See run_held.h; whoever comes next completes it or takes it back, and
 * says so.
 */
#include "run_held.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "apply.h"
#include "carry.h"
#include "complaint.h"
#include "dir.h"
#include "held_record.h"
#include "own.h"
#include "run_dir.h"

/* A run of `limit workspace` that was killed, and its reaper with it or before. */
static int recover_carried(int store_fd, const char *id, struct err *e)
{
	char run[HELD_ID_MAX], text[240];

	switch (carry_recover(store_fd, id, run, e)) {
	case CARRY_NOTHING:
		return 0;
	case CARRY_COMPLETED:
		(void)snprintf(text, sizeof text, "what run %s holds is in its "
			       "place now", run);
		break;
	case CARRY_LOST:
		(void)snprintf(text, sizeof text, "run %s was killed while its "
			       "changes were in memory (limit workspace): "
			       "nothing of it is held%s%s", run,
			       held_is_name(id) ? "; the kept sandbox is as it "
			       "was before: " : "", held_is_name(id) ? id : "");
		break;
	default:
		return -1;
	}
	complain("", text, false);
	return 0;
}

static int recover_all_carried(int store_fd, struct err *e)
{
	auto_dir DIR *dir = dir_again(store_fd);
	const struct dirent *d;

	if (!dir)
		return err_sys(e, "read the list of held changes");
	while ((d = dir_next(dir)) != NULL)
		if (d->d_name[0] != '.' &&
		    carry_is_pending(store_fd, d->d_name) &&
		    recover_carried(store_fd, d->d_name, e) < 0)
			return err_ctx(e, "what %.64s holds", d->d_name);
	return errno ? err_sys(e, "read the list of held changes") : 0;
}

/* Told whoever asked for something else. */
static int recover_apply(int store_fd, struct err *e)
{
	char id[HELD_ID_MAX], run[HELD_ID_MAX];

	switch (apply_recover(store_fd, id, e)) {
	case APPLY_NOTHING:
		return 0;
	case APPLY_COMPLETED:
		complain("", "an apply that was interrupted is completed now",
			 false);
		return 0;
	case APPLY_UNDONE:
		complain("", "an apply that was interrupted is undone now",
			 false);
		return held_last(store_fd, id, run, e) < 0 ? -1 :
		       held_record_undone(run, SV("the apply was interrupted"),
					  e);
	default:
		return -1;
	}
}

int run_held_recover_in(int store_fd, struct err *e)
{
	/* The apply first: it locks the store. */
	return recover_apply(store_fd, e) < 0 ? -1 :
	       recover_all_carried(store_fd, e);
}

static bool any_is_pending(int store_fd)
{
	auto_dir DIR *dir = dir_again(store_fd);
	const struct dirent *d;

	while (dir && (d = dir_next(dir)) != NULL)
		if (d->d_name[0] != '.' &&
		    carry_is_pending(store_fd, d->d_name))
			return true;
	return false;
}

int run_held_recover(struct err *e)
{
	auto_fd int store_fd = -1;
	struct err none;

	/* Where nothing was ever held, there is nothing to be done. */
	if (run_state_open(HELD_STORE, false, &store_fd, &none) < 0 ||
	    (!journal_is_there(store_fd) && !any_is_pending(store_fd)))
		return 0;
	return run_held_recover_in(store_fd, e);
}
