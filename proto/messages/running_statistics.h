// Which values of a model are running statistics, and how a round makes one pair of them of many devices' pairs.
//
// A batch norm's mean and variance are set by training, not by a gradient: a step along their difference means nothing,
// and a variance below 0 makes the model answer NaN. With pooled statistics (UpdateEncoding::float32_pooled) a round's
// are those of all its examples together, by the law of total variance:
//
//   mean = sum(n mean_i) / sum(n);   var = sum(n (var_i + mean_i^2)) / sum(n) - mean^2, at least 0
//
// A variance does not change when all means are shifted by one amount, so that devices count from the mean that they
// were given: mean_i and mean there are differences from it. What a device sends for a channel is
//
//   m_i = mean_i - mean_0          in the lane of the mean
//   s_i = var_i - var_0 + m_i^2    in the lane of the variance
//
// and the new pair is mean_0 + E[m], var_0 + E[s] - E[m]^2. Sums stay sums, behind masks too. Counting from the given
// mean also keeps the digits: var_i + mean_i^2 would lose them where the mean is large beside the deviation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

// One batch norm: where its statistics lie in the flat vector of the model's values.
struct RunningStatistics {
  uint64_t mean = 0;      // first value
  uint64_t variance = 0;  // likewise
  uint64_t channels = 0;
  friend bool operator==(const RunningStatistics&, const RunningStatistics&) = default;
};

struct ValueRange {
  uint64_t first = 0, count = 0;
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// Every batch norm that training moves: those whose is_frozen is not set. A pair that several share is there once.
// Both ends of the wire call this for the same model, so the order is that of the graph's ops.
// Precondition: the graph was decoded (decode_model).
std::vector<RunningStatistics> running_statistics(const ModelGraph& graph);

// The variances of every batch norm, frozen or not: none of them may be below 0.
std::vector<ValueRange> variances(const ModelGraph& graph);

// The parameters, by where they lie. What no parameter and no running statistic holds is never moved: frozen
// statistics, and the padding between tensors.
std::vector<ValueRange> parameter_values(const ModelGraph& graph);

// On the device: turns the differences of the statistics in `delta` (trained - given) into m and s, in place. Where one
// of them is over `bound` in magnitude, both are scaled by one factor: that is the pair of a mixture of the given and
// the trained distribution, so that the pooled variance stays one. All values are finite.
void encode_statistics(std::span<const RunningStatistics> statistics, float bound, std::span<float> delta);

// On the server: the variance of the mean m and the mean s of a round, given the variance the devices were given.
float pooled_variance(float variance, double mean_m, double mean_s);

}  // namespace coterie
