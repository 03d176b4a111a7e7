/* SPDX-License-Identifier: Apache-2.0 */
/* Each refusal is paired: the same origin with the good chain is accepted. */
#include "client.h"

#include <openssl/err.h>
#include <unistd.h>

#include "own.h"
#include "pki.h"
#include "tap.h"

#define CA "critical,CA:TRUE"

static struct pki *root, *strangers_root;
static struct tls_client *client;
static struct err why;

/* One handshake with an origin that has chain[0] and sends the rest. */
static enum tls_status shake(SSL_CTX *ctx, const char *host,
			     struct pki *const *chain, unsigned n)
{
	enum tls_status status = TLS_FAILED;
	int fds[2];
	struct tls *t;
	SSL *peer;

	pki_sockets(fds);
	peer = pki_peer(ctx, fds[1], true);
	SSL_use_certificate(peer, chain[0]->x);
	SSL_use_PrivateKey(peer, chain[0]->key);
	for (unsigned i = 1; i < n; i++)
		SSL_add1_chain_cert(peer, chain[i]->x);
	why = (struct err){ 0 };
	t = tls_client_connect(client, fds[0], sv_str(host), false, &why);
	for (int i = 0; t && i < 20; i++) {
		status = tls_handshake(t, &why);
		if (SSL_do_handshake(peer) == 1 && status == TLS_OK)
			break;
		if (status != TLS_WANT_READ && status != TLS_OK)
			break;
	}
	if (status == TLS_OK) {
		char c;
		size_t got = 0;
		struct err e = { 0 };

		/* Lets the tickets arrive.  Then it ends without notice. */
		CHECK_INT(tls_read(t, &c, 1, &got, &e), TLS_WANT_READ);
	}
	SSL_free(peer);
	tls_free(t);
	close(fds[0]);
	close(fds[1]);
	ERR_clear_error();
	return status;
}

static enum tls_status shake_leaf(const struct pki_spec *spec,
				  const struct pki *issuer)
{
	struct pki *leaf = pki_make(spec, issuer);
	SSL_CTX *ctx = pki_context(true);
	enum tls_status status = shake(ctx, "good.example", &leaf, 1);

	SSL_CTX_free(ctx);
	pki_free(leaf);
	return status;
}

static bool says(const char *text)
{
	struct sv msg = sv_str(why.msg);
	bool found = !*text || sv_find_sv(msg, sv_str(text)) < msg.n;

	if (!found)
		printf("# it says: %s\n", why.msg);
	return found;
}

#define REFUSED(text, ...)                                                 \
	do {                                                               \
		struct pki_spec spec_ = { __VA_ARGS__ };                   \
		CHECK_INT(shake_leaf(&spec_, root), TLS_FAILED);           \
		CHECK(says(text));                                         \
	} while (0)
#define ACCEPTED(...)                                                      \
	do {                                                               \
		struct pki_spec spec_ = { __VA_ARGS__ };                   \
		CHECK_INT(shake_leaf(&spec_, root), TLS_OK);               \
	} while (0)

static void test_client_good_is_accepted(void)
{
	ACCEPTED(.san = "DNS:good.example");
	ACCEPTED(.san = "DNS:*.example.net,DNS:good.example,IP:1.2.3.4");
	ACCEPTED(.rsa_bits = 2048);
	ACCEPTED(.eku = "");
}

static void test_client_time_is_checked(void)
{
	REFUSED("expired on ", .from_days = -9, .to_days = -1);
	REFUSED("is not valid before ", .from_days = 1, .to_days = 9);
	ACCEPTED(.from_days = -9, .to_days = 1);
}

static void test_client_issuer_is_checked(void)
{
	struct pki_spec good = { 0 };

	CHECK_INT(shake_leaf(&good, NULL), TLS_FAILED);
	CHECK(says("is self-signed"));
	CHECK_INT(shake_leaf(&good, strangers_root), TLS_FAILED);
	CHECK(says("has an unknown issuer \"CN=stranger\""));
	ACCEPTED(.cn = "x");
}

