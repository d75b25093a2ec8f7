// A run's files as the console's page has jobs and rounds (docs/openapi.json). Pure.
//
// What is there of a run that goes on, has ended early or was damaged is shown, and `reason` says what is not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "tools/console/run_list.h"

namespace coterie {

inline constexpr uint64_t kShownSummaryBytesMax = 1 << 20;
inline constexpr uint64_t kShownMetricsBytesMax = 8 << 20;
inline constexpr size_t kShownRoundsMax = 20'000;  // the first so many

struct RunModelFile {  // model.cotf
  uint64_t bytes = 0;
  WallTime written;
};

struct RunFiles {
  Result<Bytes> summary, metrics;          // summary.json, metrics.csv; not_found: there is none
  bool has_table = false;                  // result.json: of a job with analytics, which has no rounds to show
  std::optional<WallTime> changed;         // the folder; none: there is no folder yet
  std::optional<RunModelFile> model = {};  // none: the run has left none so far
};

// `state`: completed, unfinished, waiting (of a sweep: not begun), damaged.
nlohmann::json shown_job(const ListedRun& run, const RunFiles& files);
// What the job has under `model`: the version that model.cotf is, which is the last round's. Null: there is none.
nlohmann::json shown_model(const RunFiles& files);
// Oldest first.
nlohmann::json shown_rounds(const RunFiles& files);
// What the job has under `rounds` and `curves`. `query`: "limit=100&before=7.1&state=done"; "points=600". Errors:
// invalid_argument.
Result<nlohmann::json> run_rounds_page(const RunFiles& files, std::string_view query);
Result<nlohmann::json> run_curves(const RunFiles& files, std::string_view query);

}  // namespace coterie
