// The frame alone: what parses is exactly what building it again gives, and its prelude says how long it is.
// Then every decoder gets the bytes as they are: each takes only its own kind.
#include <algorithm>

#include "tests/support/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  const ByteView input(data, size);
  const Result<Prelude> prelude = parse_prelude(input);
  const Result<Frame> frame = parse_frame(input);
  if (frame) {
    COT_ASSERT(prelude && prelude->frame_bytes() == size && prelude->kind == frame->kind);
    const Bytes again = build_frame(frame->kind, frame->header, frame->payload);
    COT_ASSERT(std::equal(again.begin(), again.end(), input.begin(), input.end()));
  }
  int decoded = 0;
  test::for_each_message([&]<typename Message>() {
    if (!test::decodes_and_reencodes<Message>(input)) return;
    COT_ASSERT(frame && frame->kind == test::MessageTraits<Message>::kKind);
    ++decoded;
  });
  COT_ASSERT(decoded <= 1);
  return 0;
}
