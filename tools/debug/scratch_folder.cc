#include "tools/debug/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace coterie {

Result<ScratchFolder> ScratchFolder::create(const std::string& purpose) {
  std::error_code ignored;
  std::string path = (std::filesystem::temp_directory_path(ignored) / ("coterie-" + purpose + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) != nullptr) return ScratchFolder(std::move(path));
  return Error(ErrorCode::unavailable, path + ": cannot be created: " + std::generic_category().message(errno));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace coterie
