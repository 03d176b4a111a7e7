/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper has failed.
 *
 * One process less means that something broke a rule or that something is
 * wrong with this machine: the network of the run ends, all of it.  It is
 * recorded, and shown once.  edge is left to answer what waits and what comes,
 * and vault, if it can, to sign for it: neither reaches anything by itself.
 */
#ifndef WARDEN_HELPER_FAULT_H
#define WARDEN_HELPER_FAULT_H

#include "warden.h"

/* h has failed, for that reason. */
void fault_raise(struct warden *w, struct helper *h, const struct err *e);
/* The channel of h has ended, by itself where e is NULL: for that, for what h was
 * killed for, or because another one has failed. */
void fault_ended(struct warden *w, struct helper *h, const struct err *e);

#endif
