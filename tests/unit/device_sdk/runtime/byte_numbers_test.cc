#include "device_sdk/runtime/byte_numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>
#include <vector>

namespace coterie {
namespace {

// Product and sum are rounded apart, as by two statements that the compiler cannot join.
float plain(uint8_t byte, float scale, float offset) {
  volatile float product = static_cast<float>(byte) * scale;
  return product + offset;
}

TEST(ByteNumbers, HaveTheSameBitsByEveryInstructionSet) {
  const std::pair<float, float> scales[] = {{1 / 255.f, 0}, {1, 0}, {0.0078431377f, -1}, {3.1e-3f, 0.37f}};
  for (const auto& [scale, offset] : scales) {
    for (const size_t count : {0, 1, 15, 64, 255, 784, 1'000}) {
      std::vector<uint8_t> bytes(count);
      std::iota(bytes.begin(), bytes.end(), uint8_t{7});
      for (int level = 0; level <= static_cast<int>(cpu_simd_level()); ++level) {
        std::vector<float> numbers(count, -1);
        numbers_of_bytes(static_cast<SimdLevel>(level), bytes, scale, offset, numbers);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<uint32_t>(numbers[i]), std::bit_cast<uint32_t>(plain(bytes[i], scale, offset)))
              << "level " << level << ", byte " << int{bytes[i]} << " of " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace coterie
