#include "tools/cli/model_int8.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/demo/progress.h"
#include "tools/model/measure.h"
#include "tools/model/quantise_full.h"

namespace coterie {
namespace {

constexpr const char* kFullCommand = "model quantise";

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string range_text(const Int8LayerReport& row) { return row.range ? std::string(to_string(*row.range)) : "kept"; }
std::string weights_text(const Int8LayerReport& row) { return row.weights ? std::string(to_string(*row.weights)) : ""; }

std::string score_text(const Evaluation& evaluation, bool is_classified) {
  return (is_classified ? "accuracy " + format_percent(evaluation.accuracy) + ", " : std::string()) + "loss " +
         format_fixed(evaluation.loss_mean, 4);
}

void print_full_report(const FullQuantiseReport& report, uint64_t bytes_before, bool is_classified) {
  using enum Table::Align;
  Table table({{"VALUE"}, {"OP"}, {"WEIGHTS"}, {"RANGE"}, {"SCALE", right}, {"ZERO", right}, {"SQNR dB", right}});
  for (const Int8LayerReport& row : report.layers) {
    table.add({row.name, row.op, weights_text(row), range_text(row), short_number(static_cast<double>(row.scale)),
               std::to_string(row.zero), format_fixed(row.signal_to_noise_db, 1)});
  }
  print_text(table.text() + "\ncalibration loss " + format_fixed(report.calibration_exact, 4) + " as float32, " +
             format_fixed(report.calibration_plain, 4) + " by min-max alone, " +
             format_fixed(report.calibration_loss, 4) + " kept; " +
             (report.is_equalised ? "layers are equalised" : "layers stay as they were") +
             "\nbefore: " + score_text(report.before, is_classified) + " on " + format_count(report.before.examples) +
             " examples, " + format_bytes(bytes_before) + "\nafter:  " + score_text(report.after, is_classified) +
             ", " + format_bytes(report.file.size()) + "\n");
}

nlohmann::json json_of(const Evaluation& evaluation, uint64_t bytes) {
  return {{"accuracy", evaluation.accuracy},
          {"loss", evaluation.loss_mean},
          {"examples", evaluation.examples},
          {"bytes", bytes}};
}

nlohmann::json json_of(const FullQuantiseReport& report, uint64_t bytes_before, double drop) {
  nlohmann::json json{{"values", nlohmann::json::array()},
                      {"equalised", report.is_equalised},
                      {"calibration",
                       {{"float32", report.calibration_exact},
                        {"min_max", report.calibration_plain},
                        {"kept", report.calibration_loss}}},
                      {"before", json_of(report.before, bytes_before)},
                      {"after", json_of(report.after, report.file.size())},
                      {"drop", drop}};
  for (const Int8LayerReport& row : report.layers) {
    nlohmann::json one{{"name", row.name},   {"op", row.op},     {"range", range_text(row)},
                       {"scale", row.scale}, {"zero", row.zero}, {"sqnr_db", nullptr}};
    if (std::isfinite(row.signal_to_noise_db)) one["sqnr_db"] = row.signal_to_noise_db;
    if (row.weights) one["weights"] = weights_text(row);
    json["values"].push_back(std::move(one));
  }
  return json;
}

// The values that are furthest from float32, as the first place to look.
std::string worst_values(const FullQuantiseReport& report) {
  std::vector<const Int8LayerReport*> rows;
  for (const Int8LayerReport& row : report.layers) rows.push_back(&row);
  std::ranges::stable_sort(rows, {}, [](const Int8LayerReport* row) { return row->signal_to_noise_db; });
  std::string names;
  for (size_t i = 0; i < rows.size() && i < 3; ++i) names += (i == 0 ? "" : ", ") + printable(rows[i]->name);
  return names;
}

std::string name_of_value(const Int8Program& program, size_t value) {
  return value == 0 ? "input" : program.steps[value - 1].name;
}

}  // namespace

ExitCode quantise_model_full(const QuantiseOptions& options) {
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input(kFullCommand, model.error());
  Result<LocalData> data = open_data(options.data);
  if (!data) return fail_on_input(kFullCommand, data.error());
  const LossSettings loss = loss_for(data->judges().header(), std::nullopt);
  InterruptibleSource calibration(data->examples), judges(data->judges());
  ProgressLine progress(stderr, false);
  const Result<FullQuantiseReport> report =
      quantise_full(*model, calibration, judges,
                    {.loss = loss,
                     .calibration_examples = options.calibration_examples,
                     .target_elements = elements(data->judges().header().target.shape),
                     .progress = [&](size_t tried, size_t in_all) {
                       const double ratio = static_cast<double>(tried) / static_cast<double>(in_all);
                       progress.show("remedies " + bar(ratio, 20, progress.terminal()) + " " + std::to_string(tried) +
                                     "/" + std::to_string(in_all));
                     }});
  progress.clear();
  if (!report) return fail_on_input(kFullCommand, report.error().with_context(options.from + " on " + options.data));
  const bool is_classified = loss.target == TargetKind::labels;
  const double drop = drop_between(report->before, report->after, is_classified);
  if (options.as_json) print_json(json_of(*report, model->file().size(), drop));
  else print_full_report(*report, model->file().size(), is_classified);
  // Written so that a drop that is no number is refused, too.
  if (!(drop <= options.drop_max)) {
    print_error(kFullCommand,
                Error(ErrorCode::conflict, "nothing is written: the drop is " + format_percent(drop) + ", at most " +
                                               format_percent(options.drop_max) +
                                               " is allowed (--max-drop). Furthest from float32 are " +
                                               worst_values(*report) + "; without --full the weights alone are int8"));
    return ExitCode::failure;
  }
  if (const Status written = os::write_file_atomically(options.to, report->file); !written) {
    return fail_on_output(kFullCommand, written.error());
  }
  if (!options.as_json) print_text("written to " + printable(options.to) + "; it computes in int8\n");
  return ExitCode::ok;
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
         std::string(program.has_softmax ? "; softmax behind it is float32" : "") + "\n\n" + table.text();
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
