#include "device_sdk/client/daily_budget.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "proto/messages/refusal.h"

namespace coterie {
namespace {

constexpr uint64_t kNanojoulesOfOne = 1'000'000;  // millijoule

uint64_t left_of(uint64_t limit, uint64_t spent) {
  if (limit == 0) return UINT64_MAX;
  return limit - std::min(limit, spent);
}

uint64_t less(uint64_t from, uint64_t what) { return from - std::min(from, what); }

uint64_t more(uint64_t to, uint64_t what) { return to + std::min(what, UINT64_MAX - to); }

void settle_one(uint64_t& spent, uint64_t& open, uint64_t reserved, uint64_t used) {
  spent = more(less(spent, reserved), used);
  open = less(open, reserved);
}

Error too_little(std::string_view reason, const char* what, uint64_t needed, uint64_t left) {
  return Error(ErrorCode::refused,
               std::string("held back: the day's budget has ") + std::to_string(left) + " " + what + " left, and " +
                   std::to_string(needed) + " are needed",
               reason);
}

Error bad(const char* what) { return Error(ErrorCode::invalid_argument, what); }

}  // namespace

Status validate(const DailyLimits& limits) {
  if (limits.work.cpu_us > kDailyLimitMax) return bad("CPU seconds of a day: must be at most 1.1e9");
  if (limits.work.upload_bytes > kDailyLimitMax) return bad("bytes up of a day: must be at most 2^50");
  if (limits.work.download_bytes > kDailyLimitMax) return bad("bytes down of a day: must be at most 2^50");
  if (limits.energy_mj > kDailyLimitMax / kNanojoulesOfOne) return bad("joules of a day: must be at most 1.1e6");
  if (limits.power_mw > kPowerMwMax) return bad("watts: must be at most 1000");
  if (limits.energy_mj > 0 && limits.power_mw == 0) return bad("watts: joules of a day are counted by them");
  return {};
}

Status check_left(const WorkAmount& left, const WorkAmount& needed, uint64_t cpu_us_without_energy) {
  if (needed.cpu_us > left.cpu_us) {
    const bool is_energy = needed.cpu_us <= cpu_us_without_energy;
    return too_little(is_energy ? refusal_reason::kEnergyBudget : refusal_reason::kCpuBudget,
                      is_energy ? "microseconds of CPU time by its energy" : "microseconds of CPU time", needed.cpu_us,
                      left.cpu_us);
  }
  if (needed.upload_bytes > left.upload_bytes) {
    return too_little(refusal_reason::kUploadBudget, "bytes up", needed.upload_bytes, left.upload_bytes);
  }
  if (needed.download_bytes > left.download_bytes) {
    return too_little(refusal_reason::kDownloadBudget, "bytes down", needed.download_bytes, left.download_bytes);
  }
  return {};
}

void DailyBudget::see(WallTime now) {
  const int64_t today = std::chrono::floor<std::chrono::days>(now.time_since_epoch()).count();
  if (today > spent_.day) {
    spent_ = {.day = today, .work = open_, .energy_nj = energy_of(open_.cpu_us)};
  } else if (spent_.day - today >= 2) {
    spent_.day = today;
  }
}

WorkAmount DailyBudget::left() const {
  uint64_t cpu_us = left_of(limits_.work.cpu_us, spent_.work.cpu_us);
  if (limits_.energy_mj > 0) {
    const uint64_t energy_nj = left_of(limits_.energy_mj * kNanojoulesOfOne, spent_.energy_nj);
    cpu_us = std::min(cpu_us, energy_nj / limits_.power_mw);
  }
  return {.cpu_us = cpu_us,
          .upload_bytes = left_of(limits_.work.upload_bytes, spent_.work.upload_bytes),
          .download_bytes = left_of(limits_.work.download_bytes, spent_.work.download_bytes)};
}

Status DailyBudget::reserve(const WorkAmount& amount) {
  COT_TRY(check_left(left(), amount, left_of(limits_.work.cpu_us, spent_.work.cpu_us)));
  spent_.work.cpu_us = more(spent_.work.cpu_us, amount.cpu_us);
  spent_.work.upload_bytes = more(spent_.work.upload_bytes, amount.upload_bytes);
  spent_.work.download_bytes = more(spent_.work.download_bytes, amount.download_bytes);
  spent_.energy_nj = more(spent_.energy_nj, energy_of(amount.cpu_us));
  open_.cpu_us = more(open_.cpu_us, amount.cpu_us);
  open_.upload_bytes = more(open_.upload_bytes, amount.upload_bytes);
  open_.download_bytes = more(open_.download_bytes, amount.download_bytes);
  return {};
}

void DailyBudget::settle(const WorkAmount& reserved, const WorkAmount& used) {
  settle_one(spent_.work.cpu_us, open_.cpu_us, reserved.cpu_us, used.cpu_us);
  settle_one(spent_.work.upload_bytes, open_.upload_bytes, reserved.upload_bytes, used.upload_bytes);
  settle_one(spent_.work.download_bytes, open_.download_bytes, reserved.download_bytes, used.download_bytes);
  spent_.energy_nj = more(less(spent_.energy_nj, energy_of(reserved.cpu_us)), energy_of(used.cpu_us));
}

}  // namespace coterie
