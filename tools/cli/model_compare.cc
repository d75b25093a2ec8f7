#include "tools/cli/model_compare.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "model_import/weights/read_weights.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/graph_comparison.h"
#include "tools/cli/local_files.h"
#include "tools/cli/onnx_commands.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/compare_tensors/comparison_page.h"
#include "tools/model/inspect.h"
#include "tools/model/model_output.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model compare";
constexpr int kNameColumns = 24, kShapeColumns = 13;  // a line of the table has at most 80
constexpr int kColumns = 80, kNoteIndent = 4;
constexpr uint64_t kArraysElementsMax = 1ull << 30;  // of all arrays of a file

constexpr std::string_view kArrayNames[] = {".npy", ".npz", ".pt", ".pth", ".safetensors", ".ckpt"};

bool is_arrays(const std::string& file) {
  return std::ranges::any_of(kArrayNames, [&](std::string_view end) { return file.ends_with(end); });
}

Result<std::vector<NamedArray>> arrays_in(const Result<model_import::WeightTable>& table) {
  if (!table) return table.error();
  COT_TRY(check_elements(*table, kArraysElementsMax));
  std::vector<NamedArray> arrays;
  for (const model_import::WeightTensor& tensor : table->tensors) {
    COT_ASSIGN(std::vector<float> values, read_numbers(tensor));
    arrays.push_back({tensor.name, tensor.shape, std::move(values)});
  }
  return arrays;
}

Result<std::vector<NamedArray>> read_arrays(const std::string& path) {
  COT_ASSIGN(const Bytes file, read_input(path));
  Result<std::vector<NamedArray>> arrays =
      arrays_in(path.ends_with(".npy") ? model_import::read_npy(file) : model_import::read_weights(file));
  if (!arrays) return arrays.error().with_context(path);
  return arrays;
}

// The first examples, one list of words an input.
Result<std::vector<Words>> read_examples(const Model& model, LocalData& data, uint32_t count) {
  DatasetSource& source = data.judges();
  if (source.size() < count) {
    return Error(ErrorCode::invalid_argument,
                 "the data has " + std::to_string(source.size()) + " examples; --examples asks for more");
  }
  std::vector<Words> inputs(model.graph().inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].resize(count * elements(model.input_shape(i)));
  std::vector<float> target(elements(source.header().target.shape));
  for (uint32_t example = 0; example < count; ++example) {
    std::vector<Example::Place> places;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = elements(model.input_shape(i));
      places.push_back(std::span(inputs[i]).subspan(example * size, size));
    }
    COT_TRY(source.read(example, Example(places, target)));
  }
  return inputs;
}

Result<std::vector<Words>> inputs_of(const CompareModelsOptions& options, const Model& model) {
  if (options.data.empty()) return random_words(model, options.examples);
  COT_ASSIGN(LocalData data, open_data(options.data, model));
  return read_examples(model, data, options.examples);
}

Result<TensorComparison> compared(const CompareModelsOptions& options) {
  if (is_arrays(options.a) != is_arrays(options.b)) {
    const std::string& arrays = is_arrays(options.a) ? options.a : options.b;
    return Error(ErrorCode::invalid_argument,
                 arrays + " has arrays, and " + (is_arrays(options.a) ? options.b : options.a) +
                     " is none of their files (.npy, .npz, .pt, .pth, .safetensors, .ckpt): name two models, or two "
                     "files of arrays");
  }
  const bool has_graph = is_foreign_model(options.a) || is_foreign_model(options.b);
  if (has_graph) return compare_graphs(options);
  if (!options.inputs.empty()) {
    return Error(ErrorCode::invalid_argument,
                 "--inputs is for graphs (.onnx, .tflite, .ms); model files are given --data DATA");
  }
  if (is_arrays(options.a)) {
    COT_ASSIGN(const std::vector<NamedArray> a, read_arrays(options.a));
    COT_ASSIGN(const std::vector<NamedArray> b, read_arrays(options.b));
    return compare_arrays(a, b, options.tolerance);
  }
  COT_ASSIGN(const Model a, open_model(options.a));
  COT_ASSIGN(const Model b, open_model(options.b));
  COT_ASSIGN(const std::vector<Words> inputs, inputs_of(options, b));
  return compare_models(a, b, inputs, options.examples, options.tolerance);
}

std::string first_of(const std::vector<std::string>& names) {
  return std::to_string(names.size()) + (names.empty() ? "" : " (" + names[0] + (names.size() > 1 ? ", ...)" : ")"));
}

Error nothing_in_common(const CompareModelsOptions& options, const TensorComparison& comparison) {
  return Error(ErrorCode::invalid_argument,
               options.a + " and " + options.b + " have no tensor in common, by name: the first has " +
                   first_of(comparison.only_a) + ", the second " + first_of(comparison.only_b));
}

std::string list_of(const std::string& what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return "only in " + what + ": " + counted(names.size(), "tensor") + ", the first " +
         shortened(names[0], kNameColumns) + "\n";
}

uint64_t paired_by_place(const TensorComparison& comparison) {
  return static_cast<uint64_t>(std::ranges::count(comparison.tensors, "place", &ComparedTensor::paired_by));
}

