// DailyBudget: what a device may spend in a day of UTC on all its work, and what it has. Pure.
//
// Spending is charged before it happens: reserve() charges what a piece of work takes at most, the caller makes that
// durable (agent/work_meter.h), does the work, and settle() gives back what it did not take. So whoever dies in
// between has counted too much, never too little.
//
// A day begins when the clock shows a later day than the last one that was seen: what was spent is then 0, but for
// what is reserved, which counts for both days. A clock that is set back begins no day, and what was spent stays.
// Where it is set back by two days or more, the later day was a mistake of the clock: the present one takes its
// place, with all that was spent. So a clock that ran ahead stops a device until tomorrow, and not for years.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct WorkAmount {
  uint64_t cpu_us = 0;
  uint64_t upload_bytes = 0;
  uint64_t download_bytes = 0;
  friend bool operator==(const WorkAmount&, const WorkAmount&) = default;
};

// The most of a day; each: 0 is no limit.
struct DailyLimits {
  WorkAmount work;
  uint64_t energy_mj = 0;  // millijoules: an estimate, CPU time times power_mw
  uint32_t power_mw = 0;   // what the device takes for a second of CPU time, milliwatts
  bool any() const { return work != WorkAmount{} || energy_mj > 0; }
  friend bool operator==(const DailyLimits&, const DailyLimits&) = default;
};

inline constexpr uint64_t kDailyLimitMax = 1ull << 50;  // of each member of DailyLimits::work, and of energy_mj
inline constexpr uint32_t kPowerMwMax = 1'000'000;

// Ranges; energy needs a power. invalid_argument, which names the member.
Status validate(const DailyLimits& limits);

// What is kept of a day.
struct DaySpent {
  int64_t day = 0;  // since 1970-01-01; 0: none was seen
  WorkAmount work;
  uint64_t energy_nj = 0;  // nanojoules: a microsecond at a milliwatt is one
  friend bool operator==(const DaySpent&, const DaySpent&) = default;
};

// refused, with the reason of the budget that has too little left. That of CPU time is said to be the energy's where
// `cpu_us_without_energy` would do.
Status check_left(const WorkAmount& left, const WorkAmount& needed, uint64_t cpu_us_without_energy = 0);

class DailyBudget {
 public:
  // Precondition: validate(limits).
  DailyBudget(const DailyLimits& limits, const DaySpent& kept) : limits_(limits), spent_(kept) {}

  // The device's own clock shows this.
  void see(WallTime now);
  // Charges `amount`. refused, with the reason of the budget that has too little left; then nothing is charged.
  Status reserve(const WorkAmount& amount);
  // So much was taken where `reserved` had been reserved; it may be more, and is then charged.
  void settle(const WorkAmount& reserved, const WorkAmount& used);

  // UINT64_MAX where there is no limit. That of CPU time is what the energy allows, too.
  WorkAmount left() const;
  const DaySpent& spent() const { return spent_; }

 private:
  uint64_t energy_of(uint64_t cpu_us) const { return cpu_us * limits_.power_mw; }

  DailyLimits limits_;
  DaySpent spent_;
  WorkAmount open_;  // reserved and not settled; in spent_
};

}  // namespace coterie
