// What `coterie demo --analytics` counts, as text, and the same as a job has it: the column is found in the data's
// input contract. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "proto/messages/analytics.h"

namespace coterie {

struct AnalyticsSettings;
struct InputContract;

// "histogram:age", "histogram:age,bins=20,values=4", "distinct:zip,buckets=4096". The column is one of the data's, or
// "target".
struct AnalyticsChoice {
  AnalyticsKind kind = AnalyticsKind::histogram;
  std::string column;
  uint32_t bins = 10;        // of equal width, from the least value to the greatest that the contract knows
  uint32_t buckets = 1'024;  // of distinct
  uint32_t values = 0;       // of each device at most; 0: all it has without noise, 1 with it
};

Result<AnalyticsChoice> parse_analytics_choice(std::string_view text);

// `values`: of each device at most. invalid_argument: there is no such column, or it is no single number of the
// examples; not_found names those that there are.
Result<AnalyticsSettings> analytics_of(const AnalyticsChoice& choice, const InputContract& contract, uint32_t values);

}  // namespace coterie
