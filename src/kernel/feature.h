/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of system calls that an older kernel does not have. */
#ifndef KERNEL_FEATURE_H
#define KERNEL_FEATURE_H

#include <sys/prctl.h>

#include "err.h"

/* Whether a filter of system calls holds for this process: then it may be that
 * one, a container's or another sandbox's, which says ENOSYS. */
static inline const char *feature_filtered(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 ?
		       ", or the filter of the container or sandbox around "
		       "this one refuses it" : "";
}

/* After a failed call: ERR_UNSUPP naming the feature and the kernel that has
 * it when errno is ENOSYS, else ERR_SYS with the rest as its message. */
#define err_feature(e, feature, since, ...)                                \
	(errno == ENOSYS ?                                                 \
		 err_set_((e), ERR_UNSUPP, ENOSYS, __FILE_NAME__, __LINE__, \
			  "%s needs Linux %s%s", (feature), (since),        \
			  feature_filtered()) :                             \
		 err_sys((e), __VA_ARGS__))

#endif
