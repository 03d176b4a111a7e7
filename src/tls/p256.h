/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A public key on P-256, as bytes.
 *
 * OpenSSL would take or make them by its encoders and decoders, which take a
 * fifth of the time that vault needs to be ready, and some 60 KiB for each
 * process that starts them.
 */
#ifndef TLS_P256_H
#define TLS_P256_H

/* SubjectPublicKeyInfo of id-ecPublicKey, prime256v1, up to the point. */
#define P256_SPKI                                              \
	"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01" \
	"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00"

enum {
	P256_POINT = 65,	/* bytes of an uncompressed point; it begins with 4 */
	P256_SPKI_SIZE = sizeof(P256_SPKI) - 1 + P256_POINT,
};

#endif
