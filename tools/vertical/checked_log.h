// CheckedLog: a file that only grows, of entries that each have the first bytes of their digest behind them. An entry
// that was being written when the process or the power went may be there in part. It is removed when the file is
// opened, as nobody was told of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/os/file.h"
#include "base/result.h"

namespace coterie {

class CheckedLog {
 public:
  struct Terms {
    uint64_t file_bytes_max = 0;
    // How long the entry is that begins here, without its check; none if there are too few bytes to know.
    std::optional<uint64_t> (*measure)(ByteView bytes) = nullptr;
  };
  // What is in the file, an entry after the other. False: this one and all behind it are not as they were written.
  using Take = std::function<bool(ByteView entry)>;

  CheckedLog() = default;  // keeps nothing
  static Result<CheckedLog> open(const std::string& file, const Terms& terms, const Take& take);

  bool keeps_nothing() const { return file_.empty(); }
  const std::string& file() const { return file_; }

  // Durable when it returns.
  Status append(ByteView entry);
  // All that was appended, as long as it is taken.
  Status read(const Take& take) const;
  // It begins anew.
  Status clear();

 private:
  CheckedLog(std::string file, const Terms& terms) : file_(std::move(file)), terms_(terms) {}
  // Behind the last entry that is whole and was taken.
  size_t read_entries(ByteView bytes, const Take& take) const;

  std::string file_;
  Terms terms_;
  os::File end_;
};

}  // namespace coterie
