// WorkMeter: the shell of DailyBudget: keeps what was spent of a day in the state directory, before it is spent.
//
//   day.spent   the day, then microseconds of CPU time, bytes up, bytes down and nanojoules of it: 8 bytes each,
//               little-endian; then the digest of these 40 bytes
//
// A file that is damaged counts as a day of which all is spent. Whoever removes it begins at nothing. Without a limit
// nothing is read or written. Not thread-safe; the caller holds the directory's lock.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "device_sdk/client/daily_budget.h"

namespace coterie {

class WorkMeter {
 public:
  // invalid_argument: a limit is out of range; else the disk's own.
  static Result<WorkMeter> open(const std::string& directory, const DailyLimits& limits, WallTime now);

  bool is_on() const { return limits_.any(); }
  bool limits_traffic() const { return limits_.work.upload_bytes > 0 || limits_.work.download_bytes > 0; }
  bool limits_cpu() const { return limits_.work.cpu_us > 0 || limits_.energy_mj > 0; }

  // DailyBudget::reserve, durable when it returns; `now` is of the device's own clock. Errors: as there, or the disk's,
  // and then the amount counts as spent.
  Status reserve(const WorkAmount& amount, WallTime now);
  // Durable with the next reserve() or keep(): until then too much is counted.
  void settle(const WorkAmount& reserved, const WorkAmount& used);
  WorkAmount left(WallTime now);
  Status keep();

  // The newest refusal of a reservation since this was asked last.
  std::optional<Error> take_refusal() { return std::exchange(refusal_, std::nullopt); }

 private:
  WorkMeter(std::string path, const DailyLimits& limits, const DaySpent& kept)
      : path_(std::move(path)), limits_(limits), budget_(limits, kept), kept_(kept) {}

  std::string path_;
  DailyLimits limits_;
  DailyBudget budget_;
  DaySpent kept_;  // as the file has it
  std::optional<Error> refusal_;
};

// Settles what was reserved of CPU time by what this thread takes of it, from here to the end of the scope.
class CpuCharge {
 public:
  CpuCharge(WorkMeter& meter, uint64_t reserved_us);
  CpuCharge(const CpuCharge&) = delete;
  CpuCharge& operator=(const CpuCharge&) = delete;
  ~CpuCharge() { meter_.settle({.cpu_us = reserved_us_}, {.cpu_us = used_us()}); }
  uint64_t used_us() const;
  uint64_t reserved_us() const { return reserved_us_; }

 private:
  WorkMeter& meter_;
  uint64_t reserved_us_;
  std::chrono::microseconds began_;
};

}  // namespace coterie
