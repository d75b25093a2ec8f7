// The state of the device and what it must be, across the C boundary.
#pragma once

#include <atomic>
#include <mutex>

#include "base/result.h"
#include "coterie.h"
#include "device_sdk/agent/width_limits.h"
#include "device_sdk/client/condition_gate.h"
#include "device_sdk/client/daily_budget.h"

namespace coterie {

struct AppRequirements {
  DeviceRequirements required;
  DailyLimits limits;
  WidthLimits widths;
};

// NULL: none. invalid_argument, which names the member.
Result<AppRequirements> requirements_of(const coterie_requirements* given);
// invalid_argument, which names the member.
Result<DeviceConditions> conditions_of(const coterie_conditions* given);

// COTERIE_HOLD_NONE for what is none of refusal_reason::kHolds.
coterie_hold hold_of(std::string_view reason);

// What the app said last. Thread-safe.
class SharedConditions {
 public:
  void set(const DeviceConditions& conditions) {
    const std::lock_guard lock(mutex_);
    conditions_ = conditions;
    ++changes_;
  }
  DeviceConditions get() const {
    const std::lock_guard lock(mutex_);
    return conditions_;
  }
  // How often it was said.
  uint64_t changes() const { return changes_; }

 private:
  mutable std::mutex mutex_;
  DeviceConditions conditions_;
  std::atomic<uint64_t> changes_{0};
};

}  // namespace coterie
