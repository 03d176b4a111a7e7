/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the helpers know and warden does not, at the moment in which the command
 * has ended.
 *
 * A refusal is told to warden before the agent hears of it, but that the command
 * has ended may be read first, and a command need not wait for any answer.  So
 * each helper is asked for a sign of life, and what it says until it gives it is
 * heard, as ever: edge has then looked at what was sent to it, and said so.
 * Twice, since a helper takes what is ready in some order.
 *
 * Nothing begins any more (warden.over): what would be allowed is neither done
 * nor recorded, what is denied is.  A helper that does not answer in time is not
 * waited for.
 */
#include <poll.h>

#include "own.h"
#include "warden.h"

enum {
	LAST_WORDS_MS = 200,
	ROUNDS = 2,
	LATE_MAX = 256,		/* taken of a helper whose turn comes too late */
};

static uint64_t left_ms(uint64_t until_ms)
{
	uint64_t now_ms = loop_now_ms();

	return now_ms < until_ms ? until_ms - now_ms : 0;
}

static void ask(struct helper *h)
{
	const struct msg ping = { .kind = MSG_PING };
	struct err ignored;

	/* Behind what it does not read the question would not arrive. */
	if (!channel_is_full(&h->channel) &&
	    channel_send(&h->channel, &ping, &ignored) == 0)
		h->unanswered = 1;
}

static void hear(struct helper *h, uint64_t until_ms)
{
	unsigned late = 0;
	uint64_t ms;

	h->unanswered = 0;
	if (helper_is_running(h))
		ask(h);
	while (helper_is_running(h) && h->unanswered) {
		struct pollfd p = { .fd = h->channel.watch.fd,
				    .events = POLLIN };

		ms = left_ms(until_ms);
		if (ms == 0 && late++ == LATE_MAX)
			break;
		if (channel_take(&h->channel))
			continue;
		/* What was there already is heard, though the time is up. */
		if (ms == 0)
			break;
		(void)poll(&p, 1, (int)ms);
	}
}

void warden_hear_out(struct warden *w)
{
	struct helper *all[] = { &w->edge, &w->resolve, &w->dial, &w->vault };
	uint64_t until_ms = loop_now_ms() + LAST_WORDS_MS;

	w->over = true;
	warden_pace(w);
	/* The others do nothing that edge has not asked for. */
	if (!helper_is_running(&w->edge))
		return;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < countof(all); i++)
			hear(all[i], until_ms);
}
