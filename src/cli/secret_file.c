/* SPDX-License-Identifier: Apache-2.0 */
/* The store of secrets: see secret_file.h. */
#include "secret_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base64.h"
#include "complaint.h"
#include "keyring.h"
#include "locked.h"
#include "own.h"
#include "prompt.h"
#include "run_dir.h"
#include "sha256.h"

#define FILE_NAME "store"
#define NEW_NAME "store.new"	/* whoever changes it is alone */

enum { ATTEMPTS = 3 };

static int ask_seal(struct secret_file *f, enum seal_verb verb, struct sv text,
		    int fd, struct err *e)
{
	return seal_ask(&f->seal, &(struct seal_request){
			.verb = verb, .text = text, .fd = fd }, NULL, e);
}

static int check_mode(int fd, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "look at the store of secrets");
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return err_kind(e, ERR_POLICY, "the store of secrets is no file "
				"of its own: put it back, or remove it");
	if (st.st_uid != geteuid())
		return err_kind(e, ERR_POLICY, "the store of secrets belongs to "
				"user %u, not to user %u", st.st_uid, geteuid());
	if (st.st_mode & 077)
		return err_kind(e, ERR_POLICY, "the store of secrets is open to "
				"others: `chmod 600` it, and think of its "
				"secrets as known to them");
	return 0;
}

/* One for each place, since a user may have several homes. */
int secret_file_name_key(struct secret_file *f, struct err *e)
{
	auto_arena struct arena a = arena_new(8192);
	auto_buf struct buf b = buf_new(SECRET_KEY_NAME_MAX - 1);
	uint8_t hash[SHA256_SIZE];
	struct sv path;

	if (run_state_path(&a, &path, e) < 0)
		return -1;
	sha256(path, hash);
	buf_puts(&b, "stockade:secrets:");
	buf_put_hex(&b, sv_of((const char *)hash, sizeof hash));
	if (buf_check(&b, "the key's name", e) < 0)
		return -1;
	(void)snprintf(f->key_name, sizeof f->key_name, "%.*s",
		       SV_FMT(buf_sv(&b)));
	return 0;
}

