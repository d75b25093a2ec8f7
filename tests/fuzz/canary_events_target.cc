// Any row of observations, ends and restarts that a rollout may meet: a trial and a canary of the same settings hear
// the same. Their invariants hold after each step, they agree as long as both go on, and a canary that is loaded from
// what was kept of it says the same as before.
#include "base/assert.h"
#include "scheduler/rollout/canary_machine.h"
#include "scheduler/rollout/rollout_trial.h"
#include "tests/fuzz/event_bytes.h"

namespace {

using namespace coterie;

CanarySettings some_settings(test::EventBytes& bytes) {
  CanarySettings settings;
  settings.percent = 1 + bytes.below(99);
  settings.trial.alpha = bytes.one_in(2) ? 0.5 : 0.05;
  settings.trial.harm_max = bytes.one_in(2) ? 0.25 : 1;
  settings.trial.margin = bytes.one_in(2) ? 0.2 : 0.02;
  settings.trial.devices_max = 1 + bytes.below(64);
  settings.promote_after = bytes.one_in(2) ? 1 + bytes.below(settings.trial.devices_max) : 0;
  COT_ASSERT(validate(settings).empty());
  return settings;
}

class Driver {
 public:
  explicit Driver(test::EventBytes bytes)
      : bytes_(bytes), settings_(some_settings(bytes_)), trial_(settings_.trial), canary_(settings_) {}

  void run() {
    while (!bytes_.is_over()) choose();
    // Behind the end all devices there may be answer, so that both come to an end or are full.
    for (uint32_t device = 0; device <= settings_.trial.devices_max; ++device) hear({.both = 1});
    COT_ASSERT(trial_.verdict() != RolloutVerdict::open);
    COT_ASSERT(canary_.state() != CanaryState::running || canary_.is_full());
  }

 private:
  void choose() {
    switch (bytes_.below(16)) {
      case 0:
        if (!bytes_.one_in(8)) return;
        if (bytes_.one_in(2)) return end(&CanaryMachine::promote, CanaryState::promoted);
        return end(&CanaryMachine::end, CanaryState::ended);
      case 1:
      case 2:
      case 3: return restart();
      case 4: return hear({.both = bytes_.next(), .only_new = bytes_.next(), .only_old = bytes_.next(), .neither = 1});
      case 5:
      case 6:
      case 7: return hear({.only_new = 1 + uint32_t{bytes_.next()}});
      case 8: return hear({.neither = kCanaryExamplesMax});
      default: return hear({.only_old = 1 + uint32_t{bytes_.next()}});
    }
  }

  void hear(const CanaryCounts& counts) {
    const bool both_go_on = trial_.verdict() == RolloutVerdict::open && canary_.state() == CanaryState::running;
    const uint32_t heard = canary_.heard().heard;
    const bool may_hear = canary_.state() == CanaryState::running && !canary_.is_full();
    trial_.observe(counts.harm());
    trial_.check();
    COT_ASSERT(canary_.observe(counts) == may_hear);
    canary_.check();
    COT_ASSERT(canary_.heard().heard == heard + (may_hear ? 1 : 0));
    if (both_go_on && heard + 1 == trial_.devices()) COT_ASSERT(canary_.verdict() == trial_.verdict());
  }

  void end(void (CanaryMachine::*how)(), CanaryState as) {
    const CanaryState before = canary_.state();
    (canary_.*how)();
    canary_.check();
    COT_ASSERT(canary_.state() == (before == CanaryState::running ? as : before));
  }

  void restart() {
    const CanaryMachine again(settings_, canary_.state(), canary_.heard());
    again.check();
    COT_ASSERT(again.verdict() == canary_.verdict() && again.heard() == canary_.heard());
    canary_ = again;
  }

  test::EventBytes bytes_;
  CanarySettings settings_;
  RolloutTrial trial_;
  CanaryMachine canary_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= 4'096) Driver(test::EventBytes(data, size)).run();
  return 0;
}
