#include <vector>

#include "aggregation/strategy/adam_step.h"
#include "aggregation/strategy/newton_schulz.h"
#include "aggregation/strategy/strategy_matrix.h"
#include "base/linear/step_length.h"

namespace coterie::strategy {
namespace {

constexpr StrategySetting kSettings[] = {
    {"server_learning_rate", 0.01f, kAboveZero, "factor of each step"},
    {"momentum", 0.9f, kFromZeroBelowOne, "memory of what moves a linear map"},
    {"beta1", 0.9f, kFromZeroBelowOne, "memory of the first moment, of all other values"},
    {"beta2", 0.99f, kFromZeroBelowOne, "memory of the second moment, likewise"},
    {"tau", 0.001f, kAboveZero, "added to the root of the second moment, likewise"},
};
// Some seconds for a map of 512 x 4,608.
constexpr size_t kSideMax = 512;

// m <- momentum m + mean;  w <- w + eta 0.2 sqrt(max(rows, columns)) X, X next to mean + momentum m: what Muon does on
// a device (device_sdk/runtime/muon_step.h). m is the first state vector.
void move_matrix(const StrategyMatrix& matrix) {
  const double momentum = static_cast<double>(matrix.settings[1]);
  const std::span<float> m = matrix.state[0];
  std::vector<double> x(matrix.mean.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double mean = static_cast<double>(matrix.mean[i]);
    m[i] = static_cast<float>(momentum * static_cast<double>(m[i]) + mean);
    x[i] = mean + momentum * static_cast<double>(m[i]);
  }
  orthogonalise(matrix.rows, matrix.columns, x);
  const double factor = static_cast<double>(matrix.settings[0]) * adam_step_length(matrix.rows, matrix.columns);
  for (size_t i = 0; i < x.size(); ++i) matrix.step[i] = static_cast<float>(factor * x[i]);
}

}  // namespace

extern const StrategyRule kFedMuon = {
    .name = "fedmuon",
    .stored_as = 13,
    .sentence = "linear maps by the mean with momentum, made orthogonal, everything else as fedadam",
    .source = "Jordan et al. 2024; the length of a step: Liu et al. 2025, section 2.2",
    .learning_rate_advised = 0.01,
    .settings = kSettings,
    .state_vectors = 2,
    .apply = adam_step_of_others,
    .move_matrix = move_matrix,
    .matrix_side_max = kSideMax,
};

}  // namespace coterie::strategy
