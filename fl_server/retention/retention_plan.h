// What may go, by the settings and by what is named: pure decisions, which RetentionJob carries out.
//
//   "nothing that is named is removed": a version stays if it is the first, the newest, released, what an attempt
//       trains from, or so young that a device may still be downloading it; a blob stays while a row names it
//       (the computed model beside it, of a job with deltas, stays for the second and the fourth of these alone)
//   "nothing that is about to be named is removed": a blob stays if it was put within kNamingMax, or since the oldest
//       attempt was opened that may have put it: whoever put it may not have committed its row yet
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "fl_server/records/unnamed_blob.h"
#include "fl_server/settings/retention_settings.h"
#include "scheduler/job/records.h"

namespace coterie {

// From a put of a file to the commit that names it, where no round is under way: a job is created.
inline constexpr Millis kNamingMax{600'000};
// How far the clocks of server and blob store may be apart.
inline constexpr Millis kBlobClockSkewMax{60'000};

// What is known of a job's versions. Those of a job without end are looked at a page at a time.
struct ModelHistory {
  std::vector<ModelRecord> models;  // one behind the other, by version
  ModelVersion kept_from;           // this one and all behind it stay
  std::vector<ModelVersion> released;
  std::optional<ModelVersion> base;  // of an attempt that has not ended
};

// The first version that stays because it is among the newest; `newest` has as many as are kept, or all, newest first.
ModelVersion first_version_kept(const std::vector<ModelRecord>& newest);

// By version. The last of the page stays: nobody knows when it was superseded.
std::vector<ModelVersion> versions_to_forget(const ModelHistory& history, const RetentionSettings& settings,
                                             WallTime now);

// Rounds before this one may be forgotten, of a job whose newest round is `newest`.
uint64_t first_round_kept(uint64_t newest, const RetentionSettings& settings);

// When the oldest attempts were opened of those that puts come from.
struct UnderWay {
  std::optional<WallTime> frozen = {};      // or being finalized: of models
  std::optional<WallTime> collecting = {};  // or later: of the plans of single attempts, too, which no row names
};

// For how long, at `now`, a blob that no row names must not have been put again to go.
Millis age_to_go(const UnnamedBlob& blob, const UnderWay& under_way, const RetentionSettings& settings, WallTime now);

}  // namespace coterie
