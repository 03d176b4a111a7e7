/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in words. */
#ifndef LAUNCH_STEP_H
#define LAUNCH_STEP_H

#include "err.h"
#include "plan.h"

/* Puts what was being done in front of an error's message. */
void step_context(const struct step *s, struct err *e);

#endif
