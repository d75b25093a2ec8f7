// Deltas between versions of a model: what rounding leaves, and what is no delta.
#include "proto/delta/model_delta.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "proto/codec/update/bit_packing.h"
#include "tests/support/make_delta.h"
#include "tests/support/plain_model.h"

namespace coterie {
namespace {

using test::make_delta;
using test::normed_model;
using test::plain_model;

std::vector<float> some_values(uint64_t seed, size_t count, double bound) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-bound, bound));
  return values;
}

std::vector<float> moved_by(const std::vector<float>& base, uint64_t seed, double bound) {
  std::vector<float> next = some_values(seed, base.size(), bound);
  for (size_t i = 0; i < next.size(); ++i) next[i] += base[i];
  return next;
}

TEST(ModelDelta, ComesWithinHalfAStepWithEachNumberOfBits) {
  for (uint32_t bits = kDeltaBitsMin; bits <= kDeltaBitsMax; ++bits) {
    std::vector<float> base = some_values(bits, kDeltaBlockValues, 1);
    const std::vector<float> next = moved_by(base, 100 + bits, 0.01);
    double largest = 0;
    for (size_t i = 0; i < base.size(); ++i) largest = std::max(largest, std::abs(double{next[i]} - double{base[i]}));
    Bytes payload;
    append_block(base, next, bits, payload);
    EXPECT_EQ(payload.size(), 4 + kDeltaBlockValues * bits / 8);
    ByteView rest = payload;
    ASSERT_OK(move_block(rest, bits, base));
    EXPECT_TRUE(rest.empty());
    const double step = largest / ((1 << (bits - 1)) - 1);
    for (size_t i = 0; i < base.size(); ++i) ASSERT_NEAR(base[i], next[i], step / 2 + 1e-7) << bits << " bits, " << i;
  }
}

TEST(ModelDelta, LeavesABlockThatDoesNotMoveToTheBit) {
  std::vector<float> base = some_values(1, 100, 1);
  base[7] = -0.0f;
  const std::vector<float> before = base;
  Bytes payload;
  append_block(base, before, 8, payload);
  EXPECT_EQ(payload, Bytes(4)) << "a scale of 0 and nothing else";
  ByteView rest = payload;
  ASSERT_OK(move_block(rest, 8, base));
  EXPECT_EQ(std::memcmp(base.data(), before.data(), base.size() * sizeof(float)), 0);
}

// What a delta leaves out is in the next one: the way that is published stays near the one that is computed.
TEST(ModelDelta, LosesNothingOverManyRounds) {
  std::vector<float> published = some_values(3, 200, 1), computed = published;
  for (uint64_t round = 0; round < 100; ++round) {
    computed = moved_by(computed, 10 + round, 0.01);
    Bytes payload;
    append_block(published, computed, 2, payload);
    ByteView rest = payload;
    ASSERT_OK(move_block(rest, 2, published));
  }
  for (size_t i = 0; i < computed.size(); ++i) EXPECT_NEAR(published[i], computed[i], 0.05);
}

// The difference of two float32 may be none; a step that is one is as good as any other.
TEST(ModelDelta, HasAScaleThatIsFinite) {
  const float most = std::numeric_limits<float>::max();
  for (const uint32_t bits : {2u, 8u}) {
    std::vector<float> base = {-most, most / 2, 0};
    Bytes payload;
    append_block(base, std::vector<float>{most / 4 * 3, most / 2, 0}, bits, payload);
    ByteView rest = payload;
    EXPECT_OK(move_block(rest, bits, base)) << bits << " bits";
    EXPECT_GE(base[0], 0) << "towards it";
  }
}

TEST(ModelDelta, KnowsHowManyBytesItHasAtMost) {
  const Bytes base = normed_model(some_values(1, 20, 1), some_values(2, 20, 1));
  const Bytes next = normed_model(some_values(3, 20, 1), some_values(4, 20, 1));
  const std::vector<float> weights = some_values(5, 700, 1), moved = moved_by(weights, 6, 0.1);
  for (uint32_t bits = kDeltaBitsMin; bits <= kDeltaBitsMax; ++bits) {
    for (const auto& [from, to] : {std::pair(base, next), std::pair(plain_model(weights), plain_model(moved))}) {
      const auto model = decode_model(from);
      const auto made = decode_model_delta(make_delta(from, to, bits).file);
      ASSERT_OK(model);
      EXPECT_EQ(payload_bytes_max(delta_ranges(model->header), bits), made->payload.size()) << bits << " bits";
    }
  }
}

