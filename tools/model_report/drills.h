// Drills: what came of runs in which some devices lied (`--attack` of `coterie simulate` and `coterie demo`), as their
// folders say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

struct DrillOutcome {
  std::string run;          // the folder's name
  std::string attack;       // "sign_flip:0.2"; "none" of a run to compare with
  std::string aggregation;  // the rule that was to withstand it
  std::string security;
  bool is_of_numbers = false;
  double score = 0;                      // accuracy of the last model on its held-out examples; of numbers R2
  std::optional<double> without_attack;  // the same, where the run was repeated without lies
  std::optional<double> chance;          // always saying the most frequent class; of numbers 0: always saying the mean
};

inline constexpr size_t kDrillsMax = 64;

// `summary`: a run's summary.json. malformed: no object of a run that trained, or no score. Pure.
Result<DrillOutcome> parse_drill(std::string_view summary);
// The drills of these folders. Errors name the file; too_large (more than kDrillsMax).
Result<std::vector<DrillOutcome>> read_drills(std::span<const std::string> folders);

}  // namespace coterie
