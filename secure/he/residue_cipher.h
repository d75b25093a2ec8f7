// What sums where a ciphertext is a power of the plaintext times a random n-th residue, modulo n^2 (Paillier) or n
// (Okamoto and Uchiyama): products of ciphertexts are ciphertexts of sums, and an n-th residue is one of zero. Private
// to secure/he.
#pragma once

#include <memory>
#include <string_view>

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "secure/he/lane_ring.h"

namespace coterie::he {

// `purpose` names the scheme's random numbers (seed_stream.h). Without a kernel libcrypto computes, to the same bytes;
// a kernel stays where it is as long as the cipher.
std::unique_ptr<AdditiveCipher> residue_cipher(Big n, Modulo modulo, const Secret<32>& seed, std::string_view purpose,
                                               const LaneKernel* kernel);

}  // namespace coterie::he
