#include "secure/dp/distributed/device_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/dp/account/number_words.h"
#include "secure/dp/encode/encoding_plan.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {
namespace {

// More than the accountants' own arithmetic differs between two machines' mathematical libraries.
constexpr double kEpsilonSlack = 1 + 1e-6;

// A table of words of 128 bits, whatever a job draws in all.
constexpr NoiseWord kWord = NoiseWord::bits128;

Result<double> epsilon_of(const PrivacyRules& rules, uint64_t value_count) {
  COT_ASSIGN(const LedgerRelease release, release_of(rules, value_count));
  COT_ASSIGN(const PrivacyAccount account, account_of({{release, 1}}, rules.delta));
  return account.epsilon;
}

}  // namespace

Result<uint32_t> honest_min_of(uint32_t cohort_min, double corrupt_share, uint32_t roster_max) {
  if (roster_max > kNoisyRosterMax) {
    return Error(ErrorCode::invalid_argument, "with noise of the devices a cohort has at most " +
                                                  std::to_string(kNoisyRosterMax) + " devices, not " +
                                                  std::to_string(roster_max) +
                                                  ": of a larger one a part could be opened, with its own noise alone");
  }
  // The largest roster may have so many corrupt devices, while the sum has only cohort_min updates: the fewest honest
  // devices that any sum can have.
  const double corrupt = std::floor(corrupt_share * roster_max + 1e-9);
  if (corrupt < cohort_min) return cohort_min - static_cast<uint32_t>(corrupt);
  return Error(ErrorCode::invalid_argument, "all " + std::to_string(cohort_min) +
                                                " updates of a sum might be of corrupt devices, of which a roster of " +
                                                std::to_string(roster_max) + " may have " + number_words(corrupt) +
                                                ": raise cohort_min, or lower corrupt_share");
}

Status add_device_noise(PrivacyRules& rules, const DeviceNoiseGoal& goal) {
  COT_ASSIGN(const uint32_t honest_min, honest_min_of(rules.cohort_min, rules.corrupt_share, rules.roster_max));
  COT_ASSIGN(const EncodingPlan plan, choose_scale_and_bits({.dimension = goal.value_count,
                                                             .contributors_max = goal.cohort_count * rules.roster_max,
                                                             .honest_min = honest_min,
                                                             .clip_norm = goal.clip_norm,
                                                             .rotated = true,
                                                             .noise_multiplier = goal.noise_multiplier,
                                                             .noise_kind = NoiseKind::skellam}));
  rules.encoding = {.fraction_bits = plan.spec.fraction_bits,
                    .ring_bits = plan.spec.ring_bits,
                    .clip_norm = plan.spec.clip_norm,
                    .weight_max = plan.spec.weight_max,
                    .contributors_max = plan.spec.contributors_max,
                    .rotated = plan.spec.rotated};
  rules.noise_variance_local = plan.local_variance;
  rules.delta = goal.delta;
  COT_ASSIGN(const double epsilon, epsilon_of(rules, goal.value_count));
  if (!std::isfinite(epsilon)) {
    return Error(ErrorCode::invalid_argument, "no epsilon can be shown for a round at delta " +
                                                  number_words(goal.delta) +
                                                  ": raise noise_multiplier or target_delta");
  }
  rules.epsilon_round = epsilon * kEpsilonSlack;
  return validate(rules);
}

EncodingTerms encoding_of(const PrivacyRules& rules) {
  const EncodingRules& encoding = rules.encoding;
  return {.fraction_bits = encoding.fraction_bits,
          .ring_bits = encoding.ring_bits,
          .clip_norm = encoding.clip_norm,
          .weight_max = encoding.weight_max,
          .contributors_max = encoding.contributors_max,
          .rotated = encoding.rotated};
}

Result<LedgerRelease> release_of(const PrivacyRules& rules, uint64_t value_count) {
  const EncodingTerms spec = encoding_of(rules);
  COT_ASSIGN(const uint32_t honest_min, honest_min_of(rules.cohort_min, rules.corrupt_share, rules.roster_max));
  const auto squared = static_cast<double>(sensitivity_squared(spec, value_count));
  const auto coordinates = static_cast<double>(encoded_coordinates(spec, value_count));
  return LedgerRelease{.mechanism = LedgerMechanism::skellam,
                       .variance = honest_min * rules.noise_variance_local,
                       .l1_sensitivity = std::min(squared, std::sqrt(squared * coordinates)),
                       .l2_sensitivity = std::sqrt(squared),
                       // Each draw of each device is off its law by so much at most. The errors add up, and the account
                       // charges them to delta.
                       .total_variation = coordinates * spec.contributors_max * kDeviceDrawVariationMax};
}

Status check_promise(const PrivacyRules& rules, uint64_t value_count) {
  if (rules.encoding.weight_max != 1) {
    return Error(ErrorCode::refused,
                 "plan: with noise every update must have weight 1, the plan says up to " +
                     std::to_string(rules.encoding.weight_max),
                 "epsilon_round");
  }
  const Result<double> epsilon = epsilon_of(rules, value_count);
  if (!epsilon) return Error(ErrorCode::refused, "plan: privacy: " + epsilon.error().message(), "epsilon_round");
  if (*epsilon <= rules.epsilon_round) return {};
  return Error(ErrorCode::refused,
               "plan: a round costs epsilon " + number_words(*epsilon) + " at delta " + number_words(rules.delta) +
                   ", the plan says " + number_words(rules.epsilon_round),
               "epsilon_round");
}

double sum_sigma(const PrivacyRules& rules, uint64_t updates) {
  return std::sqrt(static_cast<double>(updates) * (rules.noise_variance_local + 0.25));
}

Result<NoiseSampler> device_sampler(const PrivacyRules& rules) {
  return NoiseSampler::make(NoiseKind::skellam, rules.noise_variance_local, kWord);
}

Result<KeyStreamSource> rotation_signs(const Digest& context) {
  const Secret<32> key = hkdf<32>({}, context.view(), DomainFields("coterie/v1/rotation").view());
  COT_ASSIGN(KeyStream stream, KeyStream::make(CipherSuite::aes256_ctr, key));
  return KeyStreamSource(std::move(stream));
}

}  // namespace coterie
