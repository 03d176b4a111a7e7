/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run's certificate authority: see authority.h.
 *
 * The private key lives in OpenSSL's secure heap: locked, out of core dumps,
 * between guard pages, and wiped when freed.  Certificates carry all that
 * RFC 5280 asks for, since strict verifiers (Python 3.13) insist on it.
 *
 * Extensions are built from their structures, not from text: a name reaches
 * the certificate as bytes and is never parsed as a configuration.
 */
#include "authority.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "fault.h"
#include "name.h"
#include "own.h"
#include "p256.h"

enum {
	HOUR = 3600,
	BACKDATED = HOUR,	/* clocks of the agent's programs may be late */
	CA_LIFE = 7 * 24 * HOUR,
	LEAF_LIFE = 24 * HOUR,
	SECURE_HEAP = 16384,
	KEY_ID = 20,
	CN_MAX = 64,		/* of RFC 5280, ub-common-name */
};

struct authority {
	EVP_PKEY *key;		/* private, in the secure heap */
	X509 *certificate;
	BIO *pem;
	X509 *leaf;	/* the last one; NULL until authority_set_key() */
	unsigned char id[KEY_ID];
};

/*
 * RFC 7093, method 1: the leftmost 160 bits of SHA-256 over the key's bits;
 * nothing depends on how it is made, and SHA-1 need not exist.
 */
static int set_key_id(X509 *x, unsigned char id[KEY_ID])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!X509_pubkey_digest(x, EVP_sha256(), digest, &n) || n < KEY_ID)
		return 0;
	memcpy(id, digest, KEY_ID);
	return 1;
}

/* Sets the key from its point.  X509_set_pubkey() would also bring more code
 * near bytes from edge. */
static int set_point(X509 *x, const unsigned char point[P256_POINT])
{
	unsigned char *copy = OPENSSL_memdup(point, P256_POINT);
	int ok = copy && X509_PUBKEY_set0_param(
		X509_get_X509_PUBKEY(x), OBJ_nid2obj(NID_X9_62_id_ecPublicKey),
		V_ASN1_OBJECT, OBJ_nid2obj(NID_X9_62_prime256v1), copy, P256_POINT);

	if (!ok)
		OPENSSL_free(copy);
	return ok;
}

static int add_extension(X509 *x, int nid, void *value, int critical)
{
	return value && X509_add1_ext_i2d(x, nid, value, critical,
					  X509V3_ADD_REPLACE) == 1;
}

static int add_subject_id(X509 *x, const unsigned char id[KEY_ID])
{
	ASN1_OCTET_STRING *s = ASN1_OCTET_STRING_new();
	int ok = s && ASN1_OCTET_STRING_set(s, id, KEY_ID) &&
		 add_extension(x, NID_subject_key_identifier, s, 0);

	ASN1_OCTET_STRING_free(s);
	return ok;
}

static int add_authority_id(X509 *x, const unsigned char id[KEY_ID])
{
	AUTHORITY_KEYID *a = AUTHORITY_KEYID_new();
	int ok = a && (a->keyid = ASN1_OCTET_STRING_new()) != NULL &&
		 ASN1_OCTET_STRING_set(a->keyid, id, KEY_ID) &&
		 add_extension(x, NID_authority_key_identifier, a, 0);

	AUTHORITY_KEYID_free(a);
	return ok;
}

/* Bits count from the most significant of the first byte: RFC 5280, 4.2.1.3. */
static int add_usage(X509 *x, int bit, int other_bit)
{
	ASN1_BIT_STRING *s = ASN1_BIT_STRING_new();
	int ok = s && ASN1_BIT_STRING_set_bit(s, bit, 1) &&
		 (other_bit < 0 || ASN1_BIT_STRING_set_bit(s, other_bit, 1)) &&
		 add_extension(x, NID_key_usage, s, 1);

	ASN1_BIT_STRING_free(s);
	return ok;
}

