// Okamoto and Uchiyama's cipher (T. Okamoto, S. Uchiyama, A New Public-Key Cryptosystem as Secure as Factoring,
// Eurocrypt 1998): n = p^2 q, and a ciphertext of m is g^m times a random n-th residue modulo n. Sums of plaintexts are
// products of ciphertexts, as in Paillier's, but modulo n and not n^2: half the bytes, and a fraction of the time.
//
// Whoever can have ciphertexts of its own choice decrypted learns the key: a plaintext comes back modulo p, so that one
// above p gives a multiple of p away. It is for parties that follow the protocol alone (ADR 168).
//
// The holder of the key draws n-th residues as they are distributed: a power of a generator modulo p^2 and any number
// modulo q. g is 1 + p modulo p^2 and 1 modulo q, and nobody else needs it: only the holder encrypts. Whoever sums
// rerandomizes as under Paillier's cipher (paillier.h); n-th residues are the ciphertexts of zero here, too.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"

namespace coterie {

// What a job may use; no smaller key can be asked for. Plaintexts have a third of the bits.
enum class OkamotoUchiyamaBits : uint16_t { k2048 = 2048, k3072 = 3072 };

// A new key; takes a second at most. The same seed gives the same key and the same ciphertexts: use it for one job.
std::unique_ptr<AdditiveKey> make_okamoto_uchiyama_key(OkamotoUchiyamaBits bits, const Secret<32>& seed);

// What sums under the public key of another party. invalid_argument unless it has 2048 or 3072 bits, is odd and no
// prime.
Result<std::unique_ptr<AdditiveCipher>> okamoto_uchiyama_cipher(ByteView public_key, Secret<32> seed);

}  // namespace coterie
