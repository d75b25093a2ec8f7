#include "proto/messages/running_statistics.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/assert.h"

namespace coterie {
namespace {

constexpr size_t kMeanInput = 3, kVarianceInput = 4;  // of batch_norm (OpKind)

ValueRange values_of(const TensorInfo& tensor) {
  const Result<uint64_t> count = element_count(tensor.shape);
  COT_ASSERT(count.has_value());  // decode_model has looked
  return {tensor.payload_offset / sizeof(float), *count};
}

// Null unless it is a batch norm with a mean and a variance in the model's state: the structure has been checked so
// far, what ops take has not.
const NormAttributes* batch_norm_of(const ModelGraph& graph, const OpInfo& op) {
  if (op.kind != OpKind::batch_norm || op.inputs.size() <= kVarianceInput) return nullptr;
  for (const size_t input : {kMeanInput, kVarianceInput}) {
    if (op.inputs[input] == kNoTensor || graph.tensors[op.inputs[input]].role != TensorRole::state) return nullptr;
  }
  return std::get_if<NormAttributes>(&op.attributes);
}

}  // namespace

std::vector<RunningStatistics> running_statistics(const ModelGraph& graph) {
  std::vector<RunningStatistics> all;
  std::set<uint32_t> taken;
  for (const OpInfo& op : graph.ops) {
    const NormAttributes* norm = batch_norm_of(graph, op);
    if (norm == nullptr || norm->is_frozen) continue;
    const uint32_t mean = op.inputs[kMeanInput], variance = op.inputs[kVarianceInput];
    const ValueRange means = values_of(graph.tensors[mean]), variances = values_of(graph.tensors[variance]);
    if (means.count != variances.count || mean == variance) continue;  // no runtime loads such a model
    if (taken.contains(mean) || taken.contains(variance)) continue;
    taken.insert({mean, variance});
    all.push_back({means.first, variances.first, means.count});
  }
  return all;
}

std::vector<ValueRange> variances(const ModelGraph& graph) {
  std::vector<ValueRange> all;
  for (const OpInfo& op : graph.ops) {
    if (batch_norm_of(graph, op) != nullptr) all.push_back(values_of(graph.tensors[op.inputs[kVarianceInput]]));
  }
  return all;
}

std::vector<ValueRange> parameter_values(const ModelGraph& graph) {
  std::vector<ValueRange> all;
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.role == TensorRole::parameter) all.push_back(values_of(tensor));
  }
  std::ranges::sort(all, {}, &ValueRange::first);
  return all;
}

void encode_statistics(std::span<const RunningStatistics> statistics, float bound, std::span<float> delta) {
  const auto limit = static_cast<double>(bound);
  for (const RunningStatistics& norm : statistics) {
    COT_ASSERT(norm.mean + norm.channels <= delta.size() && norm.variance + norm.channels <= delta.size());
    for (uint64_t i = 0; i < norm.channels; ++i) {
      float& mean = delta[norm.mean + i];
      float& variance = delta[norm.variance + i];
      const auto m = static_cast<double>(mean);
      const double s = static_cast<double>(variance) + m * m;
      const double largest = std::max(std::abs(m), std::abs(s));
      const double part = largest > limit ? limit / largest : 1;
      // The product may round to the float above the bound, for which the server would refuse the whole update.
      mean = std::clamp(static_cast<float>(part * m), -bound, bound);
      variance = std::clamp(static_cast<float>(part * s), -bound, bound);
    }
  }
}

float pooled_variance(float variance, double mean_m, double mean_s) {
  return static_cast<float>(std::max(0.0, static_cast<double>(variance) + mean_s - mean_m * mean_m));
}

}  // namespace coterie
