/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted roots: see issuers.h.
 *
 * The bundles stay mapped.  The first question parses each certificate once,
 * to note where it is and the hash of its subject, and keeps no other memory;
 * a question for a subject then parses those with that hash and hands them to
 * the store, which keeps them and is not asked again.  The pages of a mapping
 * are dropped when they have been read: the file has them.
 */
#include "issuers.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fault.h"
#include "own.h"
#include "sv.h"

enum { BUNDLES_MAX = 16, BUNDLE_SIZE_MAX = 16 << 20, ROOTS_MAX = 4096 };

struct bundle {
	char *p;	/* mapped */
	size_t n;
};

struct root {
	uint32_t offset;	/* of its PEM block */
	uint32_t subject;	/* a part of the hash of its name */
	uint16_t bundle;
};

struct issuers {
	struct bundle bundle[BUNDLES_MAX];
	unsigned n_bundles;
	bool indexed;
	struct root *root;	/* owned */
	unsigned n_roots;
	X509_LOOKUP_METHOD *method;
};

struct issuers *issuers_new(struct err *e)
{
	struct issuers *r = calloc(1, sizeof *r);

	if (!r)
		err_sys(e, "make the store of roots");
	return r;
}

void issuers_free(struct issuers *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n_bundles; i++)
		munmap(r->bundle[i].p, r->bundle[i].n);
	X509_LOOKUP_meth_free(r->method);
	free(r->root);
	free(r);
}

int issuers_add(struct issuers *r, int fd, struct err *e)
{
	struct bundle b;
	struct stat st;

	if (r->n_bundles == BUNDLES_MAX || r->indexed)
		return err_kind(e, ERR_LIMIT, "too many bundles of roots");
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat a bundle of roots");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > BUNDLE_SIZE_MAX)
		return err_kind(e, ERR_LIMIT, "a bundle of roots is no file "
				"of 1 byte to 16 MiB");
	b.n = (size_t)st.st_size;
	b.p = mmap(NULL, b.n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (b.p == MAP_FAILED)
		return err_sys(e, "map a bundle of roots");
	if (sv_find_sv(sv_of(b.p, b.n), SV("-----BEGIN ")) == b.n) {
		munmap(b.p, b.n);
		return err_kind(e, ERR_TLS, "a bundle of roots has no "
				"certificate in PEM form");
	}
	(void)madvise(b.p, b.n, MADV_DONTNEED);
	r->bundle[r->n_bundles++] = b;
	return 0;
}

static uint32_t subject_hash(const X509_NAME *name)
{
	/* SHA-1, as a hash table's function: equal names are compared anyway */
	return (uint32_t)X509_NAME_hash_ex(name, NULL, NULL, NULL);
}

/* Steps over the DER element at *p, or with `into` past its head only. */
static bool step(const unsigned char **p, const unsigned char *end, bool into)
{
	int tag, class;
	long n;

	if (*p >= end ||
	    ASN1_get_object(p, &n, &tag, &class, end - *p) & 0x80)
		return false;
	if (!into)
		*p += n;
	return true;
}

/*
 * The subject's hash alone: parsing the whole certificate would decode its
 * public key, which takes twenty times as long.
 */
static bool der_subject(const unsigned char *p, long n, uint32_t *ret_hash)
{
	const unsigned char *end = p + n;
	X509_NAME *name;

	/* Into the certificate, and into what is signed of it. */
	for (unsigned i = 0; i < 2; i++)
		if (!step(&p, end, true))
			return false;
	/* The version is left out in X.509 v1. */
	if (p < end && *p == 0xa0 && !step(&p, end, false))
		return false;
	/* Serial number, signature algorithm, issuer, validity. */
	for (unsigned i = 0; i < 4; i++)
		if (!step(&p, end, false))
			return false;
	name = d2i_X509_NAME(NULL, &p, end - p);
	if (!name)
		return false;
	*ret_hash = subject_hash(name);
	X509_NAME_free(name);
	return true;
}

static bool root_push(struct issuers *r, struct root root)
{
	if (r->n_roots == ROOTS_MAX)
		return false;
	if ((r->n_roots & (r->n_roots - 1)) == 0) {
		size_t cap = r->n_roots ? r->n_roots * 2ul : 1;
		void *grown = realloc(r->root, cap * sizeof *r->root);

		if (!grown)
			return false;
		r->root = grown;
	}
	r->root[r->n_roots++] = root;
	return true;
}

static void index_block(struct issuers *r, unsigned number, size_t at)
{
	const struct bundle *b = &r->bundle[number];
	BIO *bio = BIO_new_mem_buf(b->p + at, (int)(b->n - at));
	struct root root = { .offset = (uint32_t)at,
			     .bundle = (uint16_t)number };
	char *name = NULL, *header = NULL;
	unsigned char *der = NULL;
	long n = 0;

	/* One that cannot be parsed is no root. */
	if (bio && PEM_read_bio(bio, &name, &header, &der, &n) &&
	    der_subject(der, n, &root.subject))
		root_push(r, root);
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_free(der);
	BIO_free(bio);
}

static void index_bundle(struct issuers *r, unsigned number)
{
	const struct bundle *b = &r->bundle[number];
	struct sv mark = SV("-----BEGIN CERTIFICATE-----");
	size_t at = 0;

	for (;;) {
		at += sv_find_sv(sv_of(b->p + at, b->n - at), mark);
		if (at >= b->n)
			break;
		index_block(r, number, at);
		at += mark.n;
	}
	(void)madvise(b->p, b->n, MADV_DONTNEED);
}

static X509 *root_parse(const struct issuers *r, const struct root *root)
{
	const struct bundle *b = &r->bundle[root->bundle];
	BIO *bio = BIO_new_mem_buf(b->p + root->offset,
				   (int)(b->n - root->offset));
	X509 *x = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	(void)madvise(b->p, b->n, MADV_DONTNEED);
	return x;
}

/*
 * Finds the roots called name.  The store takes *ret for borrowed, although
 * setting it takes a reference: the store's own is the one that stays.
 */
static int on_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type,
		      const X509_NAME *name, X509_OBJECT *ret)
{
	struct issuers *r = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	uint32_t hash = subject_hash(name);
	int found = 0;

	if (type != X509_LU_X509)
		return 0;
	ERR_set_mark();
	for (unsigned i = 0; !r->indexed && i < r->n_bundles; i++)
		index_bundle(r, i);
	r->indexed = true;
	for (unsigned i = 0; i < r->n_roots; i++) {
		X509 *x;

		if (r->root[i].subject != hash)
			continue;
		x = root_parse(r, &r->root[i]);
		if (x && X509_NAME_cmp(X509_get_subject_name(x), name) == 0 &&
		    X509_STORE_add_cert(store, x)) {
			if (!found && X509_OBJECT_set1_X509(ret, x)) {
				X509_free(x);
				found = 1;
			}
		}
		X509_free(x);
	}
	ERR_pop_to_mark();
	return found;
}

int issuers_attach(struct issuers *r, X509_STORE *store, struct err *e)
{
	X509_LOOKUP *lookup;

	if (!r->method)
		r->method = X509_LOOKUP_meth_new("issuers");
	if (!r->method ||
	    !X509_LOOKUP_meth_set_get_by_subject(r->method, on_subject))
		return fault_set(e, "make the store of roots");
	lookup = X509_STORE_add_lookup(store, r->method);
	if (!lookup || !X509_LOOKUP_set_method_data(lookup, r))
		return fault_set(e, "make the store of roots");
	return 0;
}
