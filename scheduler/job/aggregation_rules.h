// What a job may say about its aggregation rule: with what a rule that looks at single updates goes together, and what
// keeping these may cost. Where masks hide updates the rule compares the means of cohorts.
//
// A round keeps the updates of all who hold a ticket, and of as many again: a server that starts anew in mid-round
// gives tickets to others, and those of before may still come.
#pragma once

#include <cstdint>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

// Limits of one round. Bytes are those of its updates in the blob store. A rule that compares all pairs of updates
// takes time in proportion to pairs x values: 2e11 are some minutes of one core.
inline constexpr uint32_t kKeptUpdatesMax = 1024;
inline constexpr uint64_t kKeptBytesMax = 16ull << 30;
inline constexpr double kPairValuesMax = 2e11;

// Updates that a round of a job may keep at most: that many batches, where each is one update.
uint32_t kept_updates_max(const RoundSettings& rounds);

// The rule, if there is one, compares cohorts.
bool compares_cohorts(const HorizontalSettings& settings);

// What the settings say by themselves.
void check_aggregation(const HorizontalSettings& settings, SettingsChecker& check);

// What can be said when the model is known. Precondition: validate(settings) is empty.
Problems validate_kept_updates(const HorizontalSettings& settings, uint64_t value_count);

}  // namespace coterie