static void test_client_root_that_is_sent_is_not_trusted(void)
{
	struct pki *chain[] = { pki_make(&(struct pki_spec){ 0 },
					 strangers_root), strangers_root };
	SSL_CTX *ctx = pki_context(true);

	CHECK_INT(shake(ctx, "good.example", chain, 2), TLS_FAILED);
	CHECK(says("is a root that is not among the trusted roots"));
	pki_free(chain[0]);
	SSL_CTX_free(ctx);
}

static void test_client_root_of_the_same_name_is_not_trusted(void)
{
	struct pki *forged = pki_make(&(struct pki_spec){
		.cn = "root", .constraints = CA, .san = "" }, NULL);
	struct pki_spec good = { 0 };

	CHECK_INT(shake_leaf(&good, forged), TLS_FAILED);
	ACCEPTED(.cn = "x");
	pki_free(forged);
}

static void test_client_host_is_checked(void)
{
	REFUSED("for another host (evil.example)", .san = "DNS:evil.example");
	REFUSED("for another host (no DNS name)", .san = "");
	REFUSED("for another host (no DNS name)", .san = "IP:127.0.0.1");
	REFUSED("for another host", .san = "DNS:a.good.example");
	REFUSED("for another host", .san = "DNS:*.example.com");
	REFUSED("for another host", .san = "DNS:*.example");
	REFUSED("for another host", .san = "DNS:*");
	REFUSED("for another host", .san = "DNS:go*.example");
	REFUSED("for another host", .san = "DNS:*.good.example");
	REFUSED("for another host", .san = "DNS:good.example.evil.org");
	REFUSED("for another host (good.example?.evil.example)",
		.nul_in_san = true);
	ACCEPTED(.san = "DNS:GOOD.example");
}

static void test_client_wildcard_covers_one_label(void)
{
	struct pki *leaf = pki_make(&(struct pki_spec){
		.san = "DNS:*.good.example" }, root);
	SSL_CTX *ctx = pki_context(true);

	CHECK_INT(shake(ctx, "a.good.example", &leaf, 1), TLS_OK);
	CHECK_INT(shake(ctx, "a.b.good.example", &leaf, 1), TLS_FAILED);
	CHECK_INT(shake(ctx, "good.example", &leaf, 1), TLS_FAILED);
	SSL_CTX_free(ctx);
	pki_free(leaf);
}

static void test_client_wildcard_inside_a_label_is_refused(void)
{
	struct pki *leaf = pki_make(&(struct pki_spec){
		.san = "DNS:a*.good.example" }, root);
	SSL_CTX *ctx = pki_context(true);

	CHECK_INT(shake(ctx, "api.good.example", &leaf, 1), TLS_FAILED);
	SSL_CTX_free(ctx);
	pki_free(leaf);
}

static void test_client_purpose_is_checked(void)
{
	REFUSED("is not for TLS servers", .eku = "clientAuth");
	REFUSED("is not for TLS servers", .eku = "codeSigning");
	ACCEPTED(.eku = "clientAuth,serverAuth");
}

static void test_client_strength_is_checked(void)
{
	REFUSED("signed with a weak digest", .digest = "SHA1");
	/* 512 bits cannot even sign: OpenSSL's own side gives up. */
	REFUSED("", .rsa_bits = 512);
	REFUSED("key that is too small", .rsa_bits = 768);
	REFUSED("key that is too small", .rsa_bits = 1024);
	ACCEPTED(.digest = "SHA384");
}

static void test_client_unknown_critical_extension_is_refused(void)
{
	REFUSED("critical extension", .critical_oid = "1.2.3.4.5");
}

