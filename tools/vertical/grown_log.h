// GrownLog: what a training has finished for good, by numbers from 0, in a file that only grows: its checkpoints need
// not have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/checked_log.h"

namespace coterie {

class GrownLog {
 public:
  GrownLog() = default;  // keeps nothing
  static Result<GrownLog> open(const std::string& file);

  // The next one, or one of before, which must have come out the same: data_loss. Durable when it returns.
  Status put(uint32_t number, ByteView bytes);
  // All, by their numbers.
  Result<std::vector<Bytes>> read() const;

 private:
  CheckedLog log_;
  std::vector<Digest> digests_;  // [number]
};

}  // namespace coterie
