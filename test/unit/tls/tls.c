/* SPDX-License-Identifier: Apache-2.0 */
#include "tls.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "tap.h"

static void test_read_tells_the_end_from_a_cut(void)
{
	char got[16];
	size_t n = 0;
	struct link l;

	open_link(&l);
	CHECK_INT(SSL_write(l.peer, "hello", 5), 5);
	CHECK_INT(tls_read(l.t, got, 2, &n, &l.why), TLS_OK);
	CHECK_SV(sv_of(got, n), "he");
	CHECK(tls_pending(l.t));
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_OK);
	CHECK_SV(sv_of(got, n), "llo");
	CHECK(!tls_pending(l.t));
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_WANT_READ);
	SSL_shutdown(l.peer);
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_EOF);
	link_down(&l);

	open_link(&l);
	CHECK_INT(SSL_write(l.peer, "hello", 5), 5);
	shutdown(l.fds[1], SHUT_WR);
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_OK);
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_CUT);
	CHECK_INT(tls_shutdown(l.t), TLS_OK);
	link_down(&l);
}

static void test_half_a_record_is_not_pending(void)
{
	static char big[16384];
	char record[20000], got[64];
	size_t n = 0;
	struct link l;
	ssize_t k;

	open_link(&l);
	CHECK_INT(SSL_write(l.peer, big, sizeof big), sizeof big);
	k = read(l.fds[0], record, sizeof record);
	CHECK(k > 16384);
	CHECK_INT(write(l.fds[1], record, 1000), 1000);
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_WANT_READ);
	CHECK(!tls_pending(l.t));
	CHECK_INT(write(l.fds[1], record + 1000, (size_t)k - 1000), k - 1000);
	CHECK_INT(tls_read(l.t, got, sizeof got, &n, &l.why), TLS_OK);
	CHECK(tls_pending(l.t));
	link_down(&l);
}

static void test_write_goes_on_with_the_same_bytes(void)
{
	static char out[1 << 20], in[1 << 20];
	size_t sent = 0, seen = 0;
	bool waited = false;
	struct link l;

	for (size_t i = 0; i < sizeof out; i++)
		out[i] = (char)(i * 7 >> 3);
	open_link(&l);
	while (seen < sizeof out && l.status != TLS_FAILED) {
		size_t n = 0;

		while (sent < sizeof out &&
		       (l.status = tls_write(l.t, sv_of(out + sent,
				sizeof out - sent), &n, &l.why)) == TLS_OK)
			sent += n;
		waited |= l.status == TLS_WANT_WRITE;
		if (SSL_read_ex(l.peer, in + seen, sizeof in - seen, &n) != 1)
			break;
		seen += n;
	}
	CHECK(waited);
	CHECK_INT(seen, sizeof out);
	CHECK(memcmp(in, out, sizeof out) == 0);
	CHECK_INT(tls_shutdown(l.t), TLS_OK);
	link_down(&l);
}

/* One piece of a body and what frames it, in one system call. */
static void test_several_records_leave_at_once(void)
{
	static char piece[65536 + 64], got[1 << 18];
	size_t n = 0;
	struct link l;

	open_link(&l);
	CHECK_INT(tls_write(l.t, sv_of(piece, sizeof piece), &n, &l.why),
		  TLS_OK);
	CHECK_INT(n, sizeof piece);
	CHECK(read(l.fds[1], got, sizeof got) > (ssize_t)sizeof piece);
	link_down(&l);
}

/* What the kernel has not taken goes before a goodbye. */
static void test_a_goodbye_waits_for_what_is_kept(void)
{
	static char piece[65536], got[sizeof piece];
	size_t n = 0, seen = 0;
	struct link l;

	open_link(&l);
	while (tls_write(l.t, sv_of(piece, sizeof piece), &n, &l.why) == TLS_OK)
		seen += n;
	CHECK_INT(tls_shutdown(l.t), TLS_WANT_WRITE);
	seen += sizeof piece;
	while (seen && SSL_read_ex(l.peer, got, sizeof got, &n) == 1) {
		seen -= n;
		l.status = tls_shutdown(l.t);
	}
	CHECK_INT(seen, 0);
	CHECK_INT(l.status, TLS_OK);
	CHECK_INT(SSL_read_ex(l.peer, got, sizeof got, &n), 0);
	CHECK_INT(SSL_get_shutdown(l.peer), SSL_RECEIVED_SHUTDOWN);
	link_down(&l);
}

static void test_renegotiation_is_refused(void)
{
	size_t n = 0;
	char c;
	struct link l;

	link_up(&l, "a.example", false);
	SSL_set_max_proto_version(l.peer, TLS1_2_VERSION);
	shake(&l);
	CHECK(tls_use_cached(l.t, SV("a.example")) ||
	      certify(&l, "a.example") == 0);
	CHECK_INT(shake(&l), TLS_OK);
	SSL_renegotiate(l.peer);
	SSL_do_handshake(l.peer);
	CHECK(tls_read(l.t, &c, 1, &n, &l.why) != TLS_OK);
	CHECK(SSL_do_handshake(l.peer) < 1);
	ERR_clear_error();
	link_down(&l);
}

int main(void)
{
	link_start();
	RUN(test_read_tells_the_end_from_a_cut);
	RUN(test_half_a_record_is_not_pending);
	RUN(test_write_goes_on_with_the_same_bytes);
	RUN(test_several_records_leave_at_once);
	RUN(test_a_goodbye_waits_for_what_is_kept);
	RUN(test_renegotiation_is_refused);
	link_stop();
	return tap_done();
}
