#include "tools/cli/onnx_commands.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/export_onnx.h"
#include "model_import/onnx/import_onnx.h"
#include "model_import/onnx/read_onnx.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/model/conversion_check.h"
#include "tools/model/inspect.h"
#include "tools/model/int8_conversion.h"
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

struct Verification {
  std::vector<VerifyResult> parts;             // stored outputs, and kernels
  std::optional<ConversionResult> conversion;  // the model beside the ONNX graph
  std::optional<Int8Conversion> int8;          // the same of a file that computes in int8
  std::optional<Error> unverified;             // why there is none
};

// The ONNX graph with the output that is converted, as it lies in the file.
Result<model_import::Graph> graph_of(ByteView file, const std::string& output) {
  COT_ASSIGN(model_import::Graph graph, model_import::read_onnx(file));
  if (graph.outputs.empty()) return Error(ErrorCode::malformed, "the model has no output");
  const std::string name = output.empty() ? graph.outputs[0].name : output;
  graph.outputs = {{.name = name, .element = model_import::Element::real, .shape = {}}};
  return graph;
}

Result<Verification> verify(const Model& model, ByteView file, const ConvertOptions& options) {
  Verification verification;
  COT_ASSIGN(verification.parts, verify_stored(model, options.from));
  COT_ASSIGN(VerifyResult random, verify_kernels(model, kVerifyExamples));
  verification.parts.push_back(std::move(random));
  COT_ASSIGN(const model_import::Graph graph, graph_of(file, options.output));
  const Conversion convert = [&options](model_import::Graph part) -> Result<Bytes> {
    COT_ASSIGN(model_import::ImportedModel imported,
               model_import::import_graph(std::move(part), {.dimensions = options.dimensions}));
    seal(imported.model);
    return std::move(imported.model);
  };
  Result<ConversionResult> conversion = check_conversion(graph, options.dimensions, model, convert);
  if (conversion) verification.conversion = std::move(*conversion);
  else verification.unverified = conversion.error();
  return verification;
}

std::string scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2g", value);
  return text;
}

std::string text_of(const Int8Conversion& result) {
  return "conversion beside the ONNX graph: " + counted(result.examples, "random example") + ",\n  " +
         std::to_string(result.apart) + " of " + counted(result.numbers, "number") + " more than a step of " +
         scientific(result.step) + " off (allowed: " + std::to_string(kApartPerThousandMax) +
         " of 1000),\n  the largest difference " + scientific(result.largest) +
         " (allowed: " + scientific(kStepsApartMax * result.step) + ")\n";
}

std::string text_of(const ConversionResult& result) {
  return "conversion beside the ONNX graph: " + counted(result.examples, "random example") + ", output " +
         printable(result.output) + ":\n  largest difference " + scientific(result.absolute) + ", " +
         scientific(result.relative) + " of the largest value (allowed: " + scientific(kAbsoluteMax) + " + " +
         scientific(kRelativeMax) + " of it)\n";
}

// What makes the command fail, if anything does.
std::optional<Error> fault_of(const Verification& verification) {
  for (const VerifyResult& v : verification.parts) {
    if (v.difference <= kDifferenceMax) continue;
    return Error(ErrorCode::internal,
                 v.what + ": the model differs from what it should compute by " + std::to_string(v.difference));
  }
  if (verification.unverified) return verification.unverified->with_context("the conversion is not verified");
  if (verification.int8 && !verification.int8->agrees()) {
    return Error(ErrorCode::internal, "the model does not compute what the ONNX graph does: it differs by up to " +
                                          scientific(verification.int8->largest) + ", " +
                                          scientific(verification.int8->largest / verification.int8->step) +
                                          " steps of its last grid");
  }
  if (!verification.conversion || verification.conversion->agrees) return std::nullopt;
  const ConversionResult& result = *verification.conversion;
  return Error(ErrorCode::internal, "the model does not compute what the ONNX graph does: output " +
                                        printable(result.output) + " differs by " + scientific(result.absolute) +
                                        "; the first tensor that differs is " + printable(result.first_tensor) +
                                        ", of " + printable(result.first_node));
}

void print_tables(const ModelReport& report, const std::vector<Footprint>& memory, const Verification& verification) {
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
                     format_fixed(report.flops / 1e6, 2) + " million operations an example\n";
  if (!memory.empty()) text += "\n" + figures.text();
  for (const VerifyResult& v : verification.parts) {
    text += "\n" + v.what + ": " + counted(v.examples, "example") + ", largest difference " +
            format_fixed(v.difference * 1e6, 2) + " millionths of the largest value\n";
  }
  if (verification.conversion) text += "\n" + text_of(*verification.conversion);
  if (verification.int8) text += "\n" + text_of(*verification.int8);
  print_text(text);
}

