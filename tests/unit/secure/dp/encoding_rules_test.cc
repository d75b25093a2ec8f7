// A plan's encoding rules and the spec that secure/ makes of them have one set of ranges: what the plan allows, the
// encoder takes, and what it would not take, no plan asks for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proto/messages/privacy_rules.h"
#include "proto/ring/fixed_point.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/dp/encode/encoding_terms.h"
#include "secure/dp/noise/noise_weights.h"
#include "secure/secagg/graph_parameters.h"

namespace coterie {
namespace {

PrivacyRules good() {
  return {
      .level = SecurityLevel::active_dp,
      .cohort_min = 2,
      .corrupt_share = 0.1,
      .dropout_share = 0,
      .cipher_suite = 1,
      .encoding =
          {.fraction_bits = 0, .ring_bits = 8, .clip_norm = 1, .weight_max = 1, .contributors_max = 2, .rotated = true},
      .noise_variance_local = 1,
      .epsilon_round = 1,
      .delta = 0.5};
}

TEST(EncodingRules, HaveTheRangesOfTheSpec) {
  const double largest = std::numeric_limits<double>::max();
  int allowed = 0, refused = 0;
  for (const uint32_t fraction_bits : {0u, 1u, kEncodingFractionBitsMax, kEncodingFractionBitsMax + 1, ~0u}) {
    for (const uint32_t ring_bits : {0u, kRingBitsMin - 1, kRingBitsMin, kRingBitsMax, kRingBitsMax + 1}) {
      for (const double clip_norm :
           {-1.0, 0.0, 1e-9, 1.0, std::nextafter(1.0, 2.0), 64.0, 0x1p30, largest, double{NAN}}) {
        for (const uint32_t weight_max : {0u, 1u, kWeightMax, kWeightMax + 1}) {
          const EncodingTerms spec{fraction_bits, ring_bits, clip_norm, weight_max, 2, true};
          PrivacyRules rules = good();
          rules.encoding = {fraction_bits, ring_bits, clip_norm, weight_max, 2, true};
          const bool valid = validate(spec).has_value();
          EXPECT_EQ(validate(rules).has_value(), valid)
              << fraction_bits << " " << ring_bits << " " << clip_norm << " " << weight_max;
          ++(valid ? allowed : refused);
        }
      }
    }
  }
  EXPECT_GT(allowed, 10);
  EXPECT_GT(refused, 10);
}

TEST(EncodingRules, HaveTheSamplersVariancesAndTheCohortsOfGraphs) {
  const auto is_good = [](double variance) {
    PrivacyRules rules = good();
    rules.noise_variance_local = variance;
    return validate(rules).has_value();
  };
  EXPECT_TRUE(is_good(kNoiseVarianceMin));
  EXPECT_FALSE(is_good(std::nextafter(kNoiseVarianceMin, 0)));
  EXPECT_TRUE(is_good(kNoiseVarianceMax));
  EXPECT_FALSE(is_good(std::nextafter(kNoiseVarianceMax, 2 * kNoiseVarianceMax)));
  EXPECT_EQ(kRosterSizeMax, secagg::kCohortSizeMax);
  for (const CipherSuite suite : {CipherSuite::aes256_ctr, CipherSuite::chacha20}) {
    PrivacyRules rules = good();
    rules.cipher_suite = static_cast<uint8_t>(suite);
    EXPECT_TRUE(validate(rules).has_value());
  }
}

}  // namespace
}  // namespace coterie
