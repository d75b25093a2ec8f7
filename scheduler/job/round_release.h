// What one round of a job with noise releases, as the ledger has it: where the job's words become the accountants'.
#pragma once

#include <string>
#include <vector>

#include "scheduler/job/records.h"
#include "secure/dp/ledger/ledger.h"

namespace coterie {

// Whether the job's releases are in the ledger, so that devices are shown its head.
bool keeps_ledger(const JobSettings& settings);

// Preconditions of all that follow: the job's spec is valid, has noise, and validate_with_model(settings, value_count)
// is empty.

// Central noise: discrete Gaussian, of central_noise_of(), on a vector of `value_count` integers. Noise of the devices:
// Skellam, of the plan's rules (secure/dp/distributed/device_noise.h). Noise of a tree: all that the job will ever
// release, which is charged once, with its first round.
LedgerRelease release_of(const HorizontalSettings& settings, uint64_t value_count);
PrivacyBudget budget_of(const HorizontalSettings& settings);

// Whether the job's next round has been charged already: its tree of noise is in the ledger.
bool is_charged(const Ledger& ledger, const JobRecord& job);

// Why the job may not release once more: empty if it may. An error if the ledger cannot be accounted for.
Result<std::string> why_no_release(const Ledger& ledger, const JobRecord& job);

// Assumptions of the privacy guarantee beyond the accountant's own, as sentences to show.
std::vector<std::string> round_assumptions(const HorizontalSettings& settings);

}  // namespace coterie
