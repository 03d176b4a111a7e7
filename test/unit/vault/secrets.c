/* SPDX-License-Identifier: Apache-2.0 */
#include "secrets.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tap.h"

static struct secret s;
static struct err e;

/* Reads a source of these bytes; 1 or -1. */
static int read_from(struct sv bytes)
{
	int fd = memfd_create("source", MFD_CLOEXEC), got;

	e = (struct err){ 0 };
	secret_wipe(&s);
	if (write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n ||
	    lseek(fd, 0, SEEK_SET) != 0 ||
	    secret_init(&s, 3, SV("API_KEY"), SECRET_ROOM, &e) < 0)
		return -2;
	do {
		got = secret_read(&s, fd, &e);
	} while (got == 0);
	close(fd);
	return got;
}

static void test_read_value_is_kept(void)
{
	CHECK_INT(read_from(SV("sk-12~!")), 1);
	CHECK_SV(secret_value(&s), "sk-12~!");
}

static void test_read_one_final_newline_is_dropped(void)
{
	CHECK_INT(read_from(SV("value\n")), 1);
	CHECK_SV(secret_value(&s), "value");
	CHECK_INT(read_from(SV("value\n\n")), -1);
	CHECK_INT(read_from(SV("value\r\n")), -1);
}

static void test_read_unfit_value_fails_and_is_not_told(void)
{
	CHECK_INT(read_from(SV("")), -1);
	CHECK_INT(read_from(SV("\n")), -1);
	CHECK_INT(read_from(SV("two\nlines")), -1);
	CHECK_INT(read_from(SV("two words")), -1);
	CHECK_INT(read_from(SV("a\tb")), -1);
	CHECK_INT(read_from(SV("a\0b")), -1);
	CHECK_INT(read_from(SV("a\x7f")), -1);
	CHECK_INT(read_from(SV("caf\xc3\xa9")), -1);
	CHECK(strstr(e.msg, "API_KEY") != NULL);
	CHECK(strstr(e.msg, "caf") == NULL);
	CHECK_INT(secret_value(&s).n, 0);
}

static void test_read_size_is_bounded(void)
{
	static char bytes[SECRET_SIZE_MAX + 100];

	memset(bytes, 'x', sizeof bytes);
	CHECK_INT(read_from(sv_of(bytes, SECRET_SIZE_MAX)), 1);
	CHECK_INT(secret_value(&s).n, SECRET_SIZE_MAX);
	CHECK_INT(read_from(sv_of(bytes, SECRET_SIZE_MAX + 1)), -1);
	CHECK_INT(read_from(sv_of(bytes, sizeof bytes)), -1);
	bytes[SECRET_SIZE_MAX] = '\n';
	CHECK_INT(read_from(sv_of(bytes, SECRET_SIZE_MAX + 1)), 1);
	CHECK_INT(secret_value(&s).n, SECRET_SIZE_MAX);
	CHECK_INT(read_from(sv_of(bytes, SECRET_SIZE_MAX + 2)), -1);
}

static void test_read_in_parts_is_one_value(void)
{
	int fds[2];

	secret_wipe(&s);
	CHECK_INT(secret_init(&s, 3, SV("API_KEY"), SECRET_ROOM, &e), 0);
	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_INT(secret_read(&s, fds[0], &e), 0);
	CHECK_INT(write(fds[1], "ab", 2), 2);
	CHECK_INT(secret_read(&s, fds[0], &e), 0);
	CHECK_INT(secret_value(&s).n, 0);
	CHECK_INT(write(fds[1], "cd\n", 3), 3);
	CHECK_INT(secret_read(&s, fds[0], &e), 0);
	close(fds[1]);
	CHECK_INT(secret_read(&s, fds[0], &e), 1);
	CHECK_SV(secret_value(&s), "abcd");
	close(fds[0]);
}

/* The flags in smaps of the mapping that starts at the value. */
static void test_pages_are_locked_and_not_dumped(void)
{
	char line[512], start[32];
	bool inside = false, seen = false;
	FILE *f;

	CHECK_INT(read_from(SV("value")), 1);
	snprintf(start, sizeof start, "%lx-", (unsigned long)s.value);
	f = fopen("/proc/self/smaps", "re");
	while (f && fgets(line, sizeof line, f)) {
		if (strstr(line, "-p ") || strstr(line, "-s "))
			inside = strncmp(line, start, strlen(start)) == 0;
		if (!inside || strncmp(line, "VmFlags:", 8) != 0)
			continue;
		seen = true;
		CHECK(strstr(line, " dd") != NULL);
		CHECK(strstr(line, " wf") != NULL);
#ifndef STOCKADE_SANITIZED	/* the sanitizer's mlock() does nothing */
		CHECK(strstr(line, " lo") != NULL);
#endif
	}
	CHECK(seen);
	if (f)
		fclose(f);
}

static void test_wipe_leaves_nothing(void)
{
	CHECK_INT(read_from(SV("value")), 1);
	secret_wipe(&s);
	CHECK(s.value == NULL);
	CHECK_INT(secret_value(&s).n, 0);
	secret_wipe(&s);
}

int main(void)
{
	RUN(test_read_value_is_kept);
	RUN(test_read_one_final_newline_is_dropped);
	RUN(test_read_unfit_value_fails_and_is_not_told);
	RUN(test_read_size_is_bounded);
	RUN(test_read_in_parts_is_one_value);
	RUN(test_pages_are_locked_and_not_dumped);
	RUN(test_wipe_leaves_nothing);
	return tap_done();
}
