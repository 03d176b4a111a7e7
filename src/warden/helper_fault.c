/* SPDX-License-Identifier: Apache-2.0 */
/* A helper has failed: see helper_fault.h. */
#include "helper_fault.h"

#include "exchange.h"
#include "own.h"
#include "record.h"

/* Whose decisions nobody can hear, or nobody asked for: all of it ends.  With
 * edge gone connections are refused at once. */
static void end_all(struct warden *w)
{
	helper_stop(&w->edge);
	helper_stop(&w->vault);
	loop_forget(w->loop, &w->listener_watch);
	loop_forget(w->loop, &w->dns_watch);
	close_fd(&w->listener_fd);
	close_fd(&w->dns_fd);
	conn_remove_all(w);
}

void fault_raise(struct warden *w, struct helper *h, const struct err *e)
{
	struct err second = { 0 };
	bool first = !w->fault.kind;
	bool recorded = true;

	h->ended = true;
	if (first) {
		w->fault = *e;
		(void)err_ctx(&w->fault, "%s", helper_name(h));
		/* The trail itself may be what is broken; the run says so.
		 * Where it has not begun, nothing has, and nothing will. */
		recorded = w->trail->fd < 0 ||
			   record_fault(w, helper_name(h), sv_str(e->msg),
					&second) == 0;
	}
	helper_stop(h);
	helper_stop(&w->dial);
	helper_stop(&w->resolve);
	if (recorded && helper_is_running(&w->edge))
		recorded = exchange_end_all(w, &second) == 0;
	if (!recorded)
		(void)err_ctx(&w->fault, "unrecorded");
	if (!helper_is_running(&w->edge) || !recorded)
		end_all(w);
	else
		warden_pace(w);
	if (first && w->failed)
		w->failed(w);
}

/* dial, resolve and vault end with each other: who was it that began? */
static struct helper *culprit(struct warden *w, struct helper *h)
{
	struct helper *all[] = { &w->edge, &w->vault, &w->dial, &w->resolve };

	for (size_t i = 0; i < countof(all); i++)
		if (all[i]->why.kind)
			return all[i];
	if (helper_was_killed(h))
		return h;
	for (size_t i = 0; i < countof(all); i++)
		if (helper_was_killed(all[i]))
			return all[i];
	return h;
}

void fault_ended(struct warden *w, struct helper *h, const struct err *e)
{
	struct err gone = { 0 };
	struct helper *first = w->fault.kind ? h : culprit(w, h);

	(void)err_kind(&gone, ERR_PROTO, "ended unexpectedly");
	h->ended = true;
	if (first->why.kind)
		e = &first->why;
	else if (first != h || !e)
		e = &gone;
	fault_raise(w, first, e);
}
