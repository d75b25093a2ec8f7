// What a device counts of its examples for a plan with analytics (proto/messages/analytics.h), and its update of it:
// one example a step, so that the agent stops between any two as it does between two steps of a training.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/example_source.h"
#include "proto/messages/analytics.h"
#include "proto/messages/checkin.h"
#include "proto/messages/update.h"

namespace coterie {

// Counts the source's examples; where there are more than values_max of them, so many that `seed` draws: the same seed
// draws the same. Not thread-safe.
class ExampleCounter {
 public:
  // `size`: of the source. The rules are valid.
  ExampleCounter(const AnalyticsRules& rules, uint64_t size, uint64_t seed);

  bool finished() const { return done_ == drawn_.size(); }
  // Reads the next example of a source that is as it was. Precondition: not finished. Errors: the source's, such as
  // that its examples have another size; conflict if it has fewer examples by now.
  Status step(ExampleSource& examples);
  uint64_t done() const { return done_; }  // examples
  // The device's lanes so far.
  const std::vector<float>& lanes() const { return lanes_; }

 private:
  AnalyticsRules rules_;
  std::vector<uint64_t> drawn_;  // ascending
  size_t done_ = 0;
  std::vector<float> lanes_, input_;
};

// The lanes as an update of the assignment's round, encoded. Its header says that no example was trained on: how many
// the device has would be a release beside the sum.
Bytes counted_update(const Plan& plan, const Assignment& assignment, const std::vector<float>& lanes);

}  // namespace coterie
