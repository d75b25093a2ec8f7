// A secret order of a tree's candidates: uniform, drawn anew for each tree, and the same when a stage runs again.
#pragma once

#include <vector>

#include "secure/crypto/secret.h"

namespace coterie::vertical {

// order[k] is which candidate has number k.
std::vector<uint32_t> secret_order(const Secret<32>& seed, uint32_t tree, uint32_t count);

}  // namespace coterie::vertical