TEST(ModelDelta, RefusesWhatIsNoBlock) {
  std::vector<float> base = some_values(1, 10, 1);
  const std::vector<float> next = moved_by(base, 2, 0.1);
  Bytes good;
  append_block(base, next, 4, good);
  const auto refused = [&](const Bytes& payload, std::string_view words) {
    ByteView rest = payload;
    std::vector<float> values = base;
    EXPECT_ERROR(move_block(rest, 4, values), ErrorCode::malformed, words);
  };
  for (size_t size = 0; size < good.size(); ++size) refused(Bytes(good.begin(), good.begin() + size), "ends before");
  const float inf = std::numeric_limits<float>::infinity();
  for (const float scale : {-1.0f, -0.0f, inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    Bytes bad = good;
    std::memcpy(bad.data(), &scale, sizeof scale);
    refused(bad, "scale");
  }
  Bytes beyond = good;
  beyond[4] |= 0x0f;  // level 15 of 14
  refused(beyond, "level");
  Bytes far = good;
  const float most = std::numeric_limits<float>::max();
  std::memcpy(far.data(), &most, sizeof most);
  far[4] = 0xee;
  refused(far, "not finite");
}

TEST(ModelDelta, RefusesBitsBehindTheLastLevel) {
  std::vector<float> base = some_values(1, 9, 1);
  Bytes payload;
  append_block(base, moved_by(base, 2, 0.1), 4, payload);
  payload.back() |= 0xf0;
  ByteView rest = payload;
  EXPECT_FALSE(move_block(rest, 4, base));
}

TEST(ModelDelta, TakesStatisticsAsTheyAreAndLeavesPadding) {
  const Bytes base = normed_model(some_values(1, 20, 1), some_values(2, 20, 1));
  const std::vector<float> statistics(20, 1e-12f);  // a step of any weight would be more
  const Bytes next = normed_model(some_values(3, 20, 1), statistics);
  const test::MadeDelta made = make_delta(base, next, 8);
  const auto result = decode_model(made.result), wanted = decode_model(next);
  ASSERT_OK(result);
  const auto got = payload_as<float>(result->payload), exact = payload_as<float>(wanted->payload);
  for (size_t i = 0; i < got.size(); ++i) {
    if (i % 16 >= 10) {
      EXPECT_EQ(got[i], 0) << "padding " << i;
    } else if (i >= 32) {
      EXPECT_EQ(got[i], exact[i]) << "statistic " << i;
    } else {
      EXPECT_NEAR(got[i], exact[i], 0.01) << "parameter " << i;
    }
  }
}

TEST(ApplyDelta, TakesNothingButADeltaOfThisModel) {
  const std::vector<float> weights = some_values(1, 700, 1);
  const Bytes base = plain_model(weights);
  const Digest digest = content_digest(base);
  const test::MadeDelta made = make_delta(base, plain_model(moved_by(weights, 2, 0.1)), 8);
  ASSERT_OK(apply_delta(base, digest, made.file, 8));
  EXPECT_LT(made.file.size() * 3, base.size());
  EXPECT_ERROR(apply_delta(base, Digest{{9}}, made.file, 8), ErrorCode::malformed, "another model");
  EXPECT_ERROR(apply_delta(base, digest, made.file, 4), ErrorCode::malformed, "bits");
  EXPECT_ERROR(apply_delta(base, digest, base, 8), ErrorCode::malformed, "expected model_delta");
  for (size_t size = 0; size < made.file.size(); size += 7) {
    EXPECT_FALSE(apply_delta(base, digest, ByteView(made.file).first(size), 8)) << size;
  }
  const auto decoded = decode_model_delta(made.file);
  ASSERT_OK(decoded);
  Bytes longer = encode_head(decoded->header, decoded->payload.size() + 1);
  longer.insert(longer.end(), decoded->payload.begin(), decoded->payload.end());
  longer.push_back(0);
  EXPECT_ERROR(apply_delta(base, digest, longer, 8), ErrorCode::malformed, "behind");
}

}  // namespace
}  // namespace coterie
