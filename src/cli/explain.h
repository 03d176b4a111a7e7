/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade check --explain`: the one form of a request that is decided, its
 * readings, and what each rule of its host says to it. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "json.h"
#include "match.h"

void explain_put(const struct policy *p, const struct question *q,
		 struct buf *out);
/* Members of the object that is open. */
void explain_put_json(const struct policy *p, const struct question *q,
		      struct json *j);

/* What makes two requests different, and which rules see it. */
void explain_put_pair(const struct policy *p, const struct question *a,
		      const struct question *b, struct buf *out);
void explain_put_pair_json(const struct policy *p, const struct question *a,
			   const struct question *b, struct json *j);

#endif
