/* SPDX-License-Identifier: Apache-2.0 */
#include "syscall_profile.h"

#include <errno.h>
#include <stdio.h>

#include "own.h"
#include "policy.h"
#include "tap.h"

static int parse(const char *text, struct arena *a,
		 struct syscall_profile *ret, struct err *e)
{
	return syscall_profile_parse(sv_str(text), SV("p.json"), a, ret, e);
}

#define HEAD "{\"defaultAction\":\"SCMP_ACT_ERRNO\","
#define ONE(body) HEAD "\"syscalls\":[{" body "}]}"
#define READ "\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\""
#ifdef __x86_64__
#define OWN "amd64"
#else
#define OWN "arm64"
#endif

static void test_the_runtime_form(void)
{
	auto_arena struct arena a = arena_new(1 << 20);
	struct syscall_profile p;
	struct err e;

	CHECK_INT(parse(HEAD "\"defaultErrnoRet\":38,\"architectures\":"
		"[\"SCMP_ARCH_X86_64\",\"SCMP_ARCH_AARCH64\"],"
		"\"flags\":[\"SECCOMP_FILTER_FLAG_TSYNC\"],\"syscalls\":["
		"{\"names\":[\"read\",\"write\"],\"action\":\"SCMP_ACT_ALLOW\"},"
		"{\"names\":[\"clone\"],\"action\":\"SCMP_ACT_KILL_THREAD\","
		"\"args\":[{\"index\":0,\"value\":2080505856,\"valueTwo\":1,"
		"\"op\":\"SCMP_CMP_MASKED_EQ\"}]}]}", &a, &p, &e), 0);
	CHECK_INT(p.otherwise.action, PROFILE_ERRNO);
	CHECK_INT(p.otherwise.errnum, ENOSYS);
	CHECK_INT(p.entries_n, 2);
	CHECK_SV(p.entries[0].names[1], "write");
	CHECK_INT(p.entries[1].verdict.action, PROFILE_KILL);
	CHECK_INT(p.entries[1].compares[0].op, PROFILE_MASKED);
	CHECK_INT(p.entries[1].compares[0].value, 2080505856);
	CHECK_INT(p.entries[1].compares[0].value_two, 1);
}

/* Capabilities are none; what is for another machine is not there. */
static void test_the_engines_form(void)
{
	auto_arena struct arena a = arena_new(1 << 20);
	struct syscall_profile p;
	struct err e;

	CHECK_INT(parse(HEAD "\"archMap\":[{\"architecture\":"
		"\"SCMP_ARCH_X86_64\",\"subArchitectures\":[\"SCMP_ARCH_X86\"]},"
		"{\"architecture\":\"SCMP_ARCH_RISCV64\","
		"\"subArchitectures\":null}],\"syscalls\":["
		"{" READ ",\"includes\":{\"arches\":[\"" OWN "\",\"x32\"]}},"
		"{" READ ",\"includes\":{\"arches\":[\"s390x\"]}},"
		"{" READ ",\"excludes\":{\"arches\":[\"" OWN "\"]}},"
		"{" READ ",\"includes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}},"
		"{" READ ",\"excludes\":{\"caps\":[\"CAP_SYS_ADMIN\"]}},"
		"{" READ ",\"includes\":{\"minKernel\":\"4.8\"},\"excludes\":{}},"
		"{\"name\":\"write\",\"action\":\"SCMP_ACT_ERRNO\","
		"\"args\":null,\"comment\":\"old\",\"errnoRet\":1,"
		"\"errno\":\"EPERM\"}]}", &a, &p, &e), 0);
	CHECK_INT(p.entries_n, 4);
	CHECK_INT(p.entries[2].from_kernel, 4 << 16 | 8);
	CHECK_SV(p.entries[3].names[0], "write");
	CHECK_INT(p.entries[3].verdict.errnum, EPERM);
}

#define ARGS(body) ONE(READ ",\"args\":[" body "]")
#define ARG(index, op) \
	"{\"index\":" index ",\"value\":1,\"op\":\"SCMP_CMP_" op "\"}"

