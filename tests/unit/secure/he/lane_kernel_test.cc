#include "secure/he/lane_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "secure/he/lane_power.h"
#include "secure/he/lane_ring.h"
#include "secure/he/lane_sums.h"
#include "secure/he/seed_stream.h"
#include "tests/support/matchers.h"

namespace coterie::he {
namespace {

const BigContext& context() {
  static const BigContext made = big_context();
  return made;
}

Big power_of_two(size_t exponent) {
  Big number = big();
  must(BN_set_bit(number.get(), static_cast<int>(exponent)) == 1);
  return number;
}

// An odd number of exactly so many bits.
Big odd_number(SeedStream& random, size_t bits) {
  Big n = random.bits(bits);
  must(BN_set_bit(n.get(), 0) == 1 && BN_set_bit(n.get(), static_cast<int>(bits) - 1) == 1);
  return n;
}

// Digits as the kernel takes them, without LaneRing between.
uint64_t digit_of(const Big& number, size_t i) {
  Big shifted = copy_of(number);
  must(BN_rshift(shifted.get(), shifted.get(), static_cast<int>(i * kDigitBits)) == 1);
  if (BN_num_bits(shifted.get()) > 52) must(BN_mask_bits(shifted.get(), 52) == 1);
  return BN_get_word(shifted.get());
}
void put(LaneWords& words, size_t first, size_t digits, size_t lane, const Big& number) {
  for (size_t i = 0; i < digits; ++i) words.data()[8 * (first + i) + lane] = digit_of(number, i);
}
Big got(const LaneWords& words, size_t first, size_t digits, size_t lane) {
  Big number = big();
  for (size_t i = digits; i-- > 0;) {
    must(BN_lshift(number.get(), number.get(), kDigitBits) == 1 &&
         BN_add_word(number.get(), words.data()[8 * (first + i) + lane]) == 1);
  }
  return number;
}

class EachLaneKernel : public testing::TestWithParam<LaneKernel> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EachLaneKernel);  // where libcrypto is all there is

// The kernel's own contract, by libcrypto: pairs up to 2 n - 1 in both halves come out below 2 n, as a b / R.
TEST_P(EachLaneKernel, MultipliesPairsUpToTwiceTheModulus) {
  SeedStream random(Secret<32>(), "pairs");
  for (const size_t bits : {100u, 512u, 1024u, 1536u, 2048u, 3072u, 3321u}) {
    SCOPED_TRACE(bits);
    const size_t digits = (bits + 4 + kDigitBits - 1) / kDigitBits;
    const Big n = odd_number(random, bits);
    const Big square = product(n, n, context()), r = power_of_two(digits * kDigitBits);
    Big twice = copy_of(n), offset = big();
    must(BN_lshift1(twice.get(), n.get()) == 1 && BN_one(offset.get()) == 1 &&
         BN_sub(offset.get(), offset.get(), r.get()) == 1 &&
         BN_nnmod(offset.get(), offset.get(), n.get(), context().get()) == 1);
    LaneWords n_lanes(8 * digits), offset_lanes(8 * digits), a(16 * digits), b(16 * digits), out(16 * digits);
    std::vector<Big> of_a, of_b;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      put(n_lanes, 0, digits, lane, n);
      put(offset_lanes, 0, digits, lane, offset);
      for (LaneWords* words : {&a, &b}) {
        Big low = random.below(twice, context()), high = random.below(twice, context());
        if (lane == 0) must(BN_set_word(low.get(), 0) == 1 && BN_set_word(high.get(), 0) == 1);
        if (lane == 1 || (lane == 2 && words == &a)) {
          low = minus_one(twice);
          high = minus_one(twice);
        }
        put(*words, 0, digits, lane, low);
        put(*words, digits, digits, lane, high);
        Big number = product(high, n, context());
        must(BN_add(number.get(), number.get(), low.get()) == 1);
        (words == &a ? of_a : of_b).push_back(std::move(number));
      }
    }
    uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - n_lanes.data()[0] * inverse;
    const LaneModulus modulus{digits, (0 - inverse) & ((uint64_t{1} << 52) - 1), n_lanes.data(), offset_lanes.data()};
    for (const bool squares : {false, true}) {
      if (squares) {
        GetParam().square(modulus, a.data(), out.data());
      } else {
        GetParam().multiply(modulus, a.data(), b.data(), out.data());
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const Big low = got(out, 0, digits, lane), high = got(out, digits, digits, lane);
        EXPECT_LT(BN_cmp(low.get(), twice.get()), 0);
        EXPECT_LT(BN_cmp(high.get(), twice.get()), 0);
        Big number = product(high, n, context()), expected = big();
        must(BN_add(number.get(), number.get(), low.get()) == 1 &&
             BN_mod_mul(number.get(), number.get(), r.get(), square.get(), context().get()) == 1 &&
             BN_mod_mul(expected.get(), of_a[lane].get(), (squares ? of_a : of_b)[lane].get(), square.get(),
                        context().get()) == 1);
        EXPECT_EQ(BN_cmp(number.get(), expected.get()), 0) << "lane " << lane;
      }
    }
    // The low halves alone, modulo n.
    GetParam().multiply_low(modulus, a.data(), b.data(), out.data());
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const Big low = got(out, 0, digits, lane);
      EXPECT_LT(BN_cmp(low.get(), twice.get()), 0);
      Big number = big(), expected = big();
      must(BN_mod_mul(number.get(), low.get(), r.get(), n.get(), context().get()) == 1 &&
           BN_mod_mul(expected.get(), of_a[lane].get(), of_b[lane].get(), n.get(), context().get()) == 1);
      EXPECT_EQ(BN_cmp(number.get(), expected.get()), 0) << "lane " << lane;
    }
    // Onto an operand.
    LaneWords expected(16 * digits);
    GetParam().multiply(modulus, a.data(), b.data(), expected.data());
    GetParam().multiply(modulus, a.data(), b.data(), b.data());
    EXPECT_TRUE(std::ranges::equal(b.span(), expected.span()));
  }
}

