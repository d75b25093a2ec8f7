// The way of an update to lanes and back, over both ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "secure/crypto/sha256.h"
#include "secure/dp/encode/encoding_plan.h"
#include "secure/dp/encode/l2_norm.h"
#include "secure/dp/encode/sum_decoder.h"
#include "secure/dp/encode/update_encoder.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::CounterSource;
using test::fails_with;
using test::is_ok;

const CounterSource kSigns(100);

std::vector<float> random_update(size_t count, double norm, uint64_t seed) {
  Prng prng(seed);
  std::vector<float> update(count);
  for (float& value : update) value = static_cast<float>(prng.normal());
  const double factor = norm / *l2_norm(update);
  for (float& value : update) value = static_cast<float>(value * factor);
  return update;
}

EncodingTerms spec_of(uint32_t ring_bits, bool rotated = true) {
  return {.fraction_bits = 8,
          .ring_bits = ring_bits,
          .clip_norm = 2,
          .weight_max = 1,
          .contributors_max = 20,
          .rotated = rotated};
}

template <typename Lane>
struct Encoded {
  std::vector<Lane> lanes;
  bool clipped = false;
};

template <typename Lane>
Encoded<Lane> encode(const std::vector<float>& update, uint32_t weight, const EncodingTerms& spec, uint64_t seed,
                     const NoiseSampler* sampler = nullptr) {
  const CounterSource rounding(2 * seed), noise(2 * seed + 1);
  Encoded<Lane> encoded{std::vector<Lane>(encoded_lanes(spec, update.size()))};
  const auto result = encode_update(
      update, weight, spec, {.rounding = rounding, .rotation_signs = &kSigns, .sampler = sampler, .noise = &noise},
      encoded.lanes);
  EXPECT_TRUE(is_ok(result));
  encoded.clipped = result && result->clipped;
  return encoded;
}

template <typename Lane>
void round_trip(const EncodingTerms& spec) {
  constexpr size_t kDimension = 3000, kClients = 20;
  std::vector<double> expected(kDimension);
  std::vector<Lane> sum(encoded_lanes(spec, kDimension));
  for (size_t client = 0; client < kClients; ++client) {
    const std::vector<float> update = random_update(kDimension, 0.1 + 0.1 * static_cast<double>(client), client);
    for (size_t i = 0; i < kDimension; ++i) expected[i] += update[i] / static_cast<double>(kClients);
    const auto encoded = encode<Lane>(update, 1, spec, client);
    EXPECT_EQ(encoded.clipped, *l2_norm(update) > spec.clip_norm);
    for (size_t i = 0; i < sum.size(); ++i) {
      EXPECT_EQ(static_cast<uint64_t>(encoded.lanes[i]) & ~(~uint64_t{0} >> (64 - spec.ring_bits)), 0u);
      sum[i] = static_cast<Lane>(sum[i] + encoded.lanes[i]);
    }
  }
  std::vector<float> mean(kDimension);
  const auto weight = decode_sum(std::span<const Lane>(sum), spec, &kSigns, mean);
  ASSERT_TRUE(is_ok(weight));
  EXPECT_EQ(*weight, kClients);
  // Rounding errors of the sum are independent, of variance 1/4 step^2 each at most.
  const double step = std::ldexp(1, -static_cast<int>(spec.fraction_bits));
  double error = 0;
  for (size_t i = 0; i < kDimension; ++i) error += (mean[i] - expected[i]) * (mean[i] - expected[i]);
  const double most = step / 2 * std::sqrt(kDimension / static_cast<double>(kClients));
  EXPECT_LT(std::sqrt(error), 1.1 * most);
  EXPECT_GT(std::sqrt(error), 0.5 * most) << "it was not rounded at random";
}

TEST(UpdateEncoding, TheDecodedSumIsTheMeanForEveryLaneAndRing) {
  for (const bool rotated : {false, true}) {
    for (const uint32_t ring_bits : {15u, 16u}) round_trip<uint16_t>(spec_of(ring_bits, rotated));
    for (const uint32_t ring_bits : {17u, 26u, 32u}) round_trip<uint32_t>(spec_of(ring_bits, rotated));
    for (const uint32_t ring_bits : {33u, 63u, 64u}) round_trip<uint64_t>(spec_of(ring_bits, rotated));
  }
}

TEST(UpdateEncoding, AnUpdateThatIsTooLongIsShortenedAndSaysSo) {
  const EncodingTerms spec = spec_of(32, false);
  const std::vector<float> update = random_update(500, 1e6 * spec.clip_norm, 1);
  const auto encoded = encode<uint32_t>(update, 1, spec, 1);
  EXPECT_TRUE(encoded.clipped);
  std::vector<float> mean(update.size());
  ASSERT_TRUE(is_ok(decode_sum(std::span<const uint32_t>(encoded.lanes), spec, nullptr, mean)));
  for (size_t i = 0; i < update.size(); ++i) EXPECT_NEAR(mean[i], update[i] / 1e6, 0x1p-8);
  EXPECT_FALSE(encode<uint32_t>(random_update(500, spec.clip_norm * 0.999, 1), 1, spec, 1).clipped);
}

