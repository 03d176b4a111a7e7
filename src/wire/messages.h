/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every message between our processes, in one table.
 *
 * A row is M(NAME, sender, receiver, descriptors, phases); its fields follow
 * as WIRE_FIELDS_<NAME>(F), each F(TYPE, name, maximum).  struct msg, the
 * codecs and the documentation are made from it; a message that is not in the
 * table, not for this pair, not legal in this phase, longer than its maxima or
 * with more descriptors ends the connection that it came on; so does one with
 * fewer, where its handler needs them.
 *
 * TYPE is U8, U16, U32, U64 (maximum 0) or SV: a view of at most that many
 * bytes, valid while the message is handled.  "fields" are encoded by head.h.
 *
 * conn numbers a connection of the agent, id a request on it, counted from 1.
 */
#ifndef WIRE_MESSAGES_H
#define WIRE_MESSAGES_H

#include "sv.h"

enum role {
	ROLE_NONE = 0,
	ROLE_WARDEN, ROLE_EDGE, ROLE_VAULT, ROLE_DIAL, ROLE_RESOLVE,
};
/* In the columns of senders and receivers: any helper. */
#define ROLE_ANY ROLE_NONE

/* When a message is legal: before or after its receiver was started. */
enum phase { PHASE_BOOT = 1, PHASE_RUN = 2, PHASE_BOTH = 3 };

enum { WIRE_FDS_MAX = 4, WIRE_SIZE_MAX = 131072, WIRE_CHUNK_MAX = 65536 };

#define WIRE_MESSAGES(M)                                        \
	/* set-up */                                            \
	M(EDGE_START, WARDEN, EDGE, 3, PHASE_BOOT)              \
	M(VAULT_START, WARDEN, VAULT, 0, PHASE_BOOT)            \
	M(SOURCE, WARDEN, VAULT, 1, PHASE_BOOT)                 \
	M(READY, VAULT, WARDEN, 0, PHASE_BOTH)                  \
	M(SEARCH, WARDEN, VAULT, 1, PHASE_BOTH)                 \
	M(FOUND, VAULT, WARDEN, 0, PHASE_BOTH)                  \
	M(VAULT_PEER, WARDEN, VAULT, 1, PHASE_BOTH)             \
	M(ROOTS, WARDEN, DIAL, 1, PHASE_BOOT)                   \
	M(DIAL_START, WARDEN, DIAL, 2, PHASE_BOOT)              \
	M(RESOLVE_START, WARDEN, RESOLVE, 1, PHASE_BOOT)        \
	M(FAULT, ANY, WARDEN, 0, PHASE_BOTH)                    \
	/* a request is decided */                              \
	M(REQUEST, EDGE, WARDEN, 0, PHASE_RUN)                  \
	M(VERDICT, WARDEN, EDGE, 1, PHASE_RUN)                  \
	M(REFUSED, EDGE, WARDEN, 0, PHASE_RUN)                  \
	M(VIOLATION, EDGE, WARDEN, 0, PHASE_RUN)                \
	M(HANGUP, EDGE, WARDEN, 0, PHASE_RUN)                   \
	/* a certificate for the agent's side */                \
	M(LEAF_KEY, EDGE, VAULT, 0, PHASE_RUN)                  \
	M(SIGN, EDGE, VAULT, 0, PHASE_RUN)                      \
	M(CERTIFICATE, VAULT, EDGE, 0, PHASE_RUN)               \
	/* the credentials of a request */                      \
	M(CLAIM, DIAL, WARDEN, 0, PHASE_RUN)                    \
	M(GRANT, WARDEN, VAULT, 0, PHASE_RUN)                   \
	M(LEASE, VAULT, DIAL, 0, PHASE_RUN)                     \
	/* the origin's side */                                 \
	M(STREAM, WARDEN, DIAL, 1, PHASE_RUN)                   \
	M(EXCHANGE, WARDEN, DIAL, 0, PHASE_RUN)                 \
	M(NEED, DIAL, WARDEN, 0, PHASE_RUN)                     \
	M(CONNECT, WARDEN, RESOLVE, 0, PHASE_RUN)               \
	M(CONNECTED, RESOLVE, WARDEN, 0, PHASE_RUN)             \
	M(SOCKET, RESOLVE, DIAL, 1, PHASE_RUN)                  \
	M(DONE, DIAL, WARDEN, 0, PHASE_RUN)                     \
	/* a stream: one socket pair for each agent connection */ \
	M(BODY, EDGE, DIAL, 0, PHASE_RUN)                       \
	M(BODY_END, EDGE, DIAL, 0, PHASE_RUN)                   \
	M(RESPONSE, DIAL, EDGE, 0, PHASE_RUN)                   \
	M(CHUNK, DIAL, EDGE, 0, PHASE_RUN)                      \
	M(CHUNK_END, DIAL, EDGE, 0, PHASE_RUN)                  \
	M(FAILURE, DIAL, EDGE, 0, PHASE_RUN)                    \
	/* an origin at a named socket of this machine */       \
	M(LOCAL, WARDEN, DIAL, 1, PHASE_RUN)                    \
	/* a body that a limit counts */                        \
	M(DRAW, DIAL, WARDEN, 0, PHASE_RUN)                     \
	M(ALLOWANCE, WARDEN, DIAL, 0, PHASE_RUN)                \
	/* a connection whose bytes are not read */             \
	M(OPEN, EDGE, WARDEN, 0, PHASE_RUN)                     \
	M(RELAY, WARDEN, DIAL, 0, PHASE_RUN)                    \
	M(TAKEN, DIAL, EDGE, 0, PHASE_RUN)                      \
	/* is the helper still at work? */                      \
	M(PING, WARDEN, ANY, 0, PHASE_BOTH)                     \
	M(PONG, ANY, WARDEN, 0, PHASE_BOTH)                     \
	/* a secret is to have another value */                 \
	M(REJECTED, DIAL, WARDEN, 0, PHASE_RUN)                 \
	M(RENEW, WARDEN, VAULT, 1, PHASE_RUN)                   \
	M(RENEWED, VAULT, WARDEN, 0, PHASE_RUN)                 \
	M(MASK, VAULT, DIAL, 0, PHASE_RUN)

