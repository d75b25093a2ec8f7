// A part of a core for one process, by the kernel's CPU controller: so that a load process beside it is many times as
// strong.
#pragma once

#include <string>

#include "base/result.h"

namespace coterie::bench {

class CpuShare {
 public:
  // From now on `pid` gets `share` of one core at most, in slices of a few milliseconds. Needs root and a control group
  // file system (version 1 or 2); the error says what is missing.
  static Result<CpuShare> give(int pid, double share);
  ~CpuShare();  // the process must have ended
  CpuShare(CpuShare&& other) noexcept : directory_(std::move(other.directory_)) { other.directory_.clear(); }
  CpuShare& operator=(CpuShare&&) = delete;

 private:
  explicit CpuShare(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace coterie::bench
