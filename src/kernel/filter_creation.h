/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that gives a name to something that had none there: these wait for
 * whoever listens, and no other. */
#ifndef KERNEL_FILTER_CREATION_H
#define KERNEL_FILTER_CREATION_H

const struct seccomp_filter *filter_creation(void);

#endif
