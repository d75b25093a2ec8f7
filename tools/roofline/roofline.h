// Roofline: how near each op of a training step comes to what the machine allows (Williams, Waterman and Patterson
// 2009). Pure.
//
// An op that does f operations on b bytes takes at least f / peak for the operations and b / rate for the bytes; its
// roof is whichever is longer, as both go on at the same time. f / b is its arithmetic intensity, and f by that least
// time the roof in FLOP/s at this intensity: min(peak, intensity x rate). Small operands come from caches: the rate is
// that of a working set of the step's size (Ilic, Pratas and Sousa 2014), so that nobody is told to be above memory's
// rate who never goes to memory. Forward and backward of an op have a roof each; the op's least time is the sum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages/model.h"

namespace coterie {

struct DirectionWork;
struct TrainingProfile;

struct MemoryRate {
  uint64_t working_set = 0;     // bytes
  double bytes_per_second = 0;  // read and written, both counted
};

struct MachinePeaks {
  double flops_per_second = 0;
  std::vector<MemoryRate> memory;  // by rising working set, at least one; the last holds for all above

  double rate_for(uint64_t working_set) const;
};

enum class Bound : uint8_t { compute, memory };
std::string_view to_string(Bound bound);

// One direction of an op, or what several come to together.
struct RoofedTime {
  double seconds = 0, flops = 0;
  uint64_t bytes = 0;
  double compute_seconds = 0, memory_seconds = 0;  // of the least, what each of the two limits

  double least_seconds() const { return compute_seconds + memory_seconds; }
  double share() const { return seconds > 0 ? least_seconds() / seconds : 0; }  // of the roof
  double intensity() const { return bytes > 0 ? flops / static_cast<double>(bytes) : 0; }
  double roof() const { return least_seconds() > 0 ? flops / least_seconds() : 0; }  // FLOP/s
  Bound bound() const { return compute_seconds > memory_seconds ? Bound::compute : Bound::memory; }
  RoofedTime& operator+=(const RoofedTime& other);
};
RoofedTime roofed(const DirectionWork& work, double seconds, const MachinePeaks& peaks);

struct RoofedOp {
  std::string name, kind;
  RoofedTime forward, backward;

  RoofedTime all() const { return RoofedTime(forward) += backward; }
};

// In the order of the profile, whose model has this graph.
std::vector<RoofedOp> roofline(const TrainingProfile& profile, const ModelGraph& graph, const MachinePeaks& peaks);
// One entry a kind, without a name, the longest first.
std::vector<RoofedOp> by_kind(const std::vector<RoofedOp>& ops);
RoofedTime sum_of(const std::vector<RoofedOp>& ops);

}  // namespace coterie
