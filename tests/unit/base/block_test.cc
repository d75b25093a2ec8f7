#include "base/os/block.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(Block, IsAlignedAndWritableToItsEndWhateverItsSize) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{8 << 20}, uint64_t{(9 << 20) + 5}}) {
    SCOPED_TRACE(bytes);
    uint8_t* block = os::allocate_block(bytes, 64);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    for (uint64_t i = 0; i < bytes; i += 1021) block[i] = 1;
    if (bytes > 0) block[bytes - 1] = 2;
    os::free_block(block);
  }
}

TEST(Block, BeginsAtALargePageIfItHasAWholeOne) {
  constexpr uint64_t kLargePage = 2 << 20;
  for (const uint64_t bytes : {kLargePage, 3 * kLargePage / 2, 5 * kLargePage + 64}) {
    SCOPED_TRACE(bytes);
    uint8_t* block = os::allocate_block(bytes, 64);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kLargePage, 0u);
    os::free_block(block);
  }
}

}  // namespace
}  // namespace coterie
