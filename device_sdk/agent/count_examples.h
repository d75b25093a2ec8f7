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

// What a device makes of its examples for a table, in steps. Not thread-safe.
class ExampleReader {
 public:
  virtual ~ExampleReader() = default;
  virtual bool finished() const = 0;
  // Reads the next examples of a source that is as it was. Precondition: not finished. Errors: the source's, such as
  // that its examples have another size; conflict if it has fewer examples by now.
  virtual Status step(ExampleSource& examples) = 0;
  // The device's lanes when it is finished.
  virtual const std::vector<float>& lanes() const = 0;
};

// So many of the numbers below `size` as `count`, or all of them where they are fewer, ascending: each set of them
// alike, and the same for the same seed (Floyd; Bentley 1987).
std::vector<uint64_t> drawn_examples(uint64_t size, uint64_t count, uint64_t seed);

// conflict, where a source that had the example has it no more.
Status check_has(const ExampleSource& examples, uint64_t index);

// Counts the source's examples; where there are more than values_max of them, so many that `seed` draws: the same seed
// draws the same. Not thread-safe.
class ExampleCounter final : public ExampleReader {
 public:
  // `size`: of the source. The rules are valid.
  ExampleCounter(const AnalyticsRules& rules, uint64_t size, uint64_t seed);

  bool finished() const override { return done_ == drawn_.size(); }
  Status step(ExampleSource& examples) override;  // one example
  uint64_t done() const { return done_; }         // examples
  // The device's lanes so far.
  const std::vector<float>& lanes() const override { return lanes_; }

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
