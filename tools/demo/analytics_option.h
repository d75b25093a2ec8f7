// `--analytics` of `coterie demo`, as text, and the same as a job has it: the column is found in the data's input
// contract. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "tools/demo/analytics_choice.h"

namespace coterie {

struct AnalyticsSettings;
struct InputContract;

// "histogram:age", "histogram:age,bins=20,values=4", "histogram:age,refine=4", "distinct:zip,buckets=4096",
// "heavy_hitters:word,threshold=5"; the column is one of the data's, or "target". "importance,repeats=9".
// "activation_ranges,steps=2".
Result<AnalyticsChoice> parse_analytics_choice(std::string_view text);

// `values`: of each device at most, of `devices` in all. invalid_argument: there is no such column, and which there
// are; or it is nothing that this kind counts. Precondition: it is a kind with a column (importance_job.h and
// range_job.h have the others).
Result<AnalyticsSettings> analytics_of(const AnalyticsChoice& choice, const InputContract& contract, uint32_t values,
                                       uint32_t devices);

}  // namespace coterie
