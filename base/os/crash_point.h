// Crash points: named places, at every durable step, where a test has this process killed as if by `kill -9`, to see
// that nothing is lost, counted twice or left half done. crash_points.def has their names; another does not compile.
//
// Nothing is armed unless the program calls arm_crash_point(): then crash_point() is one load and a branch.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace coterie::os {

enum class CrashPoint : uint16_t {
#define COT_CRASH_POINT(identifier, name) identifier,
#include "base/os/crash_points.def"
};

// In the order of CrashPoint.
std::span<const std::string_view> crash_point_names();

// The points of a database transaction, of a statement that stands alone there, and of a file that is written whole.
struct TransactionPoints {
  CrashPoint begun, before_commit, after_commit;
};
struct StatementPoints {
  CrashPoint before, after;
};
struct FilePoints {
  CrashPoint created, written, synced, renamed, durable;
};

namespace crash {
#define COT_CRASH_POINT(identifier, name)
#define COT_CRASH_TRANSACTION(verb)                                                                   \
  inline constexpr TransactionPoints verb{CrashPoint::verb##_begun, CrashPoint::verb##_before_commit, \
                                          CrashPoint::verb##_after_commit};
#define COT_CRASH_STATEMENT(verb) \
  inline constexpr StatementPoints verb{CrashPoint::verb##_before, CrashPoint::verb##_after};
#define COT_CRASH_FILE(kind)                                                                                          \
  inline constexpr FilePoints kind{CrashPoint::kind##_created, CrashPoint::kind##_written, CrashPoint::kind##_synced, \
                                   CrashPoint::kind##_renamed, CrashPoint::kind##_durable};
#include "base/os/crash_points.def"
}  // namespace crash

// "name" or "name:n": whoever comes to that point for the n-th time (1 if not given) is killed, after a line to
// standard error that says so. An empty text arms nothing. invalid_argument for a name that does not exist. Once,
// before any thread.
Status arm_crash_point(std::string_view text);

namespace internal {
inline std::atomic<bool> is_armed{false};
void hit(CrashPoint point);
}  // namespace internal

inline void crash_point(CrashPoint point) {
  if (internal::is_armed.load(std::memory_order_relaxed)) [[unlikely]]
    internal::hit(point);
}

// Runs `statement` between its points.
template <typename Run>
auto crash_around(const StatementPoints& points, Run run) {
  crash_point(points.before);
  auto done = run();
  crash_point(points.after);
  return done;
}

}  // namespace coterie::os