static int add_constraints(X509 *x, bool is_ca)
{
	BASIC_CONSTRAINTS *b = BASIC_CONSTRAINTS_new();
	int ok = b != NULL;

	if (ok && is_ca) {
		b->ca = 0xff;
		b->pathlen = ASN1_INTEGER_new();
		ok = b->pathlen && ASN1_INTEGER_set(b->pathlen, 0);
	}
	ok = ok && add_extension(x, NID_basic_constraints, b, 1);
	BASIC_CONSTRAINTS_free(b);
	return ok;
}

static int add_server_purpose(X509 *x)
{
	EXTENDED_KEY_USAGE *u = EXTENDED_KEY_USAGE_new();
	/* A static object: freeing it with the list does nothing. */
	int ok = u && sk_ASN1_OBJECT_push(u, OBJ_nid2obj(NID_server_auth)) &&
		 add_extension(x, NID_ext_key_usage, u, 0);

	EXTENDED_KEY_USAGE_free(u);
	return ok;
}

static int add_name(X509 *x, struct sv name)
{
	GENERAL_NAMES *list = GENERAL_NAMES_new();
	GENERAL_NAME *entry = GENERAL_NAME_new();
	ASN1_IA5STRING *s = ASN1_IA5STRING_new();
	int ok = list && entry && s &&
		 ASN1_STRING_set(s, name.p, (int)name.n);

	if (ok) {
		GENERAL_NAME_set0_value(entry, GEN_DNS, s);
		s = NULL;
		ok = sk_GENERAL_NAME_push(list, entry) > 0;
	}
	if (ok) {
		entry = NULL;
		ok = add_extension(x, NID_subject_alt_name, list, 0);
	}
	ASN1_IA5STRING_free(s);
	GENERAL_NAME_free(entry);
	GENERAL_NAMES_free(list);
	return ok;
}

static int add_text(X509_NAME *n, int nid, struct sv v)
{
	return X509_NAME_add_entry_by_NID(n, nid, MBSTRING_UTF8,
					  (const unsigned char *)v.p,
					  (int)v.n, -1, 0);
}

/* 126 random bits: positive and never zero. */
static int set_serial(X509 *x)
{
	unsigned char bytes[16];
	BIGNUM *n = NULL;
	int ok = RAND_bytes(bytes, sizeof bytes) == 1;

	bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40);
	ok = ok && (n = BN_bin2bn(bytes, sizeof bytes, NULL)) != NULL &&
	     BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) != NULL;
	BN_free(n);
	return ok;
}

/* What is new in each certificate. */
static int set_serial_and_life(X509 *x, long life)
{
	time_t now = time(NULL);

	return set_serial(x) &&
	       ASN1_TIME_set(X509_getm_notBefore(x), now - BACKDATED) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), now + life);
}

static int make_certificate(struct authority *a)
{
	X509 *x = a->certificate;
	X509_NAME *subject = X509_get_subject_name(x);
	unsigned char point[P256_POINT];
	size_t n = 0;

	return X509_set_version(x, X509_VERSION_3) &&
	       set_serial_and_life(x, CA_LIFE) &&
	       EVP_PKEY_get_octet_string_param(a->key, OSSL_PKEY_PARAM_PUB_KEY,
					       point, sizeof point, &n) &&
	       n == sizeof point && set_point(x, point) &&
	       add_text(subject, NID_commonName, SV("stockade run CA")) &&
	       X509_set_issuer_name(x, subject) &&
	       set_key_id(x, a->id) &&
	       add_constraints(x, true) &&
	       add_usage(x, 5 /* keyCertSign */, 6 /* cRLSign */) &&
	       add_subject_id(x, a->id) &&
	       add_authority_id(x, a->id) &&
	       X509_sign(x, a->key, EVP_sha256()) > 0;
}

struct authority *authority_new(struct err *e)
{
	struct authority *a;

