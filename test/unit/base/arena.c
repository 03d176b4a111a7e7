/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas. */
#include "arena.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static void test_arena_alloc_past_the_maximum_is_null(void)
{
	auto_arena struct arena a = arena_new(64);

	CHECK(arena_alloc(&a, 32) != NULL);
	CHECK(arena_alloc(&a, 32) != NULL);
	CHECK(arena_alloc(&a, 1) == NULL);
	CHECK(arena_alloc(&a, SIZE_MAX) == NULL);
}

static void test_arena_alloc_is_zeroed_and_aligned(void)
{
	auto_arena struct arena a = arena_new(1 << 20);
	unsigned dirty = 0;

	for (int i = 1; i < 200; i++) {
		char *p = arena_alloc(&a, (size_t)i);

		CHECK(p && (uintptr_t)p % 16 == 0);
		for (int k = 0; p && k < i; k++)
			dirty += p[k] != 0;
		if (p)
			memset(p, 0xff, (size_t)i);
	}
	CHECK_INT(dirty, 0);
}

static void test_arena_alloc_larger_than_a_block_works(void)
{
	auto_arena struct arena a = arena_new(1 << 20);

	CHECK(arena_alloc(&a, 100000) != NULL);
	CHECK(arena_alloc(&a, 8) != NULL);
}

static void test_arena_push_keeps_the_elements(void)
{
	auto_arena struct arena a = arena_new(1 << 20);
	int *v = NULL;
	size_t n = 0, cap = 0;

	for (int i = 0; i < 1000; i++) {
		int *at = arena_push(&a, &v, &n, &cap);

		if (at)
			*at = i;
	}
	CHECK_INT(n, 1000);
	CHECK_INT(v[0], 0);
	CHECK_INT(v[999], 999);
}

static void test_arena_dup_ends_in_nul(void)
{
	auto_arena struct arena a = arena_new(100);
	struct sv v = arena_dup(&a, SV("abc"));

	CHECK_SV(v, "abc");
	CHECK(v.p[3] == '\0');
	CHECK(arena_dup(&a, sv_of("x", 1)).p != NULL);
}

static void test_a_shared_arena_is_seen_by_a_child(void)
{
	auto_arena struct arena a = { 0 };
	struct err e;
	char *word;
	pid_t pid;
	int status = -1;

	CHECK_INT(arena_new_shared(100, &a, &e), 0);
	word = arena_alloc(&a, 8);
	CHECK(word != NULL);
	pid = fork();
	if (pid == 0) {
		while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 'x')
			(void)usleep(100);
		_exit(7);
	}
	__atomic_store_n(word, 'x', __ATOMIC_RELEASE);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(WEXITSTATUS(status), 7);
	CHECK(arena_alloc(&a, 80) != NULL);
	CHECK(arena_alloc(&a, 80) == NULL);
}

int main(void)
{
	RUN(test_arena_alloc_past_the_maximum_is_null);
	RUN(test_arena_alloc_is_zeroed_and_aligned);
	RUN(test_arena_alloc_larger_than_a_block_works);
	RUN(test_arena_push_keeps_the_elements);
	RUN(test_arena_dup_ends_in_nul);
	RUN(test_a_shared_arena_is_seen_by_a_child);
	return tap_done();
}
