#include "tools/cli/model_micro.h"

#include "base/os/file.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/micro/program_text.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model export";

Status write_program(const MicroProgram& program, const std::string& folder) {
  COT_TRY(os::make_directories(folder));
  const auto write = [&](const char* ending, const std::string& text) {
    return os::write_file_atomically(folder + "/" + program.prefix + ending, as_bytes(text));
  };
  COT_TRY(write(".h", program.header));
  return write(".c", program.source);
}

}  // namespace

ExitCode export_c(const ExportCOptions& options) {
  const Result<Model> model = open_model(options.from);
  if (!model) return fail_on_input(kCommand, model.error());
  const Result<MicroProgram> program =
      write_micro_program(*model, {.trains = options.trains, .arena_bytes_max = options.arena_bytes_max});
  if (!program) return fail_on_input(kCommand, program.error().with_context(options.from));
  if (const Status written = write_program(*program, options.folder); !written) {
    return fail_on_output(kCommand, written.error());
  }
  const std::string files = printable(options.folder + "/" + program->prefix);
  print_text(files + ".h and " + program->prefix + ".c: arena " + format_count(program->arena_bytes) +
             " bytes of RAM, parameters " + format_count(program->constant_bytes) + " bytes of flash\n" +
             "cc -std=c99 -O2 -ffreestanding -ffp-contract=off -c " + files + ".c\n");
  return ExitCode::ok;
}

}  // namespace coterie