// What noise must hide, whatever an update is made of.
TEST(UpdateEncoding, NoUpdateIsLongerThanTheSensitivity) {
  const float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
  EncodingTerms finest = spec_of(32);
  finest.fraction_bits = 28;  // where what float32 rounds in the rotation is many steps
  for (const EncodingTerms& spec : {spec_of(32, false), spec_of(32, true), finest}) {
    std::vector<std::vector<float>> updates{std::vector<float>(1000, largest), std::vector<float>(1000, -largest),
                                            std::vector<float>(1000, smallest), std::vector<float>(1000, -0.0f)};
    std::vector<float> one(1000);
    one[3] = largest;
    updates.push_back(one);
    for (uint64_t seed = 0; seed < 20; ++seed) updates.push_back(random_update(1000, spec.clip_norm, seed));
    for (size_t u = 0; u < updates.size(); ++u) {
      const auto encoded = encode<uint32_t>(updates[u], 1, spec, u);
      uint64_t sum = 0;
      for (size_t i = 0; i + 1 < encoded.lanes.size(); ++i) {
        const int64_t z = static_cast<int32_t>(encoded.lanes[i]);
        sum += static_cast<uint64_t>(z * z);
      }
      EXPECT_LE(sum, sensitivity_squared(spec, 1000)) << "update " << u;
    }
  }
}

TEST(UpdateEncoding, RefusesAnUpdateThatIsNotFiniteAndWritesNothing) {
  const EncodingTerms spec = spec_of(32);
  const CounterSource rounding(1);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> update(100, 0.1f);
    update[57] = bad;
    std::vector<uint32_t> lanes(encoded_lanes(spec, update.size()), 7);
    EXPECT_TRUE(fails_with(encode_update(update, 1, spec, {.rounding = rounding, .rotation_signs = &kSigns}, lanes),
                           ErrorCode::invalid_argument, "update value 57 is not a finite number"));
    EXPECT_EQ(lanes, std::vector<uint32_t>(lanes.size(), 7));
  }
}

TEST(UpdateEncoding, WeighsUpdates) {
  EncodingTerms spec = spec_of(40);
  spec.weight_max = 100;
  const std::vector<float> a = random_update(200, 1, 1), b = random_update(200, 1.5, 2);
  const auto of_a = encode<uint64_t>(a, 100, spec, 1), of_b = encode<uint64_t>(b, 25, spec, 2);
  std::vector<uint64_t> sum(of_a.lanes.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = of_a.lanes[i] + of_b.lanes[i];
  std::vector<float> mean(200);
  const auto weight = decode_sum(std::span<const uint64_t>(sum), spec, &kSigns, mean);
  ASSERT_TRUE(is_ok(weight));
  EXPECT_EQ(*weight, 125u);
  for (size_t i = 0; i < 200; ++i) EXPECT_NEAR(mean[i], 0.8 * a[i] + 0.2 * b[i], 0x1p-8 / 10);
}

TEST(UpdateEncoding, RefusesAWeightOutOfRangeAndNoiseWithWeights) {
  EncodingTerms spec = spec_of(32);
  spec.weight_max = 100;
  const CounterSource source(1);
  const std::vector<float> update(10, 0.1f);
  std::vector<uint32_t> lanes(encoded_lanes(spec, update.size()));
  EncodingInputs inputs{.rounding = source, .rotation_signs = &kSigns};
  for (const uint32_t bad : {0u, 101u, 0x80000000u, 0xffffffffu}) {
    EXPECT_TRUE(fails_with(encode_update(update, bad, spec, inputs, lanes), ErrorCode::invalid_argument,
                           "weight must be in [1, 100]"));
  }
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 4, NoiseWord::bits64);
  inputs.sampler = &sampler;
  inputs.noise = &source;
  EXPECT_TRUE(fails_with(encode_update(update, 1, spec, inputs, lanes), ErrorCode::invalid_argument,
                         "with noise weight_max must be 1"));
}

TEST(UpdateEncoding, NoiseIsAddedToEveryCoordinateAndNotToTheWeight) {
  const EncodingTerms spec = spec_of(20);
  const std::vector<float> update = random_update(1000, 1, 3);
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 100, NoiseWord::bits64);
  const auto plain = encode<uint32_t>(update, 1, spec, 9), noised = encode<uint32_t>(update, 1, spec, 9, &sampler);
  std::vector<int32_t> noise(plain.lanes.size() - 1);
  sampler.draw(CounterSource(19), 0, noise);
  for (size_t i = 0; i < noise.size(); ++i) {
    EXPECT_EQ(noised.lanes[i], (plain.lanes[i] + static_cast<uint32_t>(noise[i])) & 0xfffffu);
  }
  EXPECT_EQ(noised.lanes.back(), 1u);
}

