/* SPDX-License-Identifier: Apache-2.0 */
/* What every sandbox shows of the host's system, as data. */
#ifndef LAUNCH_SYSTEM_TABLES_H
#define LAUNCH_SYSTEM_TABLES_H

#include <stdint.h>

/* Each list ends with NULL. */

/* Top-level directories, read-only; those that are links stay links. */
extern const char *const system_roots[];
/* Entries of /etc: small files are copied, directories and large files are
 * bound, links are made again.  Nothing else of /etc exists.  Names, because
 * it takes longer to read the directory than to ask for each. */
extern const char *const system_etc[];
/* Files that are written anew. */
extern const char *const system_written[];
/* Where Chromium, and what is made of it, looks for policies. */
extern const char *const system_browsers[];
/* Hidden in /proc, which is read-only as a whole, where they exist. */
extern const char *const system_proc_hidden[];

struct system_private {
	const char *path;
	uint16_t mode;
};
/* Writable directories of the sandbox's own, beside the home. */
extern const struct system_private system_privates[];

struct system_link {
	const char *path, *target;
};
extern const struct system_link system_links[];

#endif
