/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL's errors as ours.
 *
 * Its own texts would cost each helper a table of some hundred KiB that is
 * hardly ever read, so they are not loaded: the reasons that happen in life
 * are below, the others keep their number (`openssl errstr` explains it).
 */
#include "fault.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sslerr.h>

#include "own.h"

static const struct {
	int reason;
	const char *text;
} reasons[] = {
	{ SSL_R_WRONG_VERSION_NUMBER, "the peer does not speak TLS" },
	{ SSL_R_HTTP_REQUEST, "the peer speaks plain HTTP, not TLS" },
	{ SSL_R_HTTPS_PROXY_REQUEST, "the peer speaks to a proxy, not TLS" },
	{ SSL_R_UNSUPPORTED_PROTOCOL, "the peer's TLS is older than 1.2" },
	{ SSL_R_VERSION_TOO_LOW, "the peer's TLS is older than 1.2" },
	{ SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
	  "the peer refuses TLS 1.2 and 1.3" },
	{ SSL_R_NO_SHARED_CIPHER, "no cipher in common" },
	{ SSL_R_NO_SUITABLE_KEY_SHARE, "no key exchange in common" },
	{ SSL_R_NO_SHARED_GROUPS, "no key exchange in common" },
	{ SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM,
	  "no signature algorithm in common" },
	{ SSL_R_WRONG_SIGNATURE_TYPE, "a signature of a refused kind" },
	{ SSL_R_DH_KEY_TOO_SMALL, "the peer's DH key is too small" },
	{ SSL_R_EE_KEY_TOO_SMALL, "the certificate's key is too small" },
	{ SSL_R_UNEXPECTED_EOF_WHILE_READING,
	  "the connection ended without notice" },
	{ SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED,
	  "the peer lacks secure renegotiation" },
	{ SSL_R_NO_RENEGOTIATION, "the peer wants to renegotiate" },
	{ SSL_R_INAPPROPRIATE_FALLBACK, "a protocol downgrade" },
	{ SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC,
	  "a record was changed on its way" },
	{ SSL_R_CERTIFICATE_VERIFY_FAILED, "the certificate is refused" },
	{ SSL_R_NO_APPLICATION_PROTOCOL, "HTTP/1.1 is not offered (ALPN)" },
	{ SSL_R_BAD_EXTENSION, "a malformed extension" },
	{ SSL_R_LENGTH_MISMATCH, "a malformed message" },
	{ SSL_R_UNEXPECTED_MESSAGE, "a message out of order" },
	{ SSL_R_BAD_RECORD_TYPE, "a malformed record" },
	{ SSL_R_PACKET_LENGTH_TOO_LONG, "a record is too long" },
};

static int start(uint64_t options, struct err *e)
{
	/* NO_ATEXIT: a helper ends by _exit or a signal; nothing to tidy. */
	if (OPENSSL_init_crypto(options | OPENSSL_INIT_NO_LOAD_CONFIG |
				OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
				OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
		return err_kind(e, ERR_TLS, "start libcrypto");
	return 0;
}

int fault_start(struct err *e)
{
	return start(0, e);
}

int fault_start_signer(struct err *e)
{
	if (start(OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
		  OPENSSL_INIT_NO_ADD_ALL_DIGESTS, e) < 0)
		return -1;
	/* Random bytes by way of a hash, which signing needs as well: the usual
	 * way makes a table of every cipher there is.  Where they are drawn
	 * already, both are there, and it fails. */
	if (RAND_set_DRBG_type(NULL, "HASH-DRBG", NULL, NULL, "SHA2-256") != 1)
		ERR_clear_error();
	return 0;
}

int fault_set(struct err *e, const char *what)
{
	/* The first is the cause; what follows only repeats it outwards. */
	unsigned long code = ERR_get_error();
	int reason = ERR_GET_REASON(code);

	ERR_clear_error();
	if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
		for (size_t i = 0; i < countof(reasons); i++)
			if (reasons[i].reason == reason)
				return err_kind(e, ERR_TLS, "%s: %s", what,
						reasons[i].text);
	}
	if (reason == ERR_R_MALLOC_FAILURE)
		return err_kind(e, ERR_TLS, "%s: out of memory", what);
	return err_kind(e, ERR_TLS, "%s: OpenSSL error %08lX", what, code);
}
