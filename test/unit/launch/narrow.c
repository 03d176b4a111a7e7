/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of system calls as filters, against a plain reading of them. */
#include "narrow.h"

#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "../kernel/machine.h"
#include "calls.h"
#include "filter.h"
#include "own.h"
#include "tap.h"

#ifdef __x86_64__
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

static struct arena arena;
static struct sock_fprog prog;

static int make(const struct syscall_profile *p, bool debug, struct err *e)
{
	struct seccomp_filter f;
	struct sv program;

	if (narrow_profile(p, SV("p.json"), debug, &arena, &f, e) < 0 ||
	    narrow_compile(&f, SV("p.json"), &arena, &program, e) < 0)
		return -1;
	prog.len = (unsigned short)(program.n / sizeof *prog.filter);
	prog.filter = (struct sock_filter *)(uintptr_t)program.p;
	return 0;
}

static int make_text(const char *text, struct err *e)
{
	struct syscall_profile p;

	if (syscall_profile_parse(sv_str(text), SV("p.json"), &arena, &p,
				  e) < 0)
		return -1;
	return make(&p, false, e);
}

static uint32_t ask(long nr, uint64_t a, uint64_t b, uint64_t c)
{
	struct seccomp_data d = {
		.nr = (int)nr, .arch = NATIVE, .args = { a, b, c },
	};

	return machine_run(&prog, &d, NULL);
}

/* Calls with arguments of both sizes, and some that are never allowed. */
static const struct { const char *name; long nr; unsigned ints; } calls[] = {
	{ "socket", SYS_socket, 7 }, { "openat", SYS_openat, 0xd },
	{ "lseek", SYS_lseek, 1 }, { "mprotect", SYS_mprotect, 0 },
	{ "write", SYS_write, 1 }, { "personality", SYS_personality, 1 },
	{ "clone3", SYS_clone3, 0 }, { "mount", SYS_mount, 0 },
};

static const uint64_t pool[] = {
	0, 1, 2, 3, 8, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000,
	0x100000001, 0x200000000, 0x1ffffffff, 0x7fffffffffffffff,
};

static bool holds(const struct profile_compare *k, uint64_t arg, bool is_int)
{
	uint64_t v = is_int ? (uint32_t)arg : arg;

	switch (k->op) {
	case PROFILE_NE:
		return v != k->value;
	case PROFILE_LT:
		return v < k->value;
	case PROFILE_LE:
		return v <= k->value;
	case PROFILE_EQ:
		return v == k->value;
	case PROFILE_GE:
		return v >= k->value;
	case PROFILE_GT:
		return v > k->value;
	case PROFILE_MASKED:
		break;
	}
	return (v & k->value) == k->value_two;
}

static uint32_t encode(struct profile_verdict v)
{
	static const uint32_t plain[] = {
		[PROFILE_ALLOW] = SECCOMP_RET_ALLOW,
		[PROFILE_LOG] = SECCOMP_RET_LOG,
		[PROFILE_TRAP] = SECCOMP_RET_TRAP,
		[PROFILE_KILL] = SECCOMP_RET_KILL_PROCESS,
	};

	return v.action == PROFILE_ERRNO ? SECCOMP_RET_ERRNO | v.errnum :
					   plain[v.action];
}

/* The strictest entry that matches, else the default. */
static uint32_t expect(const struct syscall_profile *p, size_t call,
		       const uint64_t args[6])
{
	const struct profile_verdict *best = NULL;
	long nr = calls[call].nr;

	for (size_t i = 0; i < p->entries_n; i++) {
		const struct profile_entry *n = &p->entries[i];
		bool match = sv_eq(n->names[0], sv_str(calls[call].name));

		for (size_t k = 0; match && k < n->compares_n; k++)
			match = holds(&n->compares[k],
				      args[n->compares[k].arg],
				      calls[call].ints >>
					      n->compares[k].arg & 1);
		if (match && (!best || n->verdict.action > best->action))
			best = &n->verdict;
	}
	if (!best)
		best = &p->otherwise;
	/* Refused in any case: the agent's filter has the word. */
	if ((nr == SYS_clone3 || nr == SYS_mount) &&
	    best->action <= PROFILE_ERRNO)
		return SECCOMP_RET_ALLOW;
	return encode(*best);
}

static struct profile_verdict some_verdict(void)
{
	enum profile_action action = (enum profile_action)(random() % 5);

	/* One errno: of two that match any is right. */
	return (struct profile_verdict){ action, EPERM };
}

