// A secret order of things: uniform, another one for each purpose and number, and the same when a stage runs again.
#pragma once

#include <string_view>
#include <vector>

#include "secure/crypto/secret.h"

namespace coterie::vertical {

// order[k] is which of `count` things comes at place k; `number` is of the tree or round that it is for.
std::vector<uint32_t> secret_order(const Secret<32>& seed, std::string_view purpose, uint32_t number, uint32_t count);

}  // namespace coterie::vertical
