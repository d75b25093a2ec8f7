#include "tools/roofline/roofline.h"

#include <algorithm>

#include "base/assert.h"
#include "device_sdk/runtime/profiler.h"
#include "tools/roofline/op_work.h"

namespace coterie {

double MachinePeaks::rate_for(uint64_t working_set) const {
  COT_ASSERT(!memory.empty());
  const auto holds = std::ranges::lower_bound(memory, working_set, {}, &MemoryRate::working_set);
  return (holds == memory.end() ? memory.back() : *holds).bytes_per_second;
}

std::string_view to_string(Bound bound) { return bound == Bound::compute ? "compute" : "memory"; }

RoofedTime& RoofedTime::operator+=(const RoofedTime& other) {
  seconds += other.seconds;
  flops += other.flops;
  bytes += other.bytes;
  compute_seconds += other.compute_seconds;
  memory_seconds += other.memory_seconds;
  return *this;
}

RoofedTime roofed(const DirectionWork& work, double seconds, const MachinePeaks& peaks) {
  RoofedTime made{.seconds = seconds, .flops = work.flops, .bytes = work.bytes};
  const double compute = work.flops / peaks.flops_per_second,
               memory = static_cast<double>(work.bytes) / peaks.rate_for(work.working_set);
  (compute > memory ? made.compute_seconds : made.memory_seconds) = std::max(compute, memory);
  return made;
}

std::vector<RoofedOp> roofline(const TrainingProfile& profile, const ModelGraph& graph, const MachinePeaks& peaks) {
  std::vector<RoofedOp> ops;
  for (const OpTime& op : profile.ops) {
    const OpWork work = work_of(op.origin, graph, op.forward_flops, profile.steps);
    ops.push_back({op.name, op.kind, roofed(work.forward, op.forward_seconds, peaks),
                   roofed(work.backward, op.backward_seconds, peaks)});
  }
  return ops;
}

std::vector<RoofedOp> by_kind(const std::vector<RoofedOp>& ops) {
  std::vector<RoofedOp> kinds;
  for (const RoofedOp& op : ops) {
    const auto found = std::ranges::find(kinds, op.kind, &RoofedOp::kind);
    RoofedOp& kind = found == kinds.end() ? kinds.emplace_back() : *found;
    kind.kind = op.kind;
    kind.forward += op.forward;
    kind.backward += op.backward;
  }
  std::ranges::stable_sort(kinds, std::ranges::greater(), [](const RoofedOp& kind) { return kind.all().seconds; });
  return kinds;
}

RoofedTime sum_of(const std::vector<RoofedOp>& ops) {
  RoofedTime sum;
  for (const RoofedOp& op : ops) sum += op.all();
  return sum;
}

}  // namespace coterie
