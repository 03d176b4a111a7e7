/* SPDX-License-Identifier: Apache-2.0 */
/* AES-256-GCM and scrypt: see box.h. */
#include "box.h"

#include <openssl/evp.h>
#include <sys/random.h>

#include "fault.h"
#include "own.h"

static void free_context(EVP_CIPHER_CTX **c)
{
	EVP_CIPHER_CTX_free(*c);	/* wipes */
}
#define auto_context __attribute__((cleanup(free_context)))

int box_random(char *ret, size_t n, struct err *e)
{
	if (getrandom(ret, n, 0) != (ssize_t)n)
		return err_sys(e, "getrandom");
	return 0;
}

static const unsigned char *bytes(struct sv v)
{
	return (const unsigned char *)v.p;
}

/* A context that has seen everything but the text. */
static EVP_CIPHER_CTX *begin(const char *key, const char *nonce,
			     const struct box_with *with, bool seal)
{
	auto_context EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	/* Its nonce is twelve bytes unless one says otherwise. */
	if (!c || EVP_CipherInit_ex2(c, EVP_aes_256_gcm(),
				     (const unsigned char *)key,
				     (const unsigned char *)nonce, seal,
				     NULL) != 1)
		return NULL;
	for (size_t i = 0; i < countof(with->parts); i++)
		if (with->parts[i].n &&
		    EVP_CipherUpdate(c, NULL, &n, bytes(with->parts[i]),
				     (int)with->parts[i].n) != 1)
			return NULL;
	return steal_ptr(&c);
}

static bool seal_into(EVP_CIPHER_CTX *c, struct sv plain, unsigned char *to)
{
	int n = 0, last = 0;

	if (plain.n && EVP_CipherUpdate(c, to, &n, bytes(plain),
					(int)plain.n) != 1)
		return false;
	return EVP_CipherFinal_ex(c, to + n, &last) == 1 &&
	       (size_t)n + (size_t)last == plain.n &&
	       EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEALED_TAG,
				   to + plain.n) == 1;
}

int box_seal(const char key[SEALED_KEY], const struct box_with *with,
	     struct sv plain, struct buf *ret, struct err *e)
{
	auto_context EVP_CIPHER_CTX *c = NULL;
	char *at = buf_reserve(ret, SEALED_NONCE + plain.n + SEALED_TAG);

	if (!at)
		return err_kind(e, ERR_LIMIT, "the store is full");
	if (box_random(at, SEALED_NONCE, e) < 0)
		return -1;
	c = begin(key, at, with, true);
	if (!c || !seal_into(c, plain, (unsigned char *)at + SEALED_NONCE))
		return fault_set(e, "encrypt");
	ret->n += SEALED_NONCE + plain.n + SEALED_TAG;
	return 0;
}

int box_open(const char key[SEALED_KEY], const struct box_with *with,
	     const struct sealed_box *box, char *ret, struct err *e)
{
	auto_context EVP_CIPHER_CTX *c = begin(key, box->nonce.p, with, false);
	unsigned char tag[SEALED_TAG], *to = (unsigned char *)ret;
	int n = 0, last = 0;

	memcpy(tag, box->tag.p, sizeof tag);
	if (!c || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, sizeof tag,
				      tag) != 1 ||
	    (box->text.n && EVP_CipherUpdate(c, to, &n, bytes(box->text),
					     (int)box->text.n) != 1))
		return fault_set(e, "decrypt");
	if (EVP_CipherFinal_ex(c, to + n, &last) == 1)
		return 1;
	explicit_bzero(ret, box->text.n);
	return 0;
}

int box_derive(struct sv passphrase, struct sv salt,
	       const struct sealed_cost *cost, char ret[SEALED_KEY],
	       struct err *e)
{
	const uint64_t memory = sealed_memory(cost);

	if (!memory)
		return err_kind(e, ERR_BUG, "a cost that nobody pays");
	if (EVP_PBE_scrypt(passphrase.p, passphrase.n, bytes(salt), salt.n,
			   UINT64_C(1) << cost->log_n, cost->r, cost->p, memory,
			   (unsigned char *)ret, SEALED_KEY) != 1)
		return fault_set(e, "derive the passphrase's key");
	return 0;
}

/* One of each, of nothing. */
int box_start(struct err *e)
{
	const struct sealed_cost least = { .log_n = 10, .r = 1, .p = 1 };
	const struct box_with nothing = { 0 };
	auto_buf struct buf sealed = buf_new(64);
	char key[SEALED_KEY];

	if (fault_start(e) < 0 ||
	    box_derive(SV(""), SV("salt"), &least, key, e) < 0)
		return -1;
	return box_seal(key, &nothing, SV(""), &sealed, e);
}
