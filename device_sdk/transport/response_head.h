// Bytes to an HTTP answer: pure parsing, so that it can be tested and fuzzed without a socket.
#pragma once

#include <functional>
#include <optional>

#include "device_sdk/client/transport.h"

namespace coterie {

inline constexpr size_t kResponseHeadBytesMax = 64 * 1024;

struct ResponseHead {
  TransportResponse response;  // body_bytes not yet known
  std::optional<uint64_t> content_length;
  bool chunked = false;
  bool keep_alive = true;
  size_t head_bytes = 0;
};

// The answer's head at the front of `bytes`; nothing if it is not complete yet; malformed if it is not HTTP/1.
Result<std::optional<ResponseHead>> parse_response_head(ByteView bytes);

// The body of a chunked answer: a whole answer is read from `bytes` (head included) and, whenever more is needed, from
// `more`, which appends to its argument. Returns the body's size.
Result<uint64_t> read_chunked_body(Bytes bytes, const std::function<Status(Bytes&)>& more,
                                   const std::function<Status(ByteView)>& sink);

}  // namespace coterie
