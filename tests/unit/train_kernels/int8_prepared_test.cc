// Vector instructions against the definition: the same bits for random shapes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "train_kernels/int8/elements.h"
#include "train_kernels/int8/prepared_layer.h"
#include "train_kernels/int8/side_by_side.h"
#include "train_kernels/int8/vector_kernels.h"

namespace coterie::kernels::int8 {
namespace {

class PreparedInt8 : public testing::TestWithParam<Adder> {
 protected:
  size_t below(size_t n) { return chance_() % n; }
  int8_t any_byte() { return static_cast<int8_t>(static_cast<int>(below(256)) - 128); }
  std::vector<int8_t> bytes(size_t count, int low) {
    std::vector<int8_t> values(count);
    for (int8_t& value : values) {
      value = static_cast<int8_t>(low + static_cast<int>(below(static_cast<size_t>(128 - low))));
    }
    return values;
  }
  Target any_target() {
    const int8_t zero = any_byte();
    return below(2) == 0 ? Target{.zero = zero} : Target{.zero = zero, .low = zero, .high = 127};
  }

  void expect_same_bits(const Conv2dShape& s, const std::vector<int8_t>& x, const std::vector<int8_t>& w, int8_t zero) {
    std::vector<int32_t> bias(s.filters);
    for (int32_t& each : bias) each = static_cast<int32_t>(below(20001)) - 10000;
    std::vector<float> multipliers(s.filters);
    for (float& each : multipliers) each = static_cast<float>(1 + below(1000)) * 3e-7f;
    const Weighted layer{w.data(), bias.data(), multipliers.data(), zero, any_target()};
    std::vector<int8_t> expected(s.batch * s.out_h() * s.out_w() * s.filters), seen(expected.size(), 99);
    conv2d(s, layer, x.data(), expected.data());
    if (GetParam() == Adder::reference) return;
    ASSERT_TRUE(PreparedLayer::can(s));
    PreparedLayer prepared(GetParam(), s, layer);
    for (int again = 0; again < 2; ++again) {
      prepared.run(x.data(), seen.data());
      ASSERT_EQ(seen, expected) << s.height << "x" << s.width << "x" << s.channels << " by " << s.kernel_h << "x"
                                << s.kernel_w << " to " << s.filters << " in " << s.groups << " groups";
    }
  }
  void expect_same_bits(const Conv2dShape& s) {
    if (s.padded_h() < s.extent_h() || s.padded_w() < s.extent_w()) return;
    expect_same_bits(s, bytes(s.batch * s.height * s.width * s.channels, -128), bytes(s.taps() * s.filters, -127),
                     any_byte());
  }
  Conv2dShape any_image() {
    Conv2dShape s{.batch = 1 + below(2),
                  .height = 1 + below(9),
                  .width = 1 + below(21),
                  .channels = 0,
                  .kernel_h = 1 + below(3),
                  .kernel_w = 1 + below(6),
                  .filters = 0};
    s.stride_h = 1 + below(2), s.stride_w = 1 + below(3);
    s.pad_top = below(3), s.pad_left = below(3), s.pad_bottom = below(3), s.pad_right = below(3);
    return s;
  }

