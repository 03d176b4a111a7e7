/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origin's side: see client.h.
 *
 * X509_V_FLAG_X509_STRICT is not set: it refuses roots in today's bundles that
 * lack a key identifier, and what it adds concerns how well a CA follows a
 * form, not whom a certificate speaks for.  Everything else is refused by
 * default or by level 2; partial chains are off, so that only a self-signed
 * certificate in the bundles is a root.
 */
#include "client.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "buf.h"
#include "fault.h"
#include "name.h"
#include "own.h"
#include "issuers.h"
#include "tls_private.h"

enum { SESSIONS = 32, NAMES_SHOWN = 4, SUBJECT_SHOWN = 120 };

/* The newest session of a host that offered one. */
struct kept {
	SSL_SESSION *session;	/* owned; NULL: free */
	char host[256];
};

struct tls_client {
	SSL_CTX *ctx;		/* NULL before the first connection */
	struct issuers *roots;
	struct kept kept[SESSIONS];
	unsigned oldest;
};

/* What a stranger's certificate says, for a message: printable, and short. */
static void put_foreign(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0; i < n && i < SUBJECT_SHOWN; i++)
		buf_putc(b, p[i] > ' ' && p[i] < 127 ? p[i] : '?');
	if (n > SUBJECT_SHOWN)
		buf_puts(b, "...");
}

static void put_name(struct buf *b, const X509_NAME *name)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *p = NULL;
	long n = 0;

	/* Escapes what is not printable ASCII. */
	if (bio && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0)
		n = BIO_get_mem_data(bio, &p);
	if (n > SUBJECT_SHOWN)
		buf_printf(b, "\"%.*s...\"", SUBJECT_SHOWN, p);
	else
		buf_printf(b, "\"%.*s\"", (int)n, p ? p : "");
	BIO_free(bio);
}

static void put_time(struct buf *b, const ASN1_TIME *at)
{
	struct tm tm;
	char text[32];

	if (ASN1_TIME_to_tm(at, &tm) &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
		buf_puts(b, text);
	else
		buf_puts(b, "an unreadable time");
}

static void put_alt_names(struct buf *b, const X509 *x)
{
	GENERAL_NAMES *list = X509_get_ext_d2i(x, NID_subject_alt_name, NULL,
					       NULL);
	int n = list ? sk_GENERAL_NAME_num(list) : 0, shown = 0;

	for (int i = 0; i < n && shown < NAMES_SHOWN; i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(list, i);
		const ASN1_STRING *s = name->d.ia5;

		if (name->type != GEN_DNS)
			continue;
		buf_puts(b, shown++ ? ", " : "");
		put_foreign(b, (const char *)ASN1_STRING_get0_data(s),
			    (size_t)ASN1_STRING_length(s));
	}
	if (shown == 0)
		buf_puts(b, "no DNS name");
	else if (shown < n)
		buf_puts(b, ", ...");
	GENERAL_NAMES_free(list);
}

static void put_reason(struct buf *b, int code, const X509 *x)
{
	switch (code) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		buf_puts(b, "expired on ");
		put_time(b, X509_get0_notAfter(x));
		break;
	case X509_V_ERR_CERT_NOT_YET_VALID:
		buf_puts(b, "is not valid before ");
		put_time(b, X509_get0_notBefore(x));
		break;
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		buf_puts(b, "is self-signed and not among the roots");
		break;
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		buf_puts(b, "is a root that is not among the trusted roots");
		break;
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		buf_puts(b, "has an unknown issuer ");
		put_name(b, X509_get_issuer_name(x));
		buf_puts(b, " (no such root, or the server does not send "
			    "the intermediate)");
		break;
	case X509_V_ERR_HOSTNAME_MISMATCH:
		buf_puts(b, "is for another host (");
		put_alt_names(b, x);
		buf_puts(b, ")");
		break;
	case X509_V_ERR_EE_KEY_TOO_SMALL:
	case X509_V_ERR_CA_KEY_TOO_SMALL:
		buf_puts(b, "has a key that is too small");
		break;
	case X509_V_ERR_CA_MD_TOO_WEAK:
		buf_puts(b, "is signed with a weak digest");
		break;
	case X509_V_ERR_INVALID_PURPOSE:
		buf_puts(b, "is not for TLS servers");
		break;
	case X509_V_ERR_INVALID_CA:
		buf_puts(b, "signs another but is not a CA");
		break;
	case X509_V_ERR_PATH_LENGTH_EXCEEDED:
		buf_puts(b, "allows fewer CAs below it");
		break;
	default:
		buf_printf(b, "is refused: %s",
			   X509_verify_cert_error_string(code));
		break;
	}
}

/*
 * Called for each certificate of a chain and each fault: notes the first
 * fault, changes no outcome.
 */
