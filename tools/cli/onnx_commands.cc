#include "tools/cli/onnx_commands.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/seal.h"
#include "model_import/onnx/export_onnx.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/layers_table.h"
#include "tools/cli/local_files.h"
#include "tools/cli/model_verification.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/cli/wrap.h"
#include "tools/model/foreign_model.h"
#include "tools/model/inspect.h"
#include "tools/optimise/optimise.h"

namespace coterie {
namespace {

constexpr uint32_t kBatches[] = {1, 8, 32};

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

void print_tables(const ModelReport& report, const std::vector<Footprint>& memory, const Verification& verification) {
  const auto bytes = [](const std::optional<uint64_t>& size) {
    return size ? format_bytes(*size) : std::string("too large");
  };
  Table figures(
      {{"BATCH", Table::Align::right}, {"INFERENCE", Table::Align::right}, {"TRAINING (SGD)", Table::Align::right}});
  for (const Footprint& f : memory) figures.add({std::to_string(f.batch), bytes(f.inference), bytes(f.training)});
  std::string text = layers_table(report) + "\n" + printable(report.name) + ": input " + report.input + ", output " +
                     report.output + ", " + format_count(report.parameters) + " parameters,\n" +
                     format_fixed(report.flops / 1e6, 2) + " million operations an example\n";
  if (!memory.empty()) text += "\n" + figures.text();
  text += text_of(verification);
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
  add_to_json(verification, json);
  print_json(json);
}

void print_notes(const model_import::ImportedModel& import) {
  constexpr int kColumns = 80, kIndent = 6;
  for (const std::string& note : import.notes)
    print_text(wrapped("note: " + printable(note), kColumns, kIndent) + "\n");
}

ExitCode fail(const char* command, const Error& error, ExitCode code) {
  print_error(command, error);
  return code;
}

// The model of the file, rewritten; a note says by what.
Result<Model> optimised_import(model_import::ImportedModel& import, Optimisation level) {
  COT_ASSIGN(Model model, Model::load(import.model));
  if (level == Optimisation::none) return model;
  COT_ASSIGN(OptimisedModel optimised, optimise(model, {.level = level, .use = ModelUse::train}));
  std::string note;
  for (const PassCount& pass : optimised.passes) {
    note += (note.empty() ? "rewritten: " : ", ") + std::string(pass.name) + " " + format_count(pass.rewrites);
  }
  if (!note.empty()) import.notes.push_back(std::move(note));
  return std::move(optimised.model);
}

// Integers with grids of their own: what answers is the file in int8.
ExitCode convert_int8(ByteView file, const ForeignModel& foreign, const ConvertOptions& options) {
  const Result<Int8Model> model = open_int8_model(foreign.imported.model);
  if (!model) return fail("model convert", model.error().with_context(options.from), ExitCode::usage);
  Verification verification;
  if (options.verifies) {
    Result<Verification> results = verify_int8(*model, foreign, file, options);
    if (!results) return fail("model convert", results.error(), ExitCode::usage);
    verification = std::move(*results);
  }
  if (const Status written = os::write_file_atomically(options.to, foreign.imported.model); !written) {
    return fail("model convert", written.error(), ExitCode::failure);
  }
  if (options.as_json) {
    print_as_json(inspect(model->exact), {}, verification, foreign.imported);
  } else {
    print_tables(inspect(model->exact), {}, verification);
    print_notes(foreign.imported);
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
  const Result<Bytes> file = os::read_file(options.from, kForeignFileBytesMax);
  if (!file) return fail("model convert", file.error(), ExitCode::usage);
  Result<ForeignModel> foreign = import_foreign(*file, {.dimensions = options.dimensions,
                                                        .output = options.output,
                                                        .further_outputs = options.further_outputs,
                                                        .constant = options.constant,
                                                        .trainable = options.trainable});
  if (!foreign) {
    const Status kind = check_foreign_kind(*file, options.from);
    return fail("model convert", kind ? foreign.error().with_context(options.from) : kind.error(), ExitCode::usage);
  }
  if (foreign->is_int8 && options.level != Optimisation::none) {
    return fail("model convert",
                Error(ErrorCode::invalid_argument, "--optimise is for float32, and the graph computes in int8"),
                ExitCode::usage);
  }
  if (foreign->is_int8 && !options.further_outputs.empty()) {
    return fail("model convert",
                Error(ErrorCode::invalid_argument, "--further-output is for float32, and the graph computes in int8"),
                ExitCode::usage);
  }
  if (foreign->is_int8) return convert_int8(*file, *foreign, options);
  const model_import::ImportedModel* const import = &foreign->imported;
  const Result<Model> model = optimised_import(foreign->imported, options.level);
  if (!model) return fail("model convert", model.error().with_context(options.from), ExitCode::usage);
  Verification verification;
  if (options.verifies) {
    Result<Verification> results = verify(*model, *foreign, *file, options);
    if (!results) return fail("model convert", results.error(), ExitCode::usage);
    verification = std::move(*results);
  }
  if (const Status written = os::write_file_atomically(options.to, model->file()); !written) {
    return fail("model convert", written.error(), ExitCode::failure);
  }
  if (options.as_json) print_as_json(inspect(*model), footprints(*model), verification, *import);
  else print_tables(inspect(*model), footprints(*model), verification);
  if (!options.as_json) print_notes(*import);
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

bool is_foreign_model(const std::string& path) {
  constexpr size_t kMarkAt = 4;  // FlatBuffers' identifier
  char first[kMarkAt + 4] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof(first));
  const std::string_view mark(first + kMarkAt, 4);
  return path.ends_with(".onnx") || mark == "TFL3" || mark == "MSL2";
}

Result<Bytes> model_from_foreign(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kForeignFileBytesMax));
  Result<ForeignModel> foreign = import_foreign(file);
  if (!foreign) return foreign.error().with_context(path);
  return std::move(foreign->imported.model);
}

}  // namespace coterie
