#include "scheduler/job/round_release.h"

#include <cmath>
#include <utility>

#include "proto/messages/watch_lanes.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/central_noise.h"
#include "scheduler/job/plan_privacy.h"
#include "scheduler/job/watch_norm.h"
#include "secure/dp/account/number_words.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/noise/wide_gaussian.h"

namespace coterie {

// The plan must not ask for noise that the sampler cannot draw.
static_assert(kNoiseSigmaMin >= WideGaussian::kSigmaMin && kNoiseSigmaMax <= WideGaussian::kSigmaMax);

bool keeps_ledger(const JobSettings& settings) {
  return std::visit(
      [](const HorizontalSettings& horizontal) {
        return horizontal.privacy.has_noise() || horizontal.privacy.level == SecurityLevel::active_dp;
      },
      settings.kind);
}

LedgerRelease release_of(const HorizontalSettings& settings, uint64_t value_count) {
  if (!settings.privacy.has_central_noise()) {
    const Result<PrivacyRules> rules = privacy_rules_of(settings, value_count);
    COT_ASSERT(rules.has_value());
    return release_of(*rules, update_value_count(settings, value_count)).value();
  }
  const Result<CentralNoise> noise = central_noise_of(settings, value_count);
  COT_ASSERT(noise.has_value());
  const auto values = static_cast<double>(update_value_count(settings, value_count));
  if (settings.privacy.has_tree_noise()) {
    // The job's nodes are a part of the tree's (noise_tree.h), of which there are fewer than two a round. The account
    // is of all that a device is in, for whatever rounds as far apart as the server keeps them (tree.h).
    const Result<double> squared =
        tree_squared_sensitivity({settings.rounds.count, settings.rounds.separation_min, Participation::separated});
    COT_ASSERT(squared.has_value());
    const double drawn = values * static_cast<double>(settings.rounds.count);
    // The last factor is more than what this arithmetic may have rounded down.
    const double l2_sensitivity = noise->l2_sensitivity * std::sqrt(*squared) * (1 + 0x1p-40);
    return {.mechanism = LedgerMechanism::tree,
            .variance = noise->sigma * noise->sigma,
            .l1_sensitivity = std::sqrt(drawn) * l2_sensitivity,
            .l2_sensitivity = l2_sensitivity,
            .total_variation = drawn * WideGaussian::kTotalVariationMax};
  }
  return {.mechanism = LedgerMechanism::discrete_gaussian,
          .variance = noise->sigma * noise->sigma,
          .l1_sensitivity = std::sqrt(values) * noise->l2_sensitivity,
          .l2_sensitivity = noise->l2_sensitivity,
          .total_variation = values * WideGaussian::kTotalVariationMax};
}

bool is_charged(const Ledger& ledger, const JobRecord& job) {
  const HorizontalSettings& settings = job.spec.horizontal();
  return settings.privacy.has_tree_noise() && ledger.covers(job.id, release_of(settings, job.values().step_count()));
}

PrivacyBudget budget_of(const HorizontalSettings& settings) {
  return {settings.privacy.epsilon_budget, settings.privacy.target_delta};
}

Result<std::string> why_no_release(const Ledger& ledger, const JobRecord& job) {
  if (is_charged(ledger, job)) return std::string();
  const Status admitted = ledger.admits(job.id, release_of(job.spec.horizontal(), job.values().step_count()),
                                        budget_of(job.spec.horizontal()));
  if (admitted) return std::string();
  if (admitted.error().code() != ErrorCode::permission_denied) return admitted.error();
  return admitted.error().message();
}

namespace {

// What the noise is made of where the clip adapts itself: of two releases in one.
std::vector<std::string> clip_assumptions(const HorizontalSettings& settings) {
  if (!settings.privacy.adaptive_clip) return {};
  const AdaptiveClipNoise noise = adaptive_clip_noise(settings);
  return {
      "clip: adaptive; each round releases the count of updates within its clip norm, too, and noise_multiplier is "
      "of both together: " +
      number_words(noise.update_multiplier) + " times the clip norm for the updates, and " +
      number_words(noise.bits_sigma) + " updates of standard deviation for the count"};
}

// Likewise where devices tell what they found in their trainings.
std::vector<std::string> watch_assumptions(const HorizontalSettings& settings) {
  const double share = watch_norm_of(settings) / static_cast<double>(settings.update.clip_l2);
  if (!(share > 0)) return {};
  return {"watch: each update tells beside what its training found, in " +
          std::to_string(watch_lane_count(named_checks(*settings.training.watch))) +
          " numbers of two values each, of norm " + number_words(share) +
          " times the clip norm whatever was found; noise_multiplier is of both together, so that the model has " +
          number_words(std::hypot(1, share)) + " times the noise that it has without"};
}

}  // namespace

std::vector<std::string> round_assumptions(const HorizontalSettings& settings) {
  if (!settings.privacy.has_central_noise()) {
    const PrivacySettings& privacy = settings.privacy;
    std::vector<std::string> assumptions = {
        "unit: one enrolled device and all it ever sends to this job; who has several devices counts as several",
        "noise: of the devices; a sum has at least " + std::to_string(privacy.cohort_min) +
            " updates, of a cohort of at "
            "most " +
            std::to_string(cohort_goal(settings)) + " devices, at most " + number_words(privacy.corrupt_share) +
            " of which tell their noise or leave it out",
        "sensitivity: each device clips, rounds and weighs its own update with 1; one that does not protects "
        "itself less, "
        "and nobody else",
        "who is protected against: those who see the sums, the server among them",
        "not covered: which devices take part in a round, and how many",
        "not covered: other jobs with the same devices; their epsilons and deltas add to this one's"};
    for (std::string& words : clip_assumptions(settings)) assumptions.push_back(std::move(words));
    for (std::string& words : watch_assumptions(settings)) assumptions.push_back(std::move(words));
    return assumptions;
  }
  std::vector<std::string> assumptions = {
      "unit: one enrolled device and all it ever sends to this job; who has several devices counts as several",
      "sensitivity: the server refuses an update whose norm is over the plan's clip, and every update has weight 1",
      settings.analytics ? "divisor: none, the noisy sum is added to the table"
                         : "divisor: the noisy sum is divided by the plan's goal_count, " +
                               std::to_string(settings.rounds.goal_count) + ", whoever came",
      "who is protected against: those who see the released models; at level none the server sees every update",
      settings.analytics ? "not covered: how many devices a round counts, shown to operators without noise"
                         : "not covered: how many devices a round counts, and their summed loss and accuracy, shown to "
                           "operators without noise",
      "not covered: other jobs with the same devices; their epsilons and deltas add to this one's"};
  for (std::string& words : clip_assumptions(settings)) assumptions.push_back(std::move(words));
  for (std::string& words : watch_assumptions(settings)) assumptions.push_back(std::move(words));
  if (settings.privacy.has_tree_noise()) {
    assumptions.push_back("tree: the epsilon is of all " + std::to_string(settings.rounds.count) +
                          " rounds, from the first one on; later rounds add nothing");
    assumptions.push_back("separation: between two rounds that count the same device lie " +
                          std::to_string(settings.rounds.separation_min) +
                          " rounds or more, which the server enforces");
  }
  return assumptions;
}

}  // namespace coterie
