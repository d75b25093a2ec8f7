// The target of the model's own output, where examples have the targets of several heads.
#pragma once

#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// The examples of another source, with the target that loss_of_own_output(loss) alone would have: a class that stands
// there as a float32 is the int32. `source` must outlive it.
class OwnTargets final : public ExampleSource {
 public:
  // `cells`: of a target in the source, those of all heads. The model may have its own output alone. Precondition: the
  // loss has heads. Errors: those of target_elements (loss_heads.h) for that output; invalid_argument (fewer cells than
  // it has, or the first head is of another output).
  static Result<OwnTargets> create(ExampleSource& source, uint64_t cells, const Model& model, const LossSettings& loss);
  uint64_t own_elements() const { return own_; }

  uint64_t size() const override { return source_->size(); }
  const Shape* first_input_shape() const override { return source_->first_input_shape(); }
  // Errors: the source's; invalid_argument (a class that is no whole number).
  Status read(uint64_t index, const Example& to) override;

 private:
  OwnTargets(ExampleSource& source, uint64_t all, uint64_t own, bool makes_labels)
      : source_(&source), all_(all), own_(own), makes_labels_(makes_labels) {}

  ExampleSource* source_;
  std::vector<float> all_;  // of all heads
  uint64_t own_;
  bool makes_labels_;
  std::vector<Example::Place> places_;
};

}  // namespace coterie
