// What a training rounds as the quantiser does (fake_quantise.h): weights in front of the ops, activations behind them.
#include <algorithm>
#include <memory>

#include "device_sdk/runtime/fake_quantise.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"
#include "proto/codec/stored_integers.h"

namespace coterie {

// What is rounded (fake_quantise.h).
struct GraphCompiler::Rounding {
  RoundedTensors tensors;
  std::vector<BufferId> exact;             // per tensor of the graph that is rounded
  std::vector<RoundedActivation> rounded;  // as tensors.activations

  // Null: the tensor is none of them.
  RoundedActivation* find(uint32_t tensor) {
    const auto found = std::ranges::lower_bound(tensors.activations, tensor);
    if (found == tensors.activations.end() || *found != tensor) return nullptr;
    return &rounded[static_cast<size_t>(found - tensors.activations.begin())];
  }
};

BufferId GraphCompiler::exact_value(uint32_t tensor) const {
  return !kHasQat || rounding_ == nullptr || rounding_->exact[tensor] == kNoBuffer ? values_[tensor]
                                                                                   : rounding_->exact[tensor];
}

// Weights are rounded once, in front of all ops; the input is like what an op makes.
Status GraphCompiler::add_rounded_tensors(CompiledModel& compiled) {
  if (!kHasQat || !settings_.qat || settings_.purpose != Purpose::train) return {};
  rounding_ = std::make_unique<Rounding>();
  COT_ASSIGN(rounding_->tensors, rounded_tensors(model_, settings_.qat->parts));
  const auto& [weights, activations] = rounding_->tensors;
  rounding_->exact.assign(graph_.tensors.size(), kNoBuffer);
  rounding_->rounded.resize(activations.size());
  compiled.layout.of(Region::ranges) = activations.size() * kRangeFloats * sizeof(float);
  const int levels = stored_level_max(settings_.qat->weight_bits);
  for (const auto [tensor, axis] : weights) {
    if (index_.consumers[tensor].empty()) continue;
    program_.set_origin(index_.consumers[tensor].front());
    const Shape& shape = types_[tensor].shape;
    const WeightChannels channels{elements(shape, 0, axis), static_cast<size_t>(shape[axis]),
                                  elements(shape, axis + 1, shape.size())};
    rounding_->exact[tensor] = values_[tensor];
    values_[tensor] = emit_rounded_weight(program_, is_settled_[tensor] ? Phase::prepare : Phase::forward, channels,
                                          levels, values_[tensor]);
    program_.holds(values_[tensor], content_of(tensor, BufferRole::value));
  }
  for (const uint32_t input : graph_.inputs) {
    if (index_.consumers[input].empty()) continue;
    program_.set_origin(index_.consumers[input].front());
    emit_rounded_if_asked(input, Phase::forward);
  }
  return {};
}

// What reads the tensor from here on reads the rounded one.
void GraphCompiler::emit_rounded_if_asked(uint32_t tensor, Phase phase) {
  if (!kHasQat) return;
  RoundedActivation* const rounded = rounding_ ? rounding_->find(tensor) : nullptr;
  if (rounded == nullptr) return;
  const auto place = static_cast<uint64_t>(rounded - rounding_->rounded.data()) * kRangeFloats * sizeof(float);
  rounding_->exact[tensor] = rounded->exact = values_[tensor];
  values_[tensor] = rounded->rounded = new_value(tensor);
  rounded->count = elements(types_[tensor].shape);
  rounded->state = program_.add_fixed(Region::ranges, place);
  emit_rounded(program_, phase, *rounded);
}

// Behind the whole backward: what the step has seen of ranges.
void GraphCompiler::emit_ranges() {
  if (!kHasQat || rounding_ == nullptr) return;
  program_.set_origin(kUpdateOrigin);
  for (const RoundedActivation& rounded : rounding_->rounded) {
    if (rounded.range != kNoBuffer) emit_kept_range(program_, rounded);
  }
}

}  // namespace coterie
