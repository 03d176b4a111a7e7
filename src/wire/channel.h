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
	/* Of what is gathered; private to channel.c. */
	bool gathers, is_first, is_waiting;
	struct buf batch;	/* owned */
	struct channel *next;	/* of those that wait */
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

/* As many descriptors as this process may have: those that messages carry are
 * here until they are sent, and fewer are fewer connections. */
void channel_raise_descriptors(void);
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
 * From now on what is sent waits until the loop has come round, and leaves as one
 * packet, as far as it fits: whoever reads it is woken once.  Not what carries a
 * descriptor or a secret, asks for a sign of life or says that all is over; that
 * leaves at once, behind what waits.  is_first: before what waits on channels that
 * are not.  A failure then ends the channel: there is nobody to report it to.
 */
void channel_gather(struct channel *c, bool is_first);
bool channel_is_full(const struct channel *c);	/* something is queued */
void channel_pause(struct channel *c, bool paused);
/* Hands on a packet that the peer has sent, out of turn; false: there is none now,
 * or no channel any more.  Not while a message is being handled, whoever's: there
 * is one place to receive them. */
bool channel_take(struct channel *c);

/* A connected, non-blocking, close-on-exec pair. */
must_check int channel_pair(int ret_fds[2], struct err *e);

#endif
