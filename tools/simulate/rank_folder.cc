#include "tools/simulate/rank_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace coterie {
namespace {

// A rank's own work, which nobody reads behind it: a new folder of this user alone.
Result<std::string> rank_folder(uint32_t rank) {
  std::error_code ignored;
  std::string path =
      (std::filesystem::temp_directory_path(ignored) / ("coterie-rank-" + std::to_string(rank) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) != nullptr) return path;
  return Error(ErrorCode::unavailable, path + ": cannot be created: " + std::generic_category().message(errno));
}

}  // namespace

void leave_nothing(RunFolder& folder, const Ranks& ranks) {
  folder.interrupted();
  std::error_code ignored;  // a folder that is not empty is somebody's
  if (ranks.rank() > 0) std::filesystem::remove(folder.path(), ignored);
}

Result<RunFolder> folder_of(const DemoOptions& demo, const Ranks& ranks) {
  if (ranks.rank() > 0) {
    COT_ASSIGN(const std::string path, rank_folder(ranks.rank()));
    return RunFolder::create(path, demo.keep);
  }
  return demo.out.empty() ? RunFolder::create_default(demo.keep) : RunFolder::create(demo.out, demo.keep);
}

}  // namespace coterie
