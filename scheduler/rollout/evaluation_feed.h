// What a round of an evaluation of two models (proto/messages/evaluation_lanes.h) says to a canary of the new one: its
// devices' differences of accuracies, one observation a device. Pure.
//
// The server has sums alone: so many devices in each of 41 steps of difference. A canary's evidence is a product over
// devices of factors that depend on the difference alone (ADR 133), so the counts are all that it needs. It looks after
// each of them, however. So they come in an order that has nothing of the differences: the lanes' own order would put
// all harm first, and find harm where there is none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/analytics.h"
#include "scheduler/rollout/canary_machine.h"

namespace coterie {

// Examples of an observation: a difference is a whole number of them, to 1 / 20,000,000.
inline constexpr uint32_t kFedExamples = 20'000'000;

// One observation for each device that `after`, the table behind a round, has in its lanes of differences and `before`,
// the table ahead of it, has not. `seed`: of their order; the same for the same round. data_loss: it is no table that a
// round made of the other. Preconditions: the rules compare two models, and the tables are of them.
Result<std::vector<CanaryCounts>> observations_of(const AnalyticsRules& rules, std::span<const float> before,
                                                  std::span<const float> after, uint64_t seed);

// What the observation with this place in its round is called, as a canary's source: a device of one round, whoever it
// is. Nobody else may have such names (is_source_of_server).
std::string fed_source(const JobId& job, ModelVersion table, size_t place);
bool is_source_of_server(std::string_view source);

}  // namespace coterie
