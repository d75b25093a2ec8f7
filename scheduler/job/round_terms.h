// What a job's plan says anew in each round: RoundTerms, made of the job's settings and of what is known before the
// round. Pure. The same facts give the same terms: a retried attempt, a server that takes over and a simulation ask for
// the same.
//
//   plan of the job + terms_of(settings, facts) -> plan of the round        with_terms()
//
// Everything that deals with the updates of a round reads its plan, not the job's.
#pragma once

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/records.h"

namespace coterie {

// What is known before the round.
struct RoundFacts {
  uint64_t number = 1;  // of the round within its job
  LedgerHead ledger = {};
  uint64_t examples_median = 0;            // as in RoundRecord
  double clip_norm = 0;                    // likewise
  std::optional<double> proximal_mu = {};  // likewise
  std::optional<Digest> state = {};        // the base model's optimizer_state
  std::vector<DeltaFile> deltas = {};      // likewise
};
// `base`: the model that its devices train from.
RoundFacts facts_of(const RoundRecord& round, const ModelRecord& base);
// Without it: for terms whose control nobody reads.
RoundFacts facts_of(const RoundRecord& round);

struct RoundTerms {
  float learning_rate = 0;  // of the devices
  uint32_t weight_max = 0;  // of an update
  LedgerHead ledger = {};
  double clip_norm = 0;                // of adaptive clipping; 0: the job has none
  std::optional<Digest> control = {};  // as in Plan
  std::vector<DeltaFile> deltas = {};  // as in Plan::download
  float proximal_mu = 0;               // of the devices
  friend bool operator==(const RoundTerms&, const RoundTerms&) = default;
};

// Precondition: validate(settings) is empty.
RoundTerms terms_of(const HorizontalSettings& settings, const RoundFacts& facts);
// Those that a plan has.
RoundTerms terms_in(const Plan& plan);
Plan with_terms(Plan plan, const RoundTerms& terms);

// How round `number` moves the model: the job's strategy, at the round's rate.
StrategySettings strategy_of_round(const HorizontalSettings& settings, uint64_t number);

}  // namespace coterie
