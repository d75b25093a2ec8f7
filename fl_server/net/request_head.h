// Bytes to RequestHead: the one place where what a stranger sent becomes a request. Pure; fuzzed.
//
// Strict on purpose: HTTP/1.1 (with one Host) or 1.0, absolute paths without escapes, dots or doubled slashes, queries
// of visible ASCII, a single Content-Length and no Transfer-Encoding (so there is no request smuggling to think about),
// no control characters, no folded lines, named limits.
#pragma once

#include "base/result.h"
#include "fl_server/net/http_types.h"

namespace coterie {

inline constexpr size_t kHeadBytesMax = 16 * 1024;
inline constexpr size_t kHeadersMax = 100;
inline constexpr size_t kTargetBytesMax = 2048;

// The size of the head (through its empty line) at the front of `bytes`, 0 if it is not complete yet.
size_t find_head_end(ByteView bytes);

// `head` ends with its empty line. malformed (400), too_large (431), length_required (411: Transfer-Encoding).
Result<RequestHead> parse_request_head(ByteView head);

}  // namespace coterie