/* A leaf below an intermediate of the given kind. */
static enum tls_status shake_chain(const char *constraints,
				   const struct pki *top)
{
	struct pki *middle = pki_make(&(struct pki_spec){
		.cn = "middle", .constraints = constraints, .san = "" }, top);
	struct pki *chain[] = { pki_make(&(struct pki_spec){ 0 }, middle),
				middle };
	SSL_CTX *ctx = pki_context(true);
	enum tls_status status = shake(ctx, "good.example", chain, 2);

	SSL_CTX_free(ctx);
	pki_free(chain[0]);
	pki_free(middle);
	return status;
}

static void test_client_intermediate_must_be_a_ca(void)
{
	CHECK_INT(shake_chain("critical,CA:FALSE", root), TLS_FAILED);
	CHECK(says("\"CN=middle\" signs another but is not a CA"));
	CHECK_INT(shake_chain(CA, root), TLS_OK);
}

static void test_client_path_length_is_checked(void)
{
	struct pki *top = pki_make(&(struct pki_spec){
		.cn = "top", .constraints = CA ",pathlen:0", .san = "" }, root);
	struct pki *middle = pki_make(&(struct pki_spec){
		.cn = "middle", .constraints = CA, .san = "" }, top);
	struct pki *chain[] = { pki_make(&(struct pki_spec){ 0 }, middle),
				middle, top };
	struct pki *direct[] = { pki_make(&(struct pki_spec){ 0 }, top), top };
	SSL_CTX *ctx = pki_context(true);

	CHECK_INT(shake(ctx, "good.example", chain, 3), TLS_FAILED);
	CHECK(says("allows fewer CAs below it"));
	CHECK_INT(shake(ctx, "good.example", direct, 2), TLS_OK);
	SSL_CTX_free(ctx);
	pki_free(chain[0]);
	pki_free(direct[0]);
	pki_free(middle);
	pki_free(top);
}

static enum tls_status shake_version(int version)
{
	struct pki *leaf = pki_make(&(struct pki_spec){ 0 }, root);
	SSL_CTX *ctx = pki_context(true);
	enum tls_status status;

	SSL_CTX_set_max_proto_version(ctx, version);
	status = shake(ctx, "good.example", &leaf, 1);
	SSL_CTX_free(ctx);
	pki_free(leaf);
	return status;
}

static void test_client_versions_below_1_2_are_refused(void)
{
	CHECK_INT(shake_version(TLS1_VERSION), TLS_FAILED);
	CHECK_INT(shake_version(TLS1_1_VERSION), TLS_FAILED);
	CHECK(says("protocol version"));
	CHECK_INT(shake_version(TLS1_2_VERSION), TLS_OK);
}

static void test_client_cipher_without_aead_is_refused(void)
{
	struct pki *leaf = pki_make(&(struct pki_spec){ 0 }, root);
	SSL_CTX *ctx = pki_context(true);

	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_cipher_list(ctx, "ECDHE-ECDSA-AES128-SHA256");
	CHECK_INT(shake(ctx, "good.example", &leaf, 1), TLS_FAILED);
	SSL_CTX_set_cipher_list(ctx, "ECDHE-ECDSA-AES128-GCM-SHA256");
	CHECK_INT(shake(ctx, "good.example", &leaf, 1), TLS_OK);
	SSL_CTX_free(ctx);
	pki_free(leaf);
}

static void test_client_host_not_canonical_fails(void)
{
	struct err e = { 0 };

	CHECK(!tls_client_connect(client, 0, SV(""), false, &e));
	CHECK(!tls_client_connect(client, 0, SV(".good.example"), false, &e));
	CHECK(!tls_client_connect(client, 0, SV("127.0.0.1"), false, &e));
}

