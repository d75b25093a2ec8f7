// ExampleSource: where training and evaluation get their examples, one at a time, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

// Where one example is to be written: a place for each input of the model, in the model's order and its shape (images
// height x width x channels), and one for the target. Elements are float32 or int32, as the model (Model::input_type)
// and the loss say; the caller of the wrong one gets the same bytes under another type.
class Example {
 public:
  using Place = std::span<float>;
  Example(std::span<const Place> inputs, Place target) : inputs_(inputs), target_(target) {}

  size_t input_count() const { return inputs_.size(); }
  std::span<float> features(size_t input = 0) const { return inputs_[input]; }
  std::span<int32_t> tokens(size_t input = 0) const { return as_ints(inputs_[input]); }
  // A class in [0, classes), or any number for a regression; several where the output has several rows an example.
  std::span<int32_t> labels() const { return as_ints(target_); }
  std::span<float> targets() const { return target_; }

 private:
  static std::span<int32_t> as_ints(Place place) { return {reinterpret_cast<int32_t*>(place.data()), place.size()}; }
  std::span<const Place> inputs_;
  Place target_;
};

// Implemented by the application (over its own store) and by the data set reader. Called on the thread that trains; the
// same index gives the same example as long as a Trainer or an Evaluator run lives, or, of a source that heeds
// set_epoch, as long as the epoch is the same.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;
  virtual uint64_t size() const = 0;
  // The epoch, counted from 0, that the reads to come are part of: a Trainer says it before each batch, also when it
  // goes on from a checkpoint; an Evaluator never does.
  virtual void set_epoch(uint64_t) {}
  // Names the examples by their content, where they have such a name: a checkpoint is then of these and no others. May
  // read all of them the first time.
  virtual std::optional<Digest> digest() const { return std::nullopt; }
  // The shape of each example's first input, where it may be another than the model's: what resizes images asks. Null:
  // it is the model's.
  virtual const Shape* first_input_shape() const { return nullptr; }
  // Writes example `index` (below size()). An error stops the step that asked; the step may be tried again.
  virtual Status read(uint64_t index, const Example& to) = 0;
};

}  // namespace coterie
