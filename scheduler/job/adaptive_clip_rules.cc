#include "scheduler/job/adaptive_clip_rules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "scheduler/job/scalar_rules.h"
#include "scheduler/job/settings_checker.h"
#include "scheduler/job/watch_norm.h"
#include "secure/dp/account/number_words.h"
#include "secure/dp/encode/adaptive_clip.h"

namespace coterie {
namespace {

constexpr double kBitsSigmaMax = 1e9;

double bits_sigma_of(const HorizontalSettings& settings) {
  const double given = settings.privacy.adaptive_clip->bits_sigma;
  if (given > 0) return given;
  // The paper's share of the updates; in small rounds no less than costs the updates 15 % more noise.
  return std::max(settings.rounds.goal_count / 20.0, settings.privacy.noise_multiplier);
}

void check_numbers(const AdaptiveClipSettings& clip, const HorizontalSettings& settings, SettingsChecker& check) {
  // At 0 and 1 it would move one way for ever.
  check.require(clip.quantile > 0 && clip.quantile < 1, "/privacy/adaptive_clip/quantile",
                "must be above 0 and below 1, is " + number_words(clip.quantile) +
                    ": the share of updates that are not to be clipped");
  check.require(clip.learning_rate > 0 && clip.learning_rate <= 1, "/privacy/adaptive_clip/learning_rate",
                "must be above 0 and at most 1, is " + number_words(clip.learning_rate));
  const double least = settings.privacy.noise_multiplier;
  check.require(clip.bits_sigma == 0 || (clip.bits_sigma >= least && clip.bits_sigma <= kBitsSigmaMax),
                "/privacy/adaptive_clip/bits_sigma",
                "must be 0, for goal_count / 20 and noise_multiplier at least, or in [noise_multiplier, 1e9], is " +
                    number_words(clip.bits_sigma) + ": with less the bits leave the updates little of the budget");
}

}  // namespace

Problems adaptive_clip_problems(const HorizontalSettings& settings) {
  Problems problems;
  if (!settings.privacy.adaptive_clip) return problems;
  SettingsChecker check(problems);
  check_numbers(*settings.privacy.adaptive_clip, settings, check);
  const auto refuse = [&](bool is_there, const std::string& with, const std::string& reason) {
    check.require(!is_there, "/privacy/adaptive_clip", "does not go with " + with + ": " + reason);
  };
  check.require(settings.privacy.has_noise(), "/privacy/adaptive_clip",
                "needs noise: it is for what noise is made for, the norm of one device's update; set "
                "privacy.noise_multiplier at level none or active_dp, or take this out");
  refuse(settings.privacy.mechanism == NoiseMechanism::tree, "privacy.mechanism tree",
         "a later round takes off what noise an earlier one added, and could not where both have other clips");
  refuse(settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
         "the bits are counted by their sum alone; take mean");
  refuse(settings.update.compression.is_on(), "update.compression", "its grid is made for one clip");
  refuse(settings.strategy.statistics == Statistics::pooled, "strategy.statistics pooled",
         "no clip fits running statistics");
  refuse(settings.strategy.rule->correction != CorrectionKind::none,
         "strategy.kind " + std::string(settings.strategy.rule->name), "its state has to move by what devices keep");
  const auto clip = static_cast<double>(settings.update.clip_l2);
  check.require(clip >= kClipNormMin && settings.update.clip_l2 <= settings.update.value_abs_max, "/update/clip_l2",
                "must be in [1e-12, update.value_abs_max] with privacy.adaptive_clip: it is what the first round clips "
                "to, and what all updates are scaled to");
  return problems;
}

AdaptiveClipNoise adaptive_clip_noise(const HorizontalSettings& settings) {
  const double bits_sigma = bits_sigma_of(settings);
  const Result<double> multiplier = update_noise_multiplier(settings.privacy.noise_multiplier, bits_sigma);
  COT_ASSERT(multiplier.has_value());
  const double longer = std::hypot(1, watch_norm_of(settings) / static_cast<double>(settings.update.clip_l2));
  return {.bits_sigma = bits_sigma, .update_multiplier = *multiplier * longer};
}

ClipRules clip_rules_of(const HorizontalSettings& settings) {
  if (!settings.privacy.adaptive_clip) return {};
  const AdaptiveClipNoise noise = adaptive_clip_noise(settings);
  const auto clip = static_cast<double>(settings.update.clip_l2);
  // beta = z_delta S' / (2 sigma_b): one noise on all values is then the right one for the bit, too
  // (adaptive_clip_rules.h).
  return {.clip_norm = clip, .bit = static_cast<float>(noise.update_multiplier * clip / (2 * noise.bits_sigma))};
}

uint64_t update_value_count(const HorizontalSettings& settings, uint64_t model_value_count) {
  const uint64_t control = has_control(settings.strategy.rule->correction) ? model_value_count : 0;
  return model_value_count + control + (settings.privacy.adaptive_clip ? 1 : 0) + scalars_of(settings).size();
}

double clip_norm_of(const HorizontalSettings& settings, double clip_norm) {
  if (!settings.privacy.adaptive_clip) return 0;
  if (clip_norm == 0) return static_cast<double>(settings.update.clip_l2);
  return std::clamp(clip_norm, kClipNormMin, kClipNormMax);
}

Result<double> next_clip_norm(const HorizontalSettings& settings, const ClipRules& rules, double bits_sum,
                              uint64_t updates) {
  const AdaptiveClipSettings& job = *settings.privacy.adaptive_clip;
  COT_ASSIGN(AdaptiveClip clip,
             AdaptiveClip::make(
                 {.clip_norm_initial = rules.clip_norm, .quantile = job.quantile, .learning_rate = job.learning_rate}));
  // Bits are +-1/2 in units of 2 beta, so that half of the updates make ones and zeros of them.
  const double unclipped = bits_sum / (2 * static_cast<double>(rules.bit)) + static_cast<double>(updates) / 2;
  COT_TRY(clip.step(unclipped, updates));
  return clip.clip_norm();
}

}  // namespace coterie
