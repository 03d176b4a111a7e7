/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `stockade secret set|list|remove|unlock|lock`: see secret_file.h.
 *
 * A value and a passphrase pass through locked memory here, on their way from the
 * terminal or a pipe to stockade-seal.
 */
#include "secret_store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "amount.h"
#include "json.h"
#include "keyring.h"
#include "locked.h"
#include "own.h"
#include "process.h"
#include "prompt.h"
#include "secret_file.h"
#include "secret_text.h"

enum {
	/* The value, its newline, and a byte that shows that there is more. */
	VALUE_ROOM = SECRET_VALUE_MAX + 2,
	USUAL_MS = 60 * 60 * 1000,
};
#define LONGEST_MS (30 * DAY_MS)

/* What was written is not repeated: it may be the value, in the wrong place. */
static int take_name(const char *arg, struct sv *ret, struct err *e)
{
	*ret = sv_str(arg);
	return store_name_is(*ret) ? 0 : err_kind(e, ERR_POLICY,
		"the name of a secret is of " STORE_NAME_WORDS ", %d at most",
		STORE_NAME_MAX);
}

static int read_stdin(char *room, size_t *ret_n, struct err *e)
{
	size_t n = 0;
	ssize_t got = 1;

	while (got != 0 && n < VALUE_ROOM) {
		got = read(STDIN_FILENO, room + n, VALUE_ROOM - n);
		if (got < 0 && errno != EINTR)
			return err_sys(e, "read the value");
		n += got > 0 ? (size_t)got : 0;
	}
	if (n && room[n - 1] == '\n')
		n--;
	*ret_n = n;
	return 0;
}

static int read_value(struct sv name, char *room, struct sv *ret,
		      struct err *e)
{
	auto_buf struct buf text = buf_new(512);
	const char *fault;
	size_t n;
	int rc;

	buf_printf(&text, "Value of %.*s: ", SV_FMT(name));
	if (!buf_cstr(&text))
		return err_kind(e, ERR_LIMIT, "out of memory");
	rc = isatty(STDIN_FILENO) ?
		prompt_read(text.p, room, VALUE_ROOM, &n, e) :
		read_stdin(room, &n, e);
	if (rc < 0)
		return -1;
	*ret = sv_of(room, n);
	if (n == 0)
		return err_kind(e, ERR_POLICY, "the value is empty");
	fault = secret_value_fault(*ret);
	return fault ? err_kind(e, ERR_POLICY, "the value: %s", fault) : 0;
}

/* Opens it to be changed, and unlocks it. */
static int open_to_change(struct secret_file *f, struct err *e)
{
	if (secret_file_open(f, true, e) < 0)
		return -1;
	return f->is_there ? secret_file_unlock(f, e) : secret_file_make(f, e);
}

static int put(struct sv name, struct sv value, struct err *e)
{
	auto_secret_file struct secret_file f = SECRET_FILE_NONE;

	if (open_to_change(&f, e) < 0)
		return -1;
	if (seal_ask(&f.seal, &(struct seal_request){
			.verb = SEAL_PUT, .text = name, .value = value,
			.fd = -1 }, NULL, e) < 0)
		return err_ctx(e, "the store of secrets");
	return secret_file_write(&f, e);
}

int secret_set(int argc, char **argv, struct err *e)
{
	struct sv name, value;
	char *room;
	int rc;

	if (argc > 2 || (argc == 2 && strchr(argv[1], '=')))
		return err_kind(e, ERR_POLICY, "a value is never an argument, "
				"where other processes and the shell's history "
				"have it: it is asked for, or read from standard "
				"input, as in `pass show x | stockade secret set "
				"NAME`");
	if (argc < 2)
		return err_kind(e, ERR_POLICY, "expected: stockade secret set "
				"NAME");
	if (take_name(argv[1], &name, e) < 0 || process_hide(e) < 0)
		return -1;
	room = locked_new(VALUE_ROOM, e);
	if (!room)
		return -1;
	rc = read_value(name, room, &value, e);
	if (rc == 0)
		rc = put(name, value, e);
	locked_free(room, VALUE_ROOM);
	if (rc == 0)
		(void)printf("set: %.*s\n", SV_FMT(name));
	return rc;
}

