// TrainedReports: what one node remembers of the devices that it asked or counted, of each job whose selection rule
// reads it. Pure.
//
// A device that was asked is known from then on, whether it ever answers or not: else one that never does would stay
// unknown, and rules that ask the unknown first would ask it in each round.
//
// In memory alone, and within limits: what is forgotten makes a device one of which nothing is known, as a new one is.
// The reports of a job lie in two halves. A full young half becomes the old one, and what the old one had is forgotten:
// so the devices that were asked or counted last stay, at least kHalfMax of them and at most twice as many.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/selection/trained_report.h"

namespace coterie {

class TrainedReports {
 public:
  static constexpr size_t kHalfMax = 100'000;
  static constexpr size_t kJobsMax = 16;  // the job that was longest without a report goes

  static constexpr Millis kIdleMax{24 * 3'600'000};  // of a job without a round: it has ended, or it stands still

  // Forgets jobs that had no round for kIdleMax, as far as these calls have seen it.
  void time_passed(Instant now, const std::function<bool(const JobId&)>& has_round);
  // This device has a ticket for a round that trains this version.
  void asked(const JobId& job, const DeviceId& device, uint64_t version);
  // It has the last one no more: it never got it. Who had no other is unknown again.
  void asked_in_vain(const JobId& job, const DeviceId& device);
  // This device was counted once more, and nothing is known of its training.
  void counted(const JobId& job, const DeviceId& device) { trained(job, device, {}); }
  // The same, with what is known of it in place of what was. report.counted and report.asked are not looked at.
  void trained(const JobId& job, const DeviceId& device, const TrainedReport& report);
  // Null: nothing is known. The pointer is good until the next call of another method.
  const TrainedReport* find(const JobId& job, const DeviceId& device) const;

 private:
  using Half = std::unordered_map<DeviceId, TrainedReport>;
  struct OfJob {
    JobId job;
    Half young, old;
    std::optional<Instant> idle_since = {};
  };
  TrainedReport& entry(const JobId& job, const DeviceId& device);
  static void make_room(OfJob& of);
  std::list<OfJob> jobs_;  // who had a report last is first
};

}  // namespace coterie
