#include "vertical/coordinator/relay_pipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace coterie::vertical {
namespace {

// What of `from` there is room for.
size_t fill(RelayPipe& pipe, ByteView from) {
  const std::span<uint8_t> room = pipe.room();
  const size_t count = std::min(room.size(), from.size());
  std::ranges::copy(from.first(count), room.begin());
  pipe.filled(count);
  return count;
}

TEST(RelayPipe, KeepsTheOrderOverItsEnd) {
  RelayPipe pipe(7);
  Bytes sent, came;
  for (uint8_t next = 0; came.size() < 200;) {
    Bytes some(3);
    for (uint8_t& byte : some) byte = next++;
    for (ByteView left = some; !left.empty();) {
      const size_t count = fill(pipe, left);
      sent.insert(sent.end(), left.begin(), left.begin() + static_cast<ptrdiff_t>(count));
      left = left.subspan(count);
      if (count != 0) continue;
      const ByteView waiting = pipe.waiting();
      const size_t taken = std::min<size_t>(waiting.size(), 2);
      came.insert(came.end(), waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(taken));
      pipe.sent(taken);
    }
  }
  EXPECT_EQ(pipe.total(), sent.size());
  EXPECT_TRUE(std::equal(came.begin(), came.end(), sent.begin()));
}

TEST(RelayPipe, HoldsNoMoreThanItMay) {
  RelayPipe pipe(4);
  EXPECT_EQ(fill(pipe, Bytes(9, 1)), 4u);
  EXPECT_TRUE(pipe.room().empty());
  EXPECT_EQ(pipe.waiting().size(), 4u);
  pipe.sent(1);
  EXPECT_EQ(pipe.room().size(), 1u);
}

TEST(RelayPipe, EndsWhenAllIsThrough) {
  RelayPipe pipe(4);
  fill(pipe, Bytes(3, 1));
  pipe.end();
  EXPECT_TRUE(pipe.room().empty());
  EXPECT_FALSE(pipe.is_drained());
  pipe.sent(3);
  EXPECT_TRUE(pipe.is_drained());
}

TEST(RelayPipe, CountsWhatNobodyTakes) {
  RelayPipe pipe(4);
  fill(pipe, Bytes(4, 1));
  pipe.discard();
  EXPECT_TRUE(pipe.waiting().empty());
  EXPECT_EQ(fill(pipe, Bytes(4, 1)), 4u);
  EXPECT_TRUE(pipe.waiting().empty());
  EXPECT_EQ(pipe.total(), 8u);
}

}  // namespace
}  // namespace coterie::vertical