	if (fault_start_signer(e) < 0)
		return NULL;
	/* 2: made but not locked, where RLIMIT_MEMLOCK is too small. */
	if (!CRYPTO_secure_malloc_initialized() &&
	    !CRYPTO_secure_malloc_init(SECURE_HEAP, 16)) {
		fault_set(e, "make a heap for the CA key");
		return NULL;
	}
	a = calloc(1, sizeof *a);
	if (!a) {
		err_sys(e, "make the CA");
		return NULL;
	}
	a->key = EVP_EC_gen("P-256");
	a->certificate = X509_new();
	a->pem = BIO_new(BIO_s_mem());
	if (!a->key || !a->certificate || !a->pem || !make_certificate(a) ||
	    !PEM_write_bio_X509(a->pem, a->certificate)) {
		fault_set(e, "make the CA");
		authority_free(a);
		return NULL;
	}
	return a;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	EVP_PKEY_free(a->key);
	X509_free(a->certificate);
	X509_free(a->leaf);
	BIO_free(a->pem);
	free(a);
}

struct sv authority_pem(const struct authority *a)
{
	char *p = NULL;
	long n = BIO_get_mem_data(a->pem, &p);

	return sv_of(p, n > 0 ? (size_t)n : 0);
}

/* All of a leaf that does not depend on its name. */
static int prepare_leaf(const struct authority *a, X509 *x,
			const unsigned char point[P256_POINT])
{
	X509_NAME *issuer = X509_get_subject_name(a->certificate);
	unsigned char id[KEY_ID];

	return X509_set_version(x, X509_VERSION_3) &&
	       set_point(x, point) &&
	       X509_set_issuer_name(x, issuer) &&
	       set_key_id(x, id) &&
	       add_constraints(x, false) &&
	       add_usage(x, 0 /* digitalSignature */, -1) &&
	       add_server_purpose(x) &&
	       add_subject_id(x, id) &&
	       add_authority_id(x, a->id);
}

int authority_set_key(struct authority *a, struct sv spki, struct err *e)
{
	static const struct sv prefix = SV(P256_SPKI);
	X509 *x;

	if (a->leaf)
		return err_kind(e, ERR_PROTO, "the leaf key is already set");
	if (!sv_starts(spki, prefix) || spki.n != P256_SPKI_SIZE ||
	    spki.p[prefix.n] != 4)
		return err_kind(e, ERR_PROTO, "the leaf key is not P-256");
	x = X509_new();
	if (!x || !prepare_leaf(a, x, (const unsigned char *)spki.p +
				      prefix.n)) {
		X509_free(x);
		return fault_set(e, "set the leaf key");
	}
	a->leaf = x;
	return 0;
}

/*
 * The organisation keeps the subject from being empty, which would make the
 * alternative name critical, where the name is too long for a common name.
 */
static int set_subject(X509 *x, struct sv name)
{
	X509_NAME *n = X509_NAME_new();
	int ok = n && add_text(n, NID_organizationName, SV("stockade")) &&
		 (name.n > CN_MAX || add_text(n, NID_commonName, name)) &&
		 X509_set_subject_name(x, n);

	X509_NAME_free(n);
	return ok;
}

/*
 * One object is changed and signed again for each name: making it anew costs
 * ten times as much, most of it to encode the same key.
 */
int authority_sign(struct authority *a, struct sv name, struct buf *der,
		   struct err *e)
{
	unsigned char *bytes = NULL;
	int n = -1;

	if (!a->leaf)
		return err_kind(e, ERR_PROTO, "there is no leaf key yet");
	if (!name_is_canonical(name))
		return err_kind(e, ERR_PROTO, "the name is not canonical");
	if (set_serial_and_life(a->leaf, LEAF_LIFE) &&
	    set_subject(a->leaf, name) && add_name(a->leaf, name) &&
	    X509_sign(a->leaf, a->key, EVP_sha256()) > 0)
		n = i2d_X509(a->leaf, &bytes);
	if (n <= 0)
		return fault_set(e, "sign a certificate");
	buf_put(der, sv_of((const char *)bytes, (size_t)n));
	OPENSSL_free(bytes);
	return buf_check(der, "certificate", e);
}