std::string text_of(const TensorComparison& comparison) {
  Table table({{"TENSOR", Table::Align::left},
               {"SHAPE", Table::Align::left},
               {"VERDICT", Table::Align::left},
               {"MAX ABS", Table::Align::right},
               {"OF MAX", Table::Align::right},
               {"COSINE", Table::Align::right}});
  for (const ComparedTensor& tensor : comparison.tensors) {
    const bool has_shape = tensor.verdict != TensorVerdict::shape;
    table.add({shortened(tensor.title(), kNameColumns), shortened(shape_text(tensor.shape), kShapeColumns),
               std::string(to_string(tensor.verdict)), has_shape ? format_digits(tensor.difference.absolute_max) : "",
               has_shape ? format_digits(tensor.difference.scaled_max) : "",
               has_shape ? format_fixed(tensor.difference.cosine, 6) : ""});
  }
  std::string text = table.text() + "\n" + list_of("a", comparison.only_a) + list_of("b", comparison.only_b);
  if (!comparison.inputs.empty())
    text += wrapped("inputs: " + printable(comparison.inputs), kColumns, kNoteIndent) + "\n";
  if (const auto count = paired_by_place(comparison); count > 0)
    text += "paired by place, since their names differ: " + counted(count, "tensor") + "\n";
  const ComparedTensor* const first = comparison.first_apart();
  if (first == nullptr) {
    const bool is_all = comparison.only_a.empty() && comparison.only_b.empty();
    return text + (is_all ? "everything" : "what both have") + " agrees, within " +
           format_digits(comparison.tolerance) + " of the largest value\n";
  }
  text += "the first that is apart: " + printable(first->title()) +
          (first->kind.empty() ? "" : " (" + first->kind + ")") + "\n";
  if (first->verdict == TensorVerdict::shape)
    text += "  its shape is " + shape_text(first->shape) + ", the reference's " + shape_text(first->other_shape) + "\n";
  for (const std::string& note : first->notes)
    text += "  " + wrapped(printable(note), kColumns - 2, kNoteIndent) + "\n";
  const auto causes = std::ranges::count(comparison.tensors, true, &ComparedTensor::is_origin);
  if (causes > 1) text += std::to_string(causes - 1) + " more are apart though all that they read agrees\n";
  return text;
}

nlohmann::json json_of(const ComparedTensor& tensor) {
  nlohmann::json answer = {
      {"tensor", tensor.name}, {"shape", tensor.shape},        {"verdict", to_string(tensor.verdict)},
      {"kind", tensor.kind},   {"is_cause", tensor.is_origin}, {"notes", tensor.notes}};
  answer["other"] = tensor.other.empty() ? tensor.name : tensor.other;
  answer["other_shape"] = tensor.other_shape;
  if (!tensor.paired_by.empty()) answer["paired_by"] = tensor.paired_by;
  if (tensor.verdict == TensorVerdict::shape) return answer;
  const TensorDifference& d = tensor.difference;
  answer["metrics"] = {{"cosine_similarity", d.cosine},
                       {"max_absolute_error", d.absolute_max},
                       {"accumulated_relative_error", d.relative_sum},
                       {"relative_euclidean_distance", d.euclidean},
                       {"kl_divergence", d.divergence},
                       {"mean_a", d.mean_a},
                       {"standard_deviation_a", d.deviation_a},
                       {"mean_b", d.mean_b},
                       {"standard_deviation_b", d.deviation_b},
                       {"mean_absolute_error", d.absolute_mean},
                       {"root_mean_square_error", d.root_mean_square},
                       {"max_relative_error", d.relative_max},
                       {"mean_relative_error", d.relative_mean}};
  answer["elements"] = d.count;
  answer["outside"] = d.outside;
  answer["non_finite_apart"] = d.non_finite_apart;
  return answer;
}

nlohmann::json json_of(const TensorComparison& comparison) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const ComparedTensor& tensor : comparison.tensors) tensors.push_back(json_of(tensor));
  nlohmann::json answer = {{"tolerance", comparison.tolerance},
                           {"tensors", tensors},
                           {"only_a", comparison.only_a},
                           {"only_b", comparison.only_b},
                           {"first_apart", nullptr}};
  if (!comparison.inputs.empty()) answer["inputs"] = comparison.inputs;
  if (const ComparedTensor* const first = comparison.first_apart()) answer["first_apart"] = first->name;
  return answer;
}

}  // namespace

ExitCode compare_models(const CompareModelsOptions& options) {
  if (const Status distinct =
          distinct_files({{"A", options.a}, {"B", options.b}, {"--data", options.data}, {"--inputs", options.inputs}},
                         {{"--html", options.page}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<TensorComparison> comparison = compared(options);
  if (!comparison) return fail_on_input(kCommand, comparison.error());
  if (comparison->tensors.empty()) {
    return fail_on_input(kCommand, nothing_in_common(options, *comparison));
  }
  if (!options.page.empty()) {
    const std::string page = comparison_page(*comparison, options.a, options.b);
    if (const Status written = os::write_file_atomically(options.page, as_bytes(page)); !written) {
      return fail_on_output(kCommand, written.error());
    }
  }
  if (options.as_json) print_json(json_of(*comparison));
  else print_text(text_of(*comparison));
  // Ops come and go as models are converted; an array that is missing is a difference.
  const bool is_missing = is_arrays(options.a) && !(comparison->only_a.empty() && comparison->only_b.empty());
  return comparison->first_apart() == nullptr && !is_missing ? ExitCode::ok : ExitCode::failure;
}

}  // namespace coterie
