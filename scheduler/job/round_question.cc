#include "scheduler/job/round_question.h"

#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/heavy_hitters.h"
#include "scheduler/job/quantile_refinement.h"

namespace coterie {
namespace {

RefinedEdges edges_of_round(const HorizontalSettings& settings, std::span<const std::vector<float>> counts) {
  const double noise = lane_noise_of(settings, settings.rounds.ticket_count());
  // Rounds that ask other devices than those before see the same quantiles only about.
  const bool asks_others = settings.rounds.separation_min > 1;
  RefinedEdges asked = first_edges(*settings.analytics);
  for (const std::vector<float>& block : counts) {
    asked = refined_edges(*settings.analytics, asked, block, noise, asks_others);
  }
  return asked;
}

}  // namespace

AnalyticsSettings question_of_round(const HorizontalSettings& settings, std::span<const std::vector<float>> counts) {
  AnalyticsSettings question = *settings.analytics;
  if (question.refines) question.edges = edges_of_round(settings, counts).edges;
  if (!question.rules.hitters) return question;
  const double threshold = hitter_threshold(settings);
  HitterRules& hitters = *question.rules.hitters;
  for (const std::vector<float>& block : counts) hitters = followed(hitters, block, threshold).next;
  return question;
}

RefinedResult refined_result(const HorizontalSettings& settings, std::span<const std::vector<float>> counts,
                             double noise) {
  RefinedResult refined{.asked = *settings.analytics, .result = {}};
  const RefinedEdges asked = edges_of_round(settings, counts.first(counts.size() - 1));
  refined.asked.edges = asked.edges;
  refined.result = result_of(refined.asked, counts.back(), noise);
  refined.result.quantiles = refined_ranges(*settings.analytics, asked, counts.back(), noise);
  return refined;
}

bool nothing_is_left(const HorizontalSettings& settings, std::span<const std::vector<float>> counts) {
  const std::optional<HitterRules>& hitters = settings.analytics->rules.hitters;
  return hitters && question_of_round(settings, counts).rules.hitters->prefixes.empty();
}

}  // namespace coterie
