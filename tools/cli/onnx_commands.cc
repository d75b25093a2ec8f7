#include "tools/cli/onnx_commands.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "model_import/onnx/export_onnx.h"
#include "model_import/onnx/import_onnx.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/inspect.h"
#include "tools/model/onnx_verify.h"

namespace coterie {
namespace {

constexpr uint32_t kBatches[] = {1, 8, 32};
constexpr double kDifferenceMax = 1e-4;  // of the largest value: float32 sums in another order, layer upon layer
constexpr uint32_t kVerifyExamples = 2;

struct Footprint {
  uint32_t batch = 1;
  std::optional<uint64_t> inference, training;  // empty: more than any arena may have
};

std::optional<uint64_t> arena_bytes(const Model& model, Purpose purpose, uint32_t batch) {
  const auto compiled = compile(model, {.purpose = purpose,
                                        .loss = {.kind = Loss::mean_squared_error},
                                        .batch_size = batch,
                                        .arena_bytes_max = limits::kArenaBytesMax});
  if (!compiled) return std::nullopt;
  return compiled->layout.bytes();
}

std::vector<Footprint> footprints(const Model& model) {
  std::vector<Footprint> figures;
  for (const uint32_t batch : kBatches) {
    figures.push_back({batch, arena_bytes(model, Purpose::predict, batch), arena_bytes(model, Purpose::train, batch)});
  }
  return figures;
}

Result<std::vector<VerifyResult>> verify(const Model& model, const ConvertOptions& options) {
  COT_ASSIGN(std::vector<VerifyResult> results, verify_stored(model, options.from));
  COT_ASSIGN(VerifyResult random, verify_kernels(model, kVerifyExamples));
  results.push_back(std::move(random));
  return results;
}

void print_tables(const ModelReport& report, const std::vector<Footprint>& memory,
                  const std::vector<VerifyResult>& verified) {
  Table layers({{"LAYER"}, {"OP"}, {"OUTPUT"}, {"PARAMETERS", Table::Align::right}});
  for (const ModelLayer& layer : report.layers) {
    layers.add({layer.name, layer.op, layer.output, layer.parameters == 0 ? "" : format_count(layer.parameters)});
  }
  const auto bytes = [](const std::optional<uint64_t>& size) {
    return size ? format_bytes(*size) : std::string("too large");
  };
  Table figures(
      {{"BATCH", Table::Align::right}, {"INFERENCE", Table::Align::right}, {"TRAINING (SGD)", Table::Align::right}});
  for (const Footprint& f : memory) figures.add({std::to_string(f.batch), bytes(f.inference), bytes(f.training)});
  std::string text = layers.text() + "\n" + printable(report.name) + ": input " + report.input + ", output " +
                     report.output + ", " + format_count(report.parameters) + " parameters, " +
                     format_fixed(report.flops / 1e6, 2) + " million operations an example\n\n" + figures.text();
  for (const VerifyResult& v : verified) {
    text += "\n" + v.what + ": " + counted(v.examples, "example") + ", largest difference " +
            format_fixed(v.difference * 1e6, 2) + " millionths of the largest value\n";
  }
  // What stands there now is of the kernels alone.
  if (verified.size() == 1) {
    text +=
        "the conversion itself is not checked: put test_data_set_0 (input_0.pb, output_0.pb, as onnx's own tests "
        "have them) beside the file\n";
  }
  print_text(text);
}

void print_as_json(const ModelReport& report, const std::vector<Footprint>& memory,
                   const std::vector<VerifyResult>& verified, const model_import::ImportedModel& import) {
  nlohmann::json json{{"name", report.name},
                      {"digest", report.digest},
                      {"input", report.input},
                      {"output", report.output},
                      {"parameters", report.parameters},
                      {"flops", report.flops},
                      {"notes", import.notes},
                      {"roles", import.roles}};
  for (const ModelLayer& layer : report.layers) {
    json["layers"].push_back(
        {{"name", layer.name}, {"op", layer.op}, {"output", layer.output}, {"parameters", layer.parameters}});
  }
  for (const Footprint& f : memory) {
    json["memory"].push_back({{"batch", f.batch},
                              {"inference_bytes", f.inference ? nlohmann::json(*f.inference) : nullptr},
                              {"training_bytes", f.training ? nlohmann::json(*f.training) : nullptr}});
  }
  for (const VerifyResult& v : verified) {
    json["verified"].push_back({{"what", v.what}, {"examples", v.examples}, {"difference", v.difference}});
  }
  print_json(json);
}

ExitCode fail(const char* command, const Error& error, ExitCode code) {
  print_error(command, error);
  return code;
}

}  // namespace

ExitCode convert_model(const ConvertOptions& options) {
  const Result<Bytes> file = os::read_file(options.from, model_import::kOnnxFileBytesMax);
  if (!file) return fail("model convert", file.error(), ExitCode::usage);
  Result<model_import::ImportedModel> import = model_import::import_onnx(*file, {.dimensions = options.dimensions,
                                                                                 .output = options.output,
                                                                                 .constant = options.constant,
                                                                                 .trainable = options.trainable});
  if (!import) return fail("model convert", import.error().with_context(options.from), ExitCode::usage);
  const Result<Model> model = Model::load(import->model);
  if (!model) return fail("model convert", model.error().with_context(options.from), ExitCode::usage);
  std::vector<VerifyResult> verified;
  if (options.verifies) {
    Result<std::vector<VerifyResult>> results = verify(*model, options);
    if (!results) return fail("model convert", results.error(), ExitCode::usage);
    verified = std::move(*results);
  }
  if (const Status written = os::write_file_atomically(options.to, import->model); !written) {
    return fail("model convert", written.error(), ExitCode::failure);
  }
  if (options.as_json) print_as_json(inspect(*model), footprints(*model), verified, *import);
  else print_tables(inspect(*model), footprints(*model), verified);
  for (const std::string& note : import->notes) {
    if (!options.as_json) print_text("note: " + printable(note) + "\n");
  }
  for (const VerifyResult& v : verified) {
    if (!(v.difference <= kDifferenceMax)) {
      return fail("model convert",
                  Error(ErrorCode::internal,
                        v.what + ": the model differs from what it should compute by " + std::to_string(v.difference)),
                  ExitCode::failure);
    }
  }
  return ExitCode::ok;
}

ExitCode export_model(const ExportOptions& options) {
  const Result<Model> model = open_model(options.from);
  if (!model) return fail("model export", model.error(), ExitCode::usage);
  const Result<Bytes> exported = model_import::export_onnx(*model);
  if (!exported) return fail("model export", exported.error().with_context(options.from), ExitCode::usage);
  if (const Status written = os::write_file_atomically(options.to, *exported); !written) {
    return fail("model export", written.error(), ExitCode::failure);
  }
  print_text(format_bytes(exported->size()) + " written to " + options.to + "\n");
  return ExitCode::ok;
}

Result<Bytes> model_from_onnx(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, model_import::kOnnxFileBytesMax));
  Result<model_import::ImportedModel> import = model_import::import_onnx(file);
  if (!import) return import.error().with_context(path);
  return std::move(import->model);
}

}  // namespace coterie
