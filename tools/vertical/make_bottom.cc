#include "tools/vertical/make_bottom.h"

#include <cstdio>

#include "base/os/file.h"
#include "model_io/contract_targets.h"
#include "tools/cli/table.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/trained_bottom.h"
#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/split/split_bottom.h"

namespace coterie {
namespace {

Result<vertical::SplitSettings> settings_of(const std::string& file) {
  COT_ASSIGN(const Bytes bytes, os::read_file(file, vertical::kManifestBytesMax));
  const auto read = [&]() -> Result<VerticalManifest> {
    COT_ASSIGN(const VerticalManifest manifest, parse_manifest(as_text(bytes)));
    COT_TRY(check_takes_bottom(manifest));
    return manifest;
  };
  const Result<VerticalManifest> manifest = read();
  if (!manifest) return manifest.error().with_context(file);
  return manifest->split;
}

Status make_bottom(const MakeBottomOptions& options) {
  COT_ASSIGN(const vertical::SplitSettings settings, settings_of(options.manifest));
  COT_ASSIGN(const InputContract contract, read_contract(options.contract));
  const Result<uint32_t> inputs = bottom_inputs(contract);
  if (!inputs) return inputs.error().with_context(options.contract);
  if (const Status one = check_one_target(contract, "a bottom's head"); !one) {
    return one.error().with_context(options.contract);
  }
  const auto outputs = contract.target.is_number ? 1u : static_cast<uint32_t>(contract.target.classes.size());
  COT_ASSIGN(const Bytes file, vertical::make_bottom_model(settings, *inputs, outputs, options.seed));
  COT_TRY(os::write_file_atomically(options.to, file));
  const std::string hidden = settings.hidden > 0 ? std::to_string(settings.hidden) + " to " : "";
  std::printf("%s: a bottom of %u numbers to %s%u, and a head of %u\n", options.to.c_str(), *inputs, hidden.c_str(),
              settings.cut, outputs);
  return {};
}

}  // namespace

ExitCode run_make_bottom(const MakeBottomOptions& options) {
  const Status made = make_bottom(options);
  if (made) return ExitCode::ok;
  std::fprintf(stderr, "coterie vertical bottom: %s\n", printable(made.error().message()).c_str());
  return made.error().code() == ErrorCode::not_found ? ExitCode::usage : exit_code_of(made.error().code());
}

}  // namespace coterie
