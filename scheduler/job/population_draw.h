// PopulationDraw: the budget of a population that a job draws from, and with whom. Its own population's, and those that
// its model comes from (docs/adr/0063). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "scheduler/job/records.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {

struct PopulationDraw {
  Population population;
  bool is_inherited = false;            // the job's model comes from there, its devices do not
  std::optional<PrivacyBudget> budget;  // none: nothing limits it
  std::vector<JobId> jobs;              // that have drawn from it, each once; in the ledger or not
};

// What a population may spend and has spent.
struct PopulationPrivacy {
  Population population;
  std::optional<PrivacyBudget> budget;
  uint64_t jobs = 0;   // that count
  PrivacySpent spent;  // at the budget's delta, where there is one
};

// `delta`: where there is no budget.
Result<PopulationPrivacy> privacy_of(const Ledger& ledger, const PopulationDraw& draw, double delta);

// Why the populations do not admit a release of the job, beside all that is in the ledger; empty if they do. The
// sentence names the population, or says that the model comes from there. A job without noise is admitted unless its
// own population has a budget. An error if the ledger cannot be accounted for. Precondition: the job's spec is valid,
// with its model.
Result<std::string> why_not_drawn(const Ledger& ledger, const JobRecord& job, std::span<const PopulationDraw> draws);

}  // namespace coterie
