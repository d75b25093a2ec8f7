// Fills a program's input and labels with a batch, and checks every label before a kernel indexes with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/op_rule.h"

namespace coterie {

class BatchReader {
 public:
  BatchReader(const Model& model, Loss loss, uint32_t batch_size)
      : features_(elements(model.input_shape())),
        outputs_(elements(model.output_shape())),
        loss_(loss),
        labels_(batch_size) {}

  // Example `slot` of the batch; `input` is the program's. Does not allocate unless it fails.
  Status read(ExampleSource& source, uint64_t index, size_t slot, float* input) {
    COT_TRY(source.read(index, std::span(input + slot * features_, features_), labels_[slot]));
    if (!is_valid_label(loss_, outputs_, labels_[slot])) {
      return Error(ErrorCode::invalid_argument, "example " + std::to_string(index) + " has a label outside [0, " +
                                                    std::to_string(outputs_) + ")");
    }
    return {};
  }
  const int32_t* labels() const { return labels_.data(); }

 private:
  size_t features_;
  uint64_t outputs_;
  Loss loss_;
  std::vector<int32_t> labels_;
};

}  // namespace coterie
