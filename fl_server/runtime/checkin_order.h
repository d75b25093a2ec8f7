// CheckinOrder: each check-in of a device is taken once by all servers on one store (DeviceStore::take_checkins). It
// asks the store on a thread of its own, for all that came while it asked before at once: one transaction for many.
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "fl_server/runtime/work_loop.h"
#include "fl_server/store/device_store.h"

namespace coterie {

class CheckinOrder {
 public:
  // Whether it was taken; on the thread of this, or of whoever asks if this is stopped. Must only hand the answer on.
  using Answer = std::function<void(Result<bool>)>;
  static constexpr size_t kClaimsMax = 1'000;  // in one transaction

  // The store outlives this. `skew_max`: of a request's time, as requests are judged, and of servers' clocks.
  CheckinOrder(DeviceStore& store, Millis skew_max) : store_(store), skew_max_(skew_max) { loop_.start(); }
  ~CheckinOrder() { stop(); }
  CheckinOrder(const CheckinOrder&) = delete;
  CheckinOrder& operator=(const CheckinOrder&) = delete;

  // `answer` is called once.
  void take(const CheckinClaim& claim, Answer answer);
  // All that was asked before is answered then; later ones are unavailable.
  void stop() { loop_.stop(); }

 private:
  void ask_store();

  DeviceStore& store_;
  const Millis skew_max_;
  std::mutex mutex_;
  std::vector<std::pair<CheckinClaim, Answer>> waiting_;
  WorkLoop loop_;
};

}  // namespace coterie
