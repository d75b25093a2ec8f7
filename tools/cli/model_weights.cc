#include "tools/cli/model_weights.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>

#include "base/os/file.h"
#include "base/os/mapped_file.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "model_import/weights/read_weights.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/onnx_commands.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/model/output_check.h"

namespace coterie {
namespace {

using model_import::MappedTensor;
using model_import::MapProblem;
using model_import::MapReport;

constexpr const char* kCommand = "model load-weights";
constexpr size_t kColumns = 80;  // of a line of the report
constexpr uint64_t kMapBytesMax = 1u << 20;
constexpr uint32_t kRandomExamples = 2;

Result<Model> open_graph(const std::string& file) {
  if (!is_foreign_model(file)) return open_model(file);
  COT_ASSIGN(Bytes bytes, model_from_foreign(file));
  if (computes_in_int8(bytes)) {
    return Error(ErrorCode::invalid_argument,
                 file +
                     " computes in int8, and weights go into a model in float32: name the file that `coterie model "
                     "convert` and then `coterie model dequantise` write");
  }
  Result<Model> model = Model::load(std::move(bytes));
  if (!model) return model.error().with_context(file);
  return model;
}

Result<MapReport> mapped(const Model& model, const LoadWeightsOptions& options) {
  COT_ASSIGN(const os::MappedFile file, os::MappedFile::open(options.weights, model_import::kWeightFileBytesMax));
  const auto table = model_import::read_weights(file.bytes(), {.part = options.part});
  if (!table) return table.error().with_context(options.weights);
  model_import::MapOptions mapping = options.mapping;
  COT_ASSIGN(mapping.by_hand, parse_maps(options.maps));
  // PyTorch's graphs move an image to channels first before they flatten it. Who has made one that does not is not
  // known, and neither is how that one's weights lie.
  const bool is_onnx = options.graph.ends_with(".onnx");
  mapping.rows =
      options.rows.value_or(is_onnx ? model_import::RowOrder::unknown : model_import::RowOrder::channels_first);
  Result<MapReport> report = map_weights(model, *table, mapping);
  if (!report) return report.error().with_context(options.weights);
  return report;
}

Result<OutputCheck> checked(const Model& model, const std::string& file) {
  COT_ASSIGN(const os::MappedFile bytes, os::MappedFile::open(file, model_import::kWeightFileBytesMax));
  const auto arrays = model_import::read_npz(bytes.bytes());
  if (!arrays) return arrays.error().with_context(file);
  Result<OutputCheck> check = check_outputs(model, *arrays);
  if (!check) return check.error().with_context(file);
  return check;
}

std::string sources_text(const MappedTensor& tensor) {
  std::string text;
  for (const std::string& source : tensor.sources) text += (text.empty() ? "" : " + ") + source;
  return text.empty() ? "-" : text;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// As the report has it, in fewer words.
std::string rule_text(const MappedTensor& tensor) {
  constexpr std::string_view kRows = "rows to channels last";
  std::string how = tensor.how;
  if (const size_t at = how.find(kRows); at != std::string::npos) how.replace(at, kRows.size(), "rows moved");
  std::string rule = tensor.rule;
  if (rule == "exact name") rule = "name";
  if (rule == "normalised name") rule = "like name";
  return rule + (how.empty() ? "" : ": " + how);
}

void print_tables(const MapReport& report, const std::optional<OutputCheck>& random) {
  using enum Table::Align;
  constexpr size_t kOthers = 10 + 6 + 4 * 2, kTensorMax = 24, kSourceMin = 16;
  size_t tensor_columns = 6, rule_columns = 4;
  for (const MappedTensor& tensor : report.tensors) {
    tensor_columns = std::min(std::max(tensor_columns, tensor.name.size()), kTensorMax);
    rule_columns = std::min(std::max(rule_columns, rule_text(tensor).size()), kColumns / 2);
  }
  const size_t source_columns = std::max(kSourceMin, kColumns - kOthers - tensor_columns - rule_columns);
  Table table({{"TENSOR"}, {"SOURCE"}, {"RULE"}, {"CONFIDENCE"}, {"CHANGE", right}});
  for (const MappedTensor& tensor : report.tensors) {
    table.add({shortened_in_middle(tensor.name, static_cast<int>(tensor_columns)),
               shortened_in_middle(sources_text(tensor), static_cast<int>(source_columns)), rule_text(tensor),
               tensor.confidence, short_number(tensor.change)});
  }
  std::string text = table.empty() ? "" : table.text();
  for (const std::string& note : report.notes) text += "note: " + printable(note) + "\n";
  if (random) {
    text += "on random inputs the outputs are up to " + short_number(random->difference) +
            " of the largest value\n  away from those with the graph's own weights\n";
  }
  print_text(text);
}

nlohmann::json json_of(const MapReport& report) {
  nlohmann::json json{
      {"tensors", nlohmann::json::array()}, {"problems", nlohmann::json::array()}, {"notes", report.notes}};
  for (const MappedTensor& tensor : report.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"shape", tensor.shape},
                               {"sources", tensor.sources},
                               {"rule", tensor.rule},
                               {"how", tensor.how},
                               {"confidence", tensor.confidence},
                               {"change", tensor.change}});
  }
  for (const MapProblem& problem : report.problems) {
    json["problems"].push_back({{"name", problem.name}, {"what", problem.what}});
  }
  return json;
}

