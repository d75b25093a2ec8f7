#include "tools/vertical/progress_teller.h"

#include <algorithm>
#include <cstdio>

#include "base/os/clock.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/table.h"
#include "vertical/coordinator/coordinator_client.h"

namespace coterie {
namespace {

constexpr Millis kTellEvery{2'000};
constexpr Millis kPatience{2'000};  // the peer waits meanwhile

}  // namespace

void ProgressTeller::begin(vertical::JobStage stage, uint32_t units, uint32_t units_all) {
  progress_ = {.stage = stage, .units = std::min(units, units_all), .units_all = units_all};
  tell();
}

void ProgressTeller::advance(uint32_t units, uint32_t units_all, uint64_t sent_bytes) {
  progress_.units_all = units_all;
  progress_.units = std::min(units, progress_.units_all);
  progress_.sent_bytes = sent_bytes;
  if (os::monotonic_now() - told_ >= kTellEvery) tell();
}

void ProgressTeller::end(uint64_t sent_bytes) {
  progress_.units = progress_.units_all;
  progress_.sent_bytes = sent_bytes;
  progress_.is_over = true;
  tell();
}

void ProgressTeller::tell() {
  if (!config_.coordinator || !is_heard_) return;
  const Result<vertical::JobView> view = vertical::ask_coordinator(
      *config_.coordinator, {.kind = vertical::RequestKind::progress, .job = job_, .progress = progress_},
      {.time = std::min(kPatience, config_.patience), .cancel = Interrupt::flag()});
  told_ = os::monotonic_now();
  is_heard_ = view.has_value();
  if (is_heard_) return;
  std::fprintf(stderr, "coterie vertical: the coordinator does not hear of progress, which changes nothing else: %s\n",
               printable(view.error().message()).c_str());
}

}  // namespace coterie
