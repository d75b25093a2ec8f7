#include "fl_server/serving/serving_steps.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "fl_server/json/json_reader.h"
#include "fl_server/serving/fit_side.h"
#include "fl_server/serving/infer_rows.h"
#include "fl_server/serving/output_places.h"

namespace coterie {
namespace {

constexpr const char* kSchema = "coterie.serving_steps.v1";
constexpr size_t kNameBytesMax = 128;

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

Error too_many(const char* what, size_t limit) {
  return Error(ErrorCode::too_large, std::string(what) + ": expected at most " + std::to_string(limit));
}

Status check_name(const std::string& name, const std::string& what) {
  if (!name.empty() && name.size() <= kNameBytesMax) return {};
  return wrong(what + " needs a name of 1 to " + std::to_string(kNameBytesMax) + " bytes");
}

Result<TensorInterface> read_input(JsonReader& reader, const Problems& problems) {
  constexpr std::string_view kTypes[] = {"FP32", "INT32", "FP64", "UINT8", "BYTES"};
  TensorInterface input;
  reader.require("name");
  reader.require("datatype");
  reader.require("shape");
  reader.read("name", input.name);
  reader.read_kind("datatype", kTypes, input.type);
  input.shape = read_shape(reader, "shape", true);
  reader.finish();
  if (!problems.empty()) return wrong(listed(problems));
  COT_TRY(check_name(input.name, "an input"));
  if (input.type == ProtocolType::bytes && !input.shape.empty()) {
    return wrong("input " + shown_name(input.name) + ": is " + shown_type({input.type, input.shape}) +
                 ", expected BYTES []: one string an example");
  }
  input.elements = has_any_size(input.shape) ? 0 : 1;
  for (const int64_t size : input.shape) {
    if (input.elements > kStepElementsMax / static_cast<uint64_t>(std::max<int64_t>(size, 1))) {
      return Error(ErrorCode::too_large, "input " + shown_name(input.name) + " has more than " +
                                             std::to_string(kStepElementsMax) + " elements");
    }
    if (input.elements > 0) input.elements *= static_cast<uint64_t>(size);
  }
  return input;
}

ValueView view_of(const ValueType& type, const TensorValues& values) {
  return {type.type, &values.shape, values.words, values.doubles, values.pixels, values.texts};
}

// One row of a request's tensor.
ValueView row_of(ProtocolType type, const TensorValues& values, uint64_t row) {
  const uint64_t count = elements_of(values.shape);
  const auto part = [&](const auto& all) {
    return all.empty() ? std::span(all) : std::span(all).subspan(row * count, count);
  };
  return {type, &values.shape, part(values.words), part(values.doubles), part(values.pixels), part(values.texts)};
}

// What the calls of a side give, behind the values that are `given`.
Status run_side(const StepSide& side, std::vector<ValueView>& values, std::vector<TensorValues>& made) {
  made.resize(side.types.size() - side.given);
  std::vector<ValueView> from;
  for (const StepCall& call : side.calls) {
    from.clear();
    for (const size_t place : call.from) from.push_back(values[place]);
    const std::span<TensorValues> to = std::span(made).subspan(call.to - side.given, call.parts);
    const Status ran = call.step->run(from, to);
    if (!ran) return ran.error().with_context("step " + shown_name(call.name));
    for (size_t i = 0; i < call.parts; ++i) values.push_back(view_of(side.types[call.to + i], to[i]));
  }
  return {};
}

template <typename T>
void append(std::span<const T> from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Status FittedSteps::prepare(std::span<const TensorValues> inputs, uint64_t row,
                            std::span<const std::span<float>> to) const {
  std::vector<ValueView> values;
  values.reserve(before_.types.size());
  for (size_t i = 0; i < inputs.size(); ++i) values.push_back(row_of(before_.types[i].type, inputs[i], row));
  std::vector<TensorValues> made;
  COT_TRY(run_side(before_, values, made));
  for (size_t i = 0; i < to.size(); ++i) std::ranges::copy(values[before_.taken[i]].words, to[i].begin());
  return {};
}

Result<std::vector<TensorValues>> FittedSteps::finish(std::span<const float> given, uint64_t rows) const {
  std::vector<TensorValues> outputs(after_.taken.size());
  std::vector<ValueView> values;
  std::vector<TensorValues> made;
  const OutputPlaces<const float> places(model_, given, rows);
  values.reserve(after_.types.size());
  for (uint64_t row = 0; row < rows; ++row) {
    values.clear();
    for (size_t i = 0; i < places.size(); ++i) {
      const TensorInterface& output = model_.outputs[i];
      ValueView value{.type = output.type, .shape = &output.shape};
      value.words = places[i].subspan(row * output.elements, output.elements);
      values.push_back(value);
    }
    made.clear();
    COT_TRY(run_side(after_, values, made));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueView& value = values[after_.taken[i]];
      outputs[i].shape = *value.shape;
      append(value.words, outputs[i].words);
      append(value.texts, outputs[i].texts);
    }
  }
  return outputs;
}

Status ServingSteps::read_steps(JsonReader& reader, const char* key, const StepFiles& files, const Problems& problems,
                                std::vector<Written>& steps) {
  for (JsonReader& settings : reader.objects(key)) {
    if (steps.size() == kStepsMax) return too_many(key, kStepsMax);
    Written step;
    std::string kind;
    settings.require("name");
    settings.require("step");
    settings.read("name", step.name);
    settings.read("step", kind);
    settings.read("from", step.from);
    COT_TRY(check_name(step.name, "a step"));
    StepResult made = make_step(kind, settings, files);
    if (!made) return made.error().with_context("step " + shown_name(step.name));
    step.step = *std::move(made);
    settings.finish();
    if (!problems.empty()) return wrong(listed(problems)).with_context("step " + shown_name(step.name));
    steps.push_back(std::move(step));
  }
  return {};
}

Status ServingSteps::read(JsonReader& reader, const StepFiles& files, Problems& problems) {
  std::string schema;
  reader.require("schema");
  reader.read("schema", schema);
  if (!schema.empty() && schema != kSchema) reader.problem("schema", std::string("must be ") + kSchema);
  for (JsonReader& input : reader.objects("inputs")) {
    if (inputs_.size() == kStepInputsMax) return too_many("inputs", kStepInputsMax);
    COT_ASSIGN(TensorInterface read, read_input(input, problems));
    inputs_.push_back(std::move(read));
  }
  COT_TRY(read_steps(reader, "before", files, problems, before_));
  reader.read("model", model_);
  COT_TRY(read_steps(reader, "after", files, problems, after_));
  reader.read("outputs", outputs_);
  if (outputs_.size() > kStepOutputsMax) return too_many("outputs", kStepOutputsMax);
  if (inputs_.empty() != model_.empty() || (inputs_.empty() && !before_.empty()))
    reader.problem("model", "inputs and before go together: all of them, or none");
  if (outputs_.empty() && !after_.empty()) reader.problem("outputs", "must name what the steps behind the model give");
  reader.finish();
  return {};
}

Result<std::shared_ptr<const ServingSteps>> ServingSteps::parse(std::string_view text, const StepFiles& files) {
  if (text.size() > kStepsFileBytesMax) {
    return Error(ErrorCode::too_large, "has more than " + std::to_string(kStepsFileBytesMax) + " bytes");
  }
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  JsonReader reader(*json, "", problems);
  auto steps = std::make_shared<ServingSteps>();
  COT_TRY(steps->read(reader, files, problems));
  if (!problems.empty()) return wrong(listed(problems));
  return std::shared_ptr<const ServingSteps>(std::move(steps));
}

Status ServingSteps::fit_before(FittedSteps& fitted) const {
  SideFitter side;
  std::set<std::string> names;
  for (const TensorInterface& input : inputs_) {
    if (!names.insert(input.name).second) return wrong("input " + shown_name(input.name) + " is there twice");
    side.give(input.name, {input.type, input.shape});
  }
  for (const Written& step : before_) COT_TRY(side.add(step.name, *step.step, step.from));
  for (const TensorInterface& input : fitted.model_.inputs) {
    const std::string what = "the model's input " + shown_name(input.name);
    const auto value = model_.find(input.name);
    if (value == model_.end()) return wrong(what + ": \"model\" says no value for it");
    const Result<ValueType> type = side.take(value->second);
    if (!type) return type.error().with_context(what);
    const ValueType wanted{input.type, input.shape};
    if (*type != wanted)
      return wrong_type(*type, shown_type(wanted)).with_context(what + ": " + shown_name(value->second));
  }
  for (const auto& [name, value] : model_) {
    if (std::ranges::find(fitted.model_.inputs, name, &TensorInterface::name) == fitted.model_.inputs.end())
      return wrong("the model has no input " + shown_name(name) + "; it has " + shown_names(fitted.model_.inputs));
  }
  COT_TRY(side.check_used());
  fitted.before_ = side.side();
  return {};
}

Status ServingSteps::fit_after(FittedSteps& fitted) const {
  SideFitter side;
  const std::vector<TensorInterface>& given = fitted.model_.outputs;
  side.give(given[0].name, {given[0].type, given[0].shape});
  for (size_t i = 1; i < given.size(); ++i) side.offer(given[i].name, {given[i].type, given[i].shape});
  for (const Written& step : after_) COT_TRY(side.add(step.name, *step.step, step.from));
  std::vector<std::pair<std::string, std::string>> outputs(outputs_.begin(), outputs_.end());
  if (outputs.empty()) {
    for (const TensorInterface& output : given) outputs.emplace_back(output.name, output.name);
  }
  for (const auto& [name, value] : outputs) {
    const Result<ValueType> type = side.take(value);
    if (!type) return type.error().with_context("output " + shown_name(name));
    if (!outputs_.empty()) COT_TRY(check_name(name, "an output"));
    const bool is_answerable = type->type != ProtocolType::float64 && type->type != ProtocolType::uint8;
    if (!is_answerable || has_any_size(type->shape))
      return wrong_type(*type, "FP32, INT32 or BYTES of known sizes").with_context("output " + shown_name(name));
    fitted.client_.outputs.push_back({name, type->type, type->shape, elements_of(type->shape)});
  }
  COT_TRY(side.check_used());
  fitted.after_ = side.side();
  return {};
}

Result<std::shared_ptr<const FittedSteps>> ServingSteps::fit(const ModelInterface& model) const {
  auto fitted = std::make_shared<FittedSteps>();
  fitted->steps_ = shared_from_this();
  fitted->model_ = model;
  fitted->prepares_ = !inputs_.empty();
  fitted->client_.inputs = fitted->prepares_ ? inputs_ : model.inputs;
  if (fitted->prepares_) COT_TRY(fit_before(*fitted));
  COT_TRY(fit_after(*fitted));
  return std::shared_ptr<const FittedSteps>(std::move(fitted));
}

}  // namespace coterie