void print_as_json(const ModelReport& report, const std::vector<Footprint>& memory, const Verification& verification,
                   const model_import::ImportedModel& import) {
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
  for (const VerifyResult& v : verification.parts) {
    json["verified"].push_back({{"what", v.what}, {"examples", v.examples}, {"difference", v.difference}});
  }
  if (verification.conversion) {
    const ConversionResult& c = *verification.conversion;
    json["conversion"] = {{"output", c.output},
                          {"examples", c.examples},
                          {"absolute_difference", c.absolute},
                          {"relative_difference", c.relative},
                          {"agrees", c.agrees},
                          {"first_tensor", c.first_tensor}};
  }
  if (verification.int8) {
    const Int8Conversion& c = *verification.int8;
    json["conversion"] = {{"examples", c.examples},           {"numbers", c.numbers},
                          {"numbers_apart", c.apart},         {"step", c.step},
                          {"absolute_difference", c.largest}, {"agrees", c.agrees()}};
  }
  if (verification.unverified)
    json["conversion"] = {{"agrees", false}, {"unverified", verification.unverified->message()}};
  print_json(json);
}

ExitCode fail(const char* command, const Error& error, ExitCode code) {
  print_error(command, error);
  return code;
}

// A QDQ graph: what answers is the file in int8.
ExitCode convert_int8(ByteView file, const model_import::ImportedModel& import, const ConvertOptions& options) {
  const Result<Int8Model> model = open_int8_model(import.model);
  if (!model) return fail("model convert", model.error().with_context(options.from), ExitCode::usage);
  Verification verification;
  if (options.verifies) {
    const Result<model_import::Graph> graph = graph_of(file, options.output);
    if (!graph) return fail("model convert", graph.error(), ExitCode::usage);
    const Result<Int8Conversion> checked = check_int8_conversion(*graph, options.dimensions, *model);
    if (checked) verification.int8 = *checked;
    else verification.unverified = checked.error();
  }
  if (const Status written = os::write_file_atomically(options.to, import.model); !written) {
    return fail("model convert", written.error(), ExitCode::failure);
  }
  if (options.as_json) {
    print_as_json(inspect(model->exact), {}, verification, import);
  } else {
    print_tables(inspect(model->exact), {}, verification);
    for (const std::string& note : import.notes) print_text("note: " + printable(note) + "\n");
    print_text("it computes in int8, with the scales, zeros and integers of the graph\n");
  }
  if (const std::optional<Error> fault = fault_of(verification))
    return fail("model convert", *fault, ExitCode::failure);
  return ExitCode::ok;
}

}  // namespace

ExitCode convert_model(const ConvertOptions& options) {
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"-o", options.to}}); !distinct) {
    return fail("model convert", distinct.error(), ExitCode::usage);
  }
  const Result<Bytes> file = os::read_file(options.from, model_import::kOnnxFileBytesMax);
  if (!file) return fail("model convert", file.error(), ExitCode::usage);
  Result<model_import::ImportedModel> import = model_import::import_onnx(*file, {.dimensions = options.dimensions,
                                                                                 .output = options.output,
                                                                                 .constant = options.constant,
                                                                                 .trainable = options.trainable});
  if (!import) return fail("model convert", import.error().with_context(options.from), ExitCode::usage);
  if (computes_in_int8(import->model)) return convert_int8(*file, *import, options);
  const Result<Model> model = Model::load(import->model);
  if (!model) return fail("model convert", model.error().with_context(options.from), ExitCode::usage);
  Verification verification;
  if (options.verifies) {
    Result<Verification> results = verify(*model, *file, options);
    if (!results) return fail("model convert", results.error(), ExitCode::usage);
    verification = std::move(*results);
  }
  if (const Status written = os::write_file_atomically(options.to, import->model); !written) {
    return fail("model convert", written.error(), ExitCode::failure);
  }
  if (options.as_json) print_as_json(inspect(*model), footprints(*model), verification, *import);
  else print_tables(inspect(*model), footprints(*model), verification);
  for (const std::string& note : import->notes) {
    if (!options.as_json) print_text("note: " + printable(note) + "\n");
  }
  if (const std::optional<Error> fault = fault_of(verification))
    return fail("model convert", *fault, ExitCode::failure);
  return ExitCode::ok;
}

namespace {

Result<Bytes> exported_onnx(const std::string& path) {
  COT_ASSIGN(const Bytes file, read_input(path));
  if (computes_in_int8(file)) {
    if (const Result<Seal> seal = check_seal(file); !seal) return seal.error().with_context(path);
    Result<Int8Model> int8 = open_int8_model(file);
    if (!int8) return int8.error().with_context(path);
    return model_import::export_int8_onnx(*int8);
  }
  COT_ASSIGN(const Model model, open_model(path));
  return model_import::export_onnx(model);
}

}  // namespace

ExitCode export_model(const ExportOptions& options) {
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"-o", options.to}}); !distinct) {
    return fail("model export", distinct.error(), ExitCode::usage);
  }
  const Result<Bytes> exported = exported_onnx(options.from);
  if (!exported) return fail("model export", exported.error(), ExitCode::usage);
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
