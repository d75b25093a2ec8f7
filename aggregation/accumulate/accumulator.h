// Accumulator: what a batch of updates comes to, in lanes that can be stored, merged and read again.
//
// An update is added whole or not at all, and lanes of two accumulators of one kind and size are merged by merge(): how
// updates are shared out to accumulators, threads and nodes changes nothing. What lanes mean is the kind's own affair:
// RingSum has one of them a value, KeptUpdates the updates themselves, CohortSums a sum for each cohort; what counts
// into a histogram or weighs updates by their age has others.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "base/ids.h"
#include "base/result.h"

namespace coterie {

// Narrow lanes are residues modulo 2^16 and 2^32.
using AnyLanes = std::variant<std::span<const uint64_t>, std::span<const uint32_t>, std::span<const uint16_t>>;

class Accumulator {
 public:
  virtual ~Accumulator() = default;

  virtual uint64_t lane_count() const = 0;
  // Adds the values of one update, `weight` times. Thread-safe against itself and merge(). malformed names the first
  // value that is not what the plan allows, and nothing has been added then. A sum forgets whom it is from.
  virtual Status add(std::span<const float> values, uint32_t weight, const DeviceId& from) = 0;
  // Adds what is lanes already: those of another accumulator, or a masked update, which is a sum of one. Thread-safe as
  // add(). Precondition: as many as lane_count().
  virtual void merge(const AnyLanes& lanes) = 0;
  // Adds a masked update of this session of secure aggregation: the name of its cohort. Whoever keeps one sum of all
  // forgets it. Thread-safe as add(). Precondition: as many lanes as a masked update has.
  virtual void merge_masked(const AnyLanes& lanes, const Digest& /*session*/) { merge(lanes); }

  // For the one who spills: nobody adds meanwhile.
  virtual std::span<const uint64_t> lanes() const = 0;
  virtual void clear() = 0;
};

}  // namespace coterie
