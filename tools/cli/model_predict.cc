#include "tools/cli/model_predict.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/delegate/delegated_predictor.h"
#include "device_sdk/runtime/int8/int8_outputs.h"
#include "device_sdk/runtime/predictor.h"
#include "model_io/top_scores.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/predicted_arrays.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/delegate/open_delegate.h"
#include "tools/delegate/report_text.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model predict";
constexpr uint32_t kBatch = 64;

// One batch of examples and what the model says of them.
struct Batch {
  std::vector<std::vector<float>> inputs;
  std::vector<float> targets, outputs;
};

Status read_batch(ExampleSource& examples, const Model& model, uint64_t from, uint64_t count, uint64_t target_elements,
                  Batch& batch) {
  const size_t inputs = model.graph().inputs.size();
  batch.inputs.resize(inputs);
  for (size_t i = 0; i < inputs; ++i) batch.inputs[i].resize(count * elements(model.input_shape(i)));
  batch.targets.resize(count * target_elements);
  batch.outputs.resize(count * elements(model.output_shape()));
  std::vector<Example::Place> places(inputs);
  for (uint64_t slot = 0; slot < count; ++slot) {
    for (size_t i = 0; i < inputs; ++i) {
      const uint64_t size = elements(model.input_shape(i));
      places[i] = std::span(batch.inputs[i]).subspan(slot * size, size);
    }
    const Example example(places, std::span(batch.targets).subspan(slot * target_elements, target_elements));
    COT_TRY(examples.read(from + slot, example));
  }
  return {};
}

Status write_arrays(PredictedArrays& arrays, const PredictOptions& options) {
  COT_ASSIGN(const std::string told, arrays.write(options.to));
  print_text(told);
  return {};
}

// Rows of a classifier: their best classes with scores; of a regression: its numbers. Where they go to a file, all of
// them.
class Printer {
 public:
  // `own`: the output that rows are of.
  Printer(const PredictOptions& options, bool is_classified, const ModelOutput& own)
      : options_(options), is_classified_(is_classified), arrays_({own}) {}

  void add(uint64_t example, uint64_t row, std::span<const float> scores, std::span<const float> target) {
    if (!options_.to.empty()) return arrays_.add(0, scores);
    nlohmann::json entry = {{"example", example}};
    std::string expected, predicted;
    if (row > 0) entry["row"] = row;
    if (!is_classified_) {
      entry["expected"] = std::vector<float>(target.begin(), target.end());
      entry["predicted"] = std::vector<float>(scores.begin(), scores.end());
      expected = numbers(target);
      predicted = numbers(scores);
    } else {
      const auto labels = reinterpret_cast<const int32_t*>(target.data());
      entry["expected"] = std::vector<int32_t>(labels, labels + target.size());
      for (size_t i = 0; i < target.size(); ++i) expected += (i == 0 ? "" : " ") + std::to_string(labels[i]);
      entry["predicted"] = nlohmann::json::array();
      for (const uint32_t best : top_scores(scores, options_.top)) {
        entry["predicted"].push_back({{"class", best}, {"score", scores[best]}});
        predicted += (predicted.empty() ? "" : "  ") + std::to_string(best) + " (" +
                     format_fixed(static_cast<double>(scores[best]), 3) + ")";
      }
    }
    if (options_.as_json) json_.push_back(std::move(entry));
    else table_.add({std::to_string(example), expected, predicted});
  }

  Status finish() {
    if (!options_.to.empty()) return write_arrays(arrays_, options_);
    if (options_.as_json) print_json({{"predictions", json_}});
    else print_text(table_.text());
    return {};
  }

 private:
  static std::string numbers(std::span<const float> values) {
    std::string text;
    for (const float value : values) text += (text.empty() ? "" : " ") + format_fixed(static_cast<double>(value), 4);
    return text;
  }

  const PredictOptions& options_;
  bool is_classified_;
  PredictedArrays arrays_;
  nlohmann::json json_ = nlohmann::json::array();
  Table table_{{{"EXAMPLE", Table::Align::right}, {"EXPECTED", Table::Align::right}, {"PREDICTED"}}};
};

std::string number_text(float value, int digits) { return format_fixed(static_cast<double>(value), digits); }
std::string number_text(int32_t value, int /*digits*/) { return std::to_string(value); }

// What an output says of an example, as people read it: a few numbers, or of many the largest and its place.
template <typename Number>
std::string answer_text(std::span<const Number> values) {
  constexpr size_t kShown = 8;
  if (values.size() > kShown) {
    const auto best = std::ranges::max_element(values);
    return std::to_string(best - values.begin()) + " (" + number_text(*best, 3) + ")";
  }
  std::string text;
  for (const Number value : values) text += (text.empty() ? "" : " ") + number_text(value, 4);
  return text;
}

