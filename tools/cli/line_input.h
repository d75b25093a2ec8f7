// Lines of standard input, for a program that asks for one command after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace coterie {

class LineInput {
 public:
  // `fd` outlives it. Longer lines are cut behind bytes_max + 1 bytes: whoever parses them sees
  // that they are too long.
  LineInput(int fd, size_t bytes_max) : fd_(fd), bytes_max_(bytes_max) {}

  // The next line without its end; none at the end of the input. Waits for it. Errors: cancelled (a signal came before
  // the line did); unavailable (reading).
  Result<std::optional<std::string>> next();

 private:
  std::optional<std::string> take();
  void keep_within_limit();

  int fd_;
  size_t bytes_max_;
  std::string read_;        // beyond the last line
  bool has_ended_ = false;  // the input
};

}  // namespace coterie
