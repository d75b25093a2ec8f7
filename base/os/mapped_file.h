// MappedFile: a file's bytes in the address space, read from the disk as they are touched and dropped from memory when
// it is needed: a data set may be larger than the memory.
#pragma once

#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::os {

class File;

// Read-only and move-only; a view of its bytes stays good when it is moved. What is mapped is the size the file had
// when it was opened. A file that is replaced or removed afterwards (as write_file_atomically does) goes on being read
// as it was; one that is shortened in place is not: whoever touches what is gone is killed by SIGBUS. So do not map
// files that others write to in place.
class MappedFile {
 public:
  MappedFile() = default;
  // Errors: not_found, permission_denied, too_large (more than `bytes_max`, before anything is mapped), unavailable.
  static Result<MappedFile> open(const std::string& path, uint64_t bytes_max);
  // What was opened for reading already. The mapping outlives `file`.
  static Result<MappedFile> map(const File& file, uint64_t bytes_max);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  ByteView bytes() const { return bytes_; }

 private:
  explicit MappedFile(ByteView bytes) : bytes_(bytes) {}
  ByteView bytes_;
};

}  // namespace coterie::os
