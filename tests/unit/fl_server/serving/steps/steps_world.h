// Steps in a test: parsed with files of the test, fitted to a model of the test, and run on one example.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fl_server/serving/output_places.h"
#include "fl_server/serving/serving_steps.h"

namespace coterie::test {

inline Result<std::shared_ptr<const ServingSteps>> parse_steps(const std::string& json,
                                                               const std::map<std::string, std::string>& files = {}) {
  return ServingSteps::parse(json, [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return Error(ErrorCode::not_found, path + ": there is no such file");
    return found->second;
  });
}

inline TensorInterface tensor_of(const std::string& name, ProtocolType type, const Shape& shape) {
  return {name, type, shape, elements_of(shape)};
}

// A model with one input.
inline ModelInterface model_of(const Shape& input, const Shape& output, ProtocolType type = ProtocolType::float32) {
  return {.inputs = {tensor_of("in", type, input)}, .outputs = {tensor_of("out", ProtocolType::float32, output)}};
}

// "before" steps from the input "x", of which the last one, "last", is the model's input.
inline std::string before_of(const std::string& datatype, const std::string& shape, const std::string& steps) {
  return R"({"schema":"coterie.serving_steps.v1","inputs":[{"name":"x","datatype":")" + datatype + R"(","shape":)" +
         shape + R"(}],"before":[)" + steps + R"(],"model":{"in":"last"}})";
}

// "after" steps, and what leaves.
inline std::string after_of(const std::string& steps, const std::string& outputs) {
  return R"({"schema":"coterie.serving_steps.v1","after":[)" + steps + R"(],"outputs":)" + outputs + "}";
}

// What the model gets of one example, or why not.
inline Result<std::vector<float>> prepared(const std::string& json, const ModelInterface& model,
                                           const std::vector<TensorValues>& example,
                                           const std::map<std::string, std::string>& files = {}) {
  COT_ASSIGN(const auto steps, parse_steps(json, files));
  COT_ASSIGN(const auto fitted, steps->fit(model));
  std::vector<float> numbers(model.inputs[0].elements);
  const std::span<float> to[] = {numbers};
  COT_TRY(fitted->prepare(example, 0, to));
  return numbers;
}

// What clients get of these rows of the model's outputs (OutputPlaces).
inline Result<std::vector<TensorValues>> finished(const std::string& json, const ModelInterface& model,
                                                  const std::vector<float>& outputs) {
  COT_ASSIGN(const auto steps, parse_steps(json));
  COT_ASSIGN(const auto fitted, steps->fit(model));
  return fitted->finish(outputs, outputs.size() / answer_elements(model));
}

}  // namespace coterie::test
