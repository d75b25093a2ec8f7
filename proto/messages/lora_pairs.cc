#include "proto/messages/lora_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "base/random.h"
#include "base/text/name_pattern.h"
#include "proto/messages/model.h"
#include "proto/messages/running_statistics.h"

namespace coterie {
namespace {

constexpr size_t kWeightInput = 1;  // of dense and conv2d (OpKind)

// dense: w[in, out]; conv2d: w[1, 1, in, out].
bool takes_companion(const ModelGraph& graph, const OpInfo& op) {
  if (op.kind != OpKind::dense && op.kind != OpKind::conv2d) return false;
  if (op.inputs.size() <= kWeightInput || op.inputs[kWeightInput] == kNoTensor) return false;
  const TensorInfo& weight = graph.tensors[op.inputs[kWeightInput]];
  if (weight.role != TensorRole::parameter) return false;
  if (op.kind == OpKind::dense) return weight.shape.size() == 2;
  const auto* conv = std::get_if<Conv2dAttributes>(&op.attributes);
  return conv != nullptr && weight.shape.size() == 4 && weight.shape[0] == 1 && weight.shape[1] == 1 &&
         conv->groups == 1;
}

// The tensors that some op reads otherwise than as such a weight, such as the table of an embedding.
std::vector<bool> read_otherwise(const ModelGraph& graph) {
  std::vector<bool> marks(graph.tensors.size());
  for (const OpInfo& op : graph.ops) {
    const bool takes = takes_companion(graph, op);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] != kNoTensor && !(takes && i == kWeightInput)) marks[op.inputs[i]] = true;
    }
  }
  return marks;
}

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "lora: " + what); }

uint64_t parameter_count(const ModelGraph& graph) {
  uint64_t count = 0;
  for (const ValueRange& range : parameter_values(graph)) count += range.count;
  return count;
}

Status check_size(const ModelGraph& graph, std::span<const LoraPair> pairs, uint32_t rank) {
  uint64_t by_rank = 0;
  for (const LoraPair& pair : pairs) by_rank += pair.in + pair.out;
  const uint64_t count = parameter_count(graph);
  if (by_rank * rank <= count) return {};
  const std::string most = by_rank <= count ? "the rank must be at most " + std::to_string(count / by_rank)
                                            : "no rank is low enough for weights that small";
  return bad("companions of rank " + std::to_string(rank) + " have " + std::to_string(by_rank * rank) +
             " values, the model's parameters " + std::to_string(count) + ": " + most);
}

}  // namespace

Result<std::vector<LoraPair>> lora_pairs(const ModelGraph& graph, const LoraSettings& settings) {
  std::vector<bool> passed = read_otherwise(graph);
  std::vector<LoraPair> pairs;
  for (const OpInfo& op : graph.ops) {
    if (!takes_companion(graph, op)) continue;
    const uint32_t weight = op.inputs[kWeightInput];
    const TensorInfo& tensor = graph.tensors[weight];
    if (passed[weight] || !name_matches(settings.pattern, tensor.name)) continue;
    passed[weight] = true;
    pairs.push_back({.weight = weight,
                     .first_value = tensor.payload_offset / sizeof(float),
                     .in = static_cast<uint64_t>(tensor.shape[tensor.shape.size() - 2]),
                     .out = static_cast<uint64_t>(tensor.shape.back()),
                     .rank = settings.rank});
  }
  if (pairs.empty()) return bad(settings.pattern + " matches no weight of a dense or a 1x1 convolution");
  COT_TRY(check_size(graph, pairs, settings.rank));
  return pairs;
}

std::vector<float> draw_lora_a(std::span<const LoraPair> pairs, const LoraSettings& settings) {
  COT_ASSERT(settings.fixed_a_seed.has_value());
  Prng random(*settings.fixed_a_seed);
  std::vector<float> a;
  for (const LoraPair& pair : pairs) {
    const double bound = std::sqrt(6.0 / static_cast<double>(pair.in));
    for (uint64_t i = 0; i < pair.a_values(); ++i) {
      const double unit = 2 * random.uniform() - 1;  // exact
      a.push_back(static_cast<float>(bound * unit));
    }
  }
  return a;
}

void add_lora_product(const LoraPair& pair, double scale, std::span<const float> a, std::span<const float> b,
                      uint64_t first, std::span<float> weights) {
  COT_ASSERT(a.size() == pair.a_values() && b.size() == pair.b_values());
  COT_ASSERT(first + weights.size() <= pair.in * pair.out);
  while (!weights.empty()) {  // a part of a row, B read by rows
    const uint64_t row = first / pair.out, column = first % pair.out;
    std::array<double, 256> sums{};
    const uint64_t count = std::min<uint64_t>({sums.size(), pair.out - column, weights.size()});
    for (uint64_t k = 0; k < pair.rank; ++k) {
      const auto factor = static_cast<double>(a[row * pair.rank + k]);
      const std::span<const float> values = b.subspan(k * pair.out + column, count);
      for (uint64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<double>(values[i]);
    }
    for (uint64_t i = 0; i < count; ++i) {
      weights[i] = static_cast<float>(static_cast<double>(weights[i]) + sums[i] * scale);
    }
    first += count;
    weights = weights.subspan(count);
  }
}

}  // namespace coterie
