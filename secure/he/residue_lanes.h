// residue_cipher.h with a LaneKernel: the same bytes as libcrypto's way gives. Private to secure/he.
#pragma once

#include <memory>
#include <string_view>

#include "secure/crypto/secret.h"
#include "secure/he/additive_cipher.h"
#include "secure/he/lane_ring.h"

namespace coterie::he {

// `kernel` stays where it is as long as the cipher.
std::unique_ptr<AdditiveCipher> residue_lane_cipher(Big n, Modulo modulo, const Secret<32>& seed,
                                                    std::string_view purpose, const LaneKernel& kernel);

}  // namespace coterie::he