TEST_P(EachLaneKernel, PassesItsSelfTest) { EXPECT_OK(lane_self_test(GetParam())); }

TEST_P(EachLaneKernel, RaisesToPowersAsLibcryptoDoes) {
  SeedStream random(Secret<32>(), "powers");
  const Big n = odd_number(random, 512);
  const Big square = product(n, n, context());
  const LaneRing modulus(GetParam(), n, Modulo::square_of_n, context());
  std::vector<Big> bases;
  for (size_t i = 0; i < kLanes; ++i) bases.push_back(random.below(square, context()));
  const std::vector<LaneWords> rows = modulus.rows_of(bases, context());
  const auto expect_powers = [&](const LaneWords& lanes, const std::vector<Big>& of,
                                 const std::vector<Big>& exponents) {
    const std::vector<Big> numbers = modulus.numbers_of(lanes, kLanes, context());
    for (size_t i = 0; i < kLanes; ++i) {
      Big expected = big();
      must(BN_mod_exp(expected.get(), of[i].get(), exponents[i].get(), square.get(), context().get()) == 1);
      EXPECT_EQ(BN_cmp(numbers[i].get(), expected.get()), 0) << "lane " << i;
    }
  };
  for (const size_t bits : {0u, 1u, 5u, 6u, 163u}) {
    SCOPED_TRACE(bits);
    std::vector<Big> exponents;
    Big exponent = random.bits(bits);
    LaneWords lanes = modulus.lanes();
    for (size_t i = 0; i < kLanes; ++i) {
      modulus.set_lane(lanes, i, rows[i].data());
      exponents.push_back(copy_of(exponent));
    }
    raise_lanes(modulus, lanes, PowerDigits(exponent, bits));
    expect_powers(lanes, bases, exponents);
  }
  // One base, an exponent a lane, all zeros and all ones among them.
  LaneTables tables(modulus);
  tables.add_powers(rows[0], 163);
  std::vector<Big> exponents, of;
  Bytes digits(kLanes * tables.windows());
  for (size_t i = 0; i < kLanes; ++i) {
    exponents.push_back(i == 0 ? big() : i == 1 ? minus_one(power_of_two(163)) : random.bits(163));
    of.push_back(copy_of(bases[0]));
    const PowerDigits of_lane(exponents[i], 163);
    for (size_t k = 0; k < of_lane.size(); ++k) digits[kLanes * k + i] = of_lane[k];
  }
  LaneWords lanes = modulus.lanes();
  modulus.load({}, lanes);
  tables.multiply(digits, lanes);
  expect_powers(lanes, of, exponents);
}

