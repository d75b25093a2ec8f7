// StageRecord: how far a party has come in one stage of its job, as a coordinator knows it from what the party says.
//
// A party says which stage, how much of it and how many bytes it sent: nothing of a person, a column or a value. The
// times are the coordinator's own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace coterie::vertical {

// The numbers are on the wire.
enum class JobStage : uint8_t { matching = 1, training, prediction };
inline constexpr std::array kJobStages = {JobStage::matching, JobStage::training, JobStage::prediction};
std::string_view job_stage_name(JobStage stage);

// What a party says of a stage: when it begins, now and then while it runs, and when it is over.
struct StageProgress {
  JobStage stage = JobStage::matching;
  bool is_over = false;
  uint32_t units = 0;       // that are done: buckets, levels of trees, or steps
  uint32_t units_all = 0;   // of the stage; 0: it has none that are counted
  uint64_t sent_bytes = 0;  // of frames to the other party, in this stage of this run
  friend bool operator==(const StageProgress&, const StageProgress&) = default;
};
// invalid_argument: more units than all.
Status check_stage_progress(const StageProgress& report);

struct StageRecord {
  WallTime begun;            // when the first word of it came
  WallTime since;            // when the stage began in the present run: a run that was cut off goes on
  WallTime heard;            // when the last word of it came
  uint32_t units_since = 0;  // that were done then
  StageProgress last;
  friend bool operator==(const StageRecord&, const StageRecord&) = default;
};
using StageRecords = std::array<std::optional<StageRecord>, kJobStages.size()>;  // as in kJobStages

// `is_new_run`: the parties have met again since the last word of it. True if the record has to be durable: a stage
// begins, or is over.
bool hear_stage(StageRecords& records, const StageProgress& report, bool is_new_run, WallTime now);

// From `heard` on, as long as units take what they took in this run; a century at most. None: the stage is over, or has
// no units, or none is done in this run.
std::optional<Millis> time_left(const StageRecord& record);

}  // namespace coterie::vertical
