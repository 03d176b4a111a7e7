/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake of a WebSocket: see websocket_key.h. */
#include "websocket_key.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base64.h"

enum { KEY_BYTES = 16, SHA1_BYTES = 20 };

static int put_base64(const unsigned char *p, size_t n, char *ret,
		      size_t ret_n, struct err *e)
{
	auto_buf struct buf b = buf_new(64);

	buf_put_base64(&b, sv_of((const char *)p, n));
	if (b.n != ret_n)
		return err_kind(e, ERR_LIMIT, "out of memory");
	memcpy(ret, b.p, ret_n);
	return 0;
}

int websocket_make_key(char ret[WEBSOCKET_KEY_SIZE], struct err *e)
{
	unsigned char bytes[KEY_BYTES];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		return err_kind(e, ERR_TLS, "no random bytes");
	return put_base64(bytes, sizeof bytes, ret, WEBSOCKET_KEY_SIZE, e);
}

int websocket_accept(struct sv key, char ret[WEBSOCKET_ACCEPT_SIZE],
		     struct err *e)
{
	auto_buf struct buf b = buf_new(128);
	unsigned char digest[SHA1_BYTES];
	size_t n = sizeof digest;

	buf_put(&b, key);
	buf_puts(&b, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
	if (b.full || EVP_Q_digest(NULL, "SHA1", NULL, b.p, b.n, digest,
				   &n) != 1)
		return err_kind(e, ERR_TLS, "no SHA-1");
	return put_base64(digest, n, ret, WEBSOCKET_ACCEPT_SIZE, e);
}
