/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text to jansson's tree, with limits: for the sources of a policy.
 *
 * Only for files that do not include base/json.h, which uses the same names.
 */
#ifndef POLICY_JSON_TEXT_H
#define POLICY_JSON_TEXT_H

#include <jansson.h>

#include "err.h"
#include "sv.h"

static inline void json_text_release(json_t **j)
{
	json_decref(*j);
}
#define auto_json __attribute__((cleanup(json_text_release)))

/* NULL for what is malformed, has a key twice, or nests too deeply; name is
 * for the message. */
json_t *json_text_parse(struct sv text, struct sv name, struct err *e);

#endif
