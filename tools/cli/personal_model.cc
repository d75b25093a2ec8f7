#include "tools/cli/personal_model.h"

#include <cstdio>

#include "base/os/file.h"
#include "device_sdk/agent/personal_model.h"
#include "tools/cli/local_files.h"

namespace coterie {
namespace {

constexpr const char* kCommand = "device personal-model";

}  // namespace

ExitCode write_personal_model(const PersonalModelOptions& options) {
  const Result<Model> published = open_model(options.model);
  if (!published) return fail_on_input(kCommand, published.error());
  const Result<Model> personal = personal_model(options.state_dir, JobId(options.job), *published);
  if (!personal) return fail_on_input(kCommand, personal.error());
  const Status written = os::write_file_atomically(options.output, personal->file());
  if (!written) return fail_on_output(kCommand, written.error());
  std::fprintf(stderr, "%s is the model as this device has it\n", options.output.c_str());
  return ExitCode::ok;
}

}  // namespace coterie
