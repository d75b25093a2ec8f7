#include "tools/cli/model_micro.h"

#include "base/os/file.h"
#include "tools/cli/distinct_files.h"
#include "tools/cli/local_files.h"
#include "tools/cli/opened_model.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/micro/int8_program_text.h"
#include "tools/micro/program_text.h"
#include "tools/model/fold_transposes.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model export";

std::string place_of(const MicroProgram& program, const ExportCOptions& options, const char* ending) {
  return options.folder + "/" + program.prefix + ending;
}

Status write_program(const MicroProgram& program, const ExportCOptions& options) {
  COT_TRY(os::make_directories(options.folder));
  COT_TRY(os::write_file_atomically(place_of(program, options, ".h"), as_bytes(program.header)));
  return os::write_file_atomically(place_of(program, options, ".c"), as_bytes(program.source));
}

Result<MicroProgram> program_of(const ExportCOptions& options) {
  if (!options.is_int8) {
    COT_ASSIGN(Model model, open_model(options.from));
    // Parameters that a device trains must stay those of the file, in its order.
    if (!options.trains) {
      COT_ASSIGN(model, without_transposes(model));
    }
    const MicroOptions settings{.trains = options.trains, .arena_bytes_max = options.arena_bytes_max};
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
  const Result<MicroProgram> program = program_of(options);
  if (!program) return fail_on_input(kCommand, program.error());
  if (const Status distinct = distinct_files({{"FILE", options.from}}, {{"--c", place_of(*program, options, ".h")},
                                                                        {"--c", place_of(*program, options, ".c")}});
      !distinct) {
    return fail_on_input(kCommand, distinct.error());
  }
  if (const Status written = write_program(*program, options); !written) {
    return fail_on_output(kCommand, written.error());
  }
  const std::string files = printable(options.folder + "/" + program->prefix);
  print_text(files + ".h and " + program->prefix + ".c: arena " + format_count(program->arena_bytes) +
             " bytes of RAM, parameters " + format_count(program->constant_bytes) + " bytes of flash\n" +
             "cc -std=c99 -O2 -ffreestanding -ffp-contract=off -c " + files + ".c\n");
  return ExitCode::ok;
}

}  // namespace coterie
