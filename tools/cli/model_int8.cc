#include "tools/cli/model_int8.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/cli/quantise_outcome.h"
#include "tools/cli/table.h"
#include "tools/model/activation_range.h"
#include "tools/model/quantise_full.h"

namespace coterie {
namespace {

std::string range_text(const Int8LayerReport& row) { return row.range ? std::string(to_string(*row.range)) : "kept"; }
std::string weights_text(const Int8LayerReport& row) {
  if (!row.weights) return "";
  return std::string(row.weights->bits == 1 ? "mean" : to_string(row.weights->rule)) +
         (row.weights->is_compensated ? ", OPTQ" : "") + (row.weights->is_bias_corrected ? ", bias" : "");
}

// What the bits that were found cost: LOSS is what the calibration loss grows by with these weights alone rounded.
std::string table_of_widths(const FullQuantiseReport& report) {
  using enum Table::Align;
  Table table({{"VALUE"}, {"OP"}, {"BITS", right}, {"SHARE", right}, {"LOSS", right}, {"WEIGHTS"}, {"SQNR dB", right}});
  const auto share = [&](uint64_t bytes) {
    return format_percent(static_cast<double>(bytes) / static_cast<double>(report.file.size()));
  };
  uint64_t beside = report.file.size();
  for (const Int8LayerReport& row : report.layers) {
    const auto& weights = row.weights;
    table.add({row.name, row.op, weights ? std::to_string(weights->bits) : "", weights ? share(weights->bytes) : "",
               weights ? "+" + format_fixed(weights->price.value_or(0), 4) : "", weights_text(row),
               format_fixed(row.signal_to_noise_db, 1)});
    if (weights) beside -= std::min(beside, weights->bytes);
  }
  table.add({"all else", "", "", share(beside), "", "", ""});
  return table.text_within(kReportColumns);
}

// What is told of rows.
QuantiseOutcome outcome_of(FullQuantiseReport& report, bool has_ratio) {
  using enum Table::Align;
  Table table({{"VALUE"}, {"OP"}, {"WEIGHTS"}, {"RANGE"}, {"SCALE", right}, {"ZERO", right}, {"SQNR dB", right}});
  QuantiseOutcome outcome{};
  outcome.rows_name = "values";
  outcome.rows = std::make_shared<nlohmann::json>(nlohmann::json::array());
  for (const Int8LayerReport& row : report.layers) {
    table.add({row.name, row.op, weights_text(row), range_text(row), short_number(static_cast<double>(row.scale)),
               std::to_string(row.zero), format_fixed(row.signal_to_noise_db, 1)});
    nlohmann::json one{{"name", row.name},   {"op", row.op},     {"range", range_text(row)},
                       {"scale", row.scale}, {"zero", row.zero}, {"sqnr_db", nullptr}};
    if (std::isfinite(row.signal_to_noise_db)) one["sqnr_db"] = row.signal_to_noise_db;
    if (row.weights) {
      one["weights"] = to_string(row.weights->rule);
      one["bits"] = row.weights->bits;
      one["bytes"] = row.weights->bytes;
      one["bias_corrected"] = row.weights->is_bias_corrected;
      one["compensated"] = row.weights->is_compensated;
      if (row.weights->price) one["loss_alone"] = *row.weights->price;
    }
    outcome.rows->push_back(std::move(one));
  }
  outcome.table = has_ratio ? table_of_widths(report) : table.text_within(kReportColumns);
  outcome.worst =
      "Furthest from float32 are " +
      worst_names(report.layers, [](const Int8LayerReport& row) { return row.signal_to_noise_db; }) +
      (has_ratio ? "; a smaller --target-ratio leaves more bits" : "; without --full the weights alone are int8");
  take(report, outcome);
  outcome.after_word = "it computes in int8";
  return outcome;
}

std::string name_of_value(const Int8Program& program, size_t value) {
  return value == 0 ? "input" : program.steps[value - 1].name;
}

}  // namespace

Result<QuantiseOutcome> quantise_throughout(const QuantiseTask& task) {
  COT_ASSIGN(FullQuantiseReport report, quantise_full(task.model, task.calibration, task.judges,
                                                      {.loss = task.loss,
                                                       .calibration_examples = task.options.calibration_examples,
                                                       .target_elements = task.target_elements,
                                                       .weight_bits = task.options.weight_bits.value_or(8),
                                                       .target_ratio = task.target_ratio(),
                                                       .progress = task.progress,
                                                       .ranges = task.ranges}));
  return outcome_of(report, task.target_ratio().has_value());
}

Result<QuantiseOutcome> quantise_unmeasured(const Model& model, const ActivationHistograms& ranges,
                                            uint32_t weight_bits) {
  COT_ASSIGN(FullQuantiseReport report, quantise_by_ranges(model, ranges, weight_bits));
  return outcome_of(report, false);
}

std::string table_of(const Int8Program& program) {
  using enum Table::Align;
  Table table({{"VALUE"}, {"STEP"}, {"SCALE", right}, {"ZERO", right}, {"BOUNDS", right}});
  for (size_t value = 0; value < program.values.size(); ++value) {
    const kernels::int8::Grid& grid = program.values[value].grid;
    const Int8Step* const step = value == 0 ? nullptr : &program.steps[value - 1];
    const bool is_bounded = step != nullptr && (step->to.low > -128 || step->to.high < 127);
    table.add({name_of_value(program, value), step == nullptr ? "quantise" : std::string(to_string(step->kind)),
               short_number(static_cast<double>(grid.scale)), std::to_string(grid.zero),
               is_bounded ? std::to_string(step->to.low) + " to " + std::to_string(step->to.high) : ""});
  }
  return "it computes in int8, real = scale * (q - zero)" +
         std::string(program.has_softmax ? "; softmax behind it is float32" : "") + "\n\n" +
         table.text_within(kReportColumns);
}

nlohmann::json json_of(const Int8Program& program) {
  nlohmann::json values = nlohmann::json::array();
  for (size_t value = 0; value < program.values.size(); ++value) {
    const kernels::int8::Grid& grid = program.values[value].grid;
    values.push_back({{"name", name_of_value(program, value)},
                      {"step", value == 0 ? "quantise" : to_string(program.steps[value - 1].kind)},
                      {"scale", grid.scale},
                      {"zero", grid.zero}});
  }
  return {{"values", values}, {"softmax", program.has_softmax}};
}

}  // namespace coterie
