// RandomExamples: examples that fit a model and a loss, for who measures or checks a training without any data.
#pragma once

#include <cstdint>

#include "device_sdk/runtime/example_source.h"

namespace coterie {

class Model;
struct LossSettings;

// Always the same of one index: floats in [-1, 1], tokens 0 and 1 (which every table has), the classes in turn; values
// as targets are probabilities that add up to 1, which every loss takes. Model and loss outlive it.
class RandomExamples final : public ExampleSource {
 public:
  RandomExamples(const Model& model, const LossSettings& loss, uint64_t count);

  uint64_t size() const override { return count_; }
  Status read(uint64_t index, const Example& to) override;

 private:
  const Model& model_;
  const LossSettings& loss_;
  uint64_t count_, classes_;
};

}  // namespace coterie
