// What a job with analytics may say beside them, and what follows from them for the rest of the job.
//
// Such a job has the rounds, sums, levels, noise and ledger of any other. Its model is the table of all counts so far
// (proto/codec/analytics_table.h): a round's sum is added to it as it is, undivided, so that fedavg with rate 1 makes
// the next version. Where each round asks what those before leave open (round_question.h) the table has a block for
// each, to which its sum is added. Its clip is the longest vector that a device may add (l2_sensitivity), so that no
// honest device is ever scaled, and the accountant has what it needs.
#pragma once

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// What each device is told; edges as examples have them, by the arithmetic that encodes examples (tools/data). Where
// each round asks anew it is what the first one asks, or, made of a round's question, that round.
AnalyticsRules rules_of(const AnalyticsSettings& analytics);

// Blocks of its table: one, or one for each round. Precondition: there are analytics.
uint32_t blocks_of(const HorizontalSettings& settings);

// What the rest of the job is where the operator does not say: the one way in which a table can be summed.
void set_defaults(const AnalyticsSettings& analytics, HorizontalSettings& settings);

// Does nothing without analytics.
void check_analytics(const HorizontalSettings& settings, SettingsChecker& check);

// Standard deviation of the noise in one lane of a round's sum of so many updates, in counts; 0 without noise. At
// active_dp devices draw it, and each rounds to its grid at random beside.
double lane_noise_of(const HorizontalSettings& settings, uint64_t updates);

}  // namespace coterie
