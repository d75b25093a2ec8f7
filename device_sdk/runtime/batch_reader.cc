#include "device_sdk/runtime/batch_reader.h"

#include <string>

#include "device_sdk/runtime/loss_rule.h"

namespace coterie {

BatchReader::BatchReader(const Model& model, const LossSettings& loss, const CompiledModel& compiled)
    : loss_(loss), classes_(static_cast<uint64_t>(model.output_shape().back())), places_(compiled.inputs.size()) {
  for (size_t i = 0; i < compiled.inputs.size(); ++i) {
    inputs_.push_back({compiled.program.pointer(compiled.inputs[i]), elements(model.input_shape(i))});
  }
  target_ = {compiled.program.pointer(compiled.target), compiled.target_elements};
}

Status BatchReader::read(ExampleSource& source, uint64_t index, size_t slot) {
  for (size_t i = 0; i < inputs_.size(); ++i) places_[i] = inputs_[i].at(slot);
  const Example example(places_, target_.at(slot));
  COT_TRY(source.read(index, example));
  if (slot == 0) ignored_ = 0;
  if (loss_.target == TargetKind::values) return {};
  for (int32_t& label : example.labels()) {
    if (label == loss_.ignore_label) {
      label = kIgnoredLabel;
      ++ignored_;
      continue;
    }
    if (is_valid_label(loss_.kind, classes_, label)) continue;
    return Error(ErrorCode::invalid_argument,
                 "example " + std::to_string(index) + " has a label outside " + valid_labels(loss_.kind, classes_));
  }
  return {};
}

}  // namespace coterie
