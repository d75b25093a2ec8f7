// Who gets which examples: a held-out part, and one shard a device. Pure: the same arguments give the same answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

using Indices = std::vector<uint32_t>;

struct HeldOut {
  Indices training;
  Indices held_out;
};

// Draws `fraction` of each class (rounded) as the held-out part; both parts are in the order of the data.
HeldOut hold_out(std::span<const int32_t> labels, double fraction, uint64_t seed);

// How the examples are shared out.
//   iid            shuffled and dealt: every device sees the same world
//   dirichlet      of each class, the devices' shares are drawn from Dirichlet(alpha): devices differ in what they know
//                  and in how much. The smaller alpha, the more (0.1: nearly one class a device; 100: nearly iid).
//                  After Hsu, Qi and Brown 2019 (who draw for each device which classes it knows), in the per-class
//                  form of Yurochkin et al. 2019.
struct DataSplit {
  bool is_iid = true;
  double alpha = 0;
};
// "iid" or "dirichlet:0.3"; alpha in (0, 1e6]. Errors: invalid_argument.
Result<DataSplit> parse_split(std::string_view text);
std::string to_string(const DataSplit& split);

inline constexpr size_t kShardExamplesMin = 2;

// One list of `examples` a device; every example is in exactly one, every device has at least kShardExamplesMin.
// Errors: invalid_argument (too few examples for so many devices).
Result<std::vector<Indices>> partition(const DataSplit& split, const Indices& examples, std::span<const int32_t> labels,
                                       uint32_t devices, uint64_t seed);

}  // namespace coterie
