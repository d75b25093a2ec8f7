// ScratchFolder: a new folder of this user alone, removed with what is in it.
#pragma once

#include <string>

#include "base/result.h"

namespace coterie {

class ScratchFolder {
 public:
  // In the system's folder for such things (TMPDIR). `purpose` is a part of its name. Errors: unavailable.
  static Result<ScratchFolder> create(const std::string& purpose);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace coterie
