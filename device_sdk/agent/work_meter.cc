#include "device_sdk/agent/work_meter.h"

#include <array>
#include <cstring>

#include "base/os/clock.h"
#include "base/os/crash_point.h"
#include "base/os/file.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr size_t kNumbersBytes = 40, kFileBytes = kNumbersBytes + 32;

Bytes bytes_of(const DaySpent& spent) {
  const std::array<uint64_t, 5> numbers = {static_cast<uint64_t>(spent.day), spent.work.cpu_us, spent.work.upload_bytes,
                                           spent.work.download_bytes, spent.energy_nj};
  Bytes bytes(kNumbersBytes);
  std::memcpy(bytes.data(), numbers.data(), kNumbersBytes);
  const Digest digest = content_digest(bytes);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
  return bytes;
}

std::optional<DaySpent> spent_of(const Bytes& bytes) {
  if (bytes.size() != kFileBytes) return std::nullopt;
  std::array<uint64_t, 5> numbers{};
  std::memcpy(numbers.data(), bytes.data(), kNumbersBytes);
  const DaySpent spent{
      .day = static_cast<int64_t>(numbers[0]), .work = {numbers[1], numbers[2], numbers[3]}, .energy_nj = numbers[4]};
  return bytes_of(spent) == bytes ? std::optional(spent) : std::nullopt;
}

DaySpent all_spent(WallTime now) {
  DailyBudget today({}, {});
  today.see(now);
  return {.day = today.spent().day, .work = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, .energy_nj = UINT64_MAX};
}

}  // namespace

Result<WorkMeter> WorkMeter::open(const std::string& directory, const DailyLimits& limits, WallTime now) {
  COT_TRY(validate(limits));
  const std::string path = directory + "/day.spent";
  if (!limits.any() || !os::exists(path)) return WorkMeter(path, limits, {});
  const Result<Bytes> file = os::read_file(path, kFileBytes);
  if (!file && file.error().code() != ErrorCode::too_large) return file.error();
  const std::optional<DaySpent> spent = file ? spent_of(*file) : std::nullopt;
  // A file that cannot be read stands for a day that is spent: damage must not give the budget back.
  return WorkMeter(path, limits, spent ? *spent : all_spent(now));
}

Status WorkMeter::reserve(const WorkAmount& amount, WallTime now) {
  if (!is_on()) return {};
  budget_.see(now);
  if (const Status reserved = budget_.reserve(amount); !reserved) {
    refusal_ = reserved.error();
    return reserved;
  }
  // Durable before the work begins: if the app dies in the midst of it, what was reserved is spent.
  return keep();
}

void WorkMeter::settle(const WorkAmount& reserved, const WorkAmount& used) {
  if (is_on()) budget_.settle(reserved, used);
}

WorkAmount WorkMeter::left(WallTime now) {
  budget_.see(now);
  return budget_.left();
}

Status WorkMeter::keep() {
  if (!is_on() || budget_.spent() == kept_) return {};
  COT_TRY(os::write_file_atomically(path_, bytes_of(budget_.spent()), &os::crash::day_spent));
  kept_ = budget_.spent();
  return {};
}

CpuCharge::CpuCharge(WorkMeter& meter, uint64_t reserved_us)
    : meter_(meter), reserved_us_(reserved_us), began_(os::thread_cpu_time()) {}

uint64_t CpuCharge::used_us() const { return static_cast<uint64_t>((os::thread_cpu_time() - began_).count()); }

}  // namespace coterie
