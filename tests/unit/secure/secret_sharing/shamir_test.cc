#include "secure/secret_sharing/shamir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "secure/secret_sharing/gf256_rows.h"
#include "secure/secret_sharing/reconstruction.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/secret_sharing/dealt.h"

namespace coterie {
namespace {

using test::by_prng;
using test::random_secret;

std::vector<Share> chosen(const Shares& shares, const std::vector<size_t>& indices) {
  std::vector<Share> some;
  for (const size_t i : indices) some.push_back(shares[i]);
  return some;
}

std::string reconstructed(size_t threshold, const std::vector<Share>& shares) {
  std::vector<uint8_t> xs;
  for (const Share& share : shares) xs.push_back(share.x);
  const Result<Survivors> survivors = Survivors::make(threshold, xs);
  EXPECT_OK(survivors);
  const Result<Secret<32>> secret = survivors->reconstruct(shares);
  EXPECT_OK(secret);
  return to_hex(secret->reveal());
}

// Ours, computed by another program: secret 00..1f, coefficients 20..3f and 40..5f.
TEST(Shamir, GivesTheKnownShares) {
  Secret<32> secret;
  for (size_t i = 0; i < 32; ++i) secret.mutable_bytes()[i] = static_cast<uint8_t>(i);
  const Result<Shares> shares = split(secret, 3, 255, [](std::span<uint8_t> rows) {
    ASSERT_EQ(rows.size(), 64u);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(32 + i);
  });
  ASSERT_OK(shares);
  EXPECT_EQ(to_hex((*shares)[0].value), "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f");
  EXPECT_EQ(to_hex((*shares)[1].value), "5b5c55524740494e63646d6a7f7871762b2c25223730393e13141d1a0f080106");
  EXPECT_EQ(to_hex((*shares)[254].value), "7e93bf52e70a26cb57ba967bce230fe22cc1ed00b558749905e8c4299c715db0");
  EXPECT_EQ((*shares)[254].x, 255);
}

// Every threshold, every count up to 8, every subset that is large enough.
TEST(Shamir, IsUndoneByAnySharesThatAreEnough) {
  Prng prng(1);
  for (size_t count = 1; count <= 8; ++count) {
    for (size_t threshold = 1; threshold <= count; ++threshold) {
      const Secret<32> secret = random_secret(prng);
      const Result<Shares> shares = split(secret, threshold, count, by_prng(prng));
      ASSERT_OK(shares);
      for (unsigned subset = 0; subset < 1u << count; ++subset) {
        std::vector<size_t> indices;
        for (size_t i = 0; i < count; ++i) {
          if ((subset >> i & 1) != 0) indices.push_back(i);
        }
        if (indices.size() < threshold) continue;
        ASSERT_EQ(reconstructed(threshold, chosen(*shares, indices)), to_hex(secret.reveal()))
            << threshold << " of " << count << ", subset " << subset;
      }
    }
  }
}

TEST(Shamir, IsUndoneByAnyEnoughOfManySharesInAnyOrder) {
  for (uint64_t seed = 0; seed < 15; ++seed) {
    Prng prng(seed);
    const size_t count = seed == 0 ? 255 : 9 + prng.below(247);
    const size_t threshold = seed == 0 ? 255 : 1 + prng.below(count);
    const Secret<32> secret = random_secret(prng);
    const Result<Shares> shares = split(secret, threshold, count, by_prng(prng));
    ASSERT_OK(shares);
    std::vector<size_t> indices(count);
    for (size_t i = 0; i < count; ++i) indices[i] = i;
    for (int order = 0; order < 3; ++order) {
      prng.shuffle(indices);
      const std::vector<size_t> some(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(threshold));
      ASSERT_EQ(reconstructed(threshold, chosen(*shares, some)), to_hex(secret.reveal())) << "seed " << seed;
    }
  }
}

// One share of two: for each of many secret bytes, each value of the share comes from exactly one coefficient.
TEST(Shamir, SaysNothingByOneShareOfTwo) {
  for (const size_t x : {1, 2, 89}) {
    for (unsigned secret = 0; secret < 256; secret += 3) {
      std::vector<int> seen(256);
      for (unsigned first = 0; first < 256; first += 32) {
        Bytes rows(2 * 32, static_cast<uint8_t>(secret));
        for (unsigned i = 0; i < 32; ++i) rows[32 + i] = static_cast<uint8_t>(first + i);
        Bytes shares(x * 32);
        gf256::row_kernels().evaluate(rows, shares);
        for (size_t i = 0; i < 32; ++i) ++seen[shares[(x - 1) * 32 + i]];
      }
      ASSERT_EQ(std::ranges::count(seen, 1), 256) << "x = " << x << ", secret " << secret;
    }
  }
}

// Two shares of three: for every secret byte, each pair of values comes from exactly one pair of coefficients. (Some
// secrets are shown; sharing is linear, so that another secret permutes the pairs.)
TEST(Shamir, SaysNothingByTwoSharesOfThree) {
  for (const unsigned secret : {0u, 1u, 0x8eu}) {
    std::vector<bool> seen(65'536);
    for (unsigned first = 0; first < 65'536; first += 32) {
      Bytes rows(3 * 32, static_cast<uint8_t>(secret));
      for (unsigned i = 0; i < 32; ++i) {
        rows[32 + i] = static_cast<uint8_t>(first + i);
        rows[64 + i] = static_cast<uint8_t>((first + i) >> 8);
      }
      uint8_t shares[3 * 32];
      gf256::row_kernels().evaluate(rows, std::span(shares));
      for (size_t i = 0; i < 32; ++i) seen[shares[i] * 256u + shares[64 + i]] = true;  // x = 1 and x = 3
    }
    ASSERT_EQ(std::ranges::count(seen, true), 65'536) << "secret " << secret;
  }
}

TEST(Shamir, IsLinear) {
  Prng prng(3);
  const Secret<32> a = random_secret(prng), b = random_secret(prng);
  Bytes a_rows(4 * 32), b_rows(4 * 32);
  by_prng(prng)(a_rows);
  by_prng(prng)(b_rows);
  const auto given = [](const Bytes& rows) {
    return [&rows](std::span<uint8_t> out) { std::ranges::copy(rows, out.begin()); };
  };
  Secret<32> sum;
  Bytes sum_rows(4 * 32);
  for (size_t i = 0; i < 32; ++i) sum.mutable_bytes()[i] = a.reveal()[i] ^ b.reveal()[i];
  for (size_t i = 0; i < sum_rows.size(); ++i) sum_rows[i] = a_rows[i] ^ b_rows[i];
  const Shares of_a = *split(a, 5, 20, given(a_rows)), of_b = *split(b, 5, 20, given(b_rows));
  const Shares of_sum = *split(sum, 5, 20, given(sum_rows));
  for (size_t i = 0; i < 20; ++i) {
    for (size_t k = 0; k < 32; ++k) EXPECT_EQ(of_sum[i].value[k], of_a[i].value[k] ^ of_b[i].value[k]);
  }
}

TEST(Shamir, DrawsFreshCoefficients) {
  const Secret<32> secret;
  const Shares first = *split(secret, 2, 2), second = *split(secret, 2, 2);
  EXPECT_FALSE(equal_in_constant_time(first[0].value, second[0].value));
  EXPECT_FALSE(equal_in_constant_time(first[0].value, first[1].value));
}

TEST(Shamir, RefusesWhatCannotBeShared) {
  const Secret<32> secret;
  EXPECT_ERROR(split(secret, 0, 5), ErrorCode::invalid_argument, "so that 0 restore it");
  EXPECT_ERROR(split(secret, 6, 5), ErrorCode::invalid_argument, "among 5 so that 6");
  EXPECT_ERROR(split(secret, 1, 0), ErrorCode::invalid_argument, "among 0");
  EXPECT_ERROR(split(secret, 2, 256), ErrorCode::invalid_argument, "among 256");
  EXPECT_OK(split(secret, 255, 255));
  EXPECT_OK(split(secret, 1, 1));
}

}  // namespace
}  // namespace coterie
