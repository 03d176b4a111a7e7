/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted roots, parsed when a chain asks for them.
 *
 * A distribution's bundle has about 140 roots, which OpenSSL would parse into
 * a MiB or two that lives as long as the process; a run needs a handful.
 */
#ifndef TLS_ROOTS_H
#define TLS_ROOTS_H

#include <openssl/x509.h>

#include "err.h"

struct roots;

struct roots *roots_new(struct err *e);
/* After every context that uses them. */
void roots_free(struct roots *r);
/* Maps the PEM bundle fd (borrowed). */
must_check int roots_add(struct roots *r, int fd, struct err *e);
/* Makes store find issuers in r. */
must_check int roots_attach(struct roots *r, X509_STORE *store, struct err *e);

#endif
