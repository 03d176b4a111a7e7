/* SPDX-License-Identifier: Apache-2.0 */
/* A classic BPF machine, and a plain reading of the rules to compare with. */
#ifndef TEST_MACHINE_H
#define TEST_MACHINE_H

#include <linux/seccomp.h>

#include "seccomp.h"

enum { MACHINE_BAD = 0xdead };

/* What the program returns; MACHINE_BAD for one that the kernel would not take
 * or that reads outside the data.  *steps counts instructions. */
uint32_t machine_run(const struct sock_fprog *prog,
		     const struct seccomp_data *data, unsigned *steps);

/* What the rules say, read one by one. */
uint32_t machine_expect(const struct seccomp_filter *filter, uint32_t arch,
			const struct seccomp_data *data);

#endif
