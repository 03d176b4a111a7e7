/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's side: see server.h.
 *
 * The handshake is suspended in the ClientHello callback, not in the
 * certificate callback: it comes before anything is chosen or answered, sees
 * the extension as it was sent, and is the one place that may pick any alert.
 * It runs again for the ClientHello after HelloRetryRequest, which must name
 * the same server: the certificate was decided on the first.
 *
 * Certificates are kept in sets of WAYS, so that the memory is bounded and a
 * full set forgets its oldest; forgetting costs a signature, nothing else.
 */
#include "server.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <time.h>

#include "fault.h"
#include "own.h"
#include "p256.h"
#include "tls_private.h"

enum {
	SETS = 256, WAYS = 4,		/* 1024 names */
	TYPE_ECH = 0xfe0d,
	EXPIRES_EARLY = 3600,		/* seconds before it really does */
};

struct leaf {
	X509 *certificate;	/* owned; NULL: free */
	time_t expires;
	size_t name_n;
	char *name;		/* owned */
};

struct tls_server {
	SSL_CTX *ctx;
	EVP_PKEY *key;
	unsigned char spki[P256_SPKI_SIZE];
	struct leaf *sets[SETS];	/* of WAYS each, owned; NULL: empty */
	unsigned char oldest[SETS];
};

static unsigned be16(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/*
 * RFC 6066: a list, of which every client sends exactly one entry, a host
 * name.  Anything else is refused: two names are one too many to agree with.
 */
static bool parse_sni(const unsigned char *p, size_t n, struct sv *ret_name)
{
	if (n < 5 || be16(p) != n - 2 || p[2] != TLSEXT_NAMETYPE_host_name ||
	    be16(p + 3) != n - 5 || n - 5 == 0 || n - 5 > 255)
		return false;
	*ret_name = sv_of((const char *)p + 5, n - 5);
	return true;
}

static int on_client_hello(SSL *ssl, int *alert, void *unused)
{
	struct tls *t = SSL_get_app_data(ssl);
	const unsigned char *p;
	struct sv name = { 0 };
	size_t n;

	(void)unused;
	*alert = TLS_ALERT_DECODE_ERROR;
	if (SSL_client_hello_isv2(ssl))
		return SSL_CLIENT_HELLO_ERROR;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n) &&
	    !parse_sni(p, n, &name))
		return SSL_CLIENT_HELLO_ERROR;
	if (!t->has_hello) {
		t->has_hello = true;
		t->has_ech = SSL_client_hello_get0_ext(ssl, TYPE_ECH, &p, &n);
		if (name.n)
			memcpy(t->name, name.p, name.n);
		t->name_n = name.n;
	}
	*alert = TLS_ALERT_ILLEGAL_PARAMETER;
	if (!sv_eq(name, tls_sni(t)))
		return SSL_CLIENT_HELLO_ERROR;
	*alert = (int)t->refusal;
	if (t->refusal)
		return SSL_CLIENT_HELLO_ERROR;
	return t->has_certificate ? SSL_CLIENT_HELLO_SUCCESS
				  : SSL_CLIENT_HELLO_RETRY;
}

static bool offers(struct sv offer, struct sv protocol,
		   const unsigned char **ret, unsigned char *ret_n)
{
	while (offer.n) {
		unsigned char n = (unsigned char)offer.p[0];
		struct sv one = sv_head(sv_from(offer, 1), n);

		if (one.n == n && sv_eq(one, protocol)) {
			*ret = (const unsigned char *)one.p;
			*ret_n = n;
			return true;
		}
		offer = sv_from(offer, 1u + n);
	}
	return false;
}

static int on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_n,
		   const unsigned char *offer, unsigned n, void *unused)
{
	struct tls *t = SSL_get_app_data(ssl);
	struct sv offered = sv_of((const char *)offer, n);

	(void)unused;
	if (offers(offered, SV("h2"), ret, ret_n) ||
	    offers(offered, SV("http/1.1"), ret, ret_n))
		return SSL_TLSEXT_ERR_OK;
	t->has_alpn_clash = true;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool put_spki(const EVP_PKEY *key, unsigned char ret[P256_SPKI_SIZE])
{
	unsigned char *point = ret + P256_SPKI_SIZE - P256_POINT;
	size_t n = 0;

	memcpy(ret, P256_SPKI, P256_SPKI_SIZE - P256_POINT);
	return EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY,
					       point, P256_POINT, &n) &&
	       n == P256_POINT;
}

