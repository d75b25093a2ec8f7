#include "fl_server/runtime/overload_guard.h"

#include <algorithm>
#include <cstring>

#include "base/os/clock.h"

namespace coterie {
namespace {

constexpr Millis kTellMetricsEvery{1'000};
constexpr Millis kRestMean{4'000};
constexpr Millis kSoonMin{1'000};            // the queue has drained by then
constexpr uint32_t kSoonMaxMs = 30'000;      // of a round's minutes
constexpr Millis kSpreadAfterBucket{1'000};  // behind the moment at which there is a token again

CallerKey key_of(const DeviceId& device) {
  CallerKey key;
  static_assert(sizeof key == sizeof device.bytes);
  std::memcpy(key.data(), device.bytes.data(), sizeof key);
  return key;
}

RetryWindow after(Millis wait, std::string_view reason) {
  const auto min_ms = static_cast<uint32_t>(wait.count());
  return {min_ms, min_ms + static_cast<uint32_t>(kSpreadAfterBucket.count()), std::string(reason)};
}

double seconds(Millis time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

OverloadGuard::OverloadGuard(OverloadSettings settings, PaceSettings pace, size_t threads, Metrics& metrics,
                             std::function<Delays()> delays, std::function<uint64_t()> steered, uint64_t seed)
    : settings_(settings),
      pace_(pace),
      store_(threads),
      metrics_(metrics),
      delays_(std::move(delays)),
      steered_(std::move(steered)),
      queues_(settings.queue, threads + 1),
      devices_(settings.device, seed),
      strangers_(settings.stranger, ~seed),
      prng_(seed) {}

// Whatever a network thread begins has the core before it.
void OverloadGuard::observe(size_t thread, Millis late) {
  const Delays delays = delays_();
  const Instant now = os::monotonic_now();
  const std::lock_guard lock(mutex_);
  queues_.observe(thread, late + delays.core, now);
  if (thread != 0) {
    late_max_ = std::max(late_max_, late);
    return;
  }
  queues_.observe(store_, delays.store, now);
  tell_metrics(late, delays, now);
}

void OverloadGuard::tell_metrics(Millis late, const Delays& delays, Instant now) {
  late_max_ = std::max(late_max_, late);
  if (now - told_at_ < kTellMetricsEvery) return;
  told_at_ = now;
  metrics_.set_queue_delay("network", seconds(std::exchange(late_max_, Millis(0))));
  metrics_.set_queue_delay("core", seconds(delays.core));
  metrics_.set_queue_delay("store", seconds(delays.store));
}

// The store is in the way of newcomers alone: updates have a queue of their own, of bounded length and patience.
std::optional<TurnedAway> OverloadGuard::shed(Work work, size_t thread, Millis late) {
  const Delays delays = delays_();
  const std::lock_guard lock(mutex_);
  const bool is_served = queues_.admits(thread, work, late + delays.core) &&
                         (work != Work::newcomer || queues_.admits(store_, work, delays.store));
  if (is_served) return std::nullopt;
  metrics_.request_refused("queue_delay");
  const Instant now = os::monotonic_now();
  const Error behind(ErrorCode::overloaded, "the server has more to do than it can; come back later");
  RetryWindow window =
      paced_window(work == Work::newcomer ? steered_() : 0, away_.away(now), kSoonMin, pace_, behind.message());
  // Who has a ticket is wanted before the round is over.
  if (work != Work::newcomer) window.max_ms = std::min(window.max_ms, kSoonMaxMs);
  away_.told(window, now);
  // Refusing costs work, too. A connection is refused no oftener than this, and so all of them: without a limit a
  // server can be kept from everything else by refusing.
  return TurnedAway{behind, window, Millis(prng_.below(static_cast<uint64_t>(2 * kRestMean.count())))};
}

std::optional<TurnedAway> OverloadGuard::hold_off(const std::optional<DeviceId>& claimed, const CallerKey& address) {
  const Instant now = os::monotonic_now();
  const std::lock_guard lock(mutex_);
  if (claimed) {
    const CallerKey device = key_of(*claimed);
    if (const std::optional<Millis> wait = devices_.look(device, now)) {
      metrics_.request_refused("device_rate");
      return TurnedAway{Error(ErrorCode::rate_limited, "this device asks too often"),
                        after(*wait, "this device asks too often")};
    }
    if (devices_.knows(device)) return std::nullopt;  // behind an address that it shares with those who fail
  }
  const std::optional<Millis> wait = strangers_.look(address, now);
  if (!wait) return std::nullopt;
  metrics_.request_refused("stranger_rate");
  return TurnedAway{
      Error(ErrorCode::rate_limited, "too many requests from this address were not signed, or not as they should be"),
      after(*wait, "too many requests of this address were not signed")};
}

void OverloadGuard::charge_device(const DeviceId& device) {
  const Instant now = os::monotonic_now();
  const std::lock_guard lock(mutex_);
  (void)devices_.take(key_of(device), now);
}

void OverloadGuard::charge_stranger(const CallerKey& address) {
  const Instant now = os::monotonic_now();
  const std::lock_guard lock(mutex_);
  (void)strangers_.take(address, now);
}

double OverloadGuard::load() const {
  const std::lock_guard lock(mutex_);
  return queues_.load();
}

}  // namespace coterie
