#include "tools/cli/model_quantise.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_int8.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/demo/progress.h"
#include "tools/model/measure.h"
#include "tools/model/quantise.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model quantise";

std::string number(double value, const char* format = "%.3g") {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string worth(const Evaluation& evaluation, bool is_classified) {
  return (is_classified ? "accuracy " + format_percent(evaluation.accuracy) + ", " : std::string()) + "loss " +
         format_fixed(evaluation.loss_mean, 4);
}

void print_tables(const QuantiseReport& report, uint64_t bytes_before, bool is_classified) {
  using enum Table::Align;
  Table table({{"WEIGHT"}, {"SHAPE"}, {"BITS", right}, {"RANGE"}, {"MSE", right}, {"COSINE", right}});
  for (const QuantisedLayer& layer : report.layers) {
    table.add({layer.name, shape_text(layer.shape), "8",
               std::string(to_string(layer.rule)) + (layer.is_bias_corrected ? ", bias" : ""),
               number(layer.loss.mean_squared_error), number(layer.loss.cosine, "%.6f")});
  }
  const std::string remedies = report.is_equalised ? "layers are equalised" : "layers stay as they were";
  print_text(table.text() + "\ncalibration loss " + format_fixed(report.calibration_exact, 4) + " as float32, " +
             format_fixed(report.calibration_plain, 4) + " by min-max alone, " +
             format_fixed(report.calibration_loss, 4) + " kept; " + remedies +
             "\nbefore: " + worth(report.before, is_classified) + " on " + format_count(report.before.examples) +
             " examples, " + format_bytes(bytes_before) + "\nafter:  " + worth(report.after, is_classified) + ", " +
             format_bytes(report.file.size()) + "\n");
}

nlohmann::json json_of(const Evaluation& evaluation, uint64_t bytes) {
  return {{"accuracy", evaluation.accuracy},
          {"loss", evaluation.loss_mean},
          {"examples", evaluation.examples},
          {"bytes", bytes}};
}

nlohmann::json json_of(const QuantiseReport& report, uint64_t bytes_before, double drop) {
  nlohmann::json json{{"layers", nlohmann::json::array()},
                      {"equalised", report.is_equalised},
                      {"calibration",
                       {{"float32", report.calibration_exact},
                        {"min_max", report.calibration_plain},
                        {"kept", report.calibration_loss}}},
                      {"before", json_of(report.before, bytes_before)},
                      {"after", json_of(report.after, report.file.size())},
                      {"drop", drop}};
  for (const QuantisedLayer& layer : report.layers) {
    json["layers"].push_back({{"name", layer.name},
                              {"shape", layer.shape},
                              {"bits", 8},
                              {"range", to_string(layer.rule)},
                              {"bias_corrected", layer.is_bias_corrected},
                              {"mean_squared_error", layer.loss.mean_squared_error},
                              {"cosine", layer.loss.cosine}});
  }
  return json;
}

// The layers that lost most, as the first place to look.
std::string worst_layers(const QuantiseReport& report) {
  std::vector<const QuantisedLayer*> layers;
  for (const QuantisedLayer& layer : report.layers) layers.push_back(&layer);
  std::ranges::stable_sort(layers, {}, [](const QuantisedLayer* layer) { return layer->loss.cosine; });
  std::string names;
  for (size_t i = 0; i < layers.size() && i < 3; ++i) names += (i == 0 ? "" : ", ") + printable(layers[i]->name);
  return names;
}

}  // namespace

Result<double> parse_drop(const std::string& text) {
  double value = 0;
  const bool is_percent = text.ends_with('%');
  const char* const end = text.data() + text.size() - (is_percent ? 1 : 0);
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (is_percent) value /= 100;
  if (error == std::errc() && stopped == end && value >= 0 && value <= 1) return value;
  return Error(ErrorCode::invalid_argument, "must be a part of 1 or a percentage, 0.005 or 0.5%, is " + text);
}

double drop_between(const Evaluation& before, const Evaluation& after, bool is_classified) {
  if (is_classified) return before.accuracy - after.accuracy;
  const double grown = after.loss_mean - before.loss_mean;
  return before.loss_mean > 0 ? grown / before.loss_mean : grown;
}

ExitCode quantise_model(const QuantiseOptions& options) {
  if (options.is_full) return quantise_model_full(options);
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<LocalData> data = open_data(options.data);
  if (!data) return fail_on_input(kCommand, data.error());
  const LossSettings loss = loss_for(data->judges().header(), std::nullopt);
  InterruptibleSource calibration(data->examples), judges(data->judges());
  ProgressLine progress(stderr, false);
  const Result<QuantiseReport> report =
      quantise(*model, calibration, judges,
               {.loss = loss,
                .calibration_examples = options.calibration_examples,
                .target_elements = elements(data->judges().header().target.shape),
                .threads = options.threads,
                .keep = options.keep,
                .progress = [&](size_t tried, size_t in_all) {
                  const double ratio = static_cast<double>(tried) / static_cast<double>(in_all);
                  progress.show("remedies " + bar(ratio, 20, progress.terminal()) + " " + std::to_string(tried) + "/" +
                                std::to_string(in_all));
                }});
  progress.clear();
  if (!report) return fail_on_input(kCommand, report.error().with_context(options.from + " on " + options.data));
  const bool is_classified = loss.target == TargetKind::labels;
  const double drop = drop_between(report->before, report->after, is_classified);
  if (options.as_json) print_json(json_of(*report, model->file().size(), drop));
  else print_tables(*report, model->file().size(), is_classified);
  // Written so that a drop that is no number is refused, too.
  if (!(drop <= options.drop_max)) {
    print_error(kCommand, Error(ErrorCode::conflict,
                                "nothing is written: the drop is " + format_percent(drop) + ", at most " +
                                    format_percent(options.drop_max) + " is allowed (--max-drop). Most was lost in " +
                                    worst_layers(*report) + "; --keep leaves a weight as float32"));
    return ExitCode::failure;
  }
  if (const Status written = os::write_file_atomically(options.to, report->file); !written) {
    return fail_on_output(kCommand, written.error());
  }
  if (!options.as_json) print_text("written to " + printable(options.to) + "; what computes stays float32\n");
  return ExitCode::ok;
}

ExitCode dequantise_model(const DequantiseOptions& options) {
  const Result<OpenedModel> opened = open_answering_model(options.from);
  if (!opened) return fail_on_input("model dequantise", opened.error());
  if (const Status written = os::write_file_atomically(options.to, opened->model.file()); !written) {
    return fail_on_output("model dequantise", written.error());
  }
  print_text(format_bytes(opened->model.file().size()) + " written to " + printable(options.to) + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
