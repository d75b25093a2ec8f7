#include "device_sdk/runtime/random_examples.h"

#include "base/random.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/model.h"

namespace coterie {

RandomExamples::RandomExamples(const Model& model, const LossSettings& loss, uint64_t count)
    : model_(model), loss_(loss), count_(count), classes_(static_cast<uint64_t>(model.output_shape().back())) {}

Status RandomExamples::read(uint64_t index, const Example& to) {
  Prng prng = Prng::derived(1, index);
  for (size_t i = 0; i < to.input_count(); ++i) {
    if (model_.input_type(i) == DataType::int32) {
      for (int32_t& token : to.tokens(i)) token = static_cast<int32_t>(prng.below(2));
    } else {
      for (float& value : to.features(i)) value = static_cast<float>(prng.uniform(-1, 1));
    }
  }
  if (loss_.target == TargetKind::values) {
    for (float& value : to.targets()) value = 1 / static_cast<float>(classes_);
  } else {
    const auto label = static_cast<int32_t>(index % classes_);
    for (int32_t& target : to.labels()) target = is_valid_label(loss_.kind, classes_, label) ? label : 1;
  }
  return {};
}

}  // namespace coterie
