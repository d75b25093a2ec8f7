#include "base/os/standard_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/text/concat.h"

namespace coterie::os {

Result<Bytes> read_standard_input(uint64_t bytes_max) {
  const std::string name(kStandardInputName);
  Bytes bytes;
  uint8_t part[16 * 1024];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
    if (count == 0) return bytes;
    if (count < 0 && errno == EINTR)
      return Error(ErrorCode::cancelled, concat({name, ": a signal ended the wait for it"}));
    if (count < 0) return Error(ErrorCode::unavailable, concat({"cannot read ", name, ": ", std::strerror(errno)}));
    bytes.insert(bytes.end(), part, part + count);
    if (bytes.size() > bytes_max) {
      return Error(ErrorCode::too_large, concat({name, " has more than ", bytes_max, " bytes, and no more are read"}));
    }
  }
}

}  // namespace coterie::os
