#include "fl_server/serving/steps_file.h"

#include <filesystem>

#include "base/os/file.h"

namespace coterie {
namespace {

constexpr uint64_t kNamedFileBytesMax = 64 << 20;  // as contracts are read elsewhere

}  // namespace

Result<std::shared_ptr<const ServingSteps>> read_steps_file(const std::string& path) {
  COT_ASSIGN(const Bytes file, os::read_file(path, kStepsFileBytesMax));
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const StepFiles beside = [&](const std::string& name) -> Result<std::string> {
    COT_ASSIGN(const Bytes named, os::read_file((folder / name).string(), kNamedFileBytesMax));
    return std::string(as_text(named));
  };
  auto steps = ServingSteps::parse(as_text(file), beside);
  if (!steps) return steps.error().with_context(path);
  return steps;
}

}  // namespace coterie
