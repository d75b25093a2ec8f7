#include "fl_server/runtime/leadership.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"

namespace coterie {

Leadership::Leadership(LeaseSettings settings, LeaseStore& leases, std::string lease, std::string holder)
    : leases_(leases), lease_(std::move(lease)), holder_(std::move(holder)), ttl_(settings.ttl), keeper_(settings) {}

void Leadership::start(std::function<void(LeaseEpoch)> held, std::function<void(const std::string&)> lost) {
  held_ = std::move(held);
  lost_ = std::move(lost);
  is_started_ = true;
  store_.start();
  time_.start([this] { run(keeper_.time_passed(os::monotonic_now())); }, [this] { return keeper_.next_deadline(); });
  time_.post([this] { run(keeper_.start(os::monotonic_now())); });
}

void Leadership::run(const LeaseEffects& effects) {
  for (const LeaseEffect& effect : effects) {
    if (const auto* ask = std::get_if<AskLease>(&effect)) {
      perform(*ask);
    } else if (const auto* waits = std::get_if<LeaseWaits>(&effect)) {
      log(LogLevel::info, "lease_waits", {{"lease", lease_}, {"holder", waits->holder}});
    } else if (const auto* held = std::get_if<LeaseHeld>(&effect)) {
      log(LogLevel::info, "lease_held", {{"lease", lease_}, {"holder", holder_}, {"epoch", held->epoch.value()}});
      held_(held->epoch);
    } else {
      const auto& lost = std::get<LeaseLost>(effect);
      log(LogLevel::error, "lease_lost", {{"lease", lease_}, {"epoch", lost.epoch.value()}, {"reason", lost.reason}});
      lost_(lost.reason);
    }
  }
}

void Leadership::perform(const AskLease& ask) {
  store_.post([this, serial = ask.serial] {
    const Result<LeaseAnswer> answer = leases_.take_lease(lease_, holder_, ttl_);
    if (!answer) log(LogLevel::warning, "lease_not_asked", {{"lease", lease_}, {"reason", answer.error().message()}});
    time_.post([this, serial, answer] { run(keeper_.answered(serial, answer, os::monotonic_now())); });
  });
}

void Leadership::stop() {
  if (!std::exchange(is_started_, false)) return;
  time_.stop();  // asks nothing more
  // Behind the last question, which may have taken the lease.
  store_.post([this] { (void)leases_.give_lease(lease_, holder_); });
  store_.stop();
}

}  // namespace coterie
