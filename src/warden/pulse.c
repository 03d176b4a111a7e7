/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper that is there but does nothing: stopped, or in an endless loop.
 *
 * Every few seconds each helper is sent a PING, which it answers before
 * anything else.  What counts is how many are unanswered, not the time: when
 * this process was itself stopped, or the machine slept, one beat is missed
 * and not all of them.
 */
#include "exchange.h"

enum {
	BEAT_MS = 1500,		/* while a request is under way */
	SLOW_BEAT_MS = 10000,
	BEATS_MAX = 3,		/* unanswered; one more is too many */
};

static void ask(struct helper *h)
{
	const struct msg ping = { .kind = MSG_PING };
	struct err e = { 0 };

	if (!helper_is_running(h))
		return;
	/* It is not listened to, as another one is behind. */
	if (h->channel.paused && !channel_is_full(&h->channel))
		return;
	if (h->unanswered == BEATS_MAX) {
		(void)err_kind(&e, ERR_LIMIT, "does not answer");
		helper_kill(h, &e);
		return;
	}
	h->unanswered++;
	helper_send(h, &ping);
}

/* One question is always on its way. */
static bool is_silent(const struct helper *h)
{
	return helper_is_running(h) && h->unanswered > 1;
}

static bool is_any_silent(const struct warden *w)
{
	return is_silent(&w->edge) || is_silent(&w->vault) ||
	       is_silent(&w->dial) || is_silent(&w->resolve);
}

static void beat(struct timer *t)
{
	struct warden *w = container_of(t, struct warden, pulse);

	ask(&w->edge);
	ask(&w->vault);
	ask(&w->dial);
	ask(&w->resolve);
	if (!helper_is_running(&w->edge))
		return;
	w->pulse_is_fast = exchange_is_any(w) || is_any_silent(w);
	loop_arm(w->loop, t, w->pulse_is_fast ? BEAT_MS : SLOW_BEAT_MS);
}

void pulse_start(struct warden *w)
{
	w->pulse.fired = beat;
	loop_arm(w->loop, &w->pulse, SLOW_BEAT_MS);
}

void pulse_hurry(struct warden *w)
{
	if (w->pulse_is_fast || !w->pulse.fired)
		return;
	w->pulse_is_fast = true;
	loop_arm(w->loop, &w->pulse, BEAT_MS);
}