/* Descriptors: the capturing TCP listener, the DNS socket, and with
 * `intercept` the socket to vault.  Without `intercept` TLS is refused.  relays
 * are kind (U8) and port (U16, 0 for any) of every rule that OPEN may ask for;
 * with kind 0 it is a port of the loopback that is captured.  shaped: there are
 * placeholders that are not plain. */
#define WIRE_FIELDS_EDGE_START(F) F(U8, intercept, 0) F(U8, shaped, 0)          \
	F(SV, relays, 4096)
/* `sources` SOURCE messages follow; then vault answers READY. */
#define WIRE_FIELDS_VAULT_START(F) F(U8, want_ca, 0) F(U32, sources, 0)
/* Descriptor: the read end the value comes from, up to end of file; with a
 * format (enum keyfile_format) the file that key is an entry of.  name and file
 * are for messages. */
#define WIRE_FIELDS_SOURCE(F)                                             \
	F(U32, secret, 0) F(SV, name, 128) F(U8, optional, 0)             \
	F(U8, format, 0) F(SV, key, 1024) F(SV, file, 128)
/* ca is empty unless want_ca.  absent: optional secrets, each a U32, of which the
 * file has no entry. */
#define WIRE_FIELDS_READY(F) F(SV, ca_pem, 8192) F(SV, absent, 1024)
/* Descriptor: a memfd of what the agent will be able to read, of so many bytes; when
 * the values are there, vault says in FOUND whether one of them lies in it, and at
 * which byte. */
#define WIRE_FIELDS_SEARCH(F) F(U32, size, 0)
#define WIRE_FIELDS_FOUND(F) F(U8, found, 0) F(U32, secret, 0) F(U32, at, 0)
/* Descriptor: a socket to that role. */
#define WIRE_FIELDS_VAULT_PEER(F) F(U8, role, 0)
/* Descriptor: a file of PEM certificates that upstream TLS may trust. */
#define WIRE_FIELDS_ROOTS(F) F(U8, required, 0)
/* Descriptors: the socket to resolve and, with has_vault, the one to vault.
 * proxy is empty without one, user without a login there; the password is the
 * LEASE whose conn is 0. */
#define WIRE_FIELDS_DIAL_START(F)                                         \
	F(U8, has_vault, 0) F(SV, proxy, 253) F(U16, proxy_port, 0)       \
	F(SV, user, 128)
/* Descriptor: the socket to dial. */
#define WIRE_FIELDS_RESOLVE_START(F) F(U8, unused, 0)
/* The sender cannot go on; text is for the person who started the run. */
#define WIRE_FIELDS_FAULT(F) F(SV, text, 480)

#define WIRE_FIELDS_REQUEST(F)                                            \
	F(U32, conn, 0) F(U32, id, 0) F(U8, scheme, 0) F(SV, host, 253)   \
	F(U16, port, 0) F(SV, method, 32) F(SV, path, 8192)               \
	F(U8, has_query, 0) F(SV, query, 16384) F(SV, fields, 65536)      \
	F(U8, body, 0) F(U64, length, 0) F(U8, h2, 0)                     \
	F(U8, trailers, 0) F(U8, upgrade, 0)
