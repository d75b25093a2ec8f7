// What a job with analytics has counted, as the admin plane tells it, for people: as text in at most 80 columns, and
// drawn. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace coterie {

// The answer of /jobs/{job}/result.
struct AnalyticsReport {
  struct Bin {
    std::string label;  // "10 to 20", "below 10", "40 and above", a category
    double count = 0, low = 0, high = 0;
  };
  std::string job, state, kind, column;
  uint64_t rounds = 0, updates = 0;
  double noise_deviation = 0;
  std::vector<Bin> bins;
  std::vector<std::string> quantiles;  // "0.5: from 20 to below 30"
  std::string distinct;                // a sentence; empty: a histogram
};

// malformed: not such an answer. Names are whatever the job's owner has sent: whoever prints them makes them printable.
Result<AnalyticsReport> parse_analytics(const nlohmann::json& answer);

std::string analytics_text(const AnalyticsReport& report);
// Bars with their intervals; of `distinct` its sentence alone.
std::string draw_analytics(const AnalyticsReport& report);

}  // namespace coterie
