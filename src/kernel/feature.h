/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of system calls that an older kernel does not have. */
#ifndef KERNEL_FEATURE_H
#define KERNEL_FEATURE_H

#include "err.h"

/* After a failed call: ERR_UNSUPP naming the feature and the kernel that has
 * it when errno is ENOSYS, else ERR_SYS with the rest as its message. */
#define err_feature(e, feature, since, ...)                                \
	(errno == ENOSYS ?                                                 \
		 err_set_((e), ERR_UNSUPP, ENOSYS, __FILE_NAME__, __LINE__, \
			  "%s needs Linux %s", (feature), (since)) :        \
		 err_sys((e), __VA_ARGS__))

#endif
