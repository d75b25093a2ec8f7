#include "device_sdk/runtime/batch_reader.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/loss_rule.h"

namespace coterie {

BatchReader::BatchReader(const Model& model, const LossSettings& loss, const CompiledModel& compiled)
    : has_values_(loss.target == TargetKind::values), places_(compiled.inputs.size()) {
  for (size_t i = 0; i < compiled.inputs.size(); ++i) {
    inputs_.push_back({compiled.program.pointer(compiled.inputs[i]), elements(model.input_shape(i))});
  }
  const auto column = [&](BufferId target, uint64_t count) { return Column{compiled.program.pointer(target), count}; };
  if (!kHasHeads || compiled.heads.empty()) {
    targets_.push_back(
        {column(compiled.target, compiled.target_elements), loss, static_cast<uint64_t>(model.output_shape().back())});
    return;
  }
  size_t cells = 0;
  for (size_t i = 0; i < compiled.heads.size(); ++i) {
    const CompiledHead& head = compiled.heads[i];
    targets_.push_back(
        {column(head.target, head.target_elements), head.loss, head.width, " of the head " + loss.heads[i].output});
    cells += head.target_elements;
  }
  row_.resize(cells);
}

Status BatchReader::check_labels(Target& target, uint64_t index, std::span<int32_t> labels) {
  for (int32_t& label : labels) {
    if (label == target.loss.ignore_label) {
      label = kIgnoredLabel;
      ++target.ignored;
      continue;
    }
    if (is_valid_label(target.loss.kind, target.classes, label)) continue;
    return Error(ErrorCode::invalid_argument, concat({"example ", index, " has a label", target.whose, " outside ",
                                                      valid_labels(target.loss.kind, target.classes)}));
  }
  return {};
}

// The row's cells go to the heads' targets; where they are float32 and a head reads labels, those are whole numbers.
Status BatchReader::divide(uint64_t index, size_t slot) {
  const float* from = row_.data();
  for (Target& target : targets_) {
    const std::span<float> to = target.column.at(slot);
    if (target.loss.target == TargetKind::values || !has_values_) {
      std::copy_n(from, to.size(), to.begin());
    } else {
      const std::span<int32_t> labels(reinterpret_cast<int32_t*>(to.data()), to.size());
      for (size_t i = 0; i < to.size(); ++i) {
        if (!is_whole_int32(from[i])) {
          return Error(ErrorCode::invalid_argument,
                       concat({"example ", index, " has a label", target.whose, " that is no whole number"}));
        }
        labels[i] = static_cast<int32_t>(from[i]);
      }
    }
    from += to.size();
    if (target.loss.target == TargetKind::labels) {
      COT_TRY(check_labels(target, index, {reinterpret_cast<int32_t*>(to.data()), to.size()}));
    }
  }
  return {};
}

Status BatchReader::read(ExampleSource& source, uint64_t index, size_t slot) {
  for (size_t i = 0; i < inputs_.size(); ++i) places_[i] = inputs_[i].at(slot);
  const Example example(places_, !kHasHeads || row_.empty() ? targets_[0].column.at(slot) : Example::Place(row_));
  COT_TRY(source.read(index, example));
  if (slot == 0) {
    for (Target& target : targets_) target.ignored = 0;
  }
  if (kHasHeads && !row_.empty()) return divide(index, slot);
  if (targets_[0].loss.target == TargetKind::values) return {};
  return check_labels(targets_[0], index, example.labels());
}

}  // namespace coterie