static void some_entry(struct profile_entry *n, size_t call)
{
	n->names = arena_make(&arena, struct sv);
	n->names[0] = sv_str(calls[call].name);
	n->names_n = 1;
	n->verdict = some_verdict();
	n->compares_n = (size_t)random() % 4;
	for (size_t i = 0; i < n->compares_n; i++) {
		bool is_int = calls[call].ints >> i & 1;
		uint64_t mask = is_int ? UINT32_MAX : UINT64_MAX;
		struct profile_compare *k = &n->compares[i];

		k->arg = (uint8_t)i;
		k->op = (enum profile_op)(random() % 7);
		k->value = pool[(size_t)random() % countof(pool)] & mask;
		if (k->op == PROFILE_MASKED)
			k->value_two = pool[(size_t)random() % countof(pool)] &
				       k->value;
	}
}

static unsigned disagreements(const struct syscall_profile *p)
{
	unsigned wrong = 0;

	for (size_t call = 0; call < countof(calls); call++)
		for (unsigned i = 0; i < 300; i++) {
			uint64_t args[6];

			for (size_t a = 0; a < 3; a++)
				args[a] = pool[(size_t)random() %
					       countof(pool)];
			wrong += ask(calls[call].nr, args[0], args[1],
				     args[2]) != expect(p, call, args);
		}
	return wrong;
}

static void test_random_profiles_as_they_read(void)
{
	unsigned made = 0;
	struct err e = { 0 };

	srandom(7);
	for (unsigned round = 0; round < 150; round++) {
		struct syscall_profile p = { .otherwise = some_verdict() };
		struct profile_entry *execve;

		arena = arena_new(64 << 20);
		execve = arena_push(&arena, &p.entries, &p.entries_n,
				    &p.entries_cap);
		execve->names = arena_make(&arena, struct sv);
		execve->names[0] = SV("execve");
		execve->names_n = 1;
		for (size_t i = 0; i < 20; i++)
			some_entry(arena_push(&arena, &p.entries, &p.entries_n,
					      &p.entries_cap),
				   (size_t)random() % countof(calls));
		if (make(&p, false, &e) == 0) {
			made++;
			CHECK_INT(disagreements(&p), 0);
		}
		arena_free(&arena);
	}
	CHECK_INT(made, 150);
	if (e.msg[0])
		printf("# %s\n", e.msg);
}

#define PROFILE(action, rest) \
	"{\"defaultAction\":\"SCMP_ACT_" action "\",\"syscalls\":[" rest "]}"
#define ENTRY(names, action, rest) \
	"{\"names\":[" names "],\"action\":\"SCMP_ACT_" action "\"" rest "}"
#define EXECVE ENTRY("\"execve\",\"read\"", "ALLOW", "")

