#include "vertical/coordinator/coordinator_limits.h"

#include <string>
#include <utility>

namespace coterie::vertical {
namespace {

constexpr uint32_t kCountMax = 1 << 16, kEntriesMax = 1 << 28;
constexpr uint32_t kBufferBytesMin = 4 << 10, kBufferBytesMax = 64 << 20;
constexpr Millis kTimeMax{7 * 24 * 3'600'000};

Error out_of_range(const std::string& name) {
  return Error(ErrorCode::invalid_argument, "limits: " + name + " is out of range");
}

}  // namespace

Status check_limits(const CoordinatorLimits& limits) {
  for (const auto& [name, count] : {std::pair("asking_max", limits.asking_max),
                                    {"waiting_max", limits.waiting_max},
                                    {"pairs_max", limits.pairs_max},
                                    {"jobs_max", limits.jobs_max},
                                    {"party_jobs_max", limits.party_jobs_max}}) {
    if (count == 0 || count > kCountMax) return out_of_range(name);
  }
  if (limits.matching_entries_max == 0 || limits.matching_entries_max > kEntriesMax) {
    return out_of_range("matching_entries_max");
  }
  if (limits.buffer_bytes < kBufferBytesMin || limits.buffer_bytes > kBufferBytesMax) {
    return out_of_range("buffer_bytes");
  }
  for (const auto& [name, time] : {std::pair("ask_ms", limits.ask_time),
                                   {"wait_ms", limits.wait_time},
                                   {"idle_ms", limits.idle_time},
                                   {"report_ms", limits.report_time},
                                   {"resume_ms", limits.resume_time}}) {
    if (time.count() <= 0 || time > kTimeMax) return out_of_range(name);
  }
  return {};
}

}  // namespace coterie::vertical
