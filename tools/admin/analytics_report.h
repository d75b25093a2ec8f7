// What a job with analytics has counted, as the admin plane tells it, for people: as text, and drawn. Names are
// cut so that a line has at most 80 columns. Pure.
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
  uint64_t rounds = 0;
  std::optional<uint64_t> updates;  // none: the server does not know of all rounds any more
  double noise_deviation = 0;
  std::vector<Bin> bins;
  std::vector<std::string> quantiles;  // "0.5: from 20 to below 30"
  std::vector<std::string> notes;      // clauses behind the strings of heavy_hitters
  std::vector<std::string> distinct;   // clauses, a line each; empty: a histogram
};

// malformed: not such an answer. Names are whatever the job's owner has sent: whoever prints them makes them printable.
Result<AnalyticsReport> parse_analytics(const nlohmann::json& answer);

std::string analytics_text(const AnalyticsReport& report);
// Bars with their intervals; of `distinct` its sentence alone.
std::string draw_analytics(const AnalyticsReport& report);

}  // namespace coterie
