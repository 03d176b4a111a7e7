/* SPDX-License-Identifier: Apache-2.0 */
/* What is carried without being read; the numbers are also those of messages. */
#ifndef POLICY_RELAY_KIND_H
#define POLICY_RELAY_KIND_H

enum relay_kind {
	RELAY_NONE = 0,
	RELAY_TCP,	/* any protocol over TCP */
	RELAY_TLS,	/* TLS whose ClientHello names the host */
};

#endif