static void test_client_session_is_resumed_for_its_host_only(void)
{
	struct pki *leaf = pki_make(&(struct pki_spec){
		.san = "DNS:one.example,DNS:two.example" }, root);
	SSL_CTX *ctx = pki_context(true);

	for (int v = TLS1_2_VERSION; v <= TLS1_3_VERSION; v++) {
		const char *other = v == TLS1_2_VERSION ? "two.example"
							: "good.example";

		SSL_CTX_set_max_proto_version(ctx, v);
		CHECK_INT(shake(ctx, "one.example", &leaf, 1), TLS_OK);
		long before = SSL_CTX_sess_hits(ctx);

		/* Verified for another host: from the start, or not at all. */
		shake(ctx, other, &leaf, 1);
		CHECK_INT(SSL_CTX_sess_hits(ctx), before);
		CHECK_INT(shake(ctx, "one.example", &leaf, 1), TLS_OK);
		CHECK_INT(SSL_CTX_sess_hits(ctx), before + 1);
	}
	SSL_CTX_free(ctx);
	pki_free(leaf);
}

static void test_client_session_is_not_resumed_after_a_failure(void)
{
	struct pki *leaf = pki_make(&(struct pki_spec){
		.san = "DNS:one.example" }, root);
	struct pki *other = pki_make(&(struct pki_spec){
		.san = "DNS:other.example" }, root);
	SSL_CTX *ctx = pki_context(true), *failing = pki_context(true);
	long before;

	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	CHECK_INT(shake(ctx, "one.example", &leaf, 1), TLS_OK);
	before = SSL_CTX_sess_hits(ctx);
	CHECK_INT(shake(ctx, "one.example", &leaf, 1), TLS_OK);
	CHECK_INT(SSL_CTX_sess_hits(ctx), before + 1);
	CHECK_INT(shake(failing, "one.example", &other, 1), TLS_FAILED);
	CHECK_INT(shake(ctx, "one.example", &leaf, 1), TLS_OK);
	CHECK_INT(SSL_CTX_sess_hits(ctx), before + 1);
	SSL_CTX_free(failing);
	SSL_CTX_free(ctx);
	pki_free(other);
	pki_free(leaf);
}

static void test_roots_bundle_without_certificate_fails(void)
{
	struct err e = { 0 };
	int fd = pki_bundle_fd(NULL, 0), pipe_fds[2];

	CHECK_INT(tls_client_roots(client, fd, &e), -1);
	CHECK_INT(pipe(pipe_fds), 0);
	CHECK_INT(tls_client_roots(client, pipe_fds[0], &e), -1);
	close(fd);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(void)
{
	struct pki_spec ca = { .cn = "root", .constraints = CA, .san = "" };
	struct pki *bundle[2];
	struct err e = { 0 };
	int fd;

	client = tls_client_new(&e);
	root = pki_make(&ca, NULL);
	ca.cn = "stranger";
	strangers_root = pki_make(&ca, NULL);
	ca.cn = "bystander";
	bundle[0] = pki_make(&ca, NULL);
	bundle[1] = root;
	fd = pki_bundle_fd(bundle, 2);
	if (!client || tls_client_roots(client, fd, &e) < 0)
		printf("# %s\n", e.msg);
	close(fd);
	RUN(test_roots_bundle_without_certificate_fails);
	RUN(test_client_good_is_accepted);
	RUN(test_client_time_is_checked);
	RUN(test_client_issuer_is_checked);
	RUN(test_client_root_that_is_sent_is_not_trusted);
	RUN(test_client_root_of_the_same_name_is_not_trusted);
	RUN(test_client_host_is_checked);
	RUN(test_client_wildcard_covers_one_label);
	RUN(test_client_wildcard_inside_a_label_is_refused);
	RUN(test_client_purpose_is_checked);
	RUN(test_client_strength_is_checked);
	RUN(test_client_unknown_critical_extension_is_refused);
	RUN(test_client_intermediate_must_be_a_ca);
	RUN(test_client_path_length_is_checked);
	RUN(test_client_versions_below_1_2_are_refused);
	RUN(test_client_cipher_without_aead_is_refused);
	RUN(test_client_host_not_canonical_fails);
	RUN(test_client_session_is_resumed_for_its_host_only);
	RUN(test_client_session_is_not_resumed_after_a_failure);
	pki_free(root);
	pki_free(strangers_root);
	pki_free(bundle[0]);
	tls_client_free(client);
	return tap_done();
}
