/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "own.h"
#include "pki.h"
#include "tap.h"

static void test_handshake_waits_for_a_certificate(void)
{
	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		const char *name = v == TLS1_2_VERSION ? "a.example"
						       : "b.example";
		struct link l;

		link_up(&l, name, false);
		SSL_set_max_proto_version(l.peer, v);
		CHECK_INT(shake(&l), TLS_WANT_CERT);
		CHECK_SV(tls_sni(l.t), name);
		/* Nothing has been answered, and asking again changes nothing. */
		CHECK_INT(recv(l.fds[1], &v, 1, MSG_PEEK | MSG_DONTWAIT), -1);
		CHECK_INT(shake(&l), TLS_WANT_CERT);
		CHECK(!tls_use_cached(l.t, sv_str(name)));
		CHECK_INT(certify(&l, name), 0);
		CHECK_INT(shake(&l), TLS_OK);
		CHECK_SV(sv_str(tls_version(l.t)),
			 v == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
		CHECK_INT(SSL_get_verify_result(l.peer), X509_V_OK);
		link_down(&l);
	}
}

static void test_cached_certificate_is_used(void)
{
	struct link l;

	link_up(&l, "a.example", false);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK(!tls_use_cached(l.t, SV("never.example")));
	CHECK(tls_use_cached(l.t, SV("a.example")));
	CHECK_INT(shake(&l), TLS_OK);
	link_down(&l);
}

static void test_cache_is_bounded(void)
{
	unsigned kept = 0;
	struct link l;

	link_up(&l, "a.example", false);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	for (unsigned i = 0; i < 1500; i++) {
		char name[32];

		snprintf(name, sizeof name, "n%u.example", i);
		if (certify(&l, name) < 0)
			CHECK(false);
	}
	for (unsigned i = 0; i < 1500; i++) {
		char name[32];

		snprintf(name, sizeof name, "n%u.example", i);
		kept += tls_use_cached(l.t, sv_str(name));
	}
	CHECK(kept > 800 && kept <= 1024);
	CHECK(tls_use_cached(l.t, SV("n1499.example")));
	link_down(&l);
}

static void test_no_sni_is_empty(void)
{
	struct link l;

	link_up(&l, NULL, false);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK_INT(tls_sni(l.t).n, 0);
	CHECK_INT(certify(&l, "synthetic.example"), 0);
	CHECK_INT(shake(&l), TLS_OK);
	link_down(&l);
}

static void test_sni_is_given_as_sent(void)
{
	struct link l;

	link_up(&l, "UPPER.example.", false);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK_SV(tls_sni(l.t), "UPPER.example.");
	link_down(&l);
}

static void test_refuse_sends_that_alert(void)
{
	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		struct link l;

		link_up(&l, "no.example", false);
		SSL_set_max_proto_version(l.peer, v);
		CHECK_INT(shake(&l), TLS_WANT_CERT);
		tls_refuse(l.t, TLS_ALERT_ACCESS_DENIED);
		CHECK_INT(tls_handshake(l.t, &l.why), TLS_FAILED);
		CHECK(says(&l, "refused with alert 49, access denied"));
		CHECK(!tls_is_distrusted(l.t));
		ERR_clear_error();
		CHECK(SSL_do_handshake(l.peer) < 1);
		CHECK_INT(ERR_GET_REASON(ERR_peek_error()),
			  SSL_R_TLSV1_ALERT_ACCESS_DENIED);
		link_down(&l);
	}
}

static void test_client_that_pins_is_recognised(void)
{
	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		struct link l;

		link_up(&l, "a.example", true);
		SSL_set_max_proto_version(l.peer, v);
		CHECK_INT(shake(&l), TLS_WANT_CERT);
		CHECK(tls_use_cached(l.t, SV("a.example")) ||
		      certify(&l, "a.example") == 0);
		CHECK_INT(shake(&l), TLS_FAILED);
		CHECK(tls_is_distrusted(l.t));
		CHECK(says(&l, "does not trust stockade's CA"));
		link_down(&l);
	}
}

static void test_client_that_hangs_up_is_doubted(void)
{
	struct link l;
	char c;
	size_t n;

	/* In the handshake, as Node does. */
	link_up(&l, "a.example", true);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK(tls_use_cached(l.t, SV("a.example")) ||
	      certify(&l, "a.example") == 0);
	CHECK_INT(tls_handshake(l.t, &l.why), TLS_WANT_READ);
	shutdown(l.fds[1], SHUT_RDWR);
	CHECK_INT(tls_handshake(l.t, &l.why), TLS_CUT);
	CHECK(tls_is_doubted(l.t));
	CHECK(!tls_is_distrusted(l.t));
	CHECK(says(&l, "hung up on our certificate"));
	link_down(&l);

	/* After it, as GnuTLS does. */
	open_link(&l);
	shutdown(l.fds[1], SHUT_RDWR);
	CHECK_INT(tls_read(l.t, &c, 1, &n, &l.why), TLS_CUT);
	CHECK(tls_is_doubted(l.t));
	link_down(&l);

	/* One that has spoken had no doubts, nor one that takes its leave. */
	open_link(&l);
	CHECK_INT(SSL_write(l.peer, "x", 1), 1);
	shutdown(l.fds[1], SHUT_RDWR);
	CHECK_INT(tls_read(l.t, &c, 1, &n, &l.why), TLS_OK);
	CHECK_INT(tls_read(l.t, &c, 1, &n, &l.why), TLS_CUT);
	CHECK(!tls_is_doubted(l.t));
	link_down(&l);
	open_link(&l);
	SSL_shutdown(l.peer);
	CHECK_INT(tls_read(l.t, &c, 1, &n, &l.why), TLS_EOF);
	CHECK(!tls_is_doubted(l.t));
	link_down(&l);
}

