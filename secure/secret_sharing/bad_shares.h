// Which of some shares do not fit the others: Reed-Solomon decoding. Private to secure/secret_sharing.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"

namespace coterie {

// Shares of 32 bytes, rows[i] at xs[i] (different, none 0); 2 * bad_max <= xs.size() - threshold. Returns the indices,
// ascending, of those without which, in each byte, all others lie on a polynomial of degree below `threshold`: at most
// bad_max a byte, and more where different bytes have different ones. Nothing if there are none so few. If no more than
// bad_max shares were changed, these are they.
//
// Works on the syndromes (sums of shares that are 0 for every polynomial): what is branched upon are functions of the
// errors alone, not of the secret.
std::optional<std::vector<size_t>> find_bad_shares(size_t threshold, size_t bad_max, const std::vector<uint8_t>& xs,
                                                   const std::vector<const uint8_t*>& rows);

}  // namespace coterie
