// Variants of a training side by side: each with some runs, as many as seeds. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/compare/run_file.h"
#include "tools/compare/statistics.h"

namespace coterie {

struct Variant {
  std::string name;
  std::vector<RunRecord> runs;  // at least one; a seed may be there twice
};

struct BandPoint {
  uint64_t round = 0;
  MeanInterval score;
};

struct ComparedVariant {
  std::string name;
  RunMetric metric = RunMetric::accuracy;  // of all that is compared
  MeanInterval score;                      // of the last models, by it
  std::optional<MeanInterval> loss;        // none where one of them is not finite
  double best = 0;                         // the best run's
  std::optional<MeanInterval> to_first;    // score less the first variant's, by pairs of one seed; none for the first
  std::vector<BandPoint> curve;            // the rounds for which every run has a score
};

// In the order of `variants`, of which there is at least one, and whose runs have one metric.
std::vector<ComparedVariant> compare(const std::vector<Variant>& variants);

// A table for 80 columns: names are cut where they must be.
std::string comparison_table(const std::vector<ComparedVariant>& compared);
nlohmann::ordered_json to_json(const std::vector<ComparedVariant>& compared);
// variant,round,runs,accuracy,half_width; r2 in the place of accuracy where targets are numbers
std::string comparison_csv(const std::vector<ComparedVariant>& compared);
// Mean score over the rounds, each variant with the band of its interval.
std::string draw_comparison(const std::vector<ComparedVariant>& compared, const std::string& title);
// The same as a page with the values of the round that is pointed at (tools/demo/chart_page.h).
std::string draw_comparison_page(const std::vector<ComparedVariant>& compared, const std::string& title);

inline constexpr size_t kVariantsMax = 64;       // of one comparison
inline constexpr size_t kVariantsDrawnMax = 12;  // of one chart: the best of them, where there are more

}  // namespace coterie
