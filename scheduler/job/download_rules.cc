#include "scheduler/job/download_rules.h"

#include "proto/messages/download_rules.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {
namespace {

constexpr uint32_t kKeyframeEveryMax = 1'000'000;

}  // namespace

Problems download_problems(const DownloadSettings& download) {
  Problems problems;
  if (!download.is_on()) return problems;
  SettingsChecker check(problems);
  check.in_range<uint32_t>(download.bits, kDeltaBitsMin, kDeltaBitsMax, "/download/bits");
  check.in_range<uint32_t>(download.keyframe_every, 0, kKeyframeEveryMax, "/download/keyframe_every");
  check.require(download.keyframe_every != 1, "/download/keyframe_every",
                "must not be 1: every version would be a whole model; leave download out for that");
  return problems;
}

}  // namespace coterie
