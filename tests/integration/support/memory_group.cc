#include "tests/integration/support/memory_group.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace coterie::integration {
namespace {

// Version 2 has one tree, version 1 one for each controller.
struct Tree {
  const char* root;
  const char* limit;
};
constexpr Tree kTrees[] = {{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}};

}  // namespace

Result<std::unique_ptr<MemoryGroup>> MemoryGroup::make(uint64_t bytes_max) {
  std::string reason = "there is no tree of control groups";
  for (const Tree& tree : kTrees) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(tree.root, ignored)) continue;
    const std::string directory = std::string(tree.root) + "/coterie-test-" + std::to_string(::getpid());
    if (::mkdir(directory.c_str(), 0755) != 0) {
      reason = directory + ": " + std::strerror(errno);
      continue;
    }
    std::unique_ptr<MemoryGroup> group(new MemoryGroup(directory));
    // Opened without being made: a tree without the controller has no such file.
    std::fstream limit(directory + "/" + tree.limit, std::ios::in | std::ios::out);
    limit << bytes_max << std::flush;
    if (limit) return group;
    reason = directory + "/" + tree.limit + " takes no limit";
  }
  return Error(ErrorCode::permission_denied, reason);
}

MemoryGroup::~MemoryGroup() { ::rmdir(directory_.c_str()); }

}  // namespace coterie::integration
