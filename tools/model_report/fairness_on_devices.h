// Fairness as devices told it in sums alone: an evaluation job's groups (docs/operating/evaluation.md), whose examples
// never left them. Here a device is a draw, so that intervals are wider than those of as many examples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

struct ScoredOnDevices {
  std::string name;
  double devices = 0, examples = 0;
  struct Figure {
    double value = 0;
    std::optional<double> low, high;  // of a 95 % interval
  };
  std::optional<Figure> accuracy, loss;
};

struct DeviceFairness {
  std::string column;        // empty: the job had no groups
  std::string model_digest;  // of the model that they judged
  bool is_of_model = false;  // whether that is the model of the report
  ScoredOnDevices all;
  std::vector<ScoredOnDevices> groups;
  std::optional<double> accuracy_gap;          // largest less smallest, without the last: it is of examples in none
  std::optional<double> worst_from, worst_to;  // a tenth of the devices has at most so many right
};

inline constexpr size_t kDeviceGroupsMax = 64;  // as many as an evaluation has
inline constexpr uint64_t kEvaluationBytesMax = 4 << 20;

// `result`: what `coterie job result JOB -o json` prints. The model with `model_digest` is taken, or the last if
// there is none. malformed: no coterie.evaluation_result.v1, or figures that are none. Pure.
Result<DeviceFairness> parse_device_fairness(std::string_view result, const std::string& model_digest);
// Errors name the file.
Result<DeviceFairness> read_device_fairness(const std::string& file, const std::string& model_digest);

}  // namespace coterie
