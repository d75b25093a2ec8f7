#include "base/os/crash_point.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace coterie::os {
namespace {

#ifdef COTERIE_NO_CRASH_POINTS  // where every KiB counts, and no test arms one: 11 KiB are their names
constexpr std::span<const std::string_view> kNames;
#else
constexpr std::string_view kAll[] = {
#define COT_CRASH_POINT(identifier, name) name,
#include "base/os/crash_points.def"
};
constexpr std::span<const std::string_view> kNames(kAll);
#endif

constexpr uint32_t kHitMax = 1'000'000;

CrashPoint g_point{};
std::atomic<uint32_t> g_hits_left{0};

}  // namespace

std::span<const std::string_view> crash_point_names() { return kNames; }

Status arm_crash_point(std::string_view text) {
  if (text.empty()) return {};
  const std::string_view name = text.substr(0, text.find(':'));
  uint32_t hit = 1;
  if (name.size() < text.size()) {
    const std::string_view number = text.substr(name.size() + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), hit);
    if (error != std::errc() || end != number.data() + number.size() || hit < 1 || hit > kHitMax) {
      return Error(
          ErrorCode::invalid_argument,
          "crash point " + std::string(text) + ": behind the colon is a number from 1 to " + std::to_string(kHitMax));
    }
  }
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return Error(ErrorCode::invalid_argument, "crash point " + std::string(name) + ": there is none of this name");
  }
  g_point = static_cast<CrashPoint>(found - std::begin(kNames));
  g_hits_left = hit;
  internal::is_armed = true;
  return {};
}

void internal::hit([[maybe_unused]] CrashPoint point) {
#ifndef COTERIE_NO_CRASH_POINTS
  if (point != g_point || g_hits_left.fetch_sub(1) != 1) return;
  const std::string line = "killed at crash point " + std::string(kNames[static_cast<size_t>(point)]) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  // Not abort() or exit(): nothing may run or be flushed behind this point, as at a power loss.
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();  // until the signal comes: this thread does nothing more
#endif
}

}  // namespace coterie::os
