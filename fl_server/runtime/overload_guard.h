// OverloadGuard: the shell around what decides whether a device's request is answered at all: by how long work waits
// here (QueueDelay), by how often its device asks and how often strangers of its address fail to prove who they are
// (TokenBuckets). Asked when a request's head has come, before its body is read or its signature verified, so that a
// refusal costs little.
//
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/ids.h"
#include "base/random.h"
#include "fl_server/settings/overload_settings.h"
#include "fl_server/telemetry/metrics.h"
#include "scheduler/selection/away_estimate.h"
#include "scheduler/selection/pace.h"

namespace coterie {

struct TurnedAway {
  Error error;
  RetryWindow window;
  Millis rest{0};  // until the answer: nothing else comes on this connection meanwhile
};

// How long the oldest work waits now.
struct Delays {
  Millis core{0};
  Millis store{0};
};

class OverloadGuard {
 public:
  // `delays` and `steered` (how many devices this node steers, CheckinDesk::steered) are asked on any thread.
  OverloadGuard(OverloadSettings settings, PaceSettings pace, size_t threads, Metrics& metrics,
                std::function<Delays()> delays, std::function<uint64_t()> steered, uint64_t seed);

  // A network thread was so late for what it had to do. Several times in 100 ms, by each.
  void observe(size_t thread, Millis late);
  // A request of this kind that came to this thread, before anything is known about it: refused, or not.
  // `late`: how late the thread is now.
  std::optional<TurnedAway> shed(Work work, size_t thread, Millis late);
  // Turns a request away whose device or address has asked too often. `claimed`: the device that the request names,
  // which nobody has verified yet; none: it names none.
  std::optional<TurnedAway> hold_off(const std::optional<DeviceId>& claimed, const CallerKey& address);
  // This device has signed a request.
  void charge_device(const DeviceId& device);
  // A request from this address was not signed, or not by whom it said.
  void charge_stranger(const CallerKey& address);
  // NodeLoad::queue_delay.
  double load() const;

 private:
  void tell_metrics(Millis late, const Delays& delays, Instant now);

  const OverloadSettings settings_;
  const PaceSettings pace_;
  const size_t store_;  // the store's queue; those before are of the threads
  Metrics& metrics_;
  const std::function<Delays()> delays_;
  const std::function<uint64_t()> steered_;

  mutable std::mutex mutex_;  // all below
  QueueDelay queues_;
  TokenBuckets devices_;
  TokenBuckets strangers_;
  AwayEstimate away_;  // of those refused here: the desk does not know them
  Prng prng_;
  Instant told_at_{};   // metrics, last
  Millis late_max_{0};  // since then
};

}  // namespace coterie
