/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks leased values in what the server of a WebSocket sends: in the payloads,
 * also where one is spread over several frames of one message.
 *
 * No byte is added or lost.  What may be the beginning of a value waits for more
 * of its message, and with it the heads of the frames behind it; a message's end
 * and a control frame let everything go, since the agent may have to answer
 * before more comes.
 */
#ifndef DIAL_WEBSOCKET_MASK_H
#define DIAL_WEBSOCKET_MASK_H

#include "scrub.h"
#include "websocket.h"

/* Over how many frames a value may be spread, to be found. */
enum { WEBSOCKET_MASK_FRAMES = 64 };

struct websocket_mask {
	struct scrub *scrub;	/* owned */
	struct buf text;	/* of payloads, that leaves now */
	uint64_t taken;		/* bytes of payloads that came */
	/* Of frames whose payload comes behind what is held back. */
	size_t n_heads;
	struct websocket_mask_head {
		uint64_t at;	/* what was taken in front of it */
		size_t n;
		char bytes[WEBSOCKET_HEAD_MAX];
	} heads[WEBSOCKET_MASK_FRAMES];
};

/* Takes the scrubber, but when it fails. */
must_check struct websocket_mask *websocket_mask_new(struct scrub *s,
						     struct err *e);
void websocket_mask_free(struct websocket_mask *m);	/* accepts NULL */

/*
 * Appends to out what is settled of the frames in `in`; f says where they begin.
 * What may come behind a close is nobody's.  ERR_PROTO: these are no frames.
 */
must_check int websocket_mask_push(struct websocket_mask *m,
				   struct websocket_frames *f, struct sv in,
				   struct buf *out, struct err *e);

#endif
