#include "fl_server/runtime/finalize_task.h"

#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "fl_server/events/event_hub.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/runtime/open_masks.h"
#include "fl_server/runtime/seconds.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {
namespace {

Result<FinalizedRound> run(const FinalizeNow& asked, const RoundSchedulerParts& parts, WorkPool& pool, Instant begin) {
  const FinalizeRound& round = asked.request;
  const Finalizer& finalizer = parts.finalizer;
  if (!asked.sum) return finalizer.finalize(round.job, round.round, round.base, os::wall_now());
  COT_ASSIGN(const SumMasks masks, open_masks(asked.sum->cohorts->sessions(), asked.sum->parameters, pool));
  parts.metrics.masks_opened(seconds_since(begin));
  os::crash_point(os::CrashPoint::finalize_masks_opened);
  return finalizer.finalize(round.job, round.round, round.base, os::wall_now(), &masks);
}

}  // namespace

Result<FinalizedRound> finalize_now(const FinalizeNow& asked, const RoundSchedulerParts& parts, WorkPool& pool) {
  const Instant begin = os::monotonic_now();
  os::crash_point(os::CrashPoint::finalize_begun);
  Result<FinalizedRound> done = run(asked, parts, pool, begin);
  if (done) {
    parts.metrics.round_finalized(seconds_since(begin));
  } else {
    const RoundRecord& round = asked.request.round;
    parts.events.add(asked.request.job.id, event::FinalizeFailed{{round.key, round.number}, done.error().message()});
  }
  return done;
}

}  // namespace coterie