static void test_what_nobody_names(void)
{
	struct err e;

	arena = arena_new(16 << 20);
	CHECK_INT(make_text(PROFILE("ERRNO", EXECVE), &e), 0);
	CHECK_INT(ask(SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(SYS_write, 0, 0, 0), VERDICT_ERRNO(EPERM));
	/* Left to the agent's filter, which says ENOSYS. */
	CHECK_INT(ask(SYS_clone3, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(999, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(0x40000000 | SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(make_text(PROFILE("KILL", EXECVE), &e), 0);
	CHECK_INT(ask(SYS_clone3, 0, 0, 0), VERDICT_KILL);
	CHECK_INT(ask(999, 0, 0, 0), VERDICT_KILL);
	CHECK_INT(make_text("{\"defaultAction\":\"SCMP_ACT_ALLOW\"}", &e), 0);
	CHECK_INT(ask(SYS_mount, 0, 0, 0), SECCOMP_RET_ALLOW);
	arena_free(&arena);
}

static void test_errno_values_are_kept(void)
{
	struct err e;

	arena = arena_new(16 << 20);
	CHECK_INT(make_text("{\"defaultAction\":\"SCMP_ACT_ERRNO\","
			    "\"defaultErrnoRet\":95,\"syscalls\":[" EXECVE ","
			    ENTRY("\"socket\"", "ERRNO", ",\"errnoRet\":13")
			    "]}", &e), 0);
	CHECK_INT(ask(SYS_socket, 0, 0, 0), VERDICT_ERRNO(13));
	CHECK_INT(ask(SYS_write, 0, 0, 0), VERDICT_ERRNO(95));
	arena_free(&arena);
}

static void test_high_half_of_an_int_is_no_way_around(void)
{
	struct err e;

	arena = arena_new(16 << 20);
	CHECK_INT(make_text(PROFILE("ALLOW", ENTRY("\"socket\"", "ERRNO",
		",\"args\":[{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}]")),
			    &e), 0);
	CHECK_INT(ask(SYS_socket, 2, 1, 0), VERDICT_ERRNO(EPERM));
	CHECK_INT(ask(SYS_socket, 2 | 5ULL << 32, 1, 0), VERDICT_ERRNO(EPERM));
	CHECK_INT(ask(SYS_socket, 1 | 5ULL << 32, 1, 0), SECCOMP_RET_ALLOW);
	arena_free(&arena);
}

static void test_kernel_versions(void)
{
	struct err e;

	arena = arena_new(16 << 20);
	CHECK_INT(make_text(PROFILE("ERRNO", EXECVE ","
		ENTRY("\"write\"", "ALLOW", ",\"includes\":{\"minKernel\":\"4.8\"}")
		"," ENTRY("\"lseek\"", "ALLOW",
			  ",\"includes\":{\"minKernel\":\"200.0\"}")
		"," ENTRY("\"close\"", "ALLOW",
			  ",\"excludes\":{\"minKernel\":\"4.8\"}")), &e), 0);
	CHECK_INT(ask(SYS_write, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(SYS_lseek, 0, 0, 0), VERDICT_ERRNO(EPERM));
	CHECK_INT(ask(SYS_close, 0, 0, 0), VERDICT_ERRNO(EPERM));
	arena_free(&arena);
}

static const struct { const char *text, *message; } refused[] = {
	{ PROFILE("ERRNO", ENTRY("\"read\"", "ALLOW", "")),
	  "execve is not allowed" },
	{ PROFILE("ALLOW", ENTRY("\"execve\"", "KILL", "")),
	  "execve is not allowed" },
	{ PROFILE("ALLOW", ENTRY("\"rread\"", "KILL", "")),
	  "unknown system call rread" },
	{ PROFILE("ALLOW", ENTRY("\"socket\"", "ERRNO", ",\"args\":[{\"index\":0,"
		"\"value\":4294967296,\"op\":\"SCMP_CMP_EQ\"}]")),
	  "argument 0 of socket has 32 bits" },
};

static void test_refused_by_name(void)
{
	for (size_t i = 0; i < countof(refused); i++) {
		struct err e = { 0 };

		arena = arena_new(16 << 20);
		CHECK_INT(make_text(refused[i].text, &e), -1);
		CHECK(strstr(e.msg, refused[i].message));
		CHECK(strstr(e.msg, "p.json"));
		if (!strstr(e.msg, refused[i].message))
			printf("# %s\n", e.msg);
		arena_free(&arena);
	}
}

/* As many conditions as entries: more than a filter can hold. */
static void test_too_large_is_refused(void)
{
	struct syscall_profile p = { .otherwise = { PROFILE_ALLOW, 0 } };
	struct err e = { 0 };

	arena = arena_new(64 << 20);
	for (unsigned i = 0; i < 2000; i++) {
		struct profile_entry *n = arena_push(&arena, &p.entries,
						     &p.entries_n,
						     &p.entries_cap);

		n->names = arena_make(&arena, struct sv);
		n->names[0] = SV("lseek");
		n->names_n = 1;
		n->verdict.action = PROFILE_KILL;
		n->compares[0] = (struct profile_compare){
			1, PROFILE_EQ, (uint64_t)i << 32 | i, 0,
		};
		n->compares_n = 1;
	}
	CHECK_INT(make(&p, false, &e), -1);
	CHECK_INT(e.kind, ERR_LIMIT);
	CHECK(strstr(e.msg, "p.json"));
	arena_free(&arena);
}

static void test_strict_is_a_part_of_the_default(void)
{
	struct seccomp_filter f;
	const struct seccomp_filter *agent = filter_agent(false);
	unsigned allowed = 0, more = 0;
	struct sv program;
	struct err e;

	arena = arena_new(16 << 20);
	CHECK_INT(narrow_strict(false, &arena, &f, &e), 0);
	CHECK_INT(narrow_compile(&f, SV("strict"), &arena, &program, &e), 0);
	prog.len = (unsigned short)(program.n / sizeof *prog.filter);
	prog.filter = (struct sock_filter *)(uintptr_t)program.p;
	for (size_t i = 0; call_at(i); i++) {
		uint16_t nr = call_at(i)->nr;
		bool own = !filter_refuses(agent, nr);

		allowed += own && ask(nr, 0, 0, 0) == SECCOMP_RET_ALLOW;
		more += own;
	}
	CHECK(allowed > 150 && allowed + 40 <= more);
	CHECK_INT(ask(SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(SYS_clone3, 0, 0, 0), SECCOMP_RET_ALLOW);
	CHECK_INT(ask(SYS_memfd_create, 0, 0, 0), VERDICT_ERRNO(ENOSYS));
	CHECK_INT(ask(SYS_shmget, 0, 0, 0), VERDICT_ERRNO(ENOSYS));
	CHECK_INT(ask(999, 0, 0, 0), VERDICT_ERRNO(ENOSYS));
	arena_free(&arena);
}

int main(void)
{
	RUN(test_random_profiles_as_they_read);
	RUN(test_what_nobody_names);
	RUN(test_errno_values_are_kept);
	RUN(test_high_half_of_an_int_is_no_way_around);
	RUN(test_kernel_versions);
	RUN(test_refused_by_name);
	RUN(test_too_large_is_refused);
	RUN(test_strict_is_a_part_of_the_default);
	return tap_done();
}
