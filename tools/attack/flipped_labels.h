// FlippedLabels: the examples of a data set with its classes turned round, 0 for the last one and so on.
#pragma once

#include "device_sdk/runtime/dataset_source.h"

namespace coterie {

class FlippedLabels final : public ExampleSource {
 public:
  // `source` outlives this. Precondition: its target are labels.
  explicit FlippedLabels(DatasetSource& source) : source_(source) {}

  uint64_t size() const override { return source_.size(); }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    COT_TRY(source_.read(index, to));
    const auto last = static_cast<int32_t>(source_.header().classes) - 1;
    for (int32_t& label : to.labels()) label = last - label;
    return {};
  }

 private:
  DatasetSource& source_;
};

}  // namespace coterie
