/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said to stockade-seal, over a SOCK_SEQPACKET socket: a request and its
 * answer, in turn, until the socket is closed.
 *
 * A request is the byte of its verb and what belongs to it; with some comes a
 * descriptor.  An answer is a byte and a text.
 */
#ifndef WIRE_SEAL_CALL_H
#define WIRE_SEAL_CALL_H

enum seal_verb {
	SEAL_LOAD = 'L',	/* descriptor: the file */
	SEAL_NEW = 'N',		/* passphrase */
	SEAL_UNLOCK = 'U',	/* passphrase; SEAL_NO: a wrong one */
	SEAL_ADOPT = 'A',	/* key; SEAL_NO: not this file's */
	SEAL_KEY = 'K',		/* answers the key */
	SEAL_LIST = 'T',	/* answers the names, each with a line feed */
	SEAL_HAS = 'H',		/* name; SEAL_NO: no such entry, and one that is
				   like it; needs no key */
	SEAL_GET = 'G',		/* name; descriptor: where the value goes */
	SEAL_PUT = 'P',		/* name, a NUL, the value */
	SEAL_REMOVE = 'R',	/* name; SEAL_NO: no such entry */
	SEAL_WRITE = 'W',	/* descriptor: the new file */
};

enum seal_answer { SEAL_OK = 'y', SEAL_NO = 'n', SEAL_ERROR = 'e' };

enum {
	SEAL_CHANNEL_FD = 3,	/* in stockade-seal */
	SEAL_KEY_SIZE = 32,
	SEAL_PASSPHRASE_MAX = 1024,
	SEAL_REQUEST_MAX = 20480,
	SEAL_ANSWER_MAX = 65536,	/* every name that there can be */
};

#endif