// The first of them, each with the lines that its reason takes.
std::string problems_text(const MapReport& report) {
  constexpr size_t kShownMax = 20, kNameMax = 24, kGap = 2;
  const std::span<const MapProblem> shown =
      std::span(report.problems).first(std::min(report.problems.size(), kShownMax));
  Table table({{"IN DOUBT"}, {"WHY"}});
  size_t name_columns = std::string_view("IN DOUBT").size();
  for (const MapProblem& problem : shown) {
    name_columns = std::max(name_columns, std::min(problem.name.size(), kNameMax));
  }
  for (const MapProblem& problem : shown) {
    std::string name = shortened_in_middle(problem.name, kNameMax);
    std::istringstream lines(wrapped(problem.what, static_cast<int>(kColumns - name_columns - kGap), 0));
    for (std::string line; std::getline(lines, line); name.clear()) table.add({name, line});
  }
  return table.text() + (shown.size() < report.problems.size() ? "and more: --json shows all of them\n" : "");
}

ExitCode fail_on_problems(const MapReport& report, bool as_json) {
  if (!as_json) print_text("\n" + problems_text(report));
  print_error(kCommand, Error(ErrorCode::conflict,
                              "nothing is written: " + counted(report.problems.size(), "tensor") +
                                  " in doubt; --map says which is which, --rows how rows lie, --keep what keeps its "
                                  "own values, --ignore what is not needed"));
  return ExitCode::failure;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> parse_maps(const std::vector<std::string>& maps) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto add = [&](std::string_view line) -> Status {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == line.size()) {
      return Error(ErrorCode::invalid_argument,
                   "--map must be TENSOR=TENSOR, of the model and of the file, is " + std::string(line));
    }
    pairs.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    return {};
  };
  for (const std::string& map : maps) {
    if (map.find('=') != std::string::npos) {
      COT_TRY(add(map));
      continue;
    }
    COT_ASSIGN(const Bytes file, os::read_file(map, kMapBytesMax));
    for (std::string_view rest = as_text(file); !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      line = line.substr(0, line.find('#'));
      while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) COT_TRY(add(line));
    }
  }
  return pairs;
}

ExitCode load_weights(const LoadWeightsOptions& options) {
  if (const Status distinct = distinct_files(
          {{"GRAPH", options.graph}, {"WEIGHTS", options.weights}, {"--check", options.check}}, {{"-o", options.to}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  const Result<Model> model = open_graph(options.graph);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<MapReport> report = mapped(*model, options);
  if (!report) return fail_on_input(kCommand, report.error());
  if (!report->problems.empty()) {
    if (options.as_json) print_json(json_of(*report));
    else print_tables(*report, std::nullopt);
    return fail_on_problems(*report, options.as_json);
  }
  const Result<Model> loaded = Model::load(model->file_with(report->parameters));
  if (!loaded) return fail_on_input(kCommand, loaded.error().with_context(options.weights));
  std::optional<OutputCheck> random, check;
  // A model that cannot be run on such inputs is loaded all the same.
  if (auto compared = compare_on_random_inputs(*loaded, *model, kRandomExamples)) random = *compared;
  if (!options.check.empty()) {
    Result<OutputCheck> result = checked(*loaded, options.check);
    if (!result) return fail_on_input(kCommand, result.error());
    check = *result;
  }
  if (options.as_json) {
    nlohmann::json json = json_of(*report);
    if (random) json["random_difference"] = random->difference;
    if (check) json["check"] = {{"examples", check->examples}, {"difference", check->difference}};
    print_json(json);
  } else {
    print_tables(*report, random);
  }
  if (check) {
    const std::string said = counted(check->examples, "example") + " of " + options.check +
                             ": the largest difference is " + short_number(check->difference) + " of the largest value";
    if (!(check->difference <= options.difference_max)) {
      print_error(kCommand, Error(ErrorCode::conflict, "nothing is written: " + said + ", at most " +
                                                           short_number(options.difference_max) + " is allowed"));
      return ExitCode::failure;
    }
    if (!options.as_json) print_text(said + "\n");
  }
  if (const Status written = os::write_file_atomically(options.to, loaded->file()); !written) {
    return fail_on_output(kCommand, written.error());
  }
  if (!options.as_json) {
    print_text(counted(report->tensors.size(), "tensor") + ", " + format_bytes(loaded->file().size()) + " written to " +
               printable(options.to) + "\n");
  }
  return ExitCode::ok;
}

}  // namespace coterie
