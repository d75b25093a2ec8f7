// The companions of a model's weights, the same on the device that trains them and on the server that merges them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/lora_settings.h"

namespace coterie {

struct ModelGraph;

// One weight, w[.., in, out], with A[in, rank] and B[rank, out], both row by row.
struct LoraPair {
  uint32_t weight = 0;       // its tensor
  uint64_t first_value = 0;  // of the weight, in the model's flat vector
  uint64_t in = 0, out = 0, rank = 0;
  uint64_t a_values() const { return in * rank; }
  uint64_t b_values() const { return rank * out; }
  friend bool operator==(const LoraPair&, const LoraPair&) = default;
};

// A pair for the weight of every dense, and of every 1x1 conv2d without groups, whose name matches: in the order of the
// ops; ops that share a weight share its pair. None for a weight that is read otherwise too: such a reader trains
// without the companion, and would compute with the product once that is merged.
//
// invalid_argument if there is no such weight, or if all A and B together have more values than the model's parameters:
// an input picks the rank, and nothing larger than the model is made of it. Precondition: the graph was decoded
// (decode_model), and the rank is in range.
Result<std::vector<LoraPair>> lora_pairs(const ModelGraph& graph, const LoraSettings& settings);

// The pairs' A, one behind the other, of settings.fixed_a_seed: uniform in [-b, b) with b = sqrt(6 / in) (He et al.
// 2015), by arithmetic that gives the same bits everywhere. Precondition: there is such a seed.
std::vector<float> draw_lora_a(std::span<const LoraPair> pairs, const LoraSettings& settings);

// Adds scale * A B to `weights`, which are those of the pair's weight from `first` on. Sums are formed in double and
// rounded once.
void add_lora_product(const LoraPair& pair, double scale, std::span<const float> a, std::span<const float> b,
                      uint64_t first, std::span<float> weights);

}  // namespace coterie
