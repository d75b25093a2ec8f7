// Range rules, one line each: change one field of a good message and expect its decoder to name that field.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/matchers.h"
#include "tests/support/messages.h"

namespace coterie::test {

template <typename Message, typename Change>
Message changed(Change change) {
  Message message = MessageTraits<Message>::samples().typical;
  change(message);
  return message;
}

// `malformed`, with `words` in the sentence.
template <typename Message, typename Change>
void expect_rejected(std::string_view words, Change change) {
  EXPECT_ERROR(decode<Message>(frame_of(changed<Message>(change))), ErrorCode::malformed, words);
}

template <typename Message, typename Change>
void expect_accepted(Change change) {
  const Message message = changed<Message>(change);
  const Bytes frame = frame_of(message);
  const Result<Decoded<Message>> decoded = decode<Message>(frame);
  ASSERT_OK(decoded);
  EXPECT_TRUE(decoded->header == message);
}

}  // namespace coterie::test
