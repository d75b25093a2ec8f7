// ExamplePart: some of another source's examples, as a source of their own; and which of them are held out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device_sdk/runtime/example_source.h"

namespace coterie {

// The held-out examples are known by their numbers alone: the same in each round, whatever the seed, so that what is
// looked at was never trained on by this device. Where examples are only ever added behind the others, few change
// sides. The numbers are drawn, because neighbours are often of one kind.
struct ExampleSplit {
  std::vector<uint32_t> trained;   // ascending
  std::vector<uint32_t> held_out;  // ascending
};

// count * share, rounded down; `share` counts to six places. It is in (0, kValidationShareMax], so that one is always
// left to train on.
uint64_t held_out_count(uint64_t count, float share);
// `count` is at most limits::kTrainingExamplesMax.
ExampleSplit split_examples(uint64_t count, float share);

// The digest is that of all examples. `whole` outlives it.
class ExamplePart final : public ExampleSource {
 public:
  ExamplePart(ExampleSource& whole, std::vector<uint32_t> numbers) : whole_(whole), numbers_(std::move(numbers)) {}

  uint64_t size() const override { return numbers_.size(); }
  void set_epoch(uint64_t epoch) override { whole_.set_epoch(epoch); }
  std::optional<Digest> digest() const override { return whole_.digest(); }
  const Shape* first_input_shape() const override { return whole_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override { return whole_.read(numbers_[index], to); }

 private:
  ExampleSource& whole_;
  std::vector<uint32_t> numbers_;
};

}  // namespace coterie
