/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the statements say about one path, lexically: the questions of
 * `stockade check`.  What they say nothing about (system directories, the
 * private home) is the caller's to add; symbolic links are not followed.
 */
#ifndef POLICY_MATCH_FILE_H
#define POLICY_MATCH_FILE_H

#include "policy.h"

struct file_question {
	struct sv path;		/* absolute and clean */
	struct sv cwd;		/* readable without a statement */
	bool write;
};

struct file_answer {
	bool covered;		/* a grant, hide or the working directory does */
	bool allowed;
	const struct grant *grant;	/* that decided, or NULL */
	struct sv reason;		/* one sentence */
	struct sv allow_with;		/* as in struct answer */
};

must_check int match_file(const struct policy *p,
			  const struct file_question *q, struct arena *a,
			  struct file_answer *ret, struct err *e);

#endif
