#include "tools/cli/model_explain.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/explained_run.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/explain/attribution_checks.h"
#include "tools/explain/attribution_picture.h"
#include "tools/explain/explanation.h"
#include "tools/explain/feature_names.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model explain";
constexpr int kNameColumns = 40;  // a line of the table has at most 80

// What the texts are made of.
struct Explained {
  Model model;
  Shape input;
  bool has_labels = false;
  std::vector<std::string> names;  // of an attribution's values
  std::vector<Explanation> all;
  std::optional<AttributionChecks> checks;
};

std::vector<uint64_t> asked_examples(const ExplainOptions& options, uint64_t count) {
  if (!options.examples.empty()) return options.examples;
  std::vector<uint64_t> examples(std::min(options.limit, count));
  std::iota(examples.begin(), examples.end(), uint64_t{0});
  return examples;
}

Result<Explained> explained(const ExplainOptions& options) {
  if (options.examples.size() > kExplainedMax) {
    return Error(ErrorCode::invalid_argument,
                 "explains at most " + std::to_string(kExplainedMax) + " examples at a time");
  }
  COT_ASSIGN(const Model model, open_model(options.model));
  if (!options.run.empty()) COT_TRY(check_model_of_run(options.run, model));
  Result<AskedModel> asked = AskedModel::create(model, go_on_unless_interrupted);
  if (!asked) return asked.error().with_context(options.model);
  COT_ASSIGN(LocalData data, open_data(options.data, model));
  DatasetSource& source = data.judges();
  InterruptibleSource examples(source);
  if (source.size() == 0) return Error(ErrorCode::invalid_argument, options.data + " has no examples");
  const AttributionMethod& method = *find_attribution_method(options.method);
  Explained made{
      .model = model, .input = model.input_shape(), .has_labels = source.header().target.type != ColumnType::float32};
  for (const uint64_t example : asked_examples(options, source.size())) {
    Result<Explanation> one = explain(*asked, examples, elements(source.header().target.shape), example, options.picked,
                                      method, options.settings);
    if (!one) return one.error().with_context(options.model + " on " + options.data);
    made.all.push_back(std::move(*one));
  }
  if (options.checks) {
    COT_ASSIGN(made.checks, check_attributions(*asked, made.all, method, options.settings));
  }
  made.names = value_names(made.all[0].attribution.shape, data.contract ? &*data.contract : nullptr);
  return made;
}

// The value of the input that an attribution is of; of a pixel the mean of its channels.
double value_at(const Explanation& one, size_t i) {
  const size_t channels = one.input.size() / one.attribution.values.size();
  double sum = 0;
  for (size_t c = 0; c < channels; ++c) sum += static_cast<double>(one.input[i * channels + c]);
  return sum / static_cast<double>(channels);
}

double magnitude(const Attribution& attribution) {
  double sum = 0;
  for (const float value : attribution.values) sum += std::fabs(static_cast<double>(value));
  return sum;
}

int32_t label_of(const Explanation& one) { return reinterpret_cast<const int32_t*>(one.target.data())[0]; }

std::string checks_text(const AttributionChecks& checks) {
  Table table({{"CHECK", Table::Align::left},
               {"ATTRIBUTION", Table::Align::right},
               {"AGAINST", Table::Align::right},
               {"HOLDS", Table::Align::left}});
  const auto add = [&](const char* name, double own, const std::string& other, bool holds) {
    table.add({name, format_fixed(own, 4), other, holds ? "yes" : "no"});
  };
  add("deletion", checks.own.deletion, "below " + format_fixed(checks.random.deletion, 4), checks.deletion_holds());
  add("insertion", checks.own.insertion, "above " + format_fixed(checks.random.insertion, 4), checks.insertion_holds());
  add("randomisation", checks.randomised_correlation, "below " + format_fixed(AttributionChecks::kCorrelationMax, 4),
      checks.randomisation_holds());
  return table.text();
}

