#include "scheduler/selection/trained_reports.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace coterie {
namespace {

uint32_t one_more(uint32_t count) { return count == UINT32_MAX ? count : count + 1; }

}  // namespace

void TrainedReports::time_passed(Instant now, const std::function<bool(const JobId&)>& has_round) {
  std::erase_if(jobs_, [&](OfJob& of) {
    if (has_round(of.job)) of.idle_since.reset();
    else if (!of.idle_since) of.idle_since = now;
    return of.idle_since && now - *of.idle_since >= kIdleMax;
  });
}

// In the young half of its job, which is the first one then.
TrainedReport& TrainedReports::entry(const JobId& job, const DeviceId& device) {
  const auto known = std::ranges::find(jobs_, job, &OfJob::job);
  if (known == jobs_.end()) {
    jobs_.push_front({.job = job, .young = {}, .old = {}});
    if (jobs_.size() > kJobsMax) jobs_.pop_back();
  } else {
    jobs_.splice(jobs_.begin(), jobs_, known);
  }
  OfJob& of = jobs_.front();
  TrainedReport& report = of.young[device];
  if (const auto old = of.old.find(device); old != of.old.end()) {
    report = old->second;
    of.old.erase(old);
  }
  return report;
}

void TrainedReports::make_room(OfJob& of) {
  // Two halves in the place of a list by age: whoever is not seen while kHalfMax others are falls out with the old
  // half, and no entry has a link of its own.
  if (of.young.size() >= kHalfMax) of.old = std::exchange(of.young, {});
}

void TrainedReports::asked(const JobId& job, const DeviceId& device, uint64_t version) {
  TrainedReport& report = entry(job, device);
  report.version = version;
  report.asked = one_more(report.asked);
  make_room(jobs_.front());
}

void TrainedReports::asked_in_vain(const JobId& job, const DeviceId& device) {
  const auto of = std::ranges::find(jobs_, job, &OfJob::job);
  if (of == jobs_.end()) return;
  for (Half* half : {&of->young, &of->old}) {
    const auto found = half->find(device);
    if (found == half->end() || found->second.asked == 0) continue;
    --found->second.asked;
    if (found->second.is_silent() && found->second.asked == 0) half->erase(found);
  }
}

void TrainedReports::trained(const JobId& job, const DeviceId& device, const TrainedReport& report) {
  TrainedReport& known = entry(job, device);
  const uint32_t before = known.counted;
  known = report;
  known.counted = one_more(before);
  known.asked = 0;
  make_room(jobs_.front());
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