// The answer to one example, by its type, as JSON and as text.
void add_answer(const ModelOutput& output, std::span<const float> words, nlohmann::json& entry,
                std::vector<std::string>& row) {
  if (output.type == DataType::float32) {
    entry["outputs"][output.name] = std::vector<float>(words.begin(), words.end());
    row.push_back(answer_text(words));
    return;
  }
  std::vector<int32_t> numbers;
  for (const float word : words) numbers.push_back(std::bit_cast<int32_t>(word));
  entry["outputs"][output.name] = numbers;
  row.push_back(answer_text(std::span<const int32_t>(numbers)));
}

// In the order of the names; without any all, in the model's.
Result<std::vector<ModelOutput>> outputs_asked_for(const Model& model, const std::vector<std::string>& names) {
  std::vector<ModelOutput> all = model_outputs(model);
  if (names.empty()) return all;
  std::vector<ModelOutput> asked;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &ModelOutput::name);
    if (found != all.end()) {
      asked.push_back(*found);
      continue;
    }
    std::string known;
    for (const ModelOutput& output : all) known += (known.empty() ? "" : ", ") + printable(output.name);
    return Error(ErrorCode::invalid_argument, "--model-output: there is no " + printable(name) + "; it has " + known);
  }
  return asked;
}

// A model of several outputs: those that are asked for, by their names.
Status predict_outputs(const Model& model, ExampleSource& data, const DatasetHeader& header,
                       const PredictOptions& options) {
  const uint64_t target_elements = elements(header.target.shape);
  const uint64_t count = options.limit == 0 ? data.size() : std::min(options.limit, data.size());
  COT_ASSIGN(const std::vector<ModelOutput> outputs, outputs_asked_for(model, options.outputs));
  std::vector<Table::Column> columns = {{"EXAMPLE", Table::Align::right}};
  std::vector<uint32_t> tensors;
  for (const ModelOutput& output : outputs) {
    columns.push_back({printable(output.name)});
    tensors.push_back(output.tensor);
  }
  COT_ASSIGN(Predictor predictor,
             Predictor::create_of(model, tensors, static_cast<uint32_t>(std::min<uint64_t>(kBatch, count)),
                                  limits::kArenaBytesMax, options.threads, options.level));
  Table table(columns);
  PredictedArrays arrays(outputs);
  nlohmann::json json = nlohmann::json::array();
  InterruptibleSource examples(data);
  Batch batch;
  for (uint64_t from = 0; from < count; from += kBatch) {
    const uint64_t size = std::min<uint64_t>(kBatch, count - from);
    COT_TRY(read_batch(examples, model, from, size, target_elements, batch));
    std::vector<std::vector<float>> answers;
    for (const ModelOutput& output : outputs) answers.emplace_back(size * elements(output.shape));
    const std::vector<std::span<const float>> inputs(batch.inputs.begin(), batch.inputs.end());
    const std::vector<std::span<float>> places(answers.begin(), answers.end());
    COT_TRY(predictor.run(inputs, size, places));
    for (size_t k = 0; !options.to.empty() && k < outputs.size(); ++k) arrays.add(k, answers[k]);
    for (uint64_t i = 0; options.to.empty() && i < size; ++i) {
      nlohmann::json entry = {{"example", from + i}, {"outputs", nlohmann::json::object()}};
      std::vector<std::string> row = {std::to_string(from + i)};
      for (size_t k = 0; k < outputs.size(); ++k) {
        const uint64_t width = elements(outputs[k].shape);
        add_answer(outputs[k], std::span<const float>(answers[k]).subspan(i * width, width), entry, row);
      }
      if (options.as_json) json.push_back(std::move(entry));
      else table.add(std::move(row));
    }
  }
  if (!options.to.empty()) return write_arrays(arrays, options);
  if (options.as_json) print_json({{"predictions", json}});
  else print_text(table.text());
  return {};
}

