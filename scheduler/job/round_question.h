// What a round of a job with analytics asks, where each round asks what those before it leave open (asks_anew): the
// prefixes that it follows, or the edges that it counts between. Pure.
//
//   settings + the counts of the rounds before -> the question of the next one
//
// Nothing else leads to it: the table is stored with the model, so that a server that takes over, a retried attempt and
// whoever reads the result find the same question. It is arithmetic on what is released: it costs no privacy.
#pragma once

#include <span>
#include <vector>

#include "scheduler/job/analytics_result.h"
#include "scheduler/job/horizontal_settings.h"

namespace coterie {

// The question of the round behind these, which have a block of counts each. Without asks_anew it is the job's own.
// Precondition: validate(settings) is empty, and there are analytics.
AnalyticsSettings question_of_round(const HorizontalSettings& settings, std::span<const std::vector<float>> counts);

// What the newest of these rounds says of a histogram that refines: its own bins, between its own edges, and the
// quantiles. `noise`: of each count. Precondition: likewise, and there is a round.
struct RefinedResult {
  AnalyticsSettings asked;
  AnalyticsResult result;
};
RefinedResult refined_result(const HorizontalSettings& settings, std::span<const std::vector<float>> counts,
                             double noise);

// Whether the rounds behind these would ask nothing: the job is done. Precondition: likewise.
bool nothing_is_left(const HorizontalSettings& settings, std::span<const std::vector<float>> counts);

}  // namespace coterie
