/* SPDX-License-Identifier: Apache-2.0 */
/* `device` statements: which nodes may be there inside, and their steps. */
#ifndef LAUNCH_DEVICES_H
#define LAUNCH_DEVICES_H

#include <sys/types.h>

#include "builder.h"

/* May the node called `name` be there inside?  The error has the reason. */
must_check int device_judge(struct sv name, mode_t mode, dev_t number,
			    struct err *e);
/* After grants_plan(), before areas_mount(). */
must_check int devices_plan(struct builder *b, struct err *e);

#endif