TEST(UpdateEncoding, RefusesASumThatWasNotUnmasked) {
  const EncodingTerms spec = spec_of(20);
  std::vector<float> mean(100);
  std::vector<uint32_t> lanes(encoded_lanes(spec, mean.size()));
  for (const uint32_t bad : {0u, 21u, 0xfffffu, 0x80000u}) {
    lanes.back() = bad;
    EXPECT_TRUE(fails_with(decode_sum(std::span<const uint32_t>(lanes), spec, &kSigns, mean), ErrorCode::malformed,
                           "its weight must be in [1, 20]"));
  }
}

// Even if all contributors send the same, and the noise is what it is.
TEST(UpdateEncoding, ASumByThePlanDoesNotWrap) {
  for (const bool rotated : {false, true}) {
    const auto plan = choose_scale_and_bits({.dimension = 2000,
                                             .contributors_max = 50,
                                             .honest_min = 30,
                                             .clip_norm = 0.5,
                                             .rotated = rotated,
                                             .noise_multiplier = 1});
    ASSERT_TRUE(is_ok(plan));
    const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, plan->local_variance, NoiseWord::bits64);
    std::vector<float> update(2000);
    update[7] = 0.5f;
    std::vector<int64_t> truth;
    for (uint64_t client = 0; client < 50; ++client) {
      ASSERT_LE(plan->spec.ring_bits, 32u);
      EncodingTerms wide = plan->spec;  // where nothing can wrap
      wide.ring_bits = 64;
      const auto encoded = encode<uint64_t>(update, 1, wide, client, &sampler);
      truth.resize(encoded.lanes.size());
      for (size_t i = 0; i < truth.size(); ++i) truth[i] += static_cast<int64_t>(encoded.lanes[i]);
    }
    for (const int64_t lane : truth) {
      EXPECT_LT(std::abs(lane), int64_t{1} << (plan->spec.ring_bits - 1));
      EXPECT_LE(static_cast<double>(std::abs(lane)), plan->sum_bound);
    }
  }
}

// Both ends on any machine.
TEST(UpdateEncoding, GivesTheseBytes) {
  std::vector<float> update(2500);
  Prng prng(11);
  for (float& value : update) value = static_cast<float>(static_cast<int32_t>(prng.below(2001)) - 1000) / 16384;
  const EncodingTerms spec = spec_of(26);
  const NoiseSampler sampler = *NoiseSampler::make(NoiseKind::skellam, 64, NoiseWord::bits128);
  const auto encoded = encode<uint32_t>(update, 1, spec, 12, &sampler);
  EXPECT_EQ(sha256({reinterpret_cast<const uint8_t*>(encoded.lanes.data()), 4 * encoded.lanes.size()}).hex(),
            "1557bfaee8cb2b7d6a3914afdc5f2e2e033718539878d5890129b1a59d7a7f48");
  std::vector<float> mean(update.size());
  ASSERT_TRUE(is_ok(decode_sum(std::span<const uint32_t>(encoded.lanes), spec, &kSigns, mean)));
  EXPECT_EQ(sha256({reinterpret_cast<const uint8_t*>(mean.data()), 4 * mean.size()}).hex(),
            "15508868c4c5f1ef5ff8c59208fc3927fbfc395af98325d782309d93891b514b");
}

TEST(EncodingTerms, IsCheckedBeforeItIsUsed) {
  const auto refuses = [](auto change, std::string_view why) {
    EncodingTerms spec = spec_of(32);
    change(spec);
    return fails_with(validate(spec), ErrorCode::invalid_argument, why);
  };
  EXPECT_TRUE(is_ok(validate(spec_of(32))));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.fraction_bits = 31; }, "fraction_bits must be at most 30, is 31"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.ring_bits = 7; }, "ring_bits must be in [8, 64], is 7"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.ring_bits = 65; }, "ring_bits must be in [8, 64], is 65"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.clip_norm = std::nan(""); }, "clip_norm must be finite"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.clip_norm = 0; }, "clip_norm must be finite"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.weight_max = 0; }, "weight_max must be in"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.contributors_max = 0; }, "contributors_max must be at least 1"));
  EXPECT_TRUE(refuses([](EncodingTerms& s) { s.clip_norm = 0x1p23; }, "must be at most 2^30"));
  EXPECT_TRUE(refuses(
      [](EncodingTerms& s) {
        s.clip_norm = 1e308;
        s.weight_max = 1 << 24;
      },
      "must be at most 2^30"));
}

}  // namespace
}  // namespace coterie
