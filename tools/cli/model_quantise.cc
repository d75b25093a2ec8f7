#include "tools/cli/model_quantise.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/augment.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/head_report.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/quantise_outcome.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/demo/progress.h"
#include "tools/model/measure.h"
#include "tools/model/own_targets.h"
#include "tools/model/quantise.h"
#include "tools/ranges/range_answer.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model quantise";

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::string range_text(const WeightForm& form) {
  return std::string(form.bits == 1 ? "mean" : to_string(form.rule)) + (form.is_compensated ? ", OPTQ" : "") +
         (form.is_bias_corrected ? ", bias" : "");
}

std::string worth(const Evaluation& evaluation, bool is_classified) {
  return (is_classified ? "accuracy " + format_percent(evaluation.accuracy) + ", " : std::string()) + "loss " +
         format_fixed(evaluation.loss_mean, 4);
}

double ratio_of(const QuantiseOutcome& outcome, uint64_t bytes_before) {
  return static_cast<double>(bytes_before) / static_cast<double>(outcome.file.size());
}

// What each head was worth, and is.
std::string heads_text(const QuantiseOutcome& outcome) {
  if (outcome.heads_before.empty()) return "";
  using enum Table::Align;
  Table table(
      {{"HEAD"}, {"LOSS"}, {"BEFORE", right}, {"AFTER", right}, {"MEASURE"}, {"BEFORE", right}, {"AFTER", right}});
  const auto value = [](const HeadResult& head) -> std::string {
    if (head.measure == HeadMeasure::none) return "";
    return head.measure == HeadMeasure::accuracy ? format_percent(head.value) : format_fixed(head.value, 4);
  };
  for (size_t i = 0; i < outcome.heads_before.size(); ++i) {
    const HeadResult &before = outcome.heads_before[i], &after = outcome.heads_after[i];
    table.add({before.output, std::string(to_string(before.loss)), format_fixed(before.loss_mean, 4),
               format_fixed(after.loss_mean, 4),
               before.measure == HeadMeasure::none ? "" : std::string(to_string(before.measure)), value(before),
               value(after)});
  }
  return "\n" + table.text_within(kReportColumns);
}

void print_outcome(const QuantiseOutcome& outcome, uint64_t bytes_before, bool is_classified) {
  print_text(outcome.table + "\ncalibration loss " + format_fixed(outcome.calibration_exact, 4) + " as float32, " +
             format_fixed(outcome.calibration_plain, 4) + " by min-max alone, " +
             format_fixed(outcome.calibration_loss, 4) + " kept;\n" +
             (outcome.is_equalised ? "layers are equalised" : "layers stay as they were") +
             "\nbefore: " + worth(outcome.before, is_classified) + " on " + format_count(outcome.before.examples) +
             " examples, " + format_bytes(bytes_before) + "\nafter:  " + worth(outcome.after, is_classified) + ", " +
             format_bytes(outcome.file.size()) + ", " + format_fixed(ratio_of(outcome, bytes_before), 1) +
             " times smaller\n" + heads_text(outcome));
}

nlohmann::json json_of(const Evaluation& evaluation, const std::vector<HeadResult>& heads, uint64_t bytes) {
  nlohmann::json all = {{"accuracy", evaluation.accuracy},
                        {"loss", evaluation.loss_mean},
                        {"examples", evaluation.examples},
                        {"bytes", bytes}};
  if (!heads.empty()) all["heads"] = heads_json(heads);
  return all;
}

nlohmann::json json_of(const QuantiseOutcome& outcome, uint64_t bytes_before, double drop) {
  return {{outcome.rows_name, *outcome.rows},
          {"equalised", outcome.is_equalised},
          {"calibration",
           {{"float32", outcome.calibration_exact},
            {"min_max", outcome.calibration_plain},
            {"kept", outcome.calibration_loss}}},
          {"before", json_of(outcome.before, outcome.heads_before, bytes_before)},
          {"after", json_of(outcome.after, outcome.heads_after, outcome.file.size())},
          {"ratio", ratio_of(outcome, bytes_before)},
          {"drop", drop}};
}

