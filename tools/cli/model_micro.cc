#include "tools/cli/model_micro.h"

#include <algorithm>
#include <utility>

#include "base/os/file.h"
#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/model_part.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/micro/client_files.h"
#include "tools/micro/int8_program_text.h"
#include "tools/micro/model_frame.h"
#include "tools/micro/program_text.h"
#include "tools/model/fold_transposes.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model export";
constexpr uint64_t kFileBytesMax = 1ull << 30;  // of a model that goes to a microcontroller

std::string place_of(const MicroProgram& program, const ExportCOptions& options, const char* ending) {
  return options.folder + "/" + program.prefix + ending;
}

// A file that is there must be of an earlier export: an app's own main.c is not lost to a model that is called main.
Status check_replaced(const std::string& folder, const std::string& name, std::string_view what) {
  const std::string path = folder + "/" + name, begin = "/* " + name + ": " + std::string(what);
  if (!os::exists(path)) return {};
  COT_ASSIGN(const os::File file, os::File::open_read(path));
  COT_ASSIGN(const uint64_t size, file.size());
  Bytes first(std::min<uint64_t>(size, begin.size()));
  COT_TRY(file.read_exact_at(0, first));
  if (as_text(first) == begin) return {};
  return Error(ErrorCode::conflict,
               path + " is there, and is none that `coterie model export` wrote: move it away, or name another folder");
}

Status check_folder(const MicroProgram& program, const ExportCOptions& options) {
  const std::string& name = program.prefix;
  COT_TRY(check_replaced(options.folder, name + ".h", "the model "));
  COT_TRY(check_replaced(options.folder, name + ".c", "what " + name + ".h promises"));
  if (!options.has_client) return {};
  COT_TRY(check_replaced(options.folder, "coterie_tiny.h", "a device of a Coterie server"));
  return check_replaced(options.folder, "coterie_tiny.c", "what coterie_tiny.h promises");
}

Status write_program(const MicroProgram& program, const ExportCOptions& options) {
  COT_TRY(check_folder(program, options));
  COT_TRY(os::make_directories(options.folder));
  COT_TRY(os::write_file_atomically(place_of(program, options, ".h"), as_bytes(program.header)));
  COT_TRY(os::write_file_atomically(place_of(program, options, ".c"), as_bytes(program.source)));
  if (!options.has_client) return {};
  COT_TRY(os::write_file_atomically(options.folder + "/coterie_tiny.h", kTinyHeaderBytes));
  return os::write_file_atomically(options.folder + "/coterie_tiny.c", kTinySourceBytes);
}

// What a server sends is the file that it was given, with other parameters.
Result<MicroModelFrame> frame_of(const std::string& path, const Model& model) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kFileBytesMax));
  Result<MicroModelFrame> frame = micro_model_frame(file);
  if (!frame) return frame.error().with_context(path);
  if (frame->payload_values == model.parameters().size()) return frame;
  return Error(ErrorCode::invalid_argument,
               path + " stores its parameters in fewer bits; devices are given float32: export the file of the job");
}

Error says_int8(const ExportCOptions& options) {
  return Error(
      ErrorCode::invalid_argument,
      options.from + (options.trains ? " computes in int8, and C that trains computes in float32: `coterie model "
                                       "dequantise` writes the model that it was rounded from"
                                     : " computes in int8: add --int8, which writes that as C"));
}

Result<MicroProgram> program_of(const ExportCOptions& options) {
  if (!options.is_int8) {
    COT_ASSIGN(Bytes file, read_input(options.from));
    if (computes_in_int8(file)) return says_int8(options);
    COT_ASSIGN(Model model, open_model(std::move(file), options.from));
    // Parameters that a device trains must stay those of the file, in its order.
    if (!options.trains) {
      COT_ASSIGN(model, with_own_output(std::move(model)));
      COT_ASSIGN(model, without_transposes(model));
    }
    MicroModelFrame frame;
    if (options.has_client) {
      COT_ASSIGN(frame, frame_of(options.from, model));
    }
    const MicroOptions settings{.trains = options.trains,
                                .arena_bytes_max = options.arena_bytes_max,
                                .frame = options.has_client ? &frame : nullptr};
    Result<MicroProgram> program = write_micro_program(model, settings);
    if (!program) return program.error().with_context(options.from);
    return program;
  }
  COT_ASSIGN(const OpenedModel opened, open_answering_model(options.from));
  if (!opened.int8) {
    return Error(ErrorCode::invalid_argument, options.from +
                                                  " computes in float32; `coterie model quantise --full` "
                                                  "makes one that computes in int8");
  }
  Result<MicroProgram> program = write_int8_program(*opened.int8, options.arena_bytes_max);
  if (!program) return program.error().with_context(options.from);
  return program;
}

}  // namespace

ExitCode export_c(const ExportCOptions& options) {
  if (options.folder.empty()) {
    return fail_on_input(kCommand,
                         Error(ErrorCode::invalid_argument, "--c: expected a folder, which may be ., is empty"));
  }
  const Result<MicroProgram> program = program_of(options);
  if (!program) return fail_on_input(kCommand, program.error());
  if (options.has_client && program->prefix == "coterie_tiny") {
    return fail_on_input(
        kCommand, Error(ErrorCode::invalid_argument, options.from + ": its model's name is that of the client's files; "
                                                                    "name it otherwise"));
  }
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"--c", place_of(*program, options, ".h")},
                                                                        {"--c", place_of(*program, options, ".c")}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  if (const Status written = write_program(*program, options); !written) {
    return fail_on_output(kCommand, written.error());
  }
  const std::string files = options.folder + "/" + program->prefix;
  print_text(printable(files) + ".h and " + program->prefix + ".c:\n  arena " + format_count(program->arena_bytes) +
             " bytes of RAM, parameters " + format_count(program->constant_bytes) +
             " bytes of flash\n"
             "cc -std=c99 -O2 -ffreestanding -ffp-contract=off -c " +
             shell_word(files + ".c") +
             (options.has_client ? " " + shell_word(options.folder + "/coterie_tiny.c") : "") + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
