/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: see err.h. */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set_(struct err *e, enum err_kind kind, int code, const char *file,
	     int line, const char *fmt, ...)
{
	va_list ap;
	int n;

	e->kind = kind;
	e->code = code;
	(void)snprintf(e->where, sizeof e->where, "%s:%d", file, line);
	va_start(ap, fmt);
	n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	if (kind == ERR_SYS && n >= 0 && (size_t)n < sizeof e->msg) {
		/* Not strerror(): no locale, no allocation after clone3(). */
		const char *text = strerrordesc_np(code);

		(void)snprintf(e->msg + n, sizeof e->msg - (size_t)n, ": %s",
			       text ? text : "unknown error");
	}
	return -1;
}

int err_ctx(struct err *e, const char *fmt, ...)
{
	char inner[sizeof e->msg];
	va_list ap;
	size_t n, rest;

	memcpy(inner, e->msg, sizeof inner);
	va_start(ap, fmt);
	(void)vsnprintf(e->msg, sizeof e->msg - 2, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	memcpy(e->msg + n, ": ", 2);
	n += 2;
	/* The cause may lose its end, the context never its beginning. */
	rest = strnlen(inner, sizeof inner - 1);
	if (rest > sizeof e->msg - 1 - n)
		rest = sizeof e->msg - 1 - n;
	memcpy(e->msg + n, inner, rest);
	e->msg[n + rest] = '\0';
	return -1;
}