  std::mt19937_64 chance_{7};
};

TEST_P(PreparedInt8, RandomConvolutions) {
  for (int round = 0; round < 400; ++round) {
    Conv2dShape s = any_image();
    s.channels = 1 + below(19), s.filters = 1 + below(90);
    s.dilation_h = 1 + below(2), s.dilation_w = 1 + below(2);
    expect_same_bits(s);
  }
}

// So few that neighbours are computed side by side.
TEST_P(PreparedInt8, FewOutputs) {
  for (int round = 0; round < 400; ++round) {
    Conv2dShape s = any_image();
    s.width = 4 + below(30);
    s.channels = 1 + below(4), s.filters = 1 + below(9);
    expect_same_bits(s);
  }
}

TEST_P(PreparedInt8, RandomGroups) {
  for (int round = 0; round < 200; ++round) {
    Conv2dShape s = any_image();
    s.groups = 2 + below(4);
    s.channels = s.groups * (1 + below(5)), s.filters = s.groups * (1 + below(20));
    s.dilation_w = 1 + below(2);
    expect_same_bits(s);
  }
}

TEST_P(PreparedInt8, RandomDepthwiseConvolutions) {
  for (int round = 0; round < 300; ++round) {
    Conv2dShape s = any_image();
    s.groups = s.channels = s.filters = 2 + below(40);
    s.dilation_h = 1 + below(8) / 7;
    expect_same_bits(s);
  }
}

TEST_P(PreparedInt8, RandomDenseLayers) {
  for (int round = 0; round < 200; ++round) {
    expect_same_bits(PreparedLayer::as_convolution({1 + below(9), 1 + below(300), 1 + below(100)}));
  }
}

// The largest sums that may be: vpmaddubsw, and whatever saturates on the way, would have others.
TEST_P(PreparedInt8, TheLargestSums) {
  for (const int zero : {-128, 127}) {
    for (const int value : {-128, 127}) {
      for (const int weight : {-127, 127}) {
        const Conv2dShape s = PreparedLayer::as_convolution({1, 66'000, 3});
        expect_same_bits(s, std::vector<int8_t>(s.channels, static_cast<int8_t>(value)),
                         std::vector<int8_t>(s.channels * s.filters, static_cast<int8_t>(weight)),
                         static_cast<int8_t>(zero));
      }
    }
  }
}

TEST_P(PreparedInt8, RandomPools) {
  for (int round = 0; round < 300; ++round) {
    Pool2dShape s{.batch = 1 + below(2),
                  .height = 4 + below(6),
                  .width = 4 + below(6),
                  .channels = 1 + below(40),
                  .kernel_h = 2 + below(3),
                  .kernel_w = 2 + below(3)};
    s.stride_h = 1 + below(2), s.stride_w = 1 + below(2);
    s.pad_top = below(2), s.pad_left = below(2), s.pad_bottom = below(2), s.pad_right = below(2);
    s.count_padding = below(2) == 0;
    const std::vector<int8_t> x = bytes(s.batch * s.height * s.width * s.channels, -128);
    std::vector<int8_t> expected(s.batch * s.out_h() * s.out_w() * s.channels), seen(expected.size(), 99);
    max_pool2d(s, x.data(), expected.data());
    max_pool2d(GetParam(), s, x.data(), seen.data());
    ASSERT_EQ(seen, expected);
    const int8_t zero = any_byte();
    const float multiplier = static_cast<float>(1 + below(1000)) * 3e-3f;
    const Target to = any_target();
    average_pool2d(s, zero, multiplier, to, x.data(), expected.data());
    average_pool2d(GetParam(), s, zero, multiplier, to, x.data(), seen.data());
    ASSERT_EQ(seen, expected);
  }
}

TEST_P(PreparedInt8, SumsOfTwo) {
  for (int round = 0; round < 100; ++round) {
    const size_t count = 1 + below(70);
    const std::vector<int8_t> a = bytes(count, -128), b = bytes(count, -128);
    const Summand left{a.data(), any_byte(), static_cast<float>(1 + below(1000)) * 2e-3f};
    const Summand right{b.data(), any_byte(), static_cast<float>(1 + below(1000)) * 3e-3f};
    const Target to = any_target();
    std::vector<int8_t> expected(count), seen(count, 99);
    add(count, left, right, to, expected.data());
    add(GetParam(), count, left, right, to, seen.data());
    ASSERT_EQ(seen, expected);
  }
}

TEST_P(PreparedInt8, RealNumbersOntoTheGridAndBack) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{0,     -0.0f,  0.25f,     -0.25f,     0.75f,
                       1e30f, -1e30f, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  for (int i = -300; i < 300; ++i) x.push_back(static_cast<float>(i) * 0.25f);  // ties among them
  for (const size_t count : {x.size(), size_t{1}, size_t{17}}) {
    const Grid grid{.scale = 0.5f, .zero = any_byte()};
    std::vector<int8_t> expected(count), seen(count, 99);
    quantise(grid, count, x.data(), expected.data());
    quantise(GetParam(), grid, count, x.data(), seen.data());
    ASSERT_EQ(seen, expected);
    std::vector<float> real(count), real_seen(count);
    dequantise(grid, count, expected.data(), real.data());
    dequantise(GetParam(), grid, count, expected.data(), real_seen.data());
    ASSERT_EQ(real_seen, real);
  }
}

// Whole vectors, half ones and what lies between, of fewer pixels than a tile has, and of more.
TEST_P(PreparedInt8, EveryNumberOfOutputs) {
  for (size_t filters = 1; filters <= 70; ++filters) {
    for (const size_t width : {1, 5, 9, 29}) {
      expect_same_bits({.batch = 1,
                        .height = 1 + filters % 3,
                        .width = width,
                        .channels = 1 + filters % 4,
                        .kernel_h = 1,
                        .kernel_w = 1,
                        .filters = filters});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Adders, PreparedInt8, testing::ValuesIn(adders()), [](const auto& adder) {
  std::string name(to_string(adder.param));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(PreparedInt8Choice, TheReferenceIsAlwaysThere) {
  EXPECT_TRUE(has_adder(Adder::reference));
  EXPECT_TRUE(has_adder(fastest_adder()));
  EXPECT_EQ(adders().back(), Adder::reference);
}

// For a run on a CPU that is known (an emulated one): else nothing would say that its kernels were not asked.
TEST(PreparedInt8Choice, TheFastestIsThatOfTheCpu) {
  const char* const expected = std::getenv("COTERIE_EXPECTED_ADDER");
  if (expected == nullptr) GTEST_SKIP() << "COTERIE_EXPECTED_ADDER names none";
  EXPECT_EQ(to_string(fastest_adder()), expected);
}

// Padding far wider than the image, which a file could ask for, is no reason to hold it.
TEST(PreparedInt8Choice, AnImageIsHeldUpToALimit) {
  Conv2dShape s{.batch = 1, .height = 4, .width = 4, .channels = 3, .kernel_h = 1, .kernel_w = 1, .filters = 1};
  EXPECT_TRUE(PreparedLayer::can(s));
  s.pad_left = 1u << 30;
  EXPECT_FALSE(PreparedLayer::can(s));
}

// Two channels are held as a whole block of them, 32 bits each, for the rows under the kernel.
TEST(PreparedInt8Choice, ColumnsOfADepthwiseLayerAreHeldUpToALimit) {
  Conv2dShape s{.batch = 1,
                .height = 1000,
                .width = 1000,
                .channels = 2,
                .kernel_h = 3,
                .kernel_w = 3,
                .filters = 2,
                .groups = 2};
  EXPECT_TRUE(PreparedLayer::can(s));
  s.height = s.width = 5000;
  EXPECT_TRUE(PreparedLayer::can(s)) << "three rows: 1 MB";
  s.height = 3, s.width = 5'000'000;
  EXPECT_FALSE(PreparedLayer::can(s)) << "1 GB";
  s.groups = 1;
  EXPECT_TRUE(PreparedLayer::can(s));
}

// Six outputs fill 12 of 16 lanes in pairs, at as many products as alone, and 24 of 24 in fours where half a vector can
// be computed; of a width that pairs do not divide, none.
TEST(PreparedInt8Choice, NeighboursAreComputedSideBySideWhereVectorsHaveRoom) {
  Conv2dShape s{.batch = 1,
                .height = 28,
                .width = 28,
                .channels = 1,
                .kernel_h = 5,
                .kernel_w = 5,
                .filters = 6,
                .pad_top = 2,
                .pad_left = 2,
                .pad_bottom = 2,
                .pad_right = 2};
  VectorKernels whole{}, halves{};
  whole.lanes = halves.lanes = whole.lanes_least = 16;
  whole.element_bytes = halves.element_bytes = 1;
  halves.lanes_least = 8;
  EXPECT_EQ(neighbours_at_once(s, whole), 2u);
  EXPECT_EQ(neighbours_at_once(s, halves), 4u);
  s.filters = 16;
  EXPECT_EQ(neighbours_at_once(s, whole), 1u);
  EXPECT_EQ(neighbours_at_once(s, halves), 1u);
  s.filters = 6, s.width = 29;
  EXPECT_EQ(neighbours_at_once(s, whole), 1u);
  EXPECT_EQ(neighbours_at_once(s, halves), 1u);
}

}  // namespace
}  // namespace coterie::kernels::int8
