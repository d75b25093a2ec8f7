#include "tools/model/own_targets.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/loss_heads.h"

namespace coterie {

Result<OwnTargets> OwnTargets::create(ExampleSource& source, uint64_t cells, const Model& model,
                                      const LossSettings& loss) {
  LossSettings first = loss;
  first.heads.resize(1);
  COT_TRY(head_tensors(model.graph(), first));
  const LossSettings own_loss = loss_of_own_output(loss);
  COT_ASSIGN(const uint64_t own, target_elements(model, own_loss));
  if (own > cells) {
    return Error(ErrorCode::invalid_argument, concat({"a target of the data has ", cells, " numbers; ",
                                                      loss.heads[0].output, " alone takes ", own}));
  }
  return OwnTargets(source, cells, own, loss.target == TargetKind::values && own_loss.target == TargetKind::labels);
}

Status OwnTargets::read(uint64_t index, const Example& to) {
  places_.clear();
  for (size_t i = 0; i < to.input_count(); ++i) places_.push_back(to.features(i));
  COT_TRY(source_->read(index, Example(places_, all_)));
  const std::span<const float> own = std::span<const float>(all_).first(own_);
  if (!makes_labels_) {
    std::ranges::copy(own, to.targets().begin());
    return {};
  }
  const std::span<int32_t> labels = to.labels();
  for (size_t i = 0; i < own.size(); ++i) {
    if (!is_whole_int32(own[i])) {
      return Error(ErrorCode::invalid_argument, concat({"example ", index, " has a label that is no whole number"}));
    }
    labels[i] = static_cast<int32_t>(own[i]);
  }
  return {};
}

}  // namespace coterie
