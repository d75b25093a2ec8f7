#include "secure/secret_sharing/reconstruction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/unit/secure/secret_sharing/dealt.h"

namespace coterie {
namespace {

using test::Dealt;

Survivors::Check equals(const Secret<32>& right) {
  return [&right](const Secret<32>& secret) { return equal_in_constant_time(secret.reveal(), right.reveal()); };
}

// Changes the shares at `indices`: one byte, all of them, or each by chance. The x of them, ascending.
enum class Damage { one_byte, all_bytes, some_bytes };
std::vector<uint8_t> damage(Prng& prng, Dealt& dealt, size_t count, Damage how) {
  std::vector<size_t> indices(dealt.xs.size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  prng.shuffle(indices);
  std::vector<uint8_t> bad;
  const size_t byte = prng.below(32);
  for (size_t k = 0; k < count; ++k) {
    Bytes& value = dealt.values[indices[k]];
    bool changed = false;
    for (size_t i = 0; i < value.size(); ++i) {
      if (how == Damage::one_byte ? i != byte : how == Damage::some_bytes && prng.chance(0.5)) continue;
      value[i] ^= static_cast<uint8_t>(1 + prng.below(255));
      changed = true;
    }
    if (!changed) value[0] ^= 1;
    bad.push_back(dealt.xs[indices[k]]);
  }
  std::ranges::sort(bad);
  return bad;
}

TEST(Survivors, CorrectAsManySharesAsCanBeAndNameThem) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Prng prng(seed);
    const size_t threshold = 1 + prng.below(20), count = threshold + prng.below(20);
    Dealt dealt = Dealt::make(prng, threshold, count);
    const Survivors survivors = *Survivors::make(threshold, dealt.xs);
    ASSERT_EQ(survivors.bad_shares_max(), (count - threshold) / 2);
    const size_t errors = seed % 2 == 0 ? survivors.bad_shares_max() : prng.below(survivors.bad_shares_max() + 1);
    const std::vector<uint8_t> bad = damage(prng, dealt, errors, static_cast<Damage>(seed % 3));
    const Result<Survivors::Corrected> corrected = survivors.correct(dealt.shares());
    ASSERT_OK(corrected) << "seed " << seed;
    EXPECT_TRUE(equals(dealt.secret)(corrected->secret)) << "seed " << seed;
    EXPECT_EQ(corrected->bad, bad) << "seed " << seed;
    EXPECT_OK(survivors.correct(dealt.shares(), equals(dealt.secret))) << "seed " << seed;
  }
}

TEST(Survivors, CorrectTheLargestSet) {
  Prng prng(1);
  Dealt dealt = Dealt::make(prng, 171, 255);
  const std::vector<uint8_t> bad = damage(prng, dealt, 42, Damage::some_bytes);
  const Result<Survivors::Corrected> corrected = Survivors::make(171, dealt.xs)->correct(dealt.shares());
  ASSERT_OK(corrected);
  EXPECT_TRUE(equals(dealt.secret)(corrected->secret));
  EXPECT_EQ(corrected->bad, bad);
}

// More bad shares than can be told: whoever has a commitment never takes a wrong secret for the right one.
TEST(Survivors, AcceptNoWrongSecretWhereMoreAreBad) {
  size_t refused = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Prng prng(seed);
    const size_t threshold = 1 + prng.below(6), count = threshold + prng.below(9);
    Dealt dealt = Dealt::make(prng, threshold, count);
    const Survivors survivors = *Survivors::make(threshold, dealt.xs);
    const size_t errors = std::min(count, survivors.bad_shares_max() + 1 + prng.below(2));
    damage(prng, dealt, errors, static_cast<Damage>(seed % 3));
    const Result<Survivors::Corrected> corrected = survivors.correct(dealt.shares(), equals(dealt.secret));
    if (corrected) {
      EXPECT_TRUE(equals(dealt.secret)(corrected->secret)) << "seed " << seed;
      continue;
    }
    EXPECT_EQ(corrected.error().code(), ErrorCode::data_loss) << "seed " << seed;
    ++refused;
  }
  EXPECT_GT(refused, 150u) << "nearly all must be";
}

// One more than can be told, all bytes changed at random: without a commitment they are told from a polynomial as long
// as there are more shares than the threshold needs.
TEST(Survivors, RefuseWhatNoPolynomialFits) {
  Prng prng(5);
  Dealt dealt = Dealt::make(prng, 5, 15);
  const Survivors survivors = *Survivors::make(5, dealt.xs);
  damage(prng, dealt, 6, Damage::all_bytes);
  EXPECT_ERROR(survivors.correct(dealt.shares()), ErrorCode::data_loss, "at most 5 may be bad");
}

