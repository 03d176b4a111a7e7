/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade discard`: forgets a run's changes, or some of them. */
#include <stdio.h>

#include "held_record.h"
#include "held_verbs.h"
#include "own.h"

static int discard_some(struct held_verb *v, struct err *e)
{
	if (held_record_discard(v, e) < 0 ||
	    changes_drop(&v->held, &v->changes, e) < 0)
		return -1;
	return held_verb_tidy(v, e);
}

static int discard_whole(struct held_verb *v, struct err *e)
{
	if (held_record_discard(v, e) < 0)
		return -1;
	return held_remove(&v->held, e);
}

/* What cannot be read is forgotten as well. */
static int discard_unread(struct held_verb *v, struct err *e)
{
	const struct err why = *e;

	if (held_record_lost(v, &why, e) < 0)
		return -1;
	return held_remove(&v->held, e);
}

int discard_main(int argc, char **argv, struct err *e)
{
	auto_verb struct held_verb v = { .store_fd = -1 };
	int any;

	if (held_verb_parse(&v, argc, argv, e) < 0)
		return -1;
	any = held_verb_open(&v, v.paths_n > 0, e);
	if (any < 0 && v.paths_n == 0 && v.is_open && v.held.trees_n)
		return discard_unread(&v, e);
	if (any < 0)
		return -1;
	if (!any)
		return err_kind(e, ERR_POLICY, "no run holds any changes");
	return v.paths_n ? discard_some(&v, e) : discard_whole(&v, e);
}
