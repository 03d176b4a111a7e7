/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: their text never overflows and keeps its beginning. */
#include "err.h"
#include "tap.h"

static void test_err_sys_names_call_cause_and_place(void)
{
	struct err e;

	errno = ENOENT;
	CHECK_INT(err_sys(&e, "open %s", "x"), -1);
	CHECK_SV(sv_str(e.msg), "open x: No such file or directory");
	CHECK_INT(e.kind, ERR_SYS);
	CHECK_INT(e.code, ENOENT);
	CHECK(sv_starts(sv_str(e.where), SV("err.c:")));
}

static void test_err_ctx_puts_context_in_front(void)
{
	struct err e;

	(void)err_kind(&e, ERR_POLICY, "inner");
	CHECK_INT(err_ctx(&e, "rule %d", 3), -1);
	CHECK_SV(sv_str(e.msg), "rule 3: inner");
	CHECK_INT(e.kind, ERR_POLICY);
}

static void test_err_ctx_of_a_long_message_stays_terminated(void)
{
	char text[600];
	struct err e;

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	(void)err_kind(&e, ERR_BUG, "%s", text);
	CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
	for (int i = 0; i < 300; i++)
		(void)err_ctx(&e, "context");
	CHECK_INT(strlen(e.msg), sizeof e.msg - 1);
	CHECK(sv_starts(sv_str(e.msg), SV("context: context: ")));
	(void)err_ctx(&e, "%s", text);
	CHECK(strlen(e.msg) < sizeof e.msg);
}

int main(void)
{
	RUN(test_err_sys_names_call_cause_and_place);
	RUN(test_err_ctx_puts_context_in_front);
	RUN(test_err_ctx_of_a_long_message_stays_terminated);
	return tap_done();
}
