#include "scheduler/job/buffered_rules.h"

#include <string>

#include "proto/messages/personal_part.h"

namespace coterie {
namespace {

constexpr std::string_view kRoundPolicies[] = {"synchronous", "buffered"};

void check_synchronous(const RoundSettings& rounds, SettingsChecker& check) {
  const std::string why = "must be absent without rounds.policy buffered: other rounds count no late update";
  const RoundSettings defaults;
  check.require(rounds.concurrency == defaults.concurrency, "/rounds/concurrency", why);
  check.require(rounds.staleness_max == defaults.staleness_max, "/rounds/staleness_max", why);
  check.require(rounds.staleness_exponent == defaults.staleness_exponent, "/rounds/staleness_exponent", why);
}

}  // namespace

std::string_view to_string(RoundPolicyKind kind) { return kRoundPolicies[static_cast<size_t>(kind)]; }
std::span<const std::string_view> round_policy_names() { return kRoundPolicies; }

void check_buffered(const HorizontalSettings& settings, SettingsChecker& check) {
  const RoundSettings& rounds = settings.rounds;
  if (!rounds.is_buffered()) return check_synchronous(rounds, check);
  check.in_range<uint32_t>(rounds.staleness_max, 1, kStalenessMax, "/rounds/staleness_max");
  check.in_range<double>(rounds.staleness_exponent, 0, 10, "/rounds/staleness_exponent");
  check.in_range<uint32_t>(rounds.concurrency, 0, 10'000'000, "/rounds/concurrency");
  check.require(rounds.concurrency == 0 || rounds.concurrency >= rounds.ticket_count(), "/rounds/concurrency",
                "must be 0 or at least as many as a round gives tickets, which is " +
                    std::to_string(rounds.ticket_count()) + ": with fewer at work no buffer fills");
  std::string reasons;  // all of them at once: they are of one key
  const auto refuse = [&](bool is_there, std::string_view with, std::string_view reason) {
    if (!is_there) return;
    reasons += (reasons.empty() ? "" : ". ") + ("buffered does not go with " + std::string(with)) + ": ";
    reasons += reason;
  };
  const PrivacySettings& privacy = settings.privacy;
  refuse(privacy.level >= SecurityLevel::active, "privacy.level " + std::string(to_string(privacy.level)),
         "a server that lies could hand one device of a sum another model than the rest, whose updates it knows "
         "beforehand; take level masked or none, or synchronous rounds");
  const uint32_t cohorts = privacy.level == SecurityLevel::none ? 1 : cohort_count(settings);
  refuse(cohorts > 1,
         "privacy.cohort_max " + std::to_string(privacy.cohort_max) + ", which makes " + std::to_string(cohorts) +
             " cohorts",
         "a cohort whose updates have receipts would wait for devices of the slowest one, hours perhaps; leave "
         "cohort_max out, or take a smaller goal_count");
  refuse(privacy.has_noise(), "privacy.noise_multiplier",
         "a device looks at the privacy ledger in the plan that it trains by, and would be counted in a release behind "
         "that; take synchronous rounds");
  refuse(privacy.adaptive_clip.has_value(), "privacy.adaptive_clip",
         "a late update was clipped by the norm of an earlier round, and its clip bit says nothing of this one's");
  refuse(settings.strategy.rule->correction != CorrectionKind::none,
         "strategy.kind " + std::string(settings.strategy.rule->name),
         "what its devices keep, and what it hands out, belong to the round that they trained for; take fedavg, "
         "fedavgm or fedadam");
  refuse(!settings.strategy.rule->scalars.empty(), "strategy.kind " + std::string(settings.strategy.rule->name),
         "what its devices tell is of the model that they trained from; take fedavg, fedavgm or fedadam");
  refuse(settings.aggregation.keeps_updates(), "aggregation.rule " + std::string(settings.aggregation.name()),
         "it tells lies from truth by comparing updates of one model, and late ones are of others; take mean");
  refuse(settings.strategy.statistics == Statistics::pooled, "strategy.statistics pooled",
         "running statistics say where a device stood, which a weight for being late does not scale");
  refuse(settings.update.compression.is_on(), "update.compression",
         settings.update.compression.keeps_residual()
             ? "whether a late update counts is known rounds later, and a device would train on without what it has "
               "carried over; take it out"
             : "an update is encoded for the plan of its own round, and no weight for being late scales it; take it "
               "out");
  refuse(settings.update.weight_share_max < 1, "update.weight_share_max",
         "the largest weight would be another one in the round that counts a late update than in its own; cap it with "
         "update.weight_max");
  refuse(settings.training.lora.has_value(), "training.lora",
         "companions are merged when a round ends, and those of late updates belong to weights of before");
  refuse(settings.training.personal.has_value(), "training.personal",
         "what a device keeps belongs to the model that it trained from, and a late update is of another");
  refuse(!settings.training.widths.empty(), "training.widths",
         "each value has a divisor of its own round, and a late update is of another");
  check.require(reasons.empty(), "/rounds/policy", reasons);
}

Problems buffered_problems(const HorizontalSettings& settings, const ModelGraph& graph) {
  const size_t moving = shared_statistics(graph, settings.training).size();
  if (!settings.rounds.is_buffered() || moving == 0) return {};
  return {{"/model", "has " + std::to_string(moving) +
                         " batch norms whose running statistics follow the devices' data, and rounds.policy buffered "
                         "has no place for those of late updates: freeze those norms in the model, use layer or group "
                         "norms, or take synchronous rounds"}};
}

StalenessRules staleness_of(const RoundSettings& rounds) {
  if (!rounds.is_buffered()) return {};
  return {.versions_max = rounds.staleness_max, .exponent = rounds.staleness_exponent};
}

}  // namespace coterie
