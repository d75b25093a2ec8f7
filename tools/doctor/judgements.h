// What the doctor makes of what was seen. Pure: each function is of values that somebody else has read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/problem.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/app/process_limits.h"
#include "tools/doctor/finding.h"

namespace coterie {

// A server certificate with less left should be renewed now: operators renew at working hours.
inline constexpr Millis kCertificateLeftMin{14ll * 24 * 3600 * 1000};
// A disk with less is full by tomorrow, one with less than the second by now: a round's partial sums need it.
inline constexpr uint64_t kDiskFreeMin = 5ull << 30;
inline constexpr uint64_t kDiskFreeBad = 256ull << 20;
// How far two clocks are apart that are both kept right.
inline constexpr Millis kClockApartMax{2'000};

// `source` is the file, empty for the defaults.
Findings judge_configuration(const std::string& source, const Problems& problems);
Finding judge_misfit(const Misfit& misfit);
Finding judge_disk(const std::string& path, uint64_t free_bytes, uint64_t total_bytes);
// `mode` is that of stat(2).
Finding judge_mode(const std::string& subject, const std::string& path, uint32_t mode);
Finding judge_certificate(const std::string& path, const Result<WallTime>& not_after, WallTime now);
// Whether something keeps this machine's clock right; none: it cannot be asked.
Finding judge_clock(std::optional<bool> is_synchronized);
Finding judge_server_clock(WallTime servers, WallTime ours, Millis skew_max);
// `found` is what the database says, 0 for one without tables; `spoken` is this program's.
Finding judge_schema(const std::string& database, const Result<int64_t>& found, int64_t spoken);
Finding judge_version(std::string_view servers, std::string_view ours);
// What another process on this machine would say, if a server wanted this address.
Finding judge_port(const std::string& plane, const std::string& address, uint16_t port, const Status& can_listen);

// bad before warning before unseen before good.
Health worst_of(const Findings& findings);

}  // namespace coterie
