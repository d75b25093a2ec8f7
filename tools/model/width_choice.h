// Bits for each weight of a model so that it fits so many bytes and loses least. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace coterie {

// One way to store a weight.
struct WidthOption {
  uint64_t bytes = 0;
  double loss = 0;  // at least 0, finite
};

// An option for each weight, by its index: those whose losses sum up to least among all whose bytes do to `bytes_max`
// at most. Bytes are counted in pieces of a 16,384th of `bytes_max`, begun ones as whole, so that a choice may leave
// one piece a weight unused. None: not even the smallest of each fit. Precondition: no weight is without an option, and
// none has more than 256.
std::optional<std::vector<size_t>> least_loss(const std::vector<std::vector<WidthOption>>& weights, uint64_t bytes_max);

}  // namespace coterie
