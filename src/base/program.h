/* SPDX-License-Identifier: Apache-2.0 */
/* Where this program lies. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include "sv.h"

/* Its directory, without a slash at the end; empty where it cannot be found
 * out.  The kernel is asked once, for it puts the name together each time. */
struct sv program_dir(void);

#endif
