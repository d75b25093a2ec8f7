#include "fl_server/tracing/round_traces.h"

#include <algorithm>
#include <utility>

#include "base/os/clock.h"

namespace coterie {

void RoundTraces::happened(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (const auto* opened = std::get_if<event::RoundOpened>(&event.what)) {
    if (under_way_.size() >= kUnderWayMax) under_way_.erase(under_way_.begin());
    UnderWay& begun = under_way_[opened->round.key];
    begun = {};
    begun.trace.job = event.job;
    begun.trace.key = opened->round.key;
    begun.trace.number = opened->round.number;
  }
  std::vector<Span> spans = spans_.take(event);
  if (spans.empty()) return;
  const auto* failed = std::get_if<event::RoundFailed>(&event.what);
  const auto* done = std::get_if<event::RoundDone>(&event.what);
  if (failed == nullptr && done == nullptr) return;
  auto entry = under_way_.extract(failed != nullptr ? failed->round.key : done->round.key);
  if (!entry) return;
  AttemptTrace& trace = entry.mapped().trace;
  trace.spans = std::move(spans);
  for (auto& [hash, device] : entry.mapped().devices) trace.devices.push_back(device);
  std::ranges::sort(trace.devices, {}, &AttemptTrace::Device::place);
  ended_.push_back(std::move(trace));
  if (ended_.size() > kTracesMax) ended_.pop_front();
}

// A call that commits a round returns after the event that says so.
AttemptTrace* RoundTraces::find(const RoundKey& key) {
  if (const auto found = under_way_.find(key); found != under_way_.end()) return &found->second.trace;
  const auto ended = std::find_if(ended_.rbegin(), ended_.rend(), [&](const AttemptTrace& t) { return t.key == key; });
  return ended == ended_.rend() ? nullptr : &*ended;
}

void RoundTraces::store_called(const RoundKey& key, std::string_view call, Micros began, Micros took) {
  const std::lock_guard lock(mutex_);
  AttemptTrace* const trace = find(key);
  if (trace == nullptr) return;
  if (trace->calls.size() < kStoreCallsMax) trace->calls.push_back({call, began, took});
  else ++trace->calls_left_out;
}

void RoundTraces::device_at(const RoundKey& key, const DeviceId& device, DeviceStep step) {
  const std::lock_guard lock(mutex_);
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;
  UnderWay& attempt = found->second;
  Bytes named(device.bytes.begin(), device.bytes.end());
  const std::string attempt_name = std::to_string(key.round.value()) + "/" + std::to_string(key.attempt.value());
  named.insert(named.end(), attempt_name.begin(), attempt_name.end());
  const uint64_t hash = hash_(named);
  auto entry = attempt.devices.find(hash);
  if (step == DeviceStep::drawn && entry == attempt.devices.end()) {
    const uint64_t place = attempt.trace.devices_drawn++;
    const bool is_full = attempt.devices.size() >= kDevicesMax;
    if (is_full && hash > attempt.devices.rbegin()->first) return;
    if (is_full) attempt.devices.erase(std::prev(attempt.devices.end()));
    entry = attempt.devices.emplace(hash, AttemptTrace::Device{.place = place}).first;
  }
  if (entry == attempt.devices.end()) return;
  // The first time counts: a device that sends again has been there.
  std::optional<WallTime>& at = entry->second.at[static_cast<size_t>(step)];
  if (!at) at = os::wall_now();
}

Result<std::string> RoundTraces::file(const JobId& job, std::optional<uint64_t> round) const {
  std::vector<AttemptTrace> attempts;
  {
    const std::lock_guard lock(mutex_);
    if (!round) {
      const auto newest = std::find_if(ended_.rbegin(), ended_.rend(), [&](const auto& t) { return t.job == job; });
      if (newest != ended_.rend()) round = newest->number;
    }
    for (const AttemptTrace& trace : ended_) {
      if (trace.job == job && trace.number == round) attempts.push_back(trace);
    }
  }
  if (attempts.empty()) {
    return Error(ErrorCode::not_found, "there is no trace of " +
                                           (round ? "round " + std::to_string(*round) : std::string("a round")) +
                                           " of job " + job.value() + ": the newest " + std::to_string(kTracesMax) +
                                           " attempts that ended while this server led are kept");
  }
  return trace_file(attempts);
}

}  // namespace coterie
