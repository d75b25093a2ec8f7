#include "scheduler/job/round_terms.h"

namespace coterie {

RoundTerms terms_of(const HorizontalSettings& settings, const RoundFacts& facts) {
  return {.learning_rate = scheduled_rate(settings.training.optimizer.learning_rate, settings.schedules.device,
                                          facts.number, settings.rounds.count),
          .ledger = facts.ledger};
}

RoundTerms terms_in(const Plan& plan) {
  return {.learning_rate = plan.training.optimizer.learning_rate, .ledger = plan.ledger};
}

Plan with_terms(Plan plan, const RoundTerms& terms) {
  plan.training.optimizer.learning_rate = terms.learning_rate;
  plan.ledger = terms.ledger;
  return plan;
}

StrategySettings strategy_of_round(const HorizontalSettings& settings, uint64_t number) {
  StrategySettings strategy = settings.strategy;
  float& rate = strategy.values.front();  // server_learning_rate is the first of every rule
  rate = scheduled_rate(rate, settings.schedules.server, number, settings.rounds.count);
  return strategy;
}

}  // namespace coterie