static void print_names(struct sv names, bool as_json)
{
	auto_buf struct buf b = buf_new(1 << 20);
	struct json j = json_pretty(&b);

	if (!as_json) {
		(void)printf("%.*s", SV_FMT(names));
		return;
	}
	json_open(&j, '[');
	while (names.n) {
		json_open(&j, '{');
		json_put_sv(&j, "name", sv_cut(&names, '\n'));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	(void)printf("%.*s\n", SV_FMT(buf_sv(&b)));
}

int secret_list(int argc, char **argv, struct err *e)
{
	auto_secret_file struct secret_file f = SECRET_FILE_NONE;
	auto_buf struct buf names = buf_new(SEAL_ANSWER_MAX);
	bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;

	if (argc > 2 || (argc == 2 && !as_json))
		return err_kind(e, ERR_POLICY, "expected: stockade secret list "
				"[--json]");
	if (secret_file_open(&f, false, e) < 0)
		return -1;
	if (f.is_there && seal_ask(&f.seal, &(struct seal_request){
			.verb = SEAL_LIST, .fd = -1 }, &names, e) < 0)
		return -1;
	if (buf_check(&names, "the list of secrets", e) < 0)
		return -1;
	print_names(buf_sv(&names), as_json);
	return 0;
}

int secret_remove(int argc, char **argv, struct err *e)
{
	auto_secret_file struct secret_file f = SECRET_FILE_NONE;
	struct sv name;
	int got;

	if (argc != 2)
		return err_kind(e, ERR_POLICY, "expected: stockade secret "
				"remove NAME");
	if (take_name(argv[1], &name, e) < 0 || process_hide(e) < 0 ||
	    secret_file_open(&f, true, e) < 0 ||
	    secret_file_check(&f, name, e) < 0 ||
	    secret_file_unlock(&f, e) < 0)
		return -1;
	got = seal_ask(&f.seal, &(struct seal_request){
			.verb = SEAL_REMOVE, .text = name, .fd = -1 }, NULL, e);
	if (got < 0)
		return err_ctx(e, "the store of secrets");
	if (got == 0)
		return err_kind(e, ERR_BUG, "the secret is not there any more");
	if (secret_file_write(&f, e) < 0)
		return -1;
	(void)printf("removed: %.*s\n", SV_FMT(name));
	return 0;
}

/* --for TIME or --for=TIME, in milliseconds. */
static int take_time(int argc, char **argv, uint64_t *ret, struct err *e)
{
	const char *text = NULL;

	*ret = USUAL_MS;
	if (argc == 1)
		return 0;
	if (argc == 3 && strcmp(argv[1], "--for") == 0)
		text = argv[2];
	else if (argc == 2 && strncmp(argv[1], "--for=", 6) == 0)
		text = argv[1] + 6;
	if (!text)
		return err_kind(e, ERR_POLICY, "expected: stockade secret "
				"unlock [--for TIME]");
	if (!amount_parse(sv_str(text), UNIT_TIME, ret) || *ret < 1000 ||
	    *ret > LONGEST_MS)
		return err_kind(e, ERR_POLICY, "expected a time from 1s to 30d "
				"for --for, as 8h");
	return 0;
}

/* From seal to the kernel, by way of locked memory. */
static int keep_key(struct secret_file *f, uint64_t ms, struct err *e)
{
	const size_t room = SEAL_KEY_SIZE;
	char *place = locked_new(room + 1, e);
	struct buf key = place ? buf_of(place, room) : buf_new(0);
	int rc = -1;

	if (!place)
		return -1;
	if (seal_ask(&f->seal, &(struct seal_request){
			.verb = SEAL_KEY, .fd = -1 }, &key, e) > 0)
		rc = keyring_put(f->key_name, buf_sv(&key),
				 (uint32_t)(ms / 1000), e);
	locked_free(place, room + 1);
	return rc;
}

int secret_unlock(int argc, char **argv, struct err *e)
{
	auto_secret_file struct secret_file f = SECRET_FILE_NONE;
	auto_buf struct buf text = buf_new(64);
	uint64_t ms;

	if (take_time(argc, argv, &ms, e) < 0 || process_hide(e) < 0 ||
	    secret_file_open(&f, false, e) < 0)
		return -1;
	if (!f.is_there)
		return err_kind(e, ERR_POLICY, "there is no store of secrets "
				"yet: `stockade secret set NAME` makes it");
	if (secret_file_ask(&f, e) < 0)
		return -1;
	if (keep_key(&f, ms, e) < 0)
		return err_ctx(e, "the store stays locked (a run asks for its "
			       "passphrase instead)");
	amount_put(&text, UNIT_TIME, ms);
	(void)printf("unlocked for %.*s, or until `stockade secret lock`\n",
		     SV_FMT(buf_sv(&text)));
	return 0;
}

int secret_lock(int argc, char **argv, struct err *e)
{
	auto_secret_file struct secret_file f = SECRET_FILE_NONE;
	int got;

	(void)argv;
	if (argc != 1)
		return err_kind(e, ERR_POLICY, "expected: stockade secret lock");
	if (secret_file_name_key(&f, e) < 0)
		return -1;
	got = keyring_remove(f.key_name, e);
	if (got < 0)
		return -1;
	(void)printf(got ? "locked\n" : "it was locked\n");
	return 0;
}