static int set_up(struct tls_server *s, struct err *e)
{
	s->ctx = SSL_CTX_new(TLS_server_method());
	s->key = EVP_EC_gen("P-256");
	if (!s->ctx || !s->key || !SSL_CTX_use_PrivateKey(s->ctx, s->key))
		return fault_set(e, "make the leaf key");
	if (!put_spki(s->key, s->spki))
		return fault_set(e, "encode the leaf key");
	if (tls_context_(s->ctx, e) < 0)
		return -1;
	SSL_CTX_set_options(s->ctx, SSL_OP_NO_TICKET |
				    SSL_OP_CIPHER_SERVER_PREFERENCE |
				    SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_session_cache_mode(s->ctx, SSL_SESS_CACHE_OFF);
	if (!SSL_CTX_set_num_tickets(s->ctx, 0))
		return fault_set(e, "set up TLS");
	SSL_CTX_set_client_hello_cb(s->ctx, on_client_hello, NULL);
	SSL_CTX_set_alpn_select_cb(s->ctx, on_alpn, NULL);
	return 0;
}

struct tls_server *tls_server_new(struct err *e)
{
	struct tls_server *s;

	if (tls_start_(e) < 0)
		return NULL;
	s = calloc(1, sizeof *s);
	if (!s) {
		err_sys(e, "make the TLS server");
		return NULL;
	}
	if (set_up(s, e) < 0) {
		tls_server_free(s);
		return NULL;
	}
	return s;
}

static void leaf_clear(struct leaf *l)
{
	X509_free(l->certificate);
	free(l->name);
	*l = (struct leaf){ 0 };
}

void tls_server_free(struct tls_server *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SETS * WAYS; i++)
		if (s->sets[i / WAYS])
			leaf_clear(&s->sets[i / WAYS][i % WAYS]);
	for (unsigned i = 0; i < SETS; i++)
		free(s->sets[i]);
	SSL_CTX_free(s->ctx);
	EVP_PKEY_free(s->key);
	free(s);
}

struct sv tls_server_spki(const struct tls_server *s)
{
	return sv_of((const char *)s->spki, sizeof s->spki);
}

struct tls *tls_server_accept(struct tls_server *s, int fd, struct err *e)
{
	struct tls *t = tls_new_(s->ctx, fd, e);

	if (!t)
		return NULL;
	t->server = s;
	SSL_set_accept_state(t->ssl);
	return t;
}

struct sv tls_sni(const struct tls *t)
{
	return sv_of(t->name, t->name_n);
}

bool tls_has_ech(const struct tls *t)
{
	return t->has_ech;
}

void tls_refuse(struct tls *t, enum tls_alert alert)
{
	t->refusal = alert ? alert : TLS_ALERT_ACCESS_DENIED;
}

static unsigned set_of(struct sv name)
{
	uint32_t h = 2166136261u;	/* FNV-1a */

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return (h ^ h >> 16) % SETS;
}

static struct leaf *leaf_find(struct tls_server *s, struct sv name)
{
	struct leaf *set = s->sets[set_of(name)];

	for (unsigned i = 0; set && i < WAYS; i++)
		if (set[i].certificate &&
		    sv_eq(name, sv_of(set[i].name, set[i].name_n)))
			return &set[i];
	return NULL;
}

/* The place for name: its own, a free one, or the set's oldest, emptied.  NULL:
 * no memory. */
static struct leaf *leaf_place(struct tls_server *s, struct sv name)
{
	unsigned set = set_of(name);
	struct leaf *l = leaf_find(s, name);

	if (!s->sets[set])
		s->sets[set] = calloc(WAYS, sizeof(**s->sets));
	if (!s->sets[set])
		return NULL;
	for (unsigned i = 0; !l && i < WAYS; i++)
		if (!s->sets[set][i].certificate)
			l = &s->sets[set][i];
	if (!l) {
		l = &s->sets[set][s->oldest[set]];
		s->oldest[set] = (unsigned char)((s->oldest[set] + 1) % WAYS);
	}
	leaf_clear(l);
	return l;
}

static int use(struct tls *t, X509 *x, struct err *e)
{
	if (!SSL_use_certificate(t->ssl, x))
		return fault_set(e, "use the certificate");
	t->has_certificate = true;
	return 0;
}

bool tls_use_cached(struct tls *t, struct sv name)
{
	struct leaf *l = leaf_find(t->server, name);
	struct err ignored;

	return l && time(NULL) < l->expires &&
	       use(t, l->certificate, &ignored) == 0;
}

/* The last second at which the certificate is used, or 0. */
static time_t expiry(const X509 *x)
{
	int days = 0, seconds = 0;

	if (!ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(x)))
		return 0;
	return time(NULL) + (time_t)days * 86400 + seconds - EXPIRES_EARLY;
}

int tls_use_certificate(struct tls *t, struct sv name, struct sv der,
			struct err *e)
{
	const unsigned char *p = (const unsigned char *)der.p;
	auto_free char *copy = NULL;
	struct leaf *l;
	X509 *x = NULL;

	if (der.n > 0 && der.n <= 65536)
		x = d2i_X509(NULL, &p, (long)der.n);
	if (!x || (const char *)p != der.p + der.n ||
	    EVP_PKEY_eq(X509_get0_pubkey(x), t->server->key) != 1) {
		X509_free(x);
		ERR_clear_error();
		return err_kind(e, ERR_PROTO,
				"the certificate is not for our key");
	}
	copy = malloc(name.n + 1);
	l = copy ? leaf_place(t->server, name) : NULL;
	if (!l || use(t, x, e) < 0) {
		X509_free(x);
		return l ? -1 : err_sys(e, "keep the certificate");
	}
	if (name.n)
		memcpy(copy, name.p, name.n);
	*l = (struct leaf){ .certificate = x, .expires = expiry(x),
			    .name = steal_ptr(&copy), .name_n = name.n };
	return 0;
}