static int on_verify(int ok, X509_STORE_CTX *chain)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(
		chain, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls *t = ssl ? SSL_get_app_data(ssl) : NULL;
	const X509 *x = X509_STORE_CTX_get_current_cert(chain);
	int code = X509_STORE_CTX_get_error(chain);
	auto_buf struct buf b = buf_new(400);

	if (ok || !t || t->verdict)
		return ok;
	if (X509_STORE_CTX_get_error_depth(chain) == 0) {
		buf_printf(&b, "the certificate of %s ", t->name);
	} else {
		buf_printf(&b, "in the chain of %s, ", t->name);
		if (x)
			put_name(&b, X509_get_subject_name(x));
		buf_puts(&b, " ");
	}
	if (x)
		put_reason(&b, code, x);
	else
		buf_printf(&b, "is refused: %s",
			   X509_verify_cert_error_string(code));
	t->verdict = calloc(1, sizeof *t->verdict);
	if (t->verdict)
		err_kind(t->verdict, ERR_TLS, "%.*s", SV_FMT(buf_sv(&b)));
	return ok;
}

static void kept_clear(struct kept *k)
{
	SSL_SESSION_free(k->session);
	*k = (struct kept){ 0 };
}

static struct kept *kept_find(struct tls_client *c, const char *host)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		if (c->kept[i].session && strcmp(c->kept[i].host, host) == 0)
			return &c->kept[i];
	return NULL;
}

/*
 * Keeps a copy; the last one of its host replaces.  OpenSSL's own is marked as
 * not to be resumed where a connection ends without notice, as origins and dial
 * end most of them, though since TLS 1.1 that is no reason.
 */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
	struct tls *t = SSL_get_app_data(ssl);
	SSL_SESSION *copy;
	struct kept *k;

	if (!t || !t->client || !SSL_SESSION_is_resumable(session))
		return 0;
	copy = SSL_SESSION_dup(session);
	if (!copy)
		return 0;
	k = kept_find(t->client, t->name);
	if (!k) {
		k = &t->client->kept[t->client->oldest];
		t->client->oldest = (t->client->oldest + 1) % SESSIONS;
	}
	kept_clear(k);
	k->session = copy;
	memcpy(k->host, t->name, sizeof k->host);
	return 0;
}

void tls_client_forget_(struct tls *t)
{
	struct kept *k = kept_find(t->client, t->name);

	if (k)
		kept_clear(k);
}

/* At the first connection: until then a context is 300 KiB for nothing. */
static int set_up(struct tls_client *c, struct err *e)
{
	SSL_CTX *ctx;

	if (c->ctx)
		return 0;
	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx)
		return fault_set(e, "set up TLS");
	if (tls_context_(ctx, e) < 0 ||
	    issuers_attach(c->roots, SSL_CTX_get_cert_store(ctx), e) < 0) {
		SSL_CTX_free(ctx);
		return -1;
	}
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, on_verify);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
					    SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, on_session);
	c->ctx = ctx;
	return 0;
}

struct tls_client *tls_client_new(struct err *e)
{
	struct tls_client *c;

	if (tls_start_(e) < 0)
		return NULL;
	c = calloc(1, sizeof *c);
	if (!c) {
		err_sys(e, "make the TLS client");
		return NULL;
	}
	c->roots = issuers_new(e);
	if (!c->roots) {
		free(c);
		return NULL;
	}
	return c;
}

void tls_client_free(struct tls_client *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < SESSIONS; i++)
		kept_clear(&c->kept[i]);
	SSL_CTX_free(c->ctx);
	issuers_free(c->roots);
	free(c);
}

int tls_client_roots(struct tls_client *c, int fd, struct err *e)
{
	return issuers_add(c->roots, fd, e);
}

/* A TLS 1.3 ticket is used once, so that connections cannot be linked. */
static int resume(struct tls *t)
{
	struct kept *k = kept_find(t->client, t->name);
	int ok;

	if (!k)
		return 1;
	ok = SSL_set_session(t->ssl, k->session);
	if (SSL_SESSION_get_protocol_version(k->session) >= TLS1_3_VERSION)
		kept_clear(k);
	return ok;
}

struct tls *tls_client_connect(struct tls_client *c, int fd, struct sv host,
			       bool h2, struct err *e)
{
	static const unsigned char both[] = "\x02h2\x08http/1.1";
	struct sv alpn = sv_from(sv_of((const char *)both, sizeof both - 1),
				 h2 ? 0 : 3);
	X509_VERIFY_PARAM *param;
	struct tls *t;

	/* An empty name would switch the check off, ".x" would widen it. */
	if (!name_is_canonical(host)) {
		err_kind(e, ERR_BUG, "the host is not canonical");
		return NULL;
	}
	if (set_up(c, e) < 0)
		return NULL;
	t = tls_new_(c->ctx, fd, e);
	if (!t)
		return NULL;
	t->client = c;
	memcpy(t->name, host.p, host.n);
	t->name_n = host.n;
	SSL_set_connect_state(t->ssl);
	param = SSL_get0_param(t->ssl);
	X509_VERIFY_PARAM_set_hostflags(param,
					X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
					X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (!X509_VERIFY_PARAM_set1_host(param, host.p, host.n) ||
	    !X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER) ||
	    !SSL_set_tlsext_host_name(t->ssl, t->name) ||
	    SSL_set_alpn_protos(t->ssl, (const unsigned char *)alpn.p,
				(unsigned)alpn.n) != 0 ||
	    !resume(t)) {
		fault_set(e, "make a TLS connection");
		tls_free(t);
		return NULL;
	}
	return t;
}
