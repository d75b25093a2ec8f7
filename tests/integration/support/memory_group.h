// MemoryGroup: a control group of the system's with a limit of memory, for a process to live in. It goes with this
// object, when the process has ended.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace coterie::integration {

class MemoryGroup {
 public:
  // permission_denied, with the reason, where this process may make none.
  static Result<std::unique_ptr<MemoryGroup>> make(uint64_t bytes_max);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  std::string processes_file() const { return directory_ + "/cgroup.procs"; }

 private:
  explicit MemoryGroup(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace coterie::integration
