#include "tools/cli/model_narrow.h"

#include "base/os/file.h"
#include "device_sdk/runtime/narrow_model.h"
#include "tools/cli/local_files.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "model narrow";

}  // namespace

ExitCode write_narrow(const ModelNarrowOptions& options) {
  const Result<Model> whole = open_model(options.from);
  if (!whole) return fail_on_input(kCommand, whole.error());
  const Result<NarrowModel> narrow = narrow_model(*whole, options.width);
  if (!narrow) return fail_on_input(kCommand, narrow.error());
  const Status written = os::write_file_atomically(options.to, narrow->model.file());
  if (!written) return fail_on_output(kCommand, written.error());
  print_text(format_count(narrow->model.value_count()) + " of " + format_count(whole->value_count()) + " values; " +
             format_bytes(narrow->model.file().size()) + " written to " + options.to + "\n");
  return ExitCode::ok;
}

}  // namespace coterie
