#include "vertical/coordinator/stage_record.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

constexpr std::array<std::string_view, kJobStages.size()> kStageNames = {"matching", "training", "prediction"};

// Nobody waits for a century. What a coordinator says may come to more than there are milliseconds.
constexpr double kTimeLeftMsMax = 100.0 * 365.25 * 86'400'000;

size_t place_of(JobStage stage) { return static_cast<size_t>(stage) - 1; }

}  // namespace

std::string_view job_stage_name(JobStage stage) { return kStageNames[place_of(stage)]; }

Status check_stage_progress(const StageProgress& report) {
  if (report.units <= report.units_all) return {};
  return Error(ErrorCode::invalid_argument, "a stage of " + std::to_string(report.units_all) + " units cannot have " +
                                                std::to_string(report.units) + " done");
}

bool hear_stage(StageRecords& records, const StageProgress& report, bool is_new_run, WallTime now) {
  std::optional<StageRecord>& record = records[place_of(report.stage)];
  const bool begins = !record;
  if (begins) record = StageRecord{.begun = now, .since = {}, .heard = {}, .last = {}};
  const bool ends = report.is_over && !record->last.is_over;
  if (begins || is_new_run) {
    record->since = now;
    record->units_since = report.units;
  }
  // A clock that is set back makes no stage end before it began.
  record->heard = std::max(now, record->since);
  record->last = report;
  return begins || ends;
}

std::optional<Millis> time_left(const StageRecord& record) {
  const StageProgress& last = record.last;
  if (last.is_over || last.units <= record.units_since) return std::nullopt;
  const double millis = static_cast<double>((record.heard - record.since).count());
  const double each = millis / (last.units - record.units_since);
  return Millis(static_cast<int64_t>(std::min(each * (last.units_all - last.units), kTimeLeftMsMax)));
}

}  // namespace coterie::vertical