// What the bits that were found cost: LOSS is what the calibration loss grows by with this weight alone rounded.
std::string table_of_widths(const QuantiseReport& report) {
  using enum Table::Align;
  Table table({{"WEIGHT"},
               {"VALUES", right},
               {"BITS", right},
               {"SHARE", right},
               {"LOSS", right},
               {"RANGE"},
               {"COSINE", right}});
  const auto share = [&](uint64_t bytes) {
    return format_percent(static_cast<double>(bytes) / static_cast<double>(report.file.size()));
  };
  uint64_t beside = report.file.size();
  for (const QuantisedLayer& layer : report.layers) {
    table.add({layer.name, format_count(elements(layer.shape)), std::to_string(layer.form.bits), share(layer.bytes),
               "+" + format_fixed(layer.price.value_or(0), 4), range_text(layer.form),
               short_number(layer.loss.cosine, "%.4f")});
    beside -= std::min(beside, layer.bytes);
  }
  table.add({"all else", "", "", share(beside), "", "", ""});
  return table.text_within(kReportColumns);
}

}  // namespace

Result<std::optional<uint32_t>> parse_weight_bits(const std::string& text) {
  if (text == "auto") return std::optional<uint32_t>();
  uint32_t bits = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  const bool is_number = error == std::errc() && stopped == text.data() + text.size();
  if (is_number && bits >= kStoredBitsMin && bits <= kStoredBitsMax) return std::optional(bits);
  return Error(ErrorCode::invalid_argument, "must be 1 to 16 or auto, is " + text);
}

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

double drop_between(std::span<const HeadResult> before, std::span<const HeadResult> after) {
  const auto worth = [](const HeadResult& head) {
    return Evaluation{.loss_mean = head.loss_mean, .accuracy = head.value};
  };
  double most = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < before.size(); ++i) {
    const double drop = drop_between(worth(before[i]), worth(after[i]), before[i].measure == HeadMeasure::accuracy);
    if (std::isnan(drop)) return drop;
    most = std::max(most, drop);
  }
  return most;
}

bool is_allowed(double drop, double drop_max) {
  constexpr double kRoundOff = 1e-9;
  return drop <= drop_max + kRoundOff;
}

std::string short_number(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

Result<QuantiseOutcome> quantise_weights(const QuantiseTask& task) {
  COT_ASSIGN(QuantiseReport report, quantise(task.model, task.calibration, task.judges,
                                             {.loss = task.loss,
                                              .calibration_examples = task.options.calibration_examples,
                                              .target_elements = task.target_elements,
                                              .threads = task.options.threads,
                                              .weight_bits = task.options.weight_bits.value_or(8),
                                              .target_ratio = task.target_ratio(),
                                              .keep = task.options.keep,
                                              .progress = task.progress}));
  using enum Table::Align;
  Table table({{"WEIGHT"}, {"SHAPE"}, {"BITS", right}, {"RANGE"}, {"MSE", right}, {"COSINE", right}});
  QuantiseOutcome outcome{};
  outcome.rows_name = "layers";
  outcome.rows = std::make_shared<nlohmann::json>(nlohmann::json::array());
  for (const QuantisedLayer& layer : report.layers) {
    table.add({layer.name, shape_text(layer.shape), std::to_string(layer.form.bits), range_text(layer.form),
               short_number(layer.loss.mean_squared_error), short_number(layer.loss.cosine, "%.6f")});
    outcome.rows->push_back({{"name", layer.name},
                             {"shape", layer.shape},
                             {"bits", layer.form.bits},
                             {"bytes", layer.bytes},
                             {"range", to_string(layer.form.rule)},
                             {"compensated", layer.form.is_compensated},
                             {"bias_corrected", layer.form.is_bias_corrected},
                             {"mean_squared_error", layer.loss.mean_squared_error},
                             {"cosine", layer.loss.cosine}});
    if (layer.price) outcome.rows->back()["loss_alone"] = *layer.price;
  }
  outcome.table = task.target_ratio() ? table_of_widths(report) : table.text_within(kReportColumns);
  outcome.worst =
      "Most was lost in " + worst_names(report.layers, [](const QuantisedLayer& layer) { return layer.loss.cosine; }) +
      (task.target_ratio() ? "; a smaller --target-ratio leaves more bits" : "; --keep leaves a weight as float32");
  take(report, outcome);
  outcome.after_word = "what computes stays float32";
  return outcome;
}

Status check_options(const QuantiseOptions& options) {
  if (!options.ranges.empty() && !options.is_full) {
    return Error(ErrorCode::invalid_argument, "--ranges are of activations, which --full has on a grid: give it, too");
  }
  if (options.data.empty() && options.ranges.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "--data has what ranges are chosen by, and is missing; or take --full --ranges FILE");
  }
  if (options.data.empty() && !options.weight_bits) {
    return Error(ErrorCode::invalid_argument, "--bits auto looks for what costs least: give --data, too");
  }
  if (options.target_ratio && options.weight_bits) {
    return Error(ErrorCode::invalid_argument,
                 "--target-ratio is what --bits auto finds bits for; without it leave it out");
  }
  if (options.is_full && options.weight_bits.value_or(1) > 8) {
    return Error(ErrorCode::invalid_argument, "with --full a weight has 8 bits at most: it computes in int8");
  }
  return {};
}

