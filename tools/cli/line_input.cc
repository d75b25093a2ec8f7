#include "tools/cli/line_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/cli/interrupt.h"

namespace coterie {

std::optional<std::string> LineInput::take() {
  const size_t end = read_.find('\n');
  if (end == std::string::npos) {
    if (!has_ended_ || read_.empty()) return std::nullopt;
    return std::exchange(read_, {});
  }
  std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

// No more is kept of a line whose end is not there yet than shows that it is too long.
void LineInput::keep_within_limit() {
  if (read_.size() > bytes_max_ + 1 && read_.find('\n') == std::string::npos) read_.resize(bytes_max_ + 1);
}

Result<std::optional<std::string>> LineInput::next() {
  char part[4096];
  for (;;) {
    if (std::optional<std::string> line = take()) return line;
    if (has_ended_) return std::optional<std::string>();
    COT_TRY(Interrupt::wait_for_input(fd_));
    const ssize_t count = ::read(fd_, part, sizeof part);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return Error(ErrorCode::unavailable, std::string("cannot read commands: ") + std::strerror(errno));
    has_ended_ = count == 0;
    read_.append(part, static_cast<size_t>(count));
    keep_within_limit();
  }
}

}  // namespace coterie
