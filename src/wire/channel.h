/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: one end of a SOCK_SEQPACKET pair that carries table messages.
 *
 * Sending never blocks: what the kernel does not take is queued, up to
 * CHANNEL_QUEUE_MAX bytes, beyond which the channel ends.  A sender of bulk
 * data therefore stops while channel_is_full() and goes on in `drained`.
 */
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

#include "codec.h"
#include "loop.h"

enum { CHANNEL_QUEUE_MAX = 1 << 20 };

struct packet;

struct channel {
	struct watch watch;	/* watch.fd is owned; -1 when closed */
	struct loop *loop;	/* borrowed */
	enum role self, peer;
	enum phase phase;	/* the owner moves it to PHASE_RUN */
	bool paused;		/* does not read; a packet is read whole */
	struct packet *queue;	/* owned, oldest first */
	struct packet **queue_end;
	size_t queued;		/* bytes */
	/*
	 * A message arrived.  -1 ends the channel: `closed` is called with *e.
	 * The handler may close the channel.
	 */
	int (*message)(struct channel *c, struct msg *m, struct err *e);
	/* The peer is gone (e is NULL) or broke the rules.  Called once, after
	 * the descriptor was closed; may free the channel's storage. */
	void (*closed)(struct channel *c, const struct err *e);
	void (*drained)(struct channel *c);	/* may be NULL */
};

/* Takes fd on success.  message and closed must be set. */
must_check int channel_open(struct channel *c, struct loop *l, int fd,
			    enum role self, enum role peer, enum phase phase,
			    struct err *e);
/* Closes without calling `closed`; accepts a closed channel. */
void channel_close(struct channel *c);
static inline bool channel_is_open(const struct channel *c)
{
	return c->loop && c->watch.fd >= 0;
}

/*
 * Sends m with its m->n_fds descriptors (borrowed: the caller closes its own).
 * 0, or -1 with the channel still open; a caller that cannot continue closes
 * it.  A broken pipe is reported through `closed`, not here.
 */
int channel_send(struct channel *c, const struct msg *m, struct err *e);
/*
 * Until channel_uncork(), or channel_close(), what is sent waits for more of the
 * kind and leaves as one packet, as far as it fits: whoever reads it is woken
 * once.  Only from dial to edge, which alone takes a packet of several messages.
 * One channel at a time; of another that is corked all leaves first.
 */
void channel_cork(struct channel *c);
/* c may have been closed meanwhile, and freed. */
void channel_uncork(const struct channel *c);
bool channel_is_full(const struct channel *c);	/* something is queued */
void channel_pause(struct channel *c, bool paused);
/* Hands on what the peer has sent by now, out of turn.  The views of a message
 * that is being handled, whoever's, are not valid any more. */
void channel_catch_up(struct channel *c);

/* A connected, non-blocking, close-on-exec pair. */
must_check int channel_pair(int ret_fds[2], struct err *e);

#endif