static enum tls_status shake_alpn(const char *wire, char ret[32],
				  struct link *l)
{
	const unsigned char *chosen = NULL;
	unsigned n = 0;

	link_up(l, "a.example", false);
	SSL_set_alpn_protos(l->peer, (const unsigned char *)wire,
			    (unsigned)strlen(wire));
	CHECK_INT(shake(l), TLS_WANT_CERT);
	CHECK(tls_use_cached(l->t, SV("a.example")) ||
	      certify(l, "a.example") == 0);
	shake(l);
	SSL_get0_alpn_selected(l->peer, &chosen, &n);
	snprintf(ret, 32, "%.*s", (int)n, chosen ? (const char *)chosen : "");
	return l->status;
}

static void test_alpn_h2_http_1_1_or_nothing(void)
{
	char got[32];
	struct link l;

	CHECK_INT(shake_alpn("\x08http/1.1\x02h2", got, &l), TLS_OK);
	CHECK_SV(sv_str(got), "h2");
	CHECK(tls_is_h2(l.t));
	link_down(&l);
	CHECK_INT(shake_alpn("\x02h3\x08http/1.1\x03h2c", got, &l), TLS_OK);
	CHECK_SV(sv_str(got), "http/1.1");
	CHECK(!tls_is_h2(l.t));
	link_down(&l);
	CHECK_INT(shake_alpn("", got, &l), TLS_OK);
	CHECK_SV(sv_str(got), "");
	link_down(&l);
	CHECK_INT(shake_alpn("\x03h2c", got, &l), TLS_FAILED);
	CHECK(says(&l, "offers other protocols only"));
	ERR_clear_error();
	SSL_do_handshake(l.peer);
	CHECK_INT(ERR_GET_REASON(ERR_peek_error()),
		  SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
	link_down(&l);
}

static void test_old_versions_are_refused(void)
{
	struct link l;

	link_up(&l, "a.example", false);
	SSL_set_max_proto_version(l.peer, TLS1_1_VERSION);
	for (int i = 0; i < 4 && shake(&l) == TLS_WANT_CERT; i++)
		CHECK(tls_use_cached(l.t, SV("a.example")) ||
		      certify(&l, "a.example") == 0);
	CHECK_INT(l.status, TLS_FAILED);
	CHECK(says(&l, "older than 1.2"));
	link_down(&l);
}

static void test_bytes_that_are_not_tls_fail(void)
{
	static const char request[] = "GET / HTTP/1.1\r\n\r\n";
	struct link l;

	link_up(&l, "a.example", false);
	CHECK_INT(write(l.fds[1], request, sizeof request - 1),
		  sizeof request - 1);
	CHECK_INT(tls_handshake(l.t, &l.why), TLS_FAILED);
	CHECK(says(&l, "plain HTTP"));
	link_down(&l);
}

static void test_hello_byte_by_byte_is_the_same(void)
{
	char hello[4096];
	struct link l;
	ssize_t n;

	link_up(&l, "slow.example", false);
	SSL_do_handshake(l.peer);
	/* Takes the hello back from our end, and drips it. */
	n = read(l.fds[0], hello, sizeof hello);
	CHECK(n > 0);
	for (ssize_t i = 0; i < n; i++) {
		CHECK_INT(write(l.fds[1], hello + i, 1), 1);
		l.status = tls_handshake(l.t, &l.why);
		if (l.status != (i < n - 1 ? TLS_WANT_READ : TLS_WANT_CERT))
			CHECK(false);
	}
	CHECK_SV(tls_sni(l.t), "slow.example");
	link_down(&l);
}

/* The server_name extension with other bytes of the same length. */
static enum tls_status shake_forged(const char *bytes, size_t n,
				    struct link *l)
{
	char hello[4096];
	ssize_t got;
	size_t at;

	link_up(l, "abcdefgh", false);
	SSL_do_handshake(l->peer);
	got = read(l->fds[0], hello, sizeof hello);
	at = sv_find_sv(sv_of(hello, (size_t)got), SV("\0\x0b\0\0\x08"
						      "abcdefgh"));
	CHECK(at < (size_t)got && n == 13);
	memcpy(hello + at, bytes, n);
	CHECK_INT(write(l->fds[1], hello, (size_t)got), got);
	return tls_handshake(l->t, &l->why);
}

static void test_malformed_sni_is_refused(void)
{
	struct link l;

	CHECK_INT(shake_forged("\0\x0b\0\0\x08" "abcdefgx", 13, &l),
		  TLS_WANT_CERT);
	link_down(&l);
	/* Two names; another type; a length that is too short or too long. */
	CHECK_INT(shake_forged("\0\x0b\0\0\x02" "ab\0\0\x03xyz", 13, &l),
		  TLS_FAILED);
	link_down(&l);
	CHECK_INT(shake_forged("\0\x0b\1\0\x08" "abcdefgh", 13, &l),
		  TLS_FAILED);
	link_down(&l);
	CHECK_INT(shake_forged("\0\x0b\0\0\x07" "abcdefgh", 13, &l),
		  TLS_FAILED);
	link_down(&l);
	CHECK_INT(shake_forged("\0\x0c\0\0\x08" "abcdefgh", 13, &l),
		  TLS_FAILED);
	link_down(&l);
	/* A NUL is the caller's to refuse: given as sent. */
	CHECK_INT(shake_forged("\0\x0b\0\0\x08" "abc\0efgh", 13, &l),
		  TLS_WANT_CERT);
	CHECK_INT(tls_sni(l.t).n, 8);
	link_down(&l);
}

static void test_hello_retry_keeps_its_name(void)
{
	struct link l;

	link_up(&l, "a.example", false);
	/* Its key share is for a group that we do not take. */
	SSL_set1_groups_list(l.peer, (char[]){ "P-521:P-256" });
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK(tls_use_cached(l.t, SV("a.example")) ||
	      certify(&l, "a.example") == 0);
	CHECK_INT(shake(&l), TLS_OK);
	link_down(&l);
}

static void test_hello_retry_for_another_name_is_refused(void)
{
	char hello[4096];
	struct link l;
	ssize_t n;
	size_t at;

	link_up(&l, "first.example", false);
	SSL_set1_groups_list(l.peer, (char[]){ "P-521:P-256" });
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK_INT(certify(&l, "first.example"), 0);
	CHECK_INT(tls_handshake(l.t, &l.why), TLS_WANT_READ);
	SSL_do_handshake(l.peer);
	n = read(l.fds[0], hello, sizeof hello);
	at = sv_find_sv(sv_of(hello, (size_t)n), SV("first.example"));
	CHECK(at < (size_t)n);
	memcpy(hello + at, "other", 5);
	CHECK_INT(write(l.fds[1], hello, (size_t)n), n);
	CHECK_INT(tls_handshake(l.t, &l.why), TLS_FAILED);
	link_down(&l);
}

static void test_certificate_for_another_key_is_refused(void)
{
	struct pki *other = pki_make(&(struct pki_spec){ 0 }, NULL);
	unsigned char *der = NULL;
	int n = i2d_X509(other->x, &der);
	struct link l;

	link_up(&l, "good.example", false);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	CHECK_INT(tls_use_certificate(l.t, SV("good.example"),
				      sv_of((char *)der, (size_t)n), &l.why),
		  -1);
	CHECK_INT(tls_use_certificate(l.t, SV("good.example"), SV("x"),
				      &l.why), -1);
	CHECK_INT(shake(&l), TLS_WANT_CERT);
	OPENSSL_free(der);
	pki_free(other);
	link_down(&l);
}

static void test_session_is_never_resumed(void)
{
	struct link l;
	SSL_SESSION *session;

	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		char c;

		open_link(&l);
		SSL_read(l.peer, &c, 1);
		session = SSL_get1_session(l.peer);
		CHECK(v == TLS1_2_VERSION || !SSL_SESSION_is_resumable(session));
		link_down(&l);
		link_up(&l, "a.example", false);
		SSL_set_session(l.peer, session);
		SSL_SESSION_free(session);
		CHECK_INT(shake(&l), TLS_WANT_CERT);
		CHECK(tls_use_cached(l.t, SV("a.example")) ||
		      certify(&l, "a.example") == 0);
		CHECK_INT(shake(&l), TLS_OK);
		CHECK(!SSL_session_reused(l.peer));
		link_down(&l);
	}
}

int main(void)
{
	link_start();
	RUN(test_handshake_waits_for_a_certificate);
	RUN(test_cached_certificate_is_used);
	RUN(test_cache_is_bounded);
	RUN(test_no_sni_is_empty);
	RUN(test_sni_is_given_as_sent);
	RUN(test_refuse_sends_that_alert);
	RUN(test_client_that_pins_is_recognised);
	RUN(test_client_that_hangs_up_is_doubted);
	RUN(test_alpn_h2_http_1_1_or_nothing);
	RUN(test_old_versions_are_refused);
	RUN(test_bytes_that_are_not_tls_fail);
	RUN(test_hello_byte_by_byte_is_the_same);
	RUN(test_malformed_sni_is_refused);
	RUN(test_hello_retry_keeps_its_name);
	RUN(test_hello_retry_for_another_name_is_refused);
	RUN(test_certificate_for_another_key_is_refused);
	RUN(test_session_is_never_resumed);
	link_stop();
	return tap_done();
}
