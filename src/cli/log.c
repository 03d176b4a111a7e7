/* SPDX-License-Identifier: Apache-2.0 */
/* `stockade log` and `stockade log verify`: see log.h. */
#include "log.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io.h"
#include "log_line.h"
#include "own.h"
#include "run_dir.h"
#include "verify.h"

enum { LOG_FOLLOW_NS = 200000000 };

struct log_flags {
	bool denied, json, follow, colour;
	struct sv run;		/* .p NULL: the newest */
};

/* Prints one line of the trail, if it is asked for; true at the run's end. */
static bool print_line(struct sv line, const struct log_flags *f)
{
	auto_buf struct buf b = buf_new(AUDIT_LINE_MAX * 4);
	json_t *record = json_loadb(line.p, line.n, JSON_REJECT_DUPLICATES,
				    NULL);
	bool is_end = strcmp(log_line_text(record, "event"), "end") == 0;

	if (!record) {
		buf_puts(&b, "          malformed  ");
		buf_put_visible(&b, sv_head(line, 200));
		buf_putc(&b, '\n');
	} else if (!f->denied || log_line_is_denial(record)) {
		if (f->json) {
			buf_put(&b, line);
			buf_putc(&b, '\n');
		} else {
			log_line_put(&b, record, f->colour);
		}
	}
	json_decref(record);
	(void)fwrite(b.p, 1, b.n, stdout);
	return is_end;
}

static int print_trail(int fd, const struct log_flags *f, struct err *e)
{
	auto_buf struct buf text = buf_new(AUDIT_TRAIL_MAX);
	bool ended = false;

	for (;;) {
		struct timespec pause = { .tv_nsec = LOG_FOLLOW_NS };
		size_t n, at = 0;

		if (io_read_all(fd, &text, e) < 0)
			return err_ctx(e, "read the audit trail");
		while ((n = sv_find(sv_from(buf_sv(&text), at), '\n')) <
		       text.n - at) {
			ended |= print_line(sv_of(text.p + at, n), f);
			at += n + 1;
		}
		/* Once, not for each line: a trail can be long. */
		buf_consume(&text, at);
		if (fflush(stdout) == EOF)
			return err_sys(e, "write");
		if (!f->follow || ended)
			return 0;
		(void)nanosleep(&pause, NULL);
	}
}

static int verify(struct sv run, struct err *e)
{
	auto_buf struct buf text = buf_new(AUDIT_TRAIL_MAX);
	struct verdict_of_trail v;
	char id[RUN_ID_MAX];
	auto_fd int fd = -1;

	if (run_open(run, &fd, id, e) < 0 || io_read_all(fd, &text, e) < 0)
		return -1;
	if (verify_trail(buf_sv(&text), &v, e) < 0) {
		(void)printf("run %s: NOT intact: %s\n", id, e->msg);
		return 1;
	}
	(void)printf("run %s: %llu records, intact, %s\nhash %.*s\n", id,
		     (unsigned long long)v.records,
		     v.sealed ? "complete" :
				"without an end (interrupted or running)",
		     AUDIT_HASH_HEX, v.hash);
	return 0;
}

static int bad_flag(const char *flag, struct err *e)
{
	return err_kind(e, ERR_POLICY, "unknown flag '%.64s' (--denied, "
			"--follow and --json are known)", flag);
}

int log_main(int argc, char **argv, struct err *e)
{
	struct log_flags f = { .colour = isatty(STDOUT_FILENO) };
	bool verifying = argc > 1 && strcmp(argv[1], "verify") == 0;
	char id[RUN_ID_MAX];
	auto_fd int fd = -1;

	for (int i = verifying ? 2 : 1; i < argc; i++) {
		if (strcmp(argv[i], "--denied") == 0)
			f.denied = true;
		else if (strcmp(argv[i], "--json") == 0)
			f.json = true;
		else if (strcmp(argv[i], "--follow") == 0)
			f.follow = true;
		else if (argv[i][0] == '-')
			return bad_flag(argv[i], e);
		else if (f.run.p)
			return err_kind(e, ERR_POLICY, "one run at a time");
		else
			f.run = sv_str(argv[i]);
	}
	if (verifying)
		return verify(f.run, e);
	if (run_open(f.run, &fd, id, e) < 0)
		return -1;
	return print_trail(fd, &f, e);
}
