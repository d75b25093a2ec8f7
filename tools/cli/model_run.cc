#include "tools/cli/model_run.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/run_graph.h"

namespace coterie {
namespace {

using model_import::Array;
using model_import::Element;
using model_import::Form;

constexpr const char* kCommand = "model run";
constexpr size_t kValuesShown = 8;

const char* type_name(const Array& array) {
  switch (array.form) {
    case Form::text: return "text";
    case Form::sequence: return "sequence";
    case Form::optional: return "optional";
    case Form::tensor: break;
  }
  if (array.element == Element::real) return "float";
  if (array.element == Element::boolean) return "boolean";
  switch (array.width) {
    case model_import::Width::int8: return "int8";
    case model_import::Width::uint8: return "uint8";
    case model_import::Width::int32: return "int32";
    default: return "int64";
  }
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

// JSON knows neither NaN nor infinities: texts.
nlohmann::json value_json(const Array& array, double value) {
  if (array.element == Element::boolean) return value != 0;
  if (array.element == Element::integer) return model_import::whole(value);
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// A tensor's elements, or the values that a sequence or an optional value holds.
nlohmann::json array_json(const Array& array) {
  nlohmann::json json = {{"type", type_name(array)}};
  if (array.form == Form::sequence || array.form == Form::optional) {
    json["items"] = nlohmann::json::array();
    for (const Array& item : array.items) json["items"].push_back(array_json(item));
    return json;
  }
  nlohmann::json values = array.texts;
  for (const double value : array.values) values.push_back(value_json(array, value));
  json["shape"] = array.shape;
  json["values"] = values;
  return json;
}

void print_as_json(const GraphOutputs& outputs) {
  nlohmann::json json;
  for (const auto& [name, array] : outputs) {
    nlohmann::json output = array_json(array);
    output["name"] = name;
    json["outputs"].push_back(std::move(output));
  }
  print_json(json);
}

// A row, and one below it for each value that it holds.
void add_rows(Table& table, const std::string& name, const Array& array) {
  if (array.form == Form::sequence || array.form == Form::optional) {
    table.add({name, type_name(array), "", std::to_string(array.items.size()) + " held"});
    for (size_t i = 0; i < std::min(array.items.size(), kValuesShown); ++i)
      add_rows(table, name + "[" + std::to_string(i) + "]", array.items[i]);
    return;
  }
  const size_t count = array.texts.size() + array.values.size();
  std::string values;
  for (size_t i = 0; i < std::min(count, kValuesShown); ++i) {
    values += (i == 0 ? "" : ", ") +
              (array.form == Form::text ? printable(array.texts[i]) : value_json(array, array.values[i]).dump());
  }
  if (count > kValuesShown) values += ", ...";
  table.add({name, type_name(array), shape_text(array.shape), values});
}

void print_as_table(const GraphOutputs& outputs) {
  Table table({{"OUTPUT"}, {"TYPE"}, {"SHAPE"}, {"VALUES"}});
  for (const auto& [name, array] : outputs) add_rows(table, name, array);
  print_text(table.text());
}

}  // namespace

ExitCode run_model_graph(const ModelRunOptions& options) {
  const Result<Bytes> file = os::read_file(options.from, model_import::kOnnxFileBytesMax);
  if (!file) return fail_on_input(kCommand, file.error());
  const Result<model_import::Graph> graph = model_import::read_onnx(*file);
  if (!graph) {
    const Status kind = check_onnx_kind(*file, options.from);
    return fail_on_input(kCommand, kind ? graph.error().with_context(options.from) : kind.error());
  }
  std::vector<Bytes> inputs;
  for (const std::string& path : options.inputs) {
    Result<Bytes> input = os::read_file(path, model_import::kOnnxFileBytesMax);
    if (!input) return fail_on_input(kCommand, input.error());
    inputs.push_back(std::move(*input));
  }
  const Result<GraphOutputs> outputs = run_graph(*graph, inputs);
  if (!outputs) return fail_on_input(kCommand, outputs.error().with_context(options.from));
  if (options.as_json) print_as_json(*outputs);
  else print_as_table(*outputs);
  return ExitCode::ok;
}

}  // namespace coterie
