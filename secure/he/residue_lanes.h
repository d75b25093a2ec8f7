// What sums under a Paillier key with a LaneKernel: the same bytes as libcrypto's way gives. Private to secure/he.
#pragma once

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "secure/he/lane_kernel.h"
#include "secure/he/paillier_modulus.h"

namespace coterie::he {

// `kernel` stays where it is as long as the cipher.
std::unique_ptr<AdditiveCipher> paillier_lane_cipher(Big n, const Secret<32>& seed, const LaneKernel& kernel);

}  // namespace coterie::he
