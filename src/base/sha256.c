/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: see sha256.h.  Whole messages only; that is all the chain needs. */
#include "sha256.h"

static const uint32_t sha256_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

/*
 * One round.  The letters of the standard move on by one place in each; here they
 * stay, and what is called `a` moves, so that they can be kept in registers.
 */
static inline void turn(uint32_t s[8], size_t first, uint32_t kw)
{
	uint32_t a = s[first % 8], b = s[(first + 1) % 8];
	uint32_t c = s[(first + 2) % 8], e = s[(first + 4) % 8];
	uint32_t f = s[(first + 5) % 8], g = s[(first + 6) % 8];
	uint32_t t1 = s[(first + 7) % 8] + kw + ((e & f) ^ (~e & g)) +
		      (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25));
	uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) +
		      ((a & b) ^ (a & c) ^ (b & c));

	s[(first + 3) % 8] += t1;
	s[(first + 7) % 8] = t1 + t2;
}

static void sha256_block(uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
		       w[i - 7] + (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
	}
	memcpy(s, h, sizeof s);
	for (size_t i = 0; i < 64; i += 8) {
		const uint32_t *k = sha256_k + i, *v = w + i;

		turn(s, 0, k[0] + v[0]);
		turn(s, 7, k[1] + v[1]);
		turn(s, 6, k[2] + v[2]);
		turn(s, 5, k[3] + v[3]);
		turn(s, 4, k[4] + v[4]);
		turn(s, 3, k[5] + v[5]);
		turn(s, 2, k[6] + v[6]);
		turn(s, 1, k[7] + v[7]);
	}
	for (size_t i = 0; i < 8; i++)
		h[i] += s[i];
}

void sha256(struct sv v, uint8_t ret[SHA256_SIZE])
{
	uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	uint64_t bits = (uint64_t)v.n * 8;
	uint8_t tail[128] = { 0 };
	size_t whole = v.n - v.n % 64, rest = v.n % 64;
	size_t tail_n = rest < 56 ? 64 : 128;

	for (size_t i = 0; i < whole; i += 64)
		sha256_block(h, (const uint8_t *)v.p + i);
	if (rest)
		memcpy(tail, v.p + whole, rest);
	tail[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		tail[tail_n - 1 - i] = (uint8_t)(bits >> (8 * i));
	for (size_t i = 0; i < tail_n; i += 64)
		sha256_block(h, tail + i);
	for (size_t i = 0; i < 32; i++)
		ret[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
