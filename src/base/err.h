/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error type.
 *
 * It lives on the caller's stack, holds no pointer and allocates nothing, so
 * it works after clone3(), out of memory and without descriptors, and it can
 * be written whole from a child to its parent.
 *
 * A function that can fail takes `struct err *e` last and returns -1 (or NULL)
 * by `return err_sys(e, ...)`.  Only main() prints.  Grammar of a message:
 * lower case, verb and object, no full stop, cause last; err_ctx() puts the
 * larger context in front.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <errno.h>
#include <stdint.h>

enum err_kind {
	ERR_NONE = 0,
	ERR_SYS,	/* a system call failed; code is errno */
	ERR_POLICY,	/* the policy or the command line is wrong */
	ERR_DENIED,	/* a rule says no */
	ERR_PROTO,	/* a peer sent what it may not send */
	ERR_TLS,
	ERR_LIMIT,	/* a stated maximum was reached */
	ERR_UNSUPP,	/* this kernel or machine cannot do it */
	ERR_BUG,
};

struct err {
	uint32_t kind;		/* enum err_kind */
	int32_t code;		/* errno, or 0 */
	char where[24];		/* "mount.c:212", the origin */
	char msg[480];		/* "outer: inner: cause", always terminated */
};
_Static_assert(sizeof(struct err) == 512, "struct err travels between processes");

#define must_check __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))

/* Each sets *e and returns -1.  err_sys() appends the text of errno. */
int err_set_(struct err *e, enum err_kind kind, int code, const char *file,
	     int line, const char *fmt, ...) printf_like(6, 7);
#define err_sys(e, ...) \
	err_set_((e), ERR_SYS, errno, __FILE_NAME__, __LINE__, __VA_ARGS__)
#define err_kind(e, kind, ...) \
	err_set_((e), (kind), 0, __FILE_NAME__, __LINE__, __VA_ARGS__)

/* Puts "context: " in front of the message; returns -1. */
int err_ctx(struct err *e, const char *fmt, ...) printf_like(2, 3);

#endif
