// ByteStream: an open connection to one peer, as bytes in order.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::vertical {

// Each call ends: with what was asked for, or with timed_out once nothing has moved for the stream's patience,
// unavailable if the peer is gone, cancelled if this process is to end. After an error the stream is not used again.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  virtual Status write_all(ByteView bytes) = 0;
  virtual Status read_exact(std::span<uint8_t> into) = 0;
  // The next bytes, at least one, at most into.size(), which must not be 0.
  virtual Result<size_t> read_some(std::span<uint8_t> into) = 0;
};

}  // namespace coterie::vertical
