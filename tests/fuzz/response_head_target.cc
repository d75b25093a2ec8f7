// What a server's bytes become on a device, and that chunks give the same body in whatever pieces they
// arrive.
#include <algorithm>
#include <string>

#include "base/assert.h"
#include "device_sdk/transport/response_head.h"

namespace {

using namespace coterie;

struct Body {
  Result<uint64_t> size;
  Bytes bytes;
};

// `input` arriving `piece` bytes at a time.
Body read_in_pieces(ByteView input, size_t piece) {
  const auto take = [&](Bytes& into) {
    const size_t count = std::min(piece, input.size());
    into.insert(into.end(), input.begin(), input.begin() + static_cast<ptrdiff_t>(count));
    input = input.subspan(count);
  };
  const auto more = [&](Bytes& into) -> Status {
    if (input.empty()) return Error(ErrorCode::unavailable, "the end");
    take(into);
    return {};
  };
  Bytes body, first;
  take(first);
  const auto sink = [&](ByteView bytes) {
    body.insert(body.end(), bytes.begin(), bytes.end());
    return Status();
  };
  Result<uint64_t> size = read_chunked_body(std::move(first), more, sink);
  return {std::move(size), std::move(body)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const auto parsed = parse_response_head(input);
  if (!parsed || !*parsed) return 0;
  const ResponseHead& head = **parsed;
  COT_ASSERT(head.head_bytes >= 4 && head.head_bytes <= size);
  COT_ASSERT(as_text(input).substr(head.head_bytes - 4, 4) == "\r\n\r\n");
  COT_ASSERT(head.response.status >= 0 && head.response.status <= 999);
  COT_ASSERT(!(head.chunked && head.content_length));
  // The head does not depend on what follows it, and is not there before its last byte.
  const auto alone = parse_response_head(input.first(head.head_bytes));
  COT_ASSERT(alone && *alone && (*alone)->response.headers == head.response.headers);
  COT_ASSERT((*alone)->content_length == head.content_length);
  const auto cut = parse_response_head(input.first(head.head_bytes - 1));
  COT_ASSERT(cut && !*cut);
  if (!head.chunked) return 0;
  const Body whole = read_in_pieces(input, size);
  for (size_t piece : {size_t{1}, size_t{3}, head.head_bytes, head.head_bytes + 7}) {
    const Body pieces = read_in_pieces(input, piece);
    COT_ASSERT(pieces.size.has_value() == whole.size.has_value());
    if (!whole.size) continue;
    COT_ASSERT(*whole.size == whole.bytes.size() && pieces.bytes == whole.bytes && *pieces.size == *whole.size);
  }
  return 0;
}