namespace {

// Ranges of another model would fit by name, and mean nothing.
Result<ActivationHistograms> open_ranges(const std::string& path, const Model& model) {
  COT_ASSIGN(const Bytes text, os::read_file(path, kRangeAnswerBytesMax));
  Result<CountedRanges> counted = read_ranges(as_text(text));
  if (!counted) return counted.error().with_context(path);
  if (counted->model != model.digest()) {
    return Error(ErrorCode::conflict,
                 path + ": its ranges are of model " + counted->model.hex() + ", and FILE is " + model.digest().hex());
  }
  Result<ActivationHistograms> ranges = range_histograms(*counted);
  if (!ranges) return ranges.error().with_context(path);
  return ranges;
}

Status write_model(const QuantiseOptions& options, const QuantiseOutcome& outcome) {
  COT_TRY(os::write_file_atomically(options.to, outcome.file));
  if (!options.as_json) print_text("written to " + printable(options.to) + "; " + outcome.after_word + "\n");
  return {};
}

// The examples as the loss is to see them: images resized and normalised; for what has the model's own output alone the
// target of that.
class SeenExamples {
 public:
  explicit SeenExamples(ExampleSource& examples) : examples_(examples) {}
  SeenExamples(const SeenExamples&) = delete;
  SeenExamples& operator=(const SeenExamples&) = delete;

  // `cells`: of a target.
  Status prepare(uint64_t cells, const Model& model, const LossSettings& loss, const QuantiseOptions& options) {
    if (options.is_full && !loss.heads.empty()) {
      COT_ASSIGN(OwnTargets own, OwnTargets::create(examples_, cells, model, loss));
      own_ = std::move(own);
    }
    COT_ASSIGN(images_, judged(own_ ? static_cast<ExampleSource&>(*own_) : examples_, model,
                               options.is_full ? loss_of_own_output(loss) : loss, options.augment));
    return {};
  }
  ExampleSource& source() {
    if (images_) return *images_;
    return own_ ? static_cast<ExampleSource&>(*own_) : examples_;
  }
  uint64_t target_elements(uint64_t cells) const { return own_ ? own_->own_elements() : cells; }

 private:
  InterruptibleSource examples_;
  std::optional<OwnTargets> own_;
  std::optional<AugmentedSource> images_;
};

ExitCode quantise_without_data(const QuantiseOptions& options, const Model& model, const ActivationHistograms& ranges) {
  const Result<QuantiseOutcome> outcome = quantise_unmeasured(model, ranges, options.weight_bits.value_or(8));
  if (!outcome) return fail_on_input(kCommand, outcome.error().with_context(options.from));
  const uint64_t before = model.file().size();
  if (options.as_json) {
    print_json({{outcome->rows_name, *outcome->rows},
                {"before", {{"bytes", before}}},
                {"after", {{"bytes", outcome->file.size()}}},
                {"ratio", ratio_of(*outcome, before)}});
  } else {
    print_text(outcome->table + "\nnothing was measured: there is no --data\n" + format_bytes(before) + " became " +
               format_bytes(outcome->file.size()) + ", " + format_fixed(ratio_of(*outcome, before), 1) +
               " times smaller\n");
  }
  if (const Status written = write_model(options, *outcome); !written) return fail_on_output(kCommand, written.error());
  return ExitCode::ok;
}

}  // namespace

