// A run as its folder has it: metrics.csv and summary.json, as `coterie demo` and `coterie simulate` leave them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

// What says how good a model is: of classes the share that is right, of numbers R2.
enum class RunMetric : uint8_t { accuracy, r2 };
std::string_view to_string(RunMetric metric);  // as files have it, "accuracy" and "r2"
std::string_view shown(RunMetric metric);      // to people, "accuracy" and "R2"

struct RunRound {
  uint64_t number = 0;
  std::optional<double> score, loss;  // on the held-out examples
};

struct RunRecord {
  std::string folder;
  uint64_t seed = 0;
  RunMetric metric = RunMetric::accuracy;
  double score = 0, loss = 0;    // of the last model, on the held-out examples
  std::vector<RunRound> rounds;  // numbers ascend
};

// Errors name the file, and the line where there is one: not_found or what reading gave; malformed.
Result<RunRecord> read_run(const std::string& folder);

// The rows of metrics.csv. Columns are found by their names, so files of later versions are read, too. An empty cell is
// no value. Malformed: no such columns, no number, rounds that do not ascend. Pure.
Result<std::vector<RunRound>> parse_metrics(std::string_view csv, RunMetric metric);

}  // namespace coterie
