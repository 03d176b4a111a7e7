/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name as a file system that ignores case would store it: what two names have
 * in common that are one there, on HFS+ and APFS, NTFS and FAT, ext4 and f2fs.
 */
#ifndef POLICY_FOLD_H
#define POLICY_FOLD_H

#include "sv.h"

enum { FOLD_MAX = 256 };	/* longer than any name */

/* One name, in ret; cut off where it is too long to be one. */
struct sv fold_name(struct sv name, char ret[FOLD_MAX]);

#endif
