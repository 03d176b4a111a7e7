/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted roots, parsed when a chain asks for them.
 *
 * A distribution's bundle has about 140 roots, which OpenSSL would parse into
 * a MiB or two that lives as long as the process; a run needs a handful.
 */
#ifndef TLS_ISSUERS_H
#define TLS_ISSUERS_H

#include <openssl/x509.h>

#include "err.h"

struct issuers;

struct issuers *issuers_new(struct err *e);
/* After every context that uses them. */
void issuers_free(struct issuers *r);
/* Maps the PEM bundle fd (borrowed). */
must_check int issuers_add(struct issuers *r, int fd, struct err *e);
/* Makes store find issuers in r. */
must_check int issuers_attach(struct issuers *r, X509_STORE *store,
			      struct err *e);

#endif
