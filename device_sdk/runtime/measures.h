// Measures by their names: what the outputs of an evaluation come to, beside its loss (metrics.h has what they mean).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/metrics.h"

namespace coterie {

inline constexpr const char* kMeasureNames =
    "top-K, precision, recall, f1, auc, mae, rmse, r2, perplexity (device_sdk/runtime/metrics.h)";

// invalid_argument names what is no measure, or says that there are two top-K.
Status check_measures(std::span<const std::string> names);

// Those that may fit outputs of so many numbers a row.
std::vector<std::string> every_measure(uint64_t width);

// What a row of the output is compared with.
enum class MeasuredRows : uint8_t {
  classes,  // a score each class, one label
  binary,   // every element by itself is a score of class 1 against a threshold
  values,   // numbers
  none      // pairs and triplets of rows: none of the measures is about them
};

// Everything that is collected while the outputs pass by.
class MeasureCollector {
 public:
  // `width`: numbers a row of the output. `names` have passed check_measures. `unit`: what a difference of 1 between
  // two targets is in their own unit; mae and rmse are told in it.
  MeasureCollector(const LossSettings& loss, uint64_t width, std::span<const std::string> names, double unit = 1);

  // As an OutputSink has them.
  void add(std::span<const float> outputs, std::span<const float> targets);

  // invalid_argument for a measure that does not fit the loss or the examples.
  Result<double> value_of(std::string_view name, const Evaluation& evaluation) const;

 private:
  static uint32_t top_k_among(std::span<const std::string> names);

  LossSettings loss_;
  double unit_;
  uint64_t width_;
  MeasuredRows rows_;
  ClassMetrics classes_;
  ValueMetrics values_;
};

}  // namespace coterie