ExitCode quantise_model(const QuantiseOptions& options) {
  if (const Status sound = check_options(options); !sound) return fail_on_input(kCommand, sound.error());
  if (const Status distinct = distinct_files(
          {{"FILE", options.from}, {"--data", options.data}, {"--ranges", options.ranges}}, {{"-o", options.to}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input(kCommand, model.error());
  Result<ActivationHistograms> ranges = ActivationHistograms();
  if (!options.ranges.empty()) ranges = open_ranges(options.ranges, *model);
  if (!ranges) return fail_on_input(kCommand, ranges.error());
  if (options.data.empty()) return quantise_without_data(options, *model, *ranges);
  Result<LocalData> data = open_data(options.data, *model, nullptr, options.ignore_label);
  if (!data) return fail_on_input(kCommand, data.error());
  LossSettings loss = loss_for(data->judges().header(), options.loss);
  loss.ignore_label = data->ignore_label;
  set_heads(loss, options.heads);
  if (const Status sound = check_loss_heads(loss); !sound) return fail_on_input(kCommand, sound.error());
  SeenExamples calibration(data->examples), judges(data->judges());
  const uint64_t cells = elements(data->judges().header().target.shape);
  for (SeenExamples* const examples : {&calibration, &judges}) {
    const Status seen = examples->prepare(cells, *model, loss, options);
    if (!seen) return fail_on_input(kCommand, seen.error().with_context(options.from + " on " + options.data));
  }
  const uint64_t target_elements = calibration.target_elements(cells);
  if (options.is_full) loss = loss_of_own_output(loss);
  ProgressLine progress(stderr, false);
  const QuantiseTask task{options,
                          *model,
                          calibration.source(),
                          judges.source(),
                          loss,
                          target_elements,
                          [&](size_t tried, size_t in_all) {
                            const double ratio = static_cast<double>(tried) / static_cast<double>(in_all);
                            progress.show("remedies " + bar(ratio, 20, progress.terminal()) + " " +
                                          std::to_string(tried) + "/" + std::to_string(in_all));
                          },
                          options.ranges.empty() ? nullptr : &*ranges};
  const Result<QuantiseOutcome> outcome = options.is_full ? quantise_throughout(task) : quantise_weights(task);
  progress.clear();
  if (!outcome) return fail_on_input(kCommand, outcome.error().with_context(options.from + " on " + options.data));
  const bool is_classified = loss_of_own_output(loss).target == TargetKind::labels;
  const double drop = outcome->heads_before.empty() ? drop_between(outcome->before, outcome->after, is_classified)
                                                    : drop_between(outcome->heads_before, outcome->heads_after);
  if (options.as_json) print_json(json_of(*outcome, model->file().size(), drop));
  else print_outcome(*outcome, model->file().size(), is_classified);
  if (!is_allowed(drop, options.drop_max)) {
    print_error(kCommand, Error(ErrorCode::conflict, "nothing is written: the drop is " + format_percent(drop) +
                                                         ", at most " + format_percent(options.drop_max) +
                                                         " is allowed (--max-drop). " + outcome->worst));
    return ExitCode::failure;
  }
  if (const Status written = write_model(options, *outcome); !written) return fail_on_output(kCommand, written.error());
  return ExitCode::ok;
}

ExitCode dequantise_model(const DequantiseOptions& options) {
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"-o", options.to}}); !distinct) {
    return fail_on_input("model dequantise", distinct.error());
  }
  const Result<OpenedModel> opened = open_answering_model(options.from);
  if (!opened) return fail_on_input("model dequantise", opened.error());
  if (const Status written = os::write_file_atomically(options.to, opened->model.file()); !written) {
    return fail_on_output("model dequantise", written.error());
  }
  print_text(format_bytes(opened->model.file().size()) + " written to " + printable(options.to) + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