static const struct { const char *text, *message; } refused[] = {
	{ "{", "column" },
	{ "[]", "expected an object" },
	{ "{}", "an action is missing" },
	{ HEAD "\"defaultAction\":\"SCMP_ACT_ALLOW\"}", "duplicate" },
	{ HEAD "\"rules\":[]}", "unknown key rules" },
	{ HEAD "\"listenerPath\":\"/x\"}", "unknown key listenerPath" },
	{ HEAD "\"defaultErrnoRet\":0}", "1 to 4095 for defaultErrnoRet" },
	{ HEAD "\"defaultErrnoRet\":4096}", "1 to 4095" },
	{ HEAD "\"defaultErrnoRet\":1,\"defaultErrno\":\"ENOSYS\"}", "differ" },
	{ HEAD "\"architectures\":[\"SCMP_ARCH_VAX\"]}", "architectures" },
	{ HEAD "\"architectures\":[\"SCMP_ARCH_X86\"],\"archMap\":"
	  "[{\"architecture\":\"SCMP_ARCH_X86_64\"}]}", "not both" },
	{ HEAD "\"flags\":[\"SECCOMP_FILTER_FLAG_SPEC_ALLOW\"]}", "flags" },
	{ HEAD "\"syscalls\":{}}", "expected a list" },
	{ "{\"defaultAction\":\"SCMP_ACT_TRACE\"}", "somebody else" },
	{ ONE("\"names\":[\"read\"],\"action\":\"SCMP_ACT_NOTIFY\""),
	  "syscalls[0]: somebody else would decide with SCMP_ACT_NOTIFY" },
	{ ONE("\"names\":[\"read\"],\"action\":\"ALLOW\""), "unknown action" },
	{ ONE("\"names\":[\"read\"]"), "an action is missing" },
	{ ONE("\"names\":[],\"action\":\"SCMP_ACT_ALLOW\""), "names" },
	{ ONE("\"names\":[1],\"action\":\"SCMP_ACT_ALLOW\""), "names" },
	{ ONE("\"action\":\"SCMP_ACT_ALLOW\""), "names" },
	{ ONE(READ ",\"priority\":1"), "unknown key priority" },
	{ ONE(READ ",\"includes\":{\"arches\":[\"vax\"]}"), "arches" },
	{ ONE(READ ",\"includes\":{\"kernel\":\"4.8\"}"), "unknown key kernel" },
	{ ONE(READ ",\"includes\":{\"minKernel\":\"4\"}"), "MAJOR.MINOR" },
	{ ONE(READ ",\"includes\":{\"minKernel\":\"4.8.1\"}"), "MAJOR.MINOR" },
	{ ARGS(ARG("6", "EQ")), "0 to 5 for index" },
	{ ARGS(ARG("-1", "EQ")), "for index" },
	{ ARGS(ARG("0", "LIKE")), "unknown op" },
	{ ARGS(ARG("0", "EQ") "," ARG("0", "NE")), "two entries" },
	{ ARGS("{\"index\":0,\"value\":1,\"valueTwo\":2,"
	       "\"op\":\"SCMP_CMP_EQ\"}"), "valueTwo" },
	{ ARGS("{\"index\":0,\"value\":18446744073709551615,"
	       "\"op\":\"SCMP_CMP_EQ\"}"), "integer" },
	{ ARGS("{\"index\":0,\"value\":1.5,\"op\":\"SCMP_CMP_EQ\"}"), "value" },
	{ HEAD "\"syscalls\":[[[[[[[[[[]]]]]]]]]]}", "brackets" },
};

static void test_refused(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		auto_arena struct arena a = arena_new(1 << 20);
		struct syscall_profile p;
		struct err e = { 0 };

		CHECK_INT(parse(refused[i].text, &a, &p, &e), -1);
		CHECK(strstr(e.msg, refused[i].message));
		CHECK(strstr(e.msg, "p.json"));
		if (!strstr(e.msg, refused[i].message))
			printf("# %zu: %s\n", i, e.msg);
	}
}

static void test_too_large_is_refused(void)
{
	static char text[POLICY_TEXT_MAX + 2];
	auto_arena struct arena a = arena_new(1 << 20);
	struct syscall_profile p;
	struct err e;

	memset(text, ' ', sizeof text - 1);
	CHECK_INT(parse(text, &a, &p, &e), -1);
	CHECK_INT(e.kind, ERR_LIMIT);
}

int main(void)
{
	RUN(test_the_runtime_form);
	RUN(test_the_engines_form);
	RUN(test_refused);
	RUN(test_too_large_is_refused);
	return tap_done();
}
