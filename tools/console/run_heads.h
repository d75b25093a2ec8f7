// The columns of a run's metrics.csv that are of the heads of its training: "evaluation_loss.OUTPUT",
// "evaluation_accuracy.OUTPUT", "evaluation_mae.OUTPUT".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/job/evaluated_head.h"

namespace coterie {

class RunHeads {
 public:
  RunHeads() = default;
  // `header`: the names of all columns. Outputs beyond kHeadsMax, names beyond kPatternBytesMax and columns that are
  // there already are left out.
  explicit RunHeads(const std::vector<std::string>& header);

  // The row has as many fields as the header; what is no finite number is no figure. Heads are in the order of their
  // first columns.
  std::vector<EvaluatedHead> in(const std::vector<std::string>& fields) const;

 private:
  struct Column {
    size_t place, head;
    std::optional<double> EvaluatedHead::*figure;
  };
  std::vector<std::string> outputs_;
  std::vector<Column> columns_;
};

}  // namespace coterie
