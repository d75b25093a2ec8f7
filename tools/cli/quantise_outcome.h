// What both kinds of `coterie model quantise` tell the command, which shows it, refuses a drop and writes the file.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device_sdk/runtime/evaluator.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "tools/cli/model_quantise.h"
#include "tools/cli/table.h"
#include "tools/model/activation_range.h"

namespace coterie {

inline constexpr int kReportColumns = 80;

struct QuantiseTask {
  const QuantiseOptions& options;
  const Model& model;
  ExampleSource &calibration, &judges;
  LossSettings loss;
  uint64_t target_elements = 1;  // of an example
  std::function<void(size_t tried, size_t in_all)> progress;
  const ActivationHistograms* ranges = nullptr;  // null: those of the examples

  std::optional<double> target_ratio() const {
    return options.weight_bits ? std::nullopt : std::optional(options.target_ratio.value_or(kTargetRatio));
  }
};

struct QuantiseOutcome {
  Bytes file;
  Evaluation before, after;
  std::vector<HeadResult> heads_before, heads_after;
  double calibration_exact = 0, calibration_plain = 0, calibration_loss = 0;
  bool is_equalised = false;
  std::string table;                     // for people
  const char* rows_name;                 // for programs: the key of `rows`
  std::shared_ptr<nlohmann::json> rows;  // a list
  std::string worst;                     // what lost most, as the first place to look, and what can be done
  const char* after_word;                // what the file does now
};

// Weights alone; activations, too.
Result<QuantiseOutcome> quantise_weights(const QuantiseTask& task);
Result<QuantiseOutcome> quantise_throughout(const QuantiseTask& task);
// By ranges alone, without any example: nothing is measured.
Result<QuantiseOutcome> quantise_unmeasured(const Model& model, const ActivationHistograms& ranges,
                                            uint32_t weight_bits);

// "0.0125" in so many digits as `format` says.
std::string short_number(double value, const char* format = "%.3g");

// The names of the three rows with the least of something.
template <typename Row, typename Of>
std::string worst_names(const std::vector<Row>& rows, const Of& of) {
  std::vector<const Row*> sorted;
  for (const Row& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, {}, [&](const Row* row) { return of(*row); });
  std::string names;
  for (size_t i = 0; i < sorted.size() && i < 3; ++i) names += (i == 0 ? "" : ", ") + printable(sorted[i]->name);
  return names;
}

// The outcome but for what is told of rows.
template <typename Report>
void take(Report& report, QuantiseOutcome& outcome) {
  outcome.file = std::move(report.file);
  outcome.before = report.before, outcome.after = report.after;
  outcome.calibration_exact = report.calibration_exact;
  outcome.calibration_plain = report.calibration_plain;
  outcome.calibration_loss = report.calibration_loss;
  outcome.is_equalised = report.is_equalised;
  if constexpr (requires { report.heads_before; }) {
    outcome.heads_before = std::move(report.heads_before);
    outcome.heads_after = std::move(report.heads_after);
  }
}

}  // namespace coterie
