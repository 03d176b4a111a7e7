/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: see tls.h. */
#include "tls.h"

#include <openssl/err.h>
#include <signal.h>

#include "fault.h"
#include "own.h"
#include "server.h"
#include "tls_private.h"

enum {
	RECORDS_AHEAD = 4,
	UNUSED = 3,		/* OpenSSL aligns what is behind a record's head */
};

int tls_start_(struct err *e)
{
	if (fault_start(e) < 0)
		return -1;
	/* Before any SSL_CTX_new(), which would load them. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_SSL_STRINGS |
			     OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return fault_set(e, "start libssl");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return err_sys(e, "ignore SIGPIPE");
	return 0;
}

/* Remembers the peer's fatal alert: it tells why a handshake failed. */
static void on_event(const SSL *ssl, int where, int value)
{
	struct tls *t = SSL_get_app_data(ssl);

	if (t && (where & SSL_CB_READ_ALERT) == SSL_CB_READ_ALERT &&
	    value >> 8 == SSL3_AL_FATAL)
		t->alert = value & 0xff;
}

int tls_context_(SSL_CTX *ctx, struct err *e)
{
	/* An array, since OpenSSL's macro casts constness away. */
	char groups[] = "X25519:P-256:P-384";

	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION |
				 SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS |
			      SSL_MODE_ENABLE_PARTIAL_WRITE |
			      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* One system call for several records, not two for each; tls_pending()
	 * allows for it. */
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_security_level(ctx, 2);
	SSL_CTX_set_info_callback(ctx, on_event);
	if (!SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
	    !SSL_CTX_set1_groups_list(ctx, groups) ||
	    !SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:"
					   "TLS_AES_256_GCM_SHA384:"
					   "TLS_CHACHA20_POLY1305_SHA256") ||
	    !SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20"))
		return fault_set(e, "set up TLS");
	return 0;
}

struct tls *tls_new_(SSL_CTX *ctx, int fd, struct err *e)
{
	struct tls *t = calloc(1, sizeof *t);
	BIO *bio = NULL;

	if (!t) {
		err_sys(e, "make a TLS connection");
		return NULL;
	}
	t->alert = -1;
	t->socket.fd = fd;
	t->ssl = SSL_new(ctx);
	if (t->ssl)
		bio = socket_bio(&t->socket);
	if (!bio || !SSL_set_app_data(t->ssl, t)) {
		fault_set(e, "make a TLS connection");
		BIO_free(bio);
		tls_free(t);
		return NULL;
	}
	SSL_set_bio(t->ssl, bio, bio);
	return t;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	socket_fini(&t->socket);
	free(t->verdict);
	free(t);
}

static bool is_distrust(int alert)
{
	return alert == SSL_AD_BAD_CERTIFICATE ||
	       alert == SSL_AD_UNSUPPORTED_CERTIFICATE ||
	       alert == SSL_AD_CERTIFICATE_UNKNOWN ||
	       alert == SSL_AD_UNKNOWN_CA;
}

bool tls_is_distrusted(const struct tls *t)
{
	return t->server && t->has_certificate && is_distrust(t->alert);
}

bool tls_is_doubted(const struct tls *t)
{
	return t->server && t->has_certificate && t->cut && !t->has_read;
}

/* Why the connection failed, the more telling reasons first; -1. */
static int explain(const struct tls *t, const char *what, struct err *e)
{
	int alert = t->alert;

	if (t->verdict) {
		*e = *t->verdict;
		return -1;
	}
	if (tls_is_distrusted(t))
		return err_kind(e, ERR_TLS, "%s: the client does not trust "
				"stockade's CA (it pins a certificate or has "
				"its own roots): alert %d, %s", what, alert,
				SSL_alert_desc_string_long(alert));
	if (alert >= 0)
		return err_kind(e, ERR_TLS, "%s: the peer refused: alert %d, "
				"%s", what, alert,
				SSL_alert_desc_string_long(alert));
	if (t->refusal)
		return err_kind(e, ERR_TLS, "%s: refused with alert %d, %s",
				what, (int)t->refusal,
				SSL_alert_desc_string_long((int)t->refusal));
	if (t->has_alpn_clash)
		return err_kind(e, ERR_TLS, "%s: the client offers other "
				"protocols only, not http/1.1 (ALPN)", what);
	if (tls_is_doubted(t))
		return err_kind(e, ERR_TLS, "%s: the client hung up on our "
				"certificate: it may not trust stockade's CA",
				what);
	if (t->cut)
		return err_kind(e, ERR_TLS, "%s: the connection ended without "
				"notice", what);
	return fault_set(e, what);
}

static bool is_cut(int code, int saved_errno)
{
	unsigned long first = ERR_peek_error();

	if (code == SSL_ERROR_SYSCALL)
		return saved_errno == 0 || saved_errno == ECONNRESET ||
		       saved_errno == EPIPE;
	return ERR_GET_LIB(first) == ERR_LIB_SSL &&
	       ERR_GET_REASON(first) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

static enum tls_status failure(struct tls *t, int code, int saved_errno,
			       const char *what, struct err *e)
{
	t->broken = true;
	t->cut = is_cut(code, saved_errno);
	if (t->client && !(t->cut && SSL_is_init_finished(t->ssl)))
		tls_client_forget_(t);
	if (code == SSL_ERROR_SYSCALL && !t->cut) {
		errno = saved_errno;
		err_sys(e, "%s", what);
	} else {
		explain(t, what, e);
	}
	ERR_clear_error();
	return t->cut ? TLS_CUT : TLS_FAILED;
}

/*
 * The status of a call that returned r.  A reset and an end of file are one
 * thing to a caller: no more comes, and nothing vouches for what came.
 */
static enum tls_status status_of(struct tls *t, int r, const char *what,
				 struct err *e)
{
	int saved = errno, code = SSL_get_error(t->ssl, r);

	switch (code) {
	case SSL_ERROR_WANT_READ:
		return TLS_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANT_WRITE;
	case SSL_ERROR_WANT_CLIENT_HELLO_CB:
		return TLS_WANT_CERT;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_EOF;
	default:
		break;
	}
	return failure(t, code, saved, what, e);
}

/* Full records that come behind each other are read whole.  While nothing comes
 * there is no such buffer. */
static void read_far_ahead(SSL *ssl)
{
	size_t record = SSL_version(ssl) >= TLS1_3_VERSION ? 16384 + 22 :
							     16384 + 29;

	SSL_set_default_read_buffer_len(ssl, RECORDS_AHEAD * record + UNUSED);
}

enum tls_status tls_handshake(struct tls *t, struct err *e)
{
	enum tls_status status;
	int r;

	ERR_clear_error();
	errno = 0;
	r = SSL_do_handshake(t->ssl);
	if (r != 1) {
		status = status_of(t, r, "TLS handshake", e);
		if (status != TLS_EOF)
			return status;
		err_kind(e, ERR_TLS, "TLS handshake: the peer hung up");
		return TLS_FAILED;
	}
	/* Not needed, while SSL_VERIFY_PEER is set: the second look. */
	if (t->client && SSL_get_verify_result(t->ssl) != X509_V_OK) {
		err_kind(e, ERR_BUG, "the chain was not verified");
		return TLS_FAILED;
	}
	read_far_ahead(t->ssl);
	return TLS_OK;
}

enum tls_status tls_read(struct tls *t, char *p, size_t max, size_t *ret_n,
			 struct err *e)
{
	int r;

	ERR_clear_error();
	errno = 0;
	r = SSL_read_ex(t->ssl, p, max, ret_n);
	t->drained = r != 1;
	t->has_read |= r == 1;
	if (r == 1)
		return TLS_OK;
	return status_of(t, r, "TLS read", e);
}

/* As many records as leave at once; what they cover is remembered with them. */
static enum tls_status encrypt(struct tls *t, struct sv v, struct err *e)
{
	int r = 1;

	ERR_clear_error();
	errno = 0;
	socket_gather(&t->socket);
	for (int i = 0; i < SOCKET_RECORDS && v.n && r == 1; i++) {
		size_t n = 0;

		r = SSL_write_ex(t->ssl, v.p, v.n, &n);
		t->socket.covers += n;
		v = sv_from(v, n);
	}
	/* After a record that was made it shows again with the next. */
	return r == 1 || t->socket.covers ? TLS_OK :
					    status_of(t, r, "TLS write", e);
}

enum tls_status tls_write(struct tls *t, struct sv v, size_t *ret_n,
			  struct err *e)
{
	enum tls_status status = TLS_OK;
	int sent;

	if (!t->socket.covers)
		status = encrypt(t, v, e);
	sent = socket_flush(&t->socket);
	if (sent < 0)
		return failure(t, SSL_ERROR_SYSCALL, errno, "TLS write", e);
	if (sent == 0)
		return TLS_WANT_WRITE;
	*ret_n = t->socket.covers;
	t->socket.covers = 0;
	return status;
}

bool tls_pending(const struct tls *t)
{
	/* A part of a record counts for OpenSSL, but cannot be read yet. */
	return !t->drained && SSL_has_pending(t->ssl);
}

enum tls_status tls_shutdown(struct tls *t)
{
	struct err ignored;
	enum tls_status status;
	int r;

	if (t->broken || !SSL_is_init_finished(t->ssl))
		return TLS_OK;
	ERR_clear_error();
	errno = 0;
	r = SSL_shutdown(t->ssl);
	if (r >= 0)
		return TLS_OK;
	status = status_of(t, r, "TLS shutdown", &ignored);
	return status == TLS_WANT_WRITE ? status : TLS_OK;
}

bool tls_is_h2(const struct tls *t)
{
	const unsigned char *name;
	unsigned n;

	SSL_get0_alpn_selected(t->ssl, &name, &n);
	return sv_eq(sv_of((const char *)name, n), SV("h2"));
}

const char *tls_version(const struct tls *t)
{
	return SSL_is_init_finished(t->ssl) ? SSL_get_version(t->ssl) : "";
}
