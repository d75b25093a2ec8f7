#include "scheduler/job/round_terms.h"

#include <algorithm>

#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/adaptive_mu_rules.h"
#include "scheduler/job/weight_share.h"

namespace coterie {
namespace {

// What devices hold, of what they trained on: each example in each epoch. Less where a device stops before (steps_max,
// early_stopping), which makes the cap lower, so that more devices weigh the same. Where nothing is known everybody
// weighs at least 1.
uint64_t weight_median(const HorizontalSettings& settings, uint64_t examples_median) {
  return std::max<uint64_t>(1, examples_median / std::max(1u, settings.training.local_epochs));
}

uint32_t weight_max_of(const HorizontalSettings& settings, const RoundFacts& facts) {
  const UpdateSettings& update = settings.update;
  if (update.weight_share_max >= 1) return update.weight_max;
  const uint64_t fair = weight_max_for_share(update.weight_share_max, settings.rounds.goal_count,
                                             weight_median(settings, facts.examples_median));
  return static_cast<uint32_t>(std::min<uint64_t>(update.weight_max, fair));
}

}  // namespace

RoundFacts facts_of(const RoundRecord& round) {
  return {.number = round.number,
          .ledger = round.ledger,
          .examples_median = round.examples_median,
          .clip_norm = round.clip_norm,
          .proximal_mu = round.proximal_mu};
}

RoundFacts facts_of(const RoundRecord& round, const ModelRecord& base) {
  RoundFacts facts = facts_of(round);
  facts.state = base.optimizer_state;
  facts.deltas = base.deltas;
  return facts;
}

RoundTerms terms_of(const HorizontalSettings& settings, const RoundFacts& facts) {
  return {.learning_rate = scheduled_rate(settings.training.optimizer.learning_rate, settings.schedules.device,
                                          facts.number, settings.rounds.count),
          .weight_max = weight_max_of(settings, facts),
          .ledger = facts.ledger,
          .clip_norm = clip_norm_of(settings, facts.clip_norm),
          .control = hands_out_state(*settings.strategy.rule) ? facts.state : std::nullopt,
          .deltas = settings.download.is_on() ? facts.deltas : std::vector<DeltaFile>(),
          .proximal_mu = proximal_mu_of(settings, facts.proximal_mu)};
}

RoundTerms terms_in(const Plan& plan) {
  return {.learning_rate = plan.training.optimizer.learning_rate,
          .weight_max = plan.update.fixed_point.weight_max,
          .ledger = plan.ledger,
          .clip_norm = plan.update.clip.clip_norm,
          .control = plan.control,
          .deltas = plan.download.deltas,
          .proximal_mu = plan.training.proximal_mu};
}

Plan with_terms(Plan plan, const RoundTerms& terms) {
  plan.training.optimizer.learning_rate = terms.learning_rate;
  plan.update.fixed_point.weight_max = terms.weight_max;  // a larger one was fitted into the lanes
  plan.ledger = terms.ledger;
  plan.update.clip.clip_norm = terms.clip_norm;
  plan.control = terms.control;
  plan.download.deltas = terms.deltas;
  plan.training.proximal_mu = terms.proximal_mu;
  return plan;
}

StrategySettings strategy_of_round(const HorizontalSettings& settings, uint64_t number) {
  StrategySettings strategy = settings.strategy;
  float& rate = strategy.values.front();  // server_learning_rate is the first of every rule
  rate = scheduled_rate(rate, settings.schedules.server, number, settings.rounds.count);
  return strategy;
}

}  // namespace coterie