// All lengths around those at which lists are cut, and lanes run empty.
TEST_P(EachLaneKernel, SumsListsOfAnyLength) {
  SeedStream random(Secret<32>(), "lists");
  const Big n = odd_number(random, 256);
  const Big square = product(n, n, context());
  const LaneRing modulus(GetParam(), n, Modulo::square_of_n, context());
  std::vector<Big> numbers;
  for (size_t i = 0; i < 7; ++i) numbers.push_back(random.below(square, context()));
  const std::vector<LaneWords> rows = modulus.rows_of(numbers, context());
  for (const std::vector<size_t>& lengths : {std::vector<size_t>{},
                                             {0},
                                             {1},
                                             {2000},
                                             {0, 3, 0, 1},
                                             {16, 17, 1, 1, 1, 1, 1, 1, 1, 2, 2},
                                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 400, 11, 12, 13},
                                             {33, 32, 31, 129, 128, 127, 0}}) {
    std::vector<RowList> lists;
    std::vector<Big> expected;
    size_t next = 0;
    for (const size_t length : lengths) {
      lists.emplace_back();
      expected.push_back(big());
      must(BN_one(expected.back().get()) == 1);
      for (size_t i = 0; i < length; ++i) {
        ++next;
        const size_t which = next * next % rows.size();
        lists.back().push_back(rows[which].data());
        must(BN_mod_mul(expected.back().get(), expected.back().get(), numbers[which].get(), square.get(),
                        context().get()) == 1);
      }
    }
    const std::vector<LaneWords> products = products_of(modulus, lists);
    ASSERT_EQ(products.size(), lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      ASSERT_EQ(products[i].empty(), lengths[i] == 0);
      if (lengths[i] == 0) continue;
      LaneWords lanes = modulus.lanes();
      modulus.set_lane(lanes, 5, products[i].data());
      EXPECT_EQ(BN_cmp(modulus.numbers_of(lanes, 6, context())[5].get(), expected[i].get()), 0) << lengths[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, EachLaneKernel, testing::ValuesIn(lane_kernels().begin(), lane_kernels().end()),
                         [](const auto& one) {
                           std::string name(one.param.name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// Kernels that are wrong in one thing each.
LaneKernel right() { return lane_kernels()[0]; }
void wrong_carry(const LaneModulus& m, const uint64_t* a, const uint64_t* b, uint64_t* out) {
  right().multiply(m, a, b, out);
  out[8 * (2 * m.digits - 1) + 7] ^= 1;
}
void wrong_square(const LaneModulus& m, const uint64_t* a, uint64_t* out) {
  right().square(m, a, out);
  out[8 * m.digits] ^= 1;
}
void wrong_low(const LaneModulus& m, const uint64_t* a, const uint64_t* b, uint64_t* out) {
  right().multiply_low(m, a, b, out);
  out[8 * (m.digits - 1)] ^= 1;
}
void wrong_lanes(size_t words, const uint64_t* const* rows, uint64_t* lanes) {
  right().to_lanes(words, rows, lanes);
  std::swap(lanes[8 * (words - 1)], lanes[8 * (words - 1) + 1]);
}
void wrong_rows(size_t words, const uint64_t* lanes, uint64_t* const* rows) {
  right().to_rows(words, lanes, rows);
  rows[3][9] = 0;
}
void wrong_selection(size_t words, const uint64_t* table, size_t entries, const uint64_t* indices, uint64_t* out) {
  right().select_rows(words, table, entries, indices, out);
  out[6] ^= 1;
}
void wrong_entry(size_t words, const uint64_t* table, size_t entries, uint64_t index, uint64_t* out) {
  right().select_lanes(words, table, entries, index == 4 ? 3 : index, out);
}

TEST(LaneKernels, OnesThatAreWrongAreNamedAndNotChosen) {
  if (lane_kernels().empty()) GTEST_SKIP() << "this CPU has no kernel";
  std::vector<std::pair<LaneKernel, const char*>> broken(7, {right(), ""});
  broken[0] = {right(), "numbers"};
  broken[0].first.multiply = wrong_carry;
  broken[1] = {right(), "squares"};
  broken[1].first.square = wrong_square;
  broken[2] = {right(), "rows to lanes"};
  broken[2].first.to_lanes = wrong_lanes;
  broken[3] = {right(), "lanes to rows"};
  broken[3].first.to_rows = wrong_rows;
  broken[4] = {right(), "each lane's selection"};
  broken[4].first.select_rows = wrong_selection;
  broken[5] = {right(), "a selection for all lanes"};
  broken[5].first.select_lanes = wrong_entry;
  broken[6] = {right(), "numbers modulo 256 bits"};
  broken[6].first.multiply_low = wrong_low;
  std::vector<LaneKernel> all;
  for (const auto& [kernel, what] : broken) {
    EXPECT_ERROR(lane_self_test(kernel), ErrorCode::internal, what);
    all.push_back(kernel);
  }
  EXPECT_EQ(choose_lane_kernel(all), nullptr);
  all.push_back(right());
  EXPECT_EQ(choose_lane_kernel(all), &all.back());
  EXPECT_EQ(choose_lane_kernel({}), nullptr);
}

TEST(LaneKernels, TheFirstOfThisCpuIsUsed) {
  EXPECT_EQ(lane_kernel(), lane_kernels().empty() ? nullptr : &lane_kernels()[0]);
}

}  // namespace
}  // namespace coterie::he
