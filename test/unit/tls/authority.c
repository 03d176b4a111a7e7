/* SPDX-License-Identifier: Apache-2.0 */
#include "authority.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "pki.h"
#include "server.h"
#include "tap.h"

static struct authority *authority;
static struct sv spki;

static X509 *ca_certificate(void)
{
	struct sv pem = authority_pem(authority);
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	BIO_free(bio);
	return x;
}

static X509 *sign(const char *name)
{
	auto_buf struct buf der = buf_new(4096);
	struct err e = { 0 };
	const unsigned char *p;

	if (authority_sign(authority, sv_str(name), &der, &e) < 0)
		return NULL;
	p = (const unsigned char *)der.p;
	return d2i_X509(NULL, &p, (long)der.n);
}

/* As the strictest client does it. */
static int verify(X509 *x, X509 *ca, const char *host)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int code;

	X509_STORE_add_cert(store, ca);
	X509_STORE_set_flags(store, X509_V_FLAG_X509_STRICT |
				    X509_V_FLAG_CHECK_SS_SIGNATURE);
	X509_STORE_CTX_init(ctx, store, x, NULL);
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set1_host(param, host, 0);
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set_auth_level(param, 2);
	X509_VERIFY_PARAM_set_hostflags(param,
					X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	X509_verify_cert(ctx);
	code = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return code;
}

static void test_sign_without_key_fails(void)
{
	auto_buf struct buf der = buf_new(4096);
	struct err e = { 0 };

	CHECK_INT(authority_sign(authority, SV("a.example"), &der, &e), -1);
	CHECK_INT(der.n, 0);
}

static void test_set_key_other_than_p256_fails(void)
{
	struct pki *rsa = pki_make(&(struct pki_spec){ .rsa_bits = 2048 }, NULL);
	unsigned char *der = NULL;
	int n = i2d_PUBKEY(rsa->key, &der);
	struct err e = { 0 };
	char longer[512];

	CHECK_INT(authority_set_key(authority, sv_of((char *)der, (size_t)n),
				    &e), -1);
	CHECK_INT(authority_set_key(authority, SV(""), &e), -1);
	CHECK_INT(authority_set_key(authority, sv_head(spki, spki.n - 1), &e),
		  -1);
	memcpy(longer, spki.p, spki.n);
	longer[spki.n] = 0;
	CHECK_INT(authority_set_key(authority, sv_of(longer, spki.n + 1), &e),
		  -1);
	OPENSSL_free(der);
	pki_free(rsa);
}

static void test_set_key_is_taken_once(void)
{
	struct err e = { 0 };

	CHECK_INT(authority_set_key(authority, spki, &e), 0);
	CHECK_INT(authority_set_key(authority, spki, &e), -1);
}

static void test_sign_verifies_strictly_for_that_name_only(void)
{
	X509 *ca = ca_certificate(), *x = sign("api.good.example");

	CHECK(ca && x);
	CHECK_INT(verify(x, ca, "api.good.example"), X509_V_OK);
	CHECK_INT(verify(x, ca, "good.example"), X509_V_ERR_HOSTNAME_MISMATCH);
	CHECK_INT(verify(x, ca, "a.api.good.example"),
		  X509_V_ERR_HOSTNAME_MISMATCH);
	X509_free(x);
	X509_free(ca);
}

static void test_sign_long_name_verifies(void)
{
	X509 *ca = ca_certificate();
	char name[254] = { 0 };
	X509 *x;

	for (size_t i = 0; i < 253; i++)
		name[i] = i % 2 ? '.' : 'a';
	x = sign(name);
	CHECK(x != NULL);
	CHECK_INT(verify(x, ca, name), X509_V_OK);
	X509_free(x);
	X509_free(ca);
}

static void test_sign_of_another_run_does_not_verify(void)
{
	struct err e = { 0 };
	struct authority *other = authority_new(&e), *ours = authority;
	X509 *ca = ca_certificate(), *x;

	CHECK_INT(authority_set_key(other, spki, &e), 0);
	authority = other;
	x = sign("good.example");
	authority = ours;
	CHECK(x != NULL);
	CHECK(verify(x, ca, "good.example") != X509_V_OK);
	X509_free(x);
	X509_free(ca);
	authority_free(other);
}

static void test_sign_name_not_canonical_fails(void)
{
	CHECK(sign("*.example") == NULL);
	CHECK(sign("") == NULL);
	CHECK(sign("10.0.0.1") == NULL);
	CHECK(sign("A.example") == NULL);
	CHECK(sign("a.example,DNS:b.example") == NULL);
	X509 *x = sign("a.example");

	CHECK(x != NULL);
	X509_free(x);
}

static void test_private_key_is_in_the_secure_heap(void)
{
	struct err e = { 0 };
	size_t before = CRYPTO_secure_used();
	struct authority *other = authority_new(&e);

	/* A P-256 key has 32 bytes. */
	CHECK(CRYPTO_secure_used() >= before + 32);
	authority_free(other);
	CHECK_INT(CRYPTO_secure_used(), before);
}

static void test_ca_is_limited(void)
{
	X509 *ca = ca_certificate();
	char *cn = X509_NAME_oneline(X509_get_subject_name(ca), NULL, 0);

	CHECK_SV(sv_str(cn), "/CN=stockade run CA");
	CHECK_INT(X509_check_ca(ca), 1);
	CHECK_INT(X509_get_pathlen(ca), 0);
	CHECK_INT(X509_get_key_usage(ca), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	CHECK(X509_get_ext_by_critical(ca, 1, -1) >= 0);
	OPENSSL_free(cn);
	X509_free(ca);
}

static void test_leaf_can_only_serve(void)
{
	X509 *x = sign("good.example"), *y = sign("good.example");

	CHECK_INT(X509_check_ca(x), 0);
	CHECK_INT(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE);
	CHECK_INT(X509_get_extended_key_usage(x), XKU_SSL_SERVER);
	CHECK(ASN1_INTEGER_cmp(X509_get0_serialNumber(x),
			       X509_get0_serialNumber(y)) != 0);
	X509_free(x);
	X509_free(y);
}

int main(void)
{
	struct err e = { 0 };
	struct tls_server *server = tls_server_new(&e);

	authority = authority_new(&e);
	spki = tls_server_spki(server);
	RUN(test_sign_without_key_fails);
	RUN(test_set_key_other_than_p256_fails);
	RUN(test_set_key_is_taken_once);
	RUN(test_sign_verifies_strictly_for_that_name_only);
	RUN(test_sign_long_name_verifies);
	RUN(test_sign_of_another_run_does_not_verify);
	RUN(test_sign_name_not_canonical_fails);
	RUN(test_private_key_is_in_the_secure_heap);
	RUN(test_ca_is_limited);
	RUN(test_leaf_can_only_serve);
	tls_server_free(server);
	authority_free(authority);
	return tap_done();
}
