#include "proto/messages/privacy_rules.h"

#include <cmath>
#include <string>

#include "proto/messages/cipher_suite.h"
#include "proto/ring/fixed_point.h"

namespace coterie {
namespace {

// As secure/ has them; a test compares.
constexpr uint32_t kFractionBitsMax = 30, kRingMin = 8, kRingMax = 64;
constexpr double kNormMax = 0x1p30;  // in steps of the grid
constexpr double kVarianceMin = 0.0025, kVarianceMax = 0x1p20;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "plan: privacy: " + what); }

Status validate(const EncodingRules& encoding) {
  if (encoding.fraction_bits > kFractionBitsMax) return bad("fraction_bits must be at most 30");
  if (encoding.ring_bits < kRingMin || encoding.ring_bits > kRingMax) return bad("ring_bits must be in [8, 64]");
  if (!std::isfinite(encoding.clip_norm) || encoding.clip_norm <= 0) return bad("clip_norm must be finite and > 0");
  if (encoding.weight_max < 1 || encoding.weight_max > kWeightMax) return bad("weight_max must be in [1, 2^24]");
  if (encoding.contributors_max < 1) return bad("contributors_max must be at least 1");
  if (!(std::ldexp(encoding.clip_norm * encoding.weight_max, static_cast<int>(encoding.fraction_bits)) <= kNormMax)) {
    return bad("clip_norm * weight_max * 2^fraction_bits must be at most 2^30");
  }
  return {};
}

Status validate_noise(const PrivacyRules& rules) {
  if (rules.level != SecurityLevel::active_dp) {
    if (rules.noise_variance_local == 0 && rules.epsilon_round == 0 && rules.delta == 0) return {};
    return bad("noise_variance_local, epsilon_round and delta must be 0 below active_dp");
  }
  if (!(rules.noise_variance_local >= kVarianceMin && rules.noise_variance_local <= kVarianceMax)) {
    return bad("noise_variance_local must be in [0.0025, 2^20]");
  }
  if (!std::isfinite(rules.epsilon_round) || rules.epsilon_round <= 0)
    return bad("epsilon_round must be finite and > 0");
  if (!(rules.delta > 0 && rules.delta < 1)) return bad("delta must be in (0, 1)");
  return {};
}

}  // namespace

Status validate(const PrivacyRules& rules) {
  if (rules.level > SecurityLevel::active_dp) return bad("level is unknown");
  if (rules.level == SecurityLevel::none) {
    if (rules == PrivacyRules{}) return {};
    return bad("level none has no other rules");
  }
  if (rules.cohort_min < kRosterSizeMin || rules.cohort_min > kRosterSizeMax) {
    return bad("cohort_min must be in [" + std::to_string(kRosterSizeMin) + ", " + std::to_string(kRosterSizeMax) +
               "]");
  }
  if (rules.roster_max < rules.cohort_min || rules.roster_max > kRosterSizeMax) {
    return bad("roster_max must be in [cohort_min, " + std::to_string(kRosterSizeMax) + "]");
  }
  if (!(rules.corrupt_share >= 0 && rules.corrupt_share < 1)) return bad("corrupt_share must be in [0, 1)");
  if (!(rules.dropout_share >= 0 && rules.dropout_share < 1)) return bad("dropout_share must be in [0, 1)");
  const auto suite = static_cast<CipherSuite>(rules.cipher_suite);
  if (suite != CipherSuite::aes256_ctr && suite != CipherSuite::chacha20) return bad("cipher_suite must be 1 or 2");
  if (rules.level != SecurityLevel::active_dp) {
    if (rules.encoding != EncodingRules{})
      return bad("below active_dp lanes are the update's fixed point: no encoding");
    return validate_noise(rules);
  }
  COT_TRY(validate(rules.encoding));
  if (rules.encoding.contributors_max < rules.cohort_min) return bad("contributors_max must be at least cohort_min");
  return validate_noise(rules);
}

}  // namespace coterie
