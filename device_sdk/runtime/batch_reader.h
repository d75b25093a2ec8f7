// Fills a program's inputs and target with a batch, and checks every label before a kernel indexes with it.
#pragma once

#include <cstdint>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/graph_compiler.h"

namespace coterie {

class BatchReader {
 public:
  // `compiled` is a bound program; its memory must outlive the reader.
  BatchReader(const Model& model, const LossSettings& loss, const CompiledModel& compiled);

  // Example `slot` of the batch; the first is 0. Labels to be ignored become kIgnoredLabel. Does not allocate unless it
  // fails.
  Status read(ExampleSource& source, uint64_t index, size_t slot);

  // How many labels of the batch, as far as it has been read, are ignored.
  uint64_t ignored() const { return ignored_; }

 private:
  struct Column {
    float* base;
    size_t elements;  // of one example

    std::span<float> at(size_t slot) const { return {base + slot * elements, elements}; }
  };
  std::vector<Column> inputs_;
  Column target_;
  LossSettings loss_;
  uint64_t classes_;
  uint64_t ignored_ = 0;
  std::vector<Example::Place> places_;
};

}  // namespace coterie
