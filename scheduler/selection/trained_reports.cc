#include "scheduler/selection/trained_reports.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace coterie {

void TrainedReports::trained(const JobId& job, const DeviceId& device, const TrainedReport& report) {
  const auto known = std::ranges::find(jobs_, job, &OfJob::job);
  if (known == jobs_.end()) {
    jobs_.push_front({job, {}, {}});
    if (jobs_.size() > kJobsMax) jobs_.pop_back();
  } else {
    jobs_.splice(jobs_.begin(), jobs_, known);
  }
  OfJob& of = jobs_.front();
  uint32_t& counted = of.young[device].counted;  // 0 if it is new there
  if (const auto old = of.old.find(device); old != of.old.end()) {
    counted = old->second.counted;
    of.old.erase(old);
  }
  const uint32_t before = counted;
  of.young[device] = report;
  of.young[device].counted = before == UINT32_MAX ? before : before + 1;
  if (of.young.size() >= kHalfMax) of.old = std::exchange(of.young, {});
}

const TrainedReport* TrainedReports::find(const JobId& job, const DeviceId& device) const {
  const auto of = std::ranges::find(jobs_, job, &OfJob::job);
  if (of == jobs_.end()) return nullptr;
  for (const Half* half : {&of->young, &of->old}) {
    if (const auto found = half->find(device); found != half->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace coterie
