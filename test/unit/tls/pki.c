/* SPDX-License-Identifier: Apache-2.0 */
#include "pki.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { DAY = 86400 };

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	must(ext && X509_add_ext(x, ext, -1));
	X509_EXTENSION_free(ext);
}

/* A SAN whose bytes no text form can express. */
static void add_nul_san(X509 *x)
{
	static const unsigned char der[] =
		"\x30\x1c\x82\x1agood.example\0.evil.example";
	ASN1_OCTET_STRING *s = ASN1_OCTET_STRING_new();
	X509_EXTENSION *ext;

	must(s && ASN1_OCTET_STRING_set(s, der, sizeof der - 1));
	ext = X509_EXTENSION_create_by_NID(NULL, NID_subject_alt_name, 0, s);
	must(ext && X509_add_ext(x, ext, -1));
	X509_EXTENSION_free(ext);
	ASN1_OCTET_STRING_free(s);
}

static void add_unknown(X509 *x, const char *oid)
{
	ASN1_OBJECT *o = OBJ_txt2obj(oid, 1);
	ASN1_OCTET_STRING *s = ASN1_OCTET_STRING_new();
	X509_EXTENSION *ext;

	must(o && s && ASN1_OCTET_STRING_set(s, (const void *)"\5\0", 2));
	ext = X509_EXTENSION_create_by_OBJ(NULL, o, 1, s);
	must(ext && X509_add_ext(x, ext, -1));
	X509_EXTENSION_free(ext);
	ASN1_OCTET_STRING_free(s);
	ASN1_OBJECT_free(o);
}

static void add_extensions(X509 *x, X509 *issuer, const struct pki_spec *spec)
{
	const char *eku = spec->eku ? spec->eku : "serverAuth";
	const char *san = spec->san ? spec->san : "DNS:good.example";

	extend(x, issuer, NID_basic_constraints,
	       spec->constraints ? spec->constraints : "critical,CA:FALSE");
	extend(x, issuer, NID_subject_key_identifier, "hash");
	if (issuer != x)
		extend(x, issuer, NID_authority_key_identifier, "keyid");
	if (spec->constraints && strstr(spec->constraints, "CA:TRUE"))
		extend(x, issuer, NID_key_usage, "critical,keyCertSign");
	else if (*eku)
		extend(x, issuer, NID_ext_key_usage, eku);
	if (spec->nul_in_san)
		add_nul_san(x);
	else if (*san)
		extend(x, issuer, NID_subject_alt_name, san);
	if (spec->critical_oid)
		add_unknown(x, spec->critical_oid);
}

struct pki *pki_make(const struct pki_spec *spec, const struct pki *issuer)
{
	struct pki *p = calloc(1, sizeof *p);
	const char *cn = spec->cn ? spec->cn : "good.example";
	time_t now = time(NULL);
	uint64_t serial = 0;

	must(p != NULL);
	p->x = X509_new();
	p->key = spec->rsa_bits ? EVP_RSA_gen((unsigned)spec->rsa_bits)
				: EVP_EC_gen("P-256");
	must(p->x && p->key && X509_set_version(p->x, X509_VERSION_3) &&
	     RAND_bytes((unsigned char *)&serial, 7) == 1 &&
	     ASN1_INTEGER_set_uint64(X509_get_serialNumber(p->x), serial));
	ASN1_TIME_set(X509_getm_notBefore(p->x),
		      now + DAY * (spec->from_days ? spec->from_days : -1));
	ASN1_TIME_set(X509_getm_notAfter(p->x),
		      now + DAY * (spec->to_days ? spec->to_days : 30));
	X509_NAME_add_entry_by_txt(X509_get_subject_name(p->x), "CN",
				   MBSTRING_UTF8, (const unsigned char *)cn,
				   -1, -1, 0);
	must(X509_set_pubkey(p->x, p->key) &&
	     X509_set_issuer_name(p->x, X509_get_subject_name(
				      issuer ? issuer->x : p->x)));
	add_extensions(p->x, issuer ? issuer->x : p->x, spec);
	must(X509_sign(p->x, issuer ? issuer->key : p->key,
		       EVP_get_digestbyname(spec->digest ? spec->digest
							 : "SHA256")) > 0);
	return p;
}

void pki_free(struct pki *p)
{
	X509_free(p->x);
	EVP_PKEY_free(p->key);
	free(p);
}

int pki_bundle_fd(struct pki *const *list, unsigned n)
{
	int fd = memfd_create("roots", MFD_CLOEXEC);
	BIO *bio = BIO_new_fd(fd, BIO_NOCLOSE);

	must(fd >= 0 && bio);
	BIO_puts(bio, "# a comment, as bundles have them\n");
	for (unsigned i = 0; i < n; i++)
		must(PEM_write_bio_X509(bio, list[i]->x));
	BIO_free(bio);
	return fd;
}

void pki_sockets(int ret_fds[2])
{
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
			ret_fds) == 0);
}

SSL_CTX *pki_context(bool is_server)
{
	SSL_CTX *ctx = SSL_CTX_new(is_server ? TLS_server_method()
					     : TLS_client_method());

	must(ctx && SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0"));
	SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	SSL_CTX_set_security_level(ctx, 0);
	return ctx;
}

SSL *pki_peer(SSL_CTX *ctx, int fd, bool is_server)
{
	SSL *ssl = SSL_new(ctx);

	must(ssl && SSL_set_fd(ssl, fd));
	if (is_server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	return ssl;
}