// Colluding shares: all bad ones lie on another polynomial, which has more shares than the right one.
TEST(Survivors, TellACommitmentFromAMajority) {
  Prng prng(6);
  Dealt dealt = Dealt::make(prng, 3, 9);
  const Shares other = *split(test::random_secret(prng), 3, kSharesMax, test::by_prng(prng));
  for (size_t i = 0; i < 6; ++i) {
    const ByteView value = other[dealt.xs[i] - 1u].value;
    dealt.values[i].assign(value.begin(), value.end());
  }
  const Survivors survivors = *Survivors::make(3, dealt.xs);
  const Result<Survivors::Corrected> fooled = survivors.correct(dealt.shares());
  ASSERT_OK(fooled) << "nobody can know without a commitment";
  EXPECT_FALSE(equals(dealt.secret)(fooled->secret));
  EXPECT_ERROR(survivors.correct(dealt.shares(), equals(dealt.secret)), ErrorCode::data_loss,
               "not the one committed to");
}

// Different shares bad in different bytes, each byte within the limit and all together beyond it.
TEST(Survivors, TakeTooManyBadSharesOnlyOnTheWordOfACommitment) {
  Prng prng(7);
  Dealt dealt = Dealt::make(prng, 4, 10);
  std::vector<uint8_t> bad;
  for (size_t i = 0; i < 5; ++i) {
    dealt.values[i][i] ^= 0x40;
    bad.push_back(dealt.xs[i]);
  }
  std::ranges::sort(bad);
  const Survivors survivors = *Survivors::make(4, dealt.xs);
  EXPECT_ERROR(survivors.correct(dealt.shares()), ErrorCode::data_loss, "contradict");
  const Result<Survivors::Corrected> corrected = survivors.correct(dealt.shares(), equals(dealt.secret));
  ASSERT_OK(corrected);
  EXPECT_TRUE(equals(dealt.secret)(corrected->secret));
  EXPECT_EQ(corrected->bad, bad);
}

TEST(Survivors, ReconstructOneSecretAfterTheOther) {
  Prng prng(8);
  const Survivors survivors = *Survivors::make(2, {7, 255, 1});
  for (int i = 0; i < 5; ++i) {
    const Secret<32> secret = test::random_secret(prng);
    const Shares shares = *split(secret, 2, kSharesMax, test::by_prng(prng));
    const Result<Secret<32>> again = survivors.reconstruct(std::vector<Share>{shares[6], shares[254], shares[0]});
    ASSERT_OK(again);
    EXPECT_TRUE(equals(secret)(*again));
  }
}

TEST(Survivors, AreDifferentAndEnoughAndNotZero) {
  EXPECT_ERROR(Survivors::make(0, {1, 2}), ErrorCode::invalid_argument, "at least 1");
  EXPECT_ERROR(Survivors::make(2, {1, 0}), ErrorCode::malformed, "x = 0");
  EXPECT_ERROR(Survivors::make(2, {9, 3, 9}), ErrorCode::malformed, "same x = 9");
  EXPECT_ERROR(Survivors::make(3, {1, 2}), ErrorCode::malformed, "2 shares are too few: 3");
  EXPECT_ERROR(Survivors::make(1, {}), ErrorCode::malformed, "too few");
  EXPECT_ERROR(Survivors::make(300, {1, 2}), ErrorCode::malformed, "too few");
  EXPECT_ERROR(Survivors::make(1, std::vector<uint8_t>(256, 1)), ErrorCode::malformed, "same x");
}

TEST(Survivors, TakeTheirOwnSharesOnly) {
  Prng prng(9);
  const Dealt dealt = Dealt::make(prng, 2, 4);
  const Survivors survivors = *Survivors::make(2, dealt.xs);
  const auto refuses = [&](const std::vector<Share>& shares, std::string_view words) {
    EXPECT_ERROR(survivors.reconstruct(shares), ErrorCode::malformed, words);
    EXPECT_ERROR(survivors.correct(shares), ErrorCode::malformed, words);
  };
  std::vector<Share> shares = dealt.shares();
  EXPECT_OK(survivors.reconstruct(shares));
  refuses({}, "0 shares of 4 survivors");
  refuses({shares[0], shares[1], shares[2]}, "3 shares of 4");
  refuses({shares[1], shares[0], shares[2], shares[3]}, "where the survivor's is");
  for (const size_t size : {0, 31, 33}) {
    const Bytes other(size, 1);
    shares[3].value = other;
    refuses(shares, "has " + std::to_string(size) + " bytes, expected 32");
  }
}

}  // namespace
}  // namespace coterie
