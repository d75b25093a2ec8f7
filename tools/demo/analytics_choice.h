// AnalyticsChoice: what `coterie demo --analytics` counts (analytics_option.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/messages/analytics.h"

namespace coterie {

struct AnalyticsChoice {
  AnalyticsKind kind = AnalyticsKind::histogram;  // evaluation: how much the model needs each column
  std::string column;                             // none of that, nor of activation_ranges
  uint32_t bins = 0;     // of equal width, from the least value to the greatest; 0: 10, or 20 where rounds refine
  bool refines = false;  // each round after the first has its edges where the quantiles are
  std::optional<uint32_t> rounds = {};  // of those; none: as many as a job has unless said
  uint32_t buckets = 1'024;             // of distinct
  std::vector<uint8_t> alphabet = {};   // of heavy_hitters, ascending, as the next two; empty: all bytes
  uint32_t prefixes = 64;               // that a round follows
  uint32_t threshold = 0;               // devices that have a string at least; 0: a tenth of them, two at least
  uint32_t repeats = 5;                 // of each column's permutation
  uint32_t steps = 0;                   // of activation_ranges: bins in an octave; 0: 4, or 2 with noise
  uint32_t values = 0;  // of each device at most; 0: all it has without noise, 1 with it; of an evaluation as a job's
};

}  // namespace coterie
