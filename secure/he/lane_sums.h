// Products of lists of rows by a LaneRing: what sums of ciphertexts are made of. Private to secure/he.
//
// Not constant time: the lengths of the lists show, and which rows are read.
#pragma once

#include <vector>

#include "secure/he/lane_ring.h"

namespace coterie::he {

using RowList = std::vector<const uint64_t*>;

// The product of each list, empty words for an empty list. Lanes take lists as they become free, the longest first;
// long lists are cut, so that no lane works on when all others are done.
std::vector<LaneWords> products_of(const LaneRing& modulus, std::vector<RowList> lists);

}  // namespace coterie::he