/* Descriptor: the stream to dial, with the first allowed request of a conn.
 * status is 0 when allowed, else what edge answers (403, 502, ...). */
#define WIRE_FIELDS_VERDICT(F)                                            \
	F(U32, conn, 0) F(U32, id, 0) F(U16, status, 0) F(SV, rule, 2048) \
	F(SV, reason, 1024) F(SV, allow_with, 4096)
/* edge answered by itself what could not become a request. */
#define WIRE_FIELDS_REFUSED(F)                                            \
	F(U32, conn, 0) F(SV, host, 253) F(U16, port, 0)                  \
	F(SV, reason, 512)
/* A placeholder, by its core, in a place where it is never replaced; `where` says
 * which. */
#define WIRE_FIELDS_VIOLATION(F)                                          \
	F(U32, conn, 0) F(U32, id, 0) F(SV, placeholder, 128)             \
	F(SV, where, 64)
#define WIRE_FIELDS_HANGUP(F) F(U32, conn, 0)

/* DER SubjectPublicKeyInfo of edge's one key; before the first SIGN. */
#define WIRE_FIELDS_LEAF_KEY(F) F(SV, spki, 512)
#define WIRE_FIELDS_SIGN(F) F(SV, name, 253)
/* DER; empty when vault will not sign for that name. */
#define WIRE_FIELDS_CERTIFICATE(F) F(SV, name, 253) F(SV, der, 4096)

/* The origin of this exchange has proved its name: what its edits speak of is
 * wanted.  Once for each. */
#define WIRE_FIELDS_CLAIM(F) F(U32, conn, 0) F(U32, id, 0)
/* To be leased to dial: number and version of each secret, both a U32.  The value
 * is the newest of no later version. */
#define WIRE_FIELDS_GRANT(F) F(U32, conn, 0) F(U32, id, 0) F(SV, secrets, 64)
/* One of them.  Not ok, and empty, when there is none of that number.  others: the
 * values that it has had or has got since, to be masked as well, one a line. */
#define WIRE_FIELDS_LEASE(F)                                              \
	F(U32, conn, 0) F(U32, id, 0) F(U32, secret, 0) F(U8, ok, 0)      \
	F(SV, value, 16384) F(SV, others, 49155)
/* The origin has answered 401 to what the exchange carries.  Once for each. */
#define WIRE_FIELDS_REJECTED(F) F(U32, conn, 0) F(U32, id, 0)
/* Descriptor: the finished output that is the secret's value from that version
 * on.  under_way: of an exchange that is, the secret is masked. */
#define WIRE_FIELDS_RENEW(F)                                              \
	F(U32, secret, 0) F(U32, version, 0) F(U8, under_way, 0)
/* changed: it is another value than before.  fault says why there is none. */
#define WIRE_FIELDS_RENEWED(F)                                            \
	F(U32, secret, 0) F(U8, changed, 0) F(SV, fault, 256)
/* No lease of the secret is good any more; values, one a line, are masked from now
 * on in what is under way. */
#define WIRE_FIELDS_MASK(F) F(U32, secret, 0) F(SV, values, 65540)

/* Descriptor: the stream to edge. */
#define WIRE_FIELDS_STREAM(F) F(U32, conn, 0)
/* REQUEST as it was decided; edits are encoded by head.h.  No more of its body
 * is sent than allowance bytes, all ones without a limit; limit says whose they
 * are, for the refusal.  Two requests to one origin may share a connection only
 * where secrets, which says what credentials they carry, is the same. */
#define WIRE_FIELDS_EXCHANGE(F)                                           \
	WIRE_FIELDS_REQUEST(F) F(SV, edits, 8192) F(U64, allowance, 0)    \
	F(SV, limit, 200) F(SV, secrets, 64)
/* dial has no living connection for this exchange. */
#define WIRE_FIELDS_NEED(F) F(U32, conn, 0) F(U32, id, 0)
/* via is empty, "ADDRESS:PORT" or "[ADDRESS]:PORT".  With a proxy the connection
 * is made to that; host is looked up and judged all the same, unless by_name. */
#define WIRE_FIELDS_CONNECT(F)                                            \
	F(U32, conn, 0) F(U32, id, 0) F(SV, host, 253) F(U16, port, 0)    \
	F(SV, via, 512) F(SV, proxy, 253) F(U16, proxy_port, 0)           \
	F(U8, by_name, 0)
/* error is empty when connected; address is the one that was dialled.  With a
 * proxy that one is its, and address the origin's, empty when by_name. */
#define WIRE_FIELDS_CONNECTED(F)                                          \
	F(U32, conn, 0) F(U32, id, 0) F(SV, address, 128) F(SV, error, 256) \
	F(SV, proxy, 128)
