/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate authority of one run, for vault.
 *
 * Its P-256 key is made here, exists in this process only and is never
 * exported.  It signs certificates for one public key, each for exactly one
 * DNS name.
 */
#ifndef TLS_AUTHORITY_H
#define TLS_AUTHORITY_H

#include "buf.h"
#include "err.h"
#include "sv.h"

struct authority;

/* In a process that also makes or checks TLS connections (a test), after
 * those were set up: the start of a signer leaves out what they need. */
must_check struct authority *authority_new(struct err *e);
void authority_free(struct authority *a);

/* The CA certificate; lives as long as a. */
struct sv authority_pem(const struct authority *a);

/* The one key (DER SubjectPublicKeyInfo, P-256) that is signed; once. */
must_check int authority_set_key(struct authority *a, struct sv spki,
				 struct err *e);
/* Appends the DER certificate for name, a canonical DNS name. */
must_check int authority_sign(struct authority *a, struct sv name,
			      struct buf *der, struct err *e);

#endif
