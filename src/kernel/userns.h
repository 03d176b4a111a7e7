/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces: the maps of a child, and one made only to map mounts. */
#ifndef KERNEL_USERNS_H
#define KERNEL_USERNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

enum { USERNS_RANGES_MAX = 16 };

struct userns_map {
	unsigned n;
	struct userns_range {
		uint32_t inside;	/* first id in the namespace */
		uint32_t outside;	/* first id in the parent namespace */
		uint32_t count;
	} range[USERNS_RANGES_MAX];
};

static inline struct userns_map userns_one(uint32_t inside, uint32_t outside)
{
	return (struct userns_map){
		.n = 1, .range = { { inside, outside, 1 } },
	};
}

/*
 * Writes uid_map and gid_map below proc_pid_fd, a descriptor of /proc/PID (or
 * /proc/self), and first "deny" to setgroups, which a writer without
 * privileges must.
 */
must_check int userns_write_maps(int proc_pid_fd, const struct userns_map *uids,
				 const struct userns_map *gids,
				 bool deny_setgroups, struct err *e);

/* ... of a child of ours, that is not reaped: the number still means it. */
must_check int userns_map_child(pid_t pid, const struct userns_map *uids,
				const struct userns_map *gids, struct err *e);

/* A descriptor of a namespace with these maps, in which nothing runs: for
 * mount_idmap().  `inside` is the id on disk, `outside` the id that is seen. */
must_check int userns_make(const struct userns_map *uids,
			   const struct userns_map *gids, struct err *e);

#endif