/* Descriptor: the connected socket, none with an error.  When proxied it is the
 * proxy's, which is to be asked for address, or for the name when that is empty. */
#define WIRE_FIELDS_SOCKET(F)                                             \
	F(U32, conn, 0) F(U32, id, 0) F(SV, error, 256) F(U8, proxied, 0) \
	F(SV, address, 128)
/* The same; warden connects to those itself. */
#define WIRE_FIELDS_LOCAL(F)                                              \
	F(U32, conn, 0) F(U32, id, 0) F(SV, error, 256)
/* The exchange is over.  scrubbed counts the values masked in the response. */
#define WIRE_FIELDS_DONE(F)                                               \
	F(U32, conn, 0) F(U32, id, 0) F(U16, status, 0) F(U64, sent, 0)   \
	F(U64, received, 0) F(U32, scrubbed, 0) F(SV, error, 256)

/* The allowance of a body whose length is not known is nearly used. */
#define WIRE_FIELDS_DRAW(F) F(U32, conn, 0) F(U32, id, 0)
/* In all, from the body's beginning; the same as before: there is no more. */
#define WIRE_FIELDS_ALLOWANCE(F)                                          \
	F(U32, conn, 0) F(U32, id, 0) F(U64, bytes, 0)
/* Is that relay (relay_kind.h) to host and port to be carried?  Answered by a
 * VERDICT: 421 when no rule speaks of it, unless `only`: there is no other way
 * for it to go on.  fault says why edge would not carry it. */
#define WIRE_FIELDS_OPEN(F)                                               \
	F(U32, conn, 0) F(U32, id, 0) F(U8, relay, 0) F(SV, host, 253)    \
	F(U16, port, 0) F(U8, only, 0) F(SV, fault, 256)
/* In place of EXCHANGE.  Connected is a RESPONSE 200 with a body up to the end;
 * BODY and CHUNK are the bytes, BODY_END and CHUNK_END the two ends. */
#define WIRE_FIELDS_RELAY(F)                                              \
	F(U32, conn, 0) F(U32, id, 0) F(SV, host, 253) F(U16, port, 0)    \
	F(U64, allowance, 0) F(SV, limit, 200)
/* The origin has taken every BODY and knows that there are no more: before
 * that, the stream must not be closed. */
#define WIRE_FIELDS_TAKEN(F) F(U8, unused, 0)

/* Answered where messages are received, before anything else is. */
#define WIRE_FIELDS_PING(F) F(U8, unused, 0)
#define WIRE_FIELDS_PONG(F) F(U8, unused, 0)

#define WIRE_FIELDS_BODY(F) F(SV, data, 65536)
#define WIRE_FIELDS_BODY_END(F) F(U8, unused, 0)
#define WIRE_FIELDS_RESPONSE(F)                                           \
	F(U32, id, 0) F(U16, status, 0) F(SV, fields, 65536) F(U8, body, 0) \
	F(U64, length, 0)
#define WIRE_FIELDS_CHUNK(F) F(SV, data, 65536)
/* The trailers, empty without any. */
#define WIRE_FIELDS_CHUNK_END(F) F(SV, fields, 16384)
/* Instead of RESPONSE, or to cut a body short; the stream is over. */
#define WIRE_FIELDS_FAILURE(F)                                            \
	F(U32, id, 0) F(U16, status, 0) F(SV, reason, 256)

#define WIRE_TYPE_U8 uint8_t
#define WIRE_TYPE_U16 uint16_t
#define WIRE_TYPE_U32 uint32_t
#define WIRE_TYPE_U64 uint64_t
#define WIRE_TYPE_SV struct sv
#define WIRE_MEMBER(type, name, max) WIRE_TYPE_##type name;

#define WIRE_KIND(NAME, from, to, fds, phases) MSG_##NAME,
enum msg_kind { MSG_NONE = 0, WIRE_MESSAGES(WIRE_KIND) MSG_KINDS };
#undef WIRE_KIND

#define WIRE_STRUCT(NAME, from, to, fds, phases) \
	struct msg_##NAME { WIRE_FIELDS_##NAME(WIRE_MEMBER) };
WIRE_MESSAGES(WIRE_STRUCT)
#undef WIRE_STRUCT

#define WIRE_UNION(NAME, from, to, fds, phases) struct msg_##NAME NAME;
struct msg {
	enum msg_kind kind;
	unsigned n_fds;
	/* Owned: closed after the handler returns, unless it sets one to -1. */
	int fds[WIRE_FDS_MAX];
	/* Received without descriptors that were sent, for want of room. */
	bool is_short;
	union { WIRE_MESSAGES(WIRE_UNION) };
};
#undef WIRE_UNION

#endif
