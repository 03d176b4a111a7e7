/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical JSON form of a policy, accepted wherever a policy is.
 *
 *	{ "version": 1,
 *	  "grants": [{ "word": "read", "path": "/opt/sdk", "optional": true }],
 *	  "env": [{ "word": "set", "name": "CI", "value": "1" }],
 *	  "rules": [{ "word": "allow", "methods": ["GET"], "host": "h.example",
 *		      "port": 8443, "path": "/v1/a", "query": "k=v" }],
 *	  "reach": [{ "host": "models.local", "port": 80, "via": "127.0.0.1:80" }],
 *	  "roots": [{ "path": "/etc/ca.pem" }],
 *	  "secrets": [{ "name": "TOKEN", "from": "file", "source": "/k",
 *			"key": "a.b",
 *			"for": [{ "host": "h.example", "path": "/v1/a" }],
 *			"as": "header", "header": "x-api-key", "prefix": "P" }],
 *	  "syscalls": [{ "word": "strict" },
 *		       { "word": "file", "path": "/p.json", "optional": true },
 *		       { "word": "debug" }],
 *	  "limits": [{ "word": "time", "value": "30m" }],
 *	  "workspace": [{ "word": "overlay" }],
 *	  "terminal": [{ "word": "filter" }] }
 *
 * Each entry may have an "origin", for people.  No methods means any method;
 * what is false or empty is left out.
 */
#ifndef POLICY_JSON_FORM_H
#define POLICY_JSON_FORM_H

#include "buf.h"
#include "policy.h"

void policy_json(const struct policy *p, struct buf *out);

#endif