static int load(struct secret_file *f, struct err *e)
{
	auto_fd int fd = openat(f->dir_fd, FILE_NAME, O_RDONLY | O_CLOEXEC |
				O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(e, "open the store of secrets");
	if (check_mode(fd, e) < 0)
		return -1;
	if (ask_seal(f, SEAL_LOAD, SV(""), fd, e) < 0)
		return err_ctx(e, "the store of secrets");
	f->is_there = true;
	return 0;
}

/* The directory is what is locked: the file is another one after each change. */
static int take_turn(int dir_fd, struct err *e)
{
	if (flock(dir_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		complain("", "waiting for another `stockade secret` to end",
			 false);
	while (flock(dir_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, "lock the store of secrets");
	return 0;
}

int secret_file_open(struct secret_file *f, bool change, struct err *e)
{
	struct err why = { 0 };

	*f = SECRET_FILE_NONE;
	if (secret_file_name_key(f, e) < 0)
		return -1;
	if (run_state_open(SECRET_DIR, change, &f->dir_fd, &why) < 0) {
		if (why.kind == ERR_SYS && why.code == ENOENT)
			return 0;
		*e = why;
		return -1;
	}
	if (change && take_turn(f->dir_fd, e) < 0)
		return -1;
	/* Nothing is started for a store that is not there. */
	if (!change && faccessat(f->dir_fd, FILE_NAME, F_OK,
				 AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	return seal_start(&f->seal, e) < 0 ? -1 : load(f, e);
}

void secret_file_close(struct secret_file *f)
{
	seal_stop(&f->seal);
	close_fd(&f->dir_fd);
	f->is_there = false;
}

/* 1; 0: there is no key, or it is of another store; whatever the reason, there is
 * still the passphrase. */
static int try_keyring(struct secret_file *f, struct err *e)
{
	char *key = locked_new(SEAL_KEY_SIZE, e);
	struct err ignored;
	int got;

	if (!key)
		return -1;
	got = keyring_get(f->key_name, key, SEAL_KEY_SIZE, &ignored);
	if (got > 0)
		got = ask_seal(f, SEAL_ADOPT, sv_of(key, SEAL_KEY_SIZE), -1, e);
	else
		got = 0;
	locked_free(key, SEAL_KEY_SIZE);
	return got;
}

static int try_passphrases(struct secret_file *f, char *room, struct err *e)
{
	const char *text = "Passphrase of the store of secrets: ";
	size_t n;

	for (int i = 0; i < ATTEMPTS; i++) {
		int got;

		if (prompt_read(text, room, SEAL_PASSPHRASE_MAX, &n, e) < 0)
			return -1;
		got = ask_seal(f, SEAL_UNLOCK, sv_of(room, n), -1, e);
		explicit_bzero(room, SEAL_PASSPHRASE_MAX);
		if (got < 0)
			return err_ctx(e, "the store of secrets");
		if (got > 0)
			return 0;
		text = "That is not it.  Passphrase of the store of secrets: ";
	}
	return err_kind(e, ERR_POLICY, "the store of secrets stays locked: %d "
			"wrong passphrases (forgotten, it cannot be recovered: "
			"remove the file, and set the secrets anew)", ATTEMPTS);
}

int secret_file_ask(struct secret_file *f, struct err *e)
{
	char *room;
	int rc;

	if (!prompt_is_possible())
		return err_kind(e, ERR_POLICY, "the store of secrets is locked, "
				"and there is no terminal to ask for its "
				"passphrase at: `stockade secret unlock` in one, "
				"before");
	room = locked_new(SEAL_PASSPHRASE_MAX, e);
	if (!room)
		return -1;
	rc = try_passphrases(f, room, e);
	locked_free(room, SEAL_PASSPHRASE_MAX);
	return rc;
}

int secret_file_unlock(struct secret_file *f, struct err *e)
{
	int got = try_keyring(f, e);

	if (got < 0)
		return err_ctx(e, "the store of secrets");
	return got > 0 ? 0 : secret_file_ask(f, e);
}

/* Both in one piece of memory, one behind the other. */
static int choose(struct secret_file *f, char *room, struct err *e)
{
	char *again = room + SEAL_PASSPHRASE_MAX;
	size_t n, n_again;

	if (prompt_read("New passphrase for the store of secrets: ", room,
			SEAL_PASSPHRASE_MAX, &n, e) < 0)
		return -1;
	if (n == 0)
		return err_kind(e, ERR_POLICY, "the passphrase is empty");
	if (prompt_read("The same again: ", again, SEAL_PASSPHRASE_MAX,
			&n_again, e) < 0)
		return -1;
	if (!sv_eq(sv_of(room, n), sv_of(again, n_again)))
		return err_kind(e, ERR_POLICY, "the two passphrases differ; "
				"nothing was made");
	return ask_seal(f, SEAL_NEW, sv_of(room, n), -1, e) < 0 ? -1 : 0;
}

int secret_file_make(struct secret_file *f, struct err *e)
{
	char *room;
	int rc;

	if (!prompt_is_possible())
		return err_kind(e, ERR_POLICY, "there is no store of secrets "
				"yet, and no terminal to ask for its passphrase "
				"at: set the first one in a terminal");
	room = locked_new((size_t)2 * SEAL_PASSPHRASE_MAX, e);
	if (!room)
		return -1;
	rc = choose(f, room, e);
	locked_free(room, (size_t)2 * SEAL_PASSPHRASE_MAX);
	return rc;
}

static int write_new(struct secret_file *f, struct err *e)
{
	auto_fd int fd = -1;

	/* One that was left by who was killed. */
	if (unlinkat(f->dir_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return err_sys(e, "remove the former %s", NEW_NAME);
	fd = openat(f->dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "create %s", NEW_NAME);
	if (ask_seal(f, SEAL_WRITE, SV(""), fd, e) < 0)
		return -1;
	if (fsync(fd) < 0)
		return err_sys(e, "sync %s", NEW_NAME);
	if (renameat(f->dir_fd, NEW_NAME, f->dir_fd, FILE_NAME) < 0)
		return err_sys(e, "give %s its name", NEW_NAME);
	if (fsync(f->dir_fd) < 0)
		return err_sys(e, "sync the %s directory", SECRET_DIR);
	return 0;
}

int secret_file_write(struct secret_file *f, struct err *e)
{
	if (write_new(f, e) == 0)
		return 0;
	(void)unlinkat(f->dir_fd, NEW_NAME, 0);
	return err_ctx(e, "write the store of secrets");
}

int secret_file_check(struct secret_file *f, struct sv name, struct err *e)
{
	auto_buf struct buf near = buf_new(256);
	int got;

	if (!f->is_there)
		return err_kind(e, ERR_POLICY, "there is no store of secrets "
				"yet: `stockade secret set %.*s` makes it",
				SV_FMT(name));
	got = seal_ask(&f->seal, &(struct seal_request){
			.verb = SEAL_HAS, .text = name, .fd = -1 }, &near, e);
	if (got != 0)
		return got < 0 ? -1 : 0;
	if (near.n)
		return err_kind(e, ERR_POLICY, "the store of secrets has no %.*s; "
				"did you mean %.*s?", SV_FMT(name),
				SV_FMT(buf_sv(&near)));
	return err_kind(e, ERR_POLICY, "the store of secrets has no %.*s: "
			"`stockade secret set %.*s`, or see `stockade secret "
			"list`", SV_FMT(name), SV_FMT(name));
}

static bool needs(const struct policy *p)
{
	for (size_t i = 0; i < p->secrets_n; i++)
		if (p->secrets[i].source == SECRET_STORE)
			return true;
	return false;
}

/* 1: the policy takes something that is there; 0: nothing. */
static int check_all(struct secret_file *f, const struct policy *p,
		     struct err *e)
{
	int wanted = 0;

	for (size_t i = 0; i < p->secrets_n; i++) {
		const struct secret_rule *r = &p->secrets[i];
		struct err why = { 0 };

		if (r->source != SECRET_STORE)
			continue;
		if (secret_file_check(f, r->source_arg, &why) == 0) {
			wanted = 1;
		} else if (!r->optional || why.kind != ERR_POLICY) {
			*e = why;
			return err_ctx(e, "secret %.*s", SV_FMT(r->name));
		}
	}
	return wanted;
}

int secret_file_prepare(struct secret_file *f, const struct policy *p,
			struct err *e)
{
	int wanted;

	*f = SECRET_FILE_NONE;
	if (!needs(p))
		return 0;
	if (secret_file_open(f, false, e) < 0)
		return -1;
	wanted = check_all(f, p, e);
	if (wanted < 0)
		return -1;
	if (wanted)
		return secret_file_unlock(f, e);
	/* Nothing of it will be asked for. */
	seal_stop(&f->seal);
	return 0;
}