// A Predictor, or one with a delegate.
template <typename AnyPredictor>
Status predict_by(AnyPredictor& predictor, const Model& model, ExampleSource& data, const DatasetHeader& header,
                  const PredictOptions& options, Printer& printer) {
  const uint64_t target_elements = elements(header.target.shape), output_elements = elements(model.output_shape());
  const auto width = static_cast<uint64_t>(model.output_shape().back());
  const uint64_t count = options.limit == 0 ? data.size() : std::min(options.limit, data.size());
  // A target for each row, if there are as many; else each row is shown with all of them.
  const uint64_t rows = output_elements / width,
                 target_width = target_elements % rows == 0 ? target_elements / rows : 0;
  InterruptibleSource examples(data);
  Batch batch;
  for (uint64_t from = 0; from < count; from += kBatch) {
    const uint64_t size = std::min<uint64_t>(kBatch, count - from);
    COT_TRY(read_batch(examples, model, from, size, target_elements, batch));
    const std::vector<std::span<const float>> inputs(batch.inputs.begin(), batch.inputs.end());
    COT_TRY(predictor.run(inputs, size, batch.outputs));
    for (uint64_t i = 0; i < size * rows; ++i) {
      const std::span<const float> targets(batch.targets);
      printer.add(from + i / rows, i % rows, {batch.outputs.data() + i * width, width},
                  target_width > 0 ? targets.subspan(i * target_width, target_width)
                                   : targets.subspan(i / rows * target_elements, target_elements));
    }
  }
  return {};
}

Status predict(const Model& model, ExampleSource& data, const DatasetHeader& header, const PredictOptions& options,
               Printer& printer) {
  const uint64_t count = options.limit == 0 ? data.size() : std::min(options.limit, data.size());
  const auto batch_size = static_cast<uint32_t>(std::min<uint64_t>(kBatch, count));
  if (options.delegate.empty()) {
    COT_ASSIGN(Predictor predictor,
               Predictor::create(model, batch_size, limits::kArenaBytesMax, options.threads, nullptr, options.level));
    return predict_by(predictor, model, data, header, options, printer);
  }
  COT_ASSIGN(const std::shared_ptr<Delegate> delegate, open_delegate(options.delegate));
  COT_ASSIGN(DelegatedPredictor predictor,
             DelegatedPredictor::create(model, *delegate, {.batch_size = batch_size, .threads = options.threads}));
  COT_TRY(predict_by(predictor, model, data, header, options, printer));
  const DelegateReport report = predictor.report();
  std::string note = delegate_summary(model, report) + "\n";
  for (const DelegateReport::Part& part : report.parts) {
    if (!part.refusal.empty()) note += report.traits.name + " is refused: " + printable(part.refusal) + "\n";
  }
  std::fwrite(note.data(), 1, note.size(), stderr);
  return {};
}

Status predict_opened(const OpenedModel& opened, DatasetSource& data, const PredictOptions& options, Printer& printer) {
  if (!opened.int8) return predict(opened.model, data, data.header(), options, printer);
  COT_ASSIGN(const Model passing, passing_model(opened.int8->output_shape));
  if (!options.delegate.empty()) {
    return Error(ErrorCode::invalid_argument, "it computes in int8, which no delegate does: leave --delegate out");
  }
  Int8Outputs outputs(*opened.int8, data);
  return predict(passing, outputs, data.header(), options, printer);
}

}  // namespace

ExitCode predict_with_model(const PredictOptions& options) {
  if (!options.to.empty() && !options.to.ends_with(".npz")) {
    return fail_on_input(kCommand,
                         Error(ErrorCode::invalid_argument, "-o takes a file's name that ends in .npz, and is " +
                                                                printable(options.to) + "; --json prints JSON"));
  }
  if (const Status distinct = distinct_files({{"FILE", options.model}, {"--data", options.data}}, {{"-o", options.to}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<OpenedModel> opened = open_answering_model(options.model);
  if (!opened) return fail_on_input(kCommand, opened.error());
  Result<LocalData> data = open_data(options.data, opened->model);
  if (!data) return fail_on_input(kCommand, data.error());
  DatasetSource& examples = data->judges();
  const bool answers_own_alone = opened->int8 || !options.delegate.empty();
  if (answers_own_alone && !options.outputs.empty()) {
    const std::string who = opened->int8 ? "a model that computes in int8" : "a delegate";
    return fail_on_input(kCommand, Error(ErrorCode::invalid_argument,
                                         who + " answers the model's own output: leave --model-output out"));
  }
  if (!answers_own_alone && (!options.outputs.empty() || model_outputs(opened->model).size() > 1)) {
    if (const Status done = predict_outputs(opened->model, examples, examples.header(), options); !done) {
      return fail_on_input(kCommand, done.error().with_context(options.model + " on " + options.data));
    }
    return ExitCode::ok;
  }
  Printer printer(options, examples.header().target.type != ColumnType::float32, model_outputs(opened->model).front());
  if (const Status done = predict_opened(*opened, examples, options, printer); !done) {
    return fail_on_input(kCommand, done.error().with_context(options.model + " on " + options.data));
  }
  if (const Status done = printer.finish(); !done) return fail_on_output(kCommand, done.error());
  return ExitCode::ok;
}

}  // namespace coterie
