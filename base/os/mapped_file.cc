#include "base/os/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/os/file.h"
#include "base/text/concat.h"

namespace coterie::os {

Result<MappedFile> MappedFile::open(const std::string& path, uint64_t bytes_max) {
  COT_ASSIGN(const File file, File::open_read(path));
  return map(file, bytes_max);
}

Result<MappedFile> MappedFile::map(const File& file, uint64_t bytes_max) {
  COT_ASSIGN(const uint64_t size, file.size());
  if (size > bytes_max) {
    return Error(ErrorCode::too_large,
                 concat({file.path(), " has ", size, " bytes, at most ", bytes_max, " are read"}));
  }
  if (size == 0) return MappedFile(ByteView());  // mmap refuses it
  void* begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (begin == MAP_FAILED) {
    const char* const why = errno == ENODEV ? "it is a folder, or no file of bytes" : std::strerror(errno);
    return Error(ErrorCode::unavailable, concat({"cannot map ", file.path(), ": ", why}));
  }
  return MappedFile(ByteView(static_cast<const uint8_t*>(begin), size));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace coterie::os
