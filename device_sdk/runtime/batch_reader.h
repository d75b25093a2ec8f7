// Fills a program's inputs and target with a batch, and checks every label before a kernel indexes with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/graph_compiler.h"

namespace coterie {

class BatchReader {
 public:
  // `compiled` is a bound program; its memory must outlive the reader.
  BatchReader(const Model& model, const LossSettings& loss, const CompiledModel& compiled);

  // Example `slot` of the batch; the first is 0. Labels to be ignored become kIgnoredLabel. With heads the example's
  // target is read as a whole and divided among them (loss_heads.h). Does not allocate unless it fails.
  Status read(ExampleSource& source, uint64_t index, size_t slot);

  // How many labels of the batch, as far as it has been read, are ignored; with heads, those of the first.
  uint64_t ignored() const { return targets_[0].ignored; }
  uint64_t ignored_of_head(size_t i) const { return targets_[i].ignored; }

 private:
  struct Column {
    float* base;
    size_t elements;  // of one example

    std::span<float> at(size_t slot) const { return {base + slot * elements, elements}; }
  };
  struct Target {
    Column column;
    LossSettings loss;
    uint64_t classes;
    std::string whose = {};  // " of the head NAME"
    uint64_t ignored = 0;
  };
  static Status check_labels(Target& target, uint64_t index, std::span<int32_t> labels);
  Status divide(uint64_t index, size_t slot);

  std::vector<Column> inputs_;
  std::vector<Target> targets_;  // one, or one a head
  std::vector<float> row_;       // with heads: an example's target
  bool has_values_ = false;      // its cells are float32
  std::vector<Example::Place> places_;
};

}  // namespace coterie
