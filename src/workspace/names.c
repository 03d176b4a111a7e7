/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one file: what the agent has linked is one file on the host as well.
 *
 * Names are of one file when they have one inode in an upper layer.  Those that
 * are applied together become names of one file, the first one staged, and the
 * others linked to it.  But
 *
 *	guarded ones never: who may write the one name would write what runs
 *	later by the other;
 *	nor what the host changed meanwhile, or what is never applied.
 *
 * When the agent has linked a new name to a file of the host's and changed
 * nothing in it, the overlay has copied that up, and its own name is no change.
 * The new name then becomes a name of the host's file itself, where that is
 * certain to be what was linked: the same contents, mode, attributes and owner,
 * as old as the run; and where no other name of it is known to nobody: it has
 * one alone, which is not guarded.  Otherwise it is a copy.
 */
#include "changes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "own.h"

#define CAPABILITY "security.capability"

/* What gives rights to whoever runs it gets no further name. */
static int has_rights(const struct entry_at *at, struct err *e)
{
	auto_fd int fd = -1;

	if (!S_ISREG(at->st.st_mode))
		return 0;
	if (at->st.st_mode & (S_ISUID | S_ISGID))
		return 1;
	fd = openat(at->dir_fd, at->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_sys(e, "open it");
	return fgetxattr(fd, CAPABILITY, NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

int names_is_usable(const struct entry_at *upper,
		    const struct entry_at *lower, struct err *e)
{
	int rights;

	if (lower->st.st_nlink != 1 || lower->st.st_uid != upper->st.st_uid ||
	    lower->st.st_gid != upper->st.st_gid)
		return 0;
	rights = has_rights(lower, e);
	return rights < 0 ? -1 : !rights;
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->tree != b->tree)
		return a->tree < b->tree ? -1 : 1;
	return sv_compare_paths(a->path, b->path);
}

static int compare_files(unsigned a_tree, uint64_t a_inode, unsigned b_tree,
			 uint64_t b_inode)
{
	if (a_tree != b_tree)
		return a_tree < b_tree ? -1 : 1;
	return (a_inode > b_inode) - (a_inode < b_inode);
}

/* By file, and the usable ones first. */
static int compare_unchanged(const void *left, const void *right)
{
	const struct unchanged *a = left, *b = right;
	int by_file = compare_files(a->tree, a->inode, b->tree, b->inode);

	if (by_file)
		return by_file;
	if (a->usable != b->usable)
		return a->usable ? -1 : 1;
	return sv_compare_paths(a->path, b->path);
}

static bool is_same_file(const struct unchanged *a, const struct unchanged *b)
{
	return a->tree == b->tree && a->inode == b->inode;
}

/* Two files of the host's that the agent has made one, which has the contents
 * that both had: the first stays, and the other becomes a name of it. */
static int add_joined(struct held *h, struct changes *c, struct unchanged *u,
		      struct err *e)
{
	struct change *change = arena_push(&h->arena, &c->list, &c->n,
					   &c->cap);

	if (!change)
		return err_kind(e, ERR_LIMIT, "too many changes to list");
	*change = (struct change){
		.kind = CHANGE_MODIFIED, .tree = u->tree, .path = u->path,
		.mode = u->mode, .conflict = u->conflict, .inode = u->inode,
	};
	u->usable = false;
	return 0;
}

int names_find(struct held *h, struct changes *c, struct err *e)
{
	const struct unchanged *first = c->unchanged;

	if (c->unchanged_n)
		qsort(c->unchanged, c->unchanged_n, sizeof *c->unchanged,
		      compare_unchanged);
	for (size_t i = 1; i < c->unchanged_n; i++) {
		struct unchanged *u = &c->unchanged[i];

		if (!is_same_file(u, first))
			first = u;
		else if (first->usable && !u->guarded &&
			 add_joined(h, c, u, e) < 0)
			return -1;
	}
	if (c->n)
		qsort(c->list, c->n, sizeof *c->list, compare_changes);
	return 0;
}

/* -- which are linked to what -- */

static int compare_names(const void *left, const void *right)
{
	const struct change *const *a = left, *const *b = right;
	int by_file = compare_files((*a)->tree, (*a)->inode, (*b)->tree,
				    (*b)->inode);

	return by_file ? by_file : (*a > *b) - (*a < *b);
}

static int compare_wanted(const void *key, const void *at)
{
	const struct change *change = key;
	const struct unchanged *u = at;

	return compare_files(change->tree, change->inode, u->tree, u->inode);
}

/* A file of the host's that this may be a name of, or NULL. */
static struct unchanged *find_host(const struct changes *c,
				   const struct change *change)
{
	struct unchanged *u = c->unchanged_n == 0 ? NULL :
		bsearch(change, c->unchanged, c->unchanged_n, sizeof *u,
			compare_wanted);

	while (u && u > c->unchanged && is_same_file(u, u - 1))
		u--;
	return u && u->usable ? u : NULL;
}

static bool can_be_linked(const struct change *change)
{
	return change->chosen && change->inode && !change->refused &&
	       !change->conflict && !change->guarded;
}

/* names[0..n] are those of one file. */
static void link_names(const struct changes *c, struct change **names,
		       size_t n)
{
	struct unchanged *host = find_host(c, names[0]);

	if (host)
		host->used = true;
	for (size_t i = host ? 0 : 1; i < n; i++) {
		if (host)
			names[i]->host = (uint32_t)(host - c->unchanged) + 1;
		else
			names[i]->first = (uint32_t)(names[0] - c->list) + 1;
	}
}

struct sv change_linked(const struct changes *c, const struct change *change)
{
	if (change->host)
		return c->unchanged[change->host - 1].path;
	return change->first ? c->list[change->first - 1].path : SV("");
}

int changes_link(struct held *h, struct changes *c, struct err *e)
{
	struct change **names = arena_alloc(&h->arena, (c->n + 1) *
					    sizeof(struct change *));
	size_t n = 0, end;

	if (!names)
		return err_kind(e, ERR_LIMIT, "out of memory");
	for (size_t i = 0; i < c->n; i++) {
		c->list[i].host = c->list[i].first = 0;
		if (can_be_linked(&c->list[i]))
			names[n++] = &c->list[i];
	}
	for (size_t i = 0; i < c->unchanged_n; i++)
		c->unchanged[i].used = false;
	if (n)
		qsort(names, n, sizeof(struct change *), compare_names);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n; end++)
			if (names[end]->tree != names[i]->tree ||
			    names[end]->inode != names[i]->inode)
				break;
		link_names(c, names + i, end - i);
	}
	return 0;
}