std::string text_of(const Explained& explained, uint32_t top) {
  std::string text;
  for (const Explanation& one : explained.all) {
    text += (text.empty() ? "" : "\n") + std::string("example ") + std::to_string(one.example) + ": output " +
            std::to_string(one.picked) + " is " + format_digits(one.score) +
            (explained.has_labels && one.target.size() == 1 ? ", the label is " + std::to_string(label_of(one)) : "") +
            "\n\n";
    const std::vector<float>& errors = one.attribution.standard_errors;
    std::vector<Table::Column> columns = {
        {"FEATURE", Table::Align::left}, {"VALUE", Table::Align::right}, {"ATTRIBUTION", Table::Align::right}};
    if (!errors.empty()) columns.push_back({"+-", Table::Align::right});
    columns.push_back({"SHARE", Table::Align::right});
    Table table(std::move(columns));
    const double all = magnitude(one.attribution);
    for (const size_t i : strongest(one.attribution, top)) {
      const auto value = static_cast<double>(one.attribution.values[i]);
      std::vector<std::string> row = {shortened(explained.names[i], kNameColumns), format_digits(value_at(one, i)),
                                      format_digits(value)};
      if (!errors.empty()) row.push_back(format_digits(static_cast<double>(errors[i])));
      row.push_back(format_percent(all > 0 ? std::fabs(value) / all : 0));
      table.add(std::move(row));
    }
    text += table.text();
  }
  if (explained.checks) text += "\n" + checks_text(*explained.checks);
  return text;
}

nlohmann::json checks_json(const AttributionChecks& checks) {
  const auto entry = [](double own, double other, bool holds) {
    return nlohmann::json{{"attribution", own}, {"against", other}, {"holds", holds}};
  };
  return {{"deletion", entry(checks.own.deletion, checks.random.deletion, checks.deletion_holds())},
          {"insertion", entry(checks.own.insertion, checks.random.insertion, checks.insertion_holds())},
          {"randomisation",
           entry(checks.randomised_correlation, AttributionChecks::kCorrelationMax, checks.randomisation_holds())}};
}

nlohmann::json json_of(const Explained& explained, const ExplainOptions& options) {
  nlohmann::json explanations = nlohmann::json::array();
  for (const Explanation& one : explained.all) {
    nlohmann::json entry = {{"example", one.example},
                            {"output", one.picked},
                            {"score", one.score},
                            {"shape", one.attribution.shape},
                            {"attributions", one.attribution.values}};
    if (explained.has_labels && one.target.size() == 1) entry["label"] = label_of(one);
    if (!one.attribution.standard_errors.empty()) entry["standard_errors"] = one.attribution.standard_errors;
    nlohmann::json top = nlohmann::json::array();
    for (const size_t i : strongest(one.attribution, options.top)) {
      top.push_back({{"feature", printable(explained.names[i])},
                     {"value", value_at(one, i)},
                     {"attribution", one.attribution.values[i]}});
    }
    entry["top"] = std::move(top);
    explanations.push_back(std::move(entry));
  }
  nlohmann::json answer = {{"method", options.method}, {"explanations", std::move(explanations)}};
  if (explained.checks) answer["checks"] = checks_json(*explained.checks);
  return answer;
}

Status write_picture(const Explained& explained, const std::string& file) {
  COT_ASSIGN(const Picture picture, attribution_picture(explained.input, explained.all));
  COT_ASSIGN(const Bytes png, encode_png(picture));
  return os::write_file_atomically(file, png);
}

Status write_to_run(const Explained& explained, const ExplainOptions& options) {
  std::vector<KeptExplanation> kept;
  for (size_t i = 0; i < explained.all.size(); ++i) {
    const Explanation& one = explained.all[i];
    kept.push_back({.explanation = &one});
    // One below 0 is no class: who trains may tell to ignore it.
    if (explained.has_labels && one.target.size() == 1 && label_of(one) >= 0)
      kept.back().label = static_cast<uint32_t>(label_of(one));
    if (explained.checks) kept.back().checked = explained.checks->examples[i];
  }
  return keep_in_run(options.run, explained.model, explained.input, options.method, options.data, kept);
}

Status write_pictures(const Explained& explained, const ExplainOptions& options) {
  if (!options.picture.empty()) COT_TRY(write_picture(explained, options.picture));
  return options.run.empty() ? Status() : write_to_run(explained, options);
}

}  // namespace

ExitCode explain_model(const ExplainOptions& options) {
  if (const Status distinct =
          distinct_files({{"FILE", options.model}, {"--data", options.data}}, {{"--png", options.picture}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<Explained> made = explained(options);
  if (!made) return fail_on_input(kCommand, made.error());
  if (const Status written = write_pictures(*made, options); !written) {
    return written.error().code() == ErrorCode::invalid_argument ? fail_on_input(kCommand, written.error())
                                                                 : fail_on_output(kCommand, written.error());
  }
  if (options.as_json) print_json(json_of(*made, options));
  else print_text(text_of(*made, options.top));
  return made->checks && !made->checks->hold() ? ExitCode::failure : ExitCode::ok;
}

}  // namespace coterie
