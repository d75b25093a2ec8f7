#include "tools/tune/tune_rungs.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr uint32_t kEtaMax = 16;

Error wrong(std::string message) { return Error(ErrorCode::invalid_argument, std::move(message)); }

}  // namespace

Result<std::vector<TuneRung>> tune_rungs(const TuneBudget& budget) {
  if (budget.arms < 2) return wrong("there is one setting: nothing is to be chosen; give more values with --set");
  if (budget.eta < 2 || budget.eta > kEtaMax) return wrong("eta must be in [2, " + std::to_string(kEtaMax) + "]");
  if (budget.rounds_first < 1 || budget.rounds_first > budget.rounds_max) {
    return wrong("the rounds of the first rung must be in [1, " + std::to_string(budget.rounds_max) +
                 "], the job's rounds.count, are " + std::to_string(budget.rounds_first));
  }
  std::vector<TuneRung> rungs;
  uint64_t arms = budget.arms, rounds = budget.rounds_first;
  uint32_t before = 0;
  const auto add = [&] {
    const auto reached = static_cast<uint32_t>(std::min<uint64_t>(rounds, budget.rounds_max));
    rungs.push_back({arms, reached, reached - before});
    before = reached;
  };
  for (add(); arms > budget.eta && before < budget.rounds_max; add()) {
    arms /= budget.eta;
    rounds *= budget.eta;
  }
  if (budget.finishes && before < budget.rounds_max) {
    arms = 1;
    rounds = budget.rounds_max;
    add();
  }
  return rungs;
}

uint64_t rounds_of(const std::vector<TuneRung>& rungs) {
  uint64_t rounds = 0;
  for (const TuneRung& rung : rungs) rounds += rung.arms * rung.added;
  return rounds;
}

}  // namespace coterie
