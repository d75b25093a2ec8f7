// A message's decoder on any bytes: never a crash, and what decodes encodes again.
#pragma once

#include "tests/support/frame_repair.h"
#include "tests/support/messages.h"

namespace coterie::test {

// Once as the bytes are, and once as a frame of the message's kind with sizes that fit: mutations rarely keep those.
template <typename Message>
int decode_target(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  decodes_and_reencodes<Message>(input);
  decodes_and_reencodes<Message>(with_true_sizes(input, MessageTraits<Message>::kKind));
  return 0;
}

}  // namespace coterie::test
