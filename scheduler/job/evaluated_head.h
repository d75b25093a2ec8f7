// EvaluatedHead: what one head of a job's training has come to on the job's held-out data.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coterie {

// Each figure is finite, and absent where the head has none: `accuracy` and `mae` exclude each other, and nothing is
// known of a head whose labels are all ignored.
struct EvaluatedHead {
  std::string output;                   // the head's, as in training.heads
  std::optional<double> loss = {};      // the mean over its own rows, not weighted
  std::optional<double> accuracy = {};  // in [0, 1], of one that tells classes apart
  std::optional<double> mae = {};       // of numbers: mean absolute error, in their unit
  friend bool operator==(const EvaluatedHead&, const EvaluatedHead&) = default;
};

// The figures of all heads by the names that they have as columns: "evaluation_loss.OUTPUT", then
// "evaluation_accuracy.OUTPUT" or "evaluation_mae.OUTPUT".
std::vector<std::pair<std::string, double>> columns_of(const std::vector<EvaluatedHead>& heads);

}  // namespace coterie
