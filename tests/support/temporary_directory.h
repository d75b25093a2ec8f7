// An empty directory of this test alone, removed with everything in it. TemporaryDirectory(memory_disk()) is one whose
// fsync costs nothing, for tests that write much.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/assert.h"

namespace coterie::test {

inline std::filesystem::path memory_disk() {
  const std::filesystem::path shared_memory = "/dev/shm";
  std::error_code ignored;
  return std::filesystem::is_directory(shared_memory, ignored) ? shared_memory : std::filesystem::temp_directory_path();
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() : TemporaryDirectory(std::filesystem::temp_directory_path()) {}
  explicit TemporaryDirectory(const std::filesystem::path& parent) : path_((parent / "coterie-test-XXXXXX").string()) {
    COT_ASSERT(::mkdtemp(path_.data()) != nullptr);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace coterie::test
