// Examples of the same pixels each time, for who measures steps and not what they learn.
#pragma once

#include <cstdint>

#include "device_sdk/runtime/example_source.h"

namespace coterie::bench {

class Pixels final : public ExampleSource {
 public:
  Pixels(uint32_t batch, uint32_t classes) : batch_(batch), classes_(classes) {}
  uint64_t size() const override { return batch_; }
  Status read(uint64_t index, const Example& to) override {
    uint32_t state = static_cast<uint32_t>(index) * 2654435761u + 1;
    for (float& value : to.features()) {
      state = state * 1664525 + 1013904223;
      value = static_cast<float>(state >> 8) / (1 << 24);
    }
    to.labels()[0] = static_cast<int32_t>(index % classes_);
    return {};
  }

 private:
  uint32_t batch_, classes_;
};

}  // namespace coterie::bench
