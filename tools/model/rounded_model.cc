#include "tools/model/rounded_model.h"

#include <algorithm>

#include "base/assert.h"
#include "base/checked.h"
#include "proto/codec/limits.h"
#include "proto/codec/update/bit_packing.h"
#include "tools/model/compensated_rounding.h"
#include "tools/model/mean_activation.h"

namespace coterie {
namespace {

std::span<const float> values_of(const Model& model, std::span<const float> all, uint32_t tensor) {
  const TensorInfo& info = model.graph().tensors[tensor];
  return all.subspan(info.payload_offset / sizeof(float), elements(info.shape));
}

void put_values(const Model& model, std::vector<float>& all, uint32_t tensor, std::span<const float> values) {
  const uint64_t first = model.graph().tensors[tensor].payload_offset / sizeof(float);
  std::ranges::copy(values, all.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace

std::vector<double> mean_sums(std::span<const float> weights, size_t rows, size_t outputs,
                              const std::vector<double>& means) {
  const size_t groups = means.size() / rows, group_outputs = outputs / groups;
  std::vector<double> sums(outputs);
  for (size_t e = 0; e < weights.size(); ++e) {
    const size_t output = e % outputs, input = output / group_outputs * rows + e / outputs % rows;
    sums[output] += static_cast<double>(weights[e]) * means[input];
  }
  return sums;
}

RoundedModel::RoundedModel(const Model& model, std::vector<float> exact, const std::vector<Int8WeightAxis>& weights,
                           const WeightForm& form)
    : model_(&model), axes_(weights), exact_(std::move(exact)), rounded_(exact_), weights_(weights.size()) {
  for (size_t i = 0; i < weights_.size(); ++i) change(i, form);
}

const std::string& RoundedModel::name(size_t i) const { return model_->graph().tensors[axes_[i].tensor].name; }
const Shape& RoundedModel::shape(size_t i) const { return model_->graph().tensors[axes_[i].tensor].shape; }

Int8Loss RoundedModel::loss(size_t i) const {
  return loss_of(values_of(*model_, exact_, axes_[i].tensor), values_of(*model_, rounded_, axes_[i].tensor));
}

uint64_t stored_bytes(uint64_t count, uint32_t bits) {
  return round_up<uint64_t>(packed_bytes(count, bits).value(), limits::kParameterAlignment);
}

std::span<const float> RoundedModel::bias(size_t i) const {
  return values_of(*model_, rounded_, biased_reader(model_->graph(), axes_[i].tensor)->inputs[2]);
}

uint64_t RoundedModel::scale_bytes(size_t i) const {
  return sizeof(float) * static_cast<uint64_t>(shape(i)[axes_[i].axis]);
}

const OpInfo* biased_reader(const ModelGraph& graph, uint32_t weight) {
  const OpInfo* found = nullptr;
  for (const OpInfo& op : graph.ops) {
    const bool is_layer = (op.kind == OpKind::dense || op.kind == OpKind::conv2d) && op.inputs[1] == weight;
    if (is_layer && op.inputs.size() > 2 && op.inputs[2] != kNoTensor && found == nullptr) found = &op;
  }
  if (found == nullptr || graph.tensors[found->inputs[2]].role != TensorRole::parameter) return nullptr;
  size_t uses = 0;
  for (const OpInfo& op : graph.ops) {
    uses +=
        static_cast<size_t>(std::ranges::count(op.inputs, found->inputs[2]) + std::ranges::count(op.inputs, weight));
  }
  return uses == 2 ? found : nullptr;
}

RoundedModel::Weight RoundedModel::change(size_t i, const WeightForm& form) {
  Weight before = weights_[i];
  const auto& [tensor, axis] = axes_[i];
  weights_[i].form = form;
  if (form.is_compensated) {
    COT_ASSERT(before.form.is_compensated && form.bits == before.form.bits && form.rule == before.form.rule);
  } else if (form.bits != kFloatBits) {
    weights_[i].stored = to_integers(values_of(*model_, exact_, tensor), shape(i), tensor, axis, form.rule, form.bits);
  }
  put(i);
  return before;
}

RoundedModel::Weight RoundedModel::compensate(size_t i, const InputMoments& moments) {
  WeightForm form = weights_[i].form;
  form.is_compensated = false;
  Weight before = change(i, form);
  Weight& weight = weights_[i];
  const auto exact = values_of(*model_, exact_, axes_[i].tensor);
  weight.stored = compensated(exact, std::move(weight.stored), can_correct(i) ? centred(moments) : moments);
  weight.form.is_compensated = true;
  if (can_correct(i)) {
    const auto bias = values_of(*model_, exact_, biased_reader(model_->graph(), axes_[i].tensor)->inputs[2]);
    const std::vector<double> shortfall = mean_shortfall(exact, from_integers(weight.stored, shape(i)), moments);
    weight.form.is_bias_corrected = true;
    weight.bias.clear();
    for (size_t o = 0; o < bias.size(); ++o) {
      weight.bias.push_back(static_cast<float>(static_cast<double>(bias[o]) + shortfall[o]));
    }
  }
  put(i);
  return before;
}

void RoundedModel::restore(size_t i, Weight weight) {
  weights_[i] = std::move(weight);
  put(i);
}

void RoundedModel::put(size_t i) {
  const Weight& weight = weights_[i];
  const uint32_t tensor = axes_[i].tensor;
  const auto exact = values_of(*model_, exact_, tensor);
  if (weight.form.bits == kFloatBits) put_values(*model_, rounded_, tensor, exact);
  else put_values(*model_, rounded_, tensor, from_integers(weight.stored, shape(i)));
  if (!can_correct(i)) return;
  const uint32_t bias_tensor = biased_reader(model_->graph(), tensor)->inputs[2];
  const auto bias = values_of(*model_, exact_, bias_tensor);
  std::vector<float> now(bias.begin(), bias.end());
  if (weight.form.is_bias_corrected && weight.form.is_compensated) {
    now = weight.bias;
  } else if (weight.form.is_bias_corrected) {
    const auto rows = static_cast<size_t>(*(shape(i).end() - 2));
    const std::vector<double> was = mean_sums(exact, rows, now.size(), weight.means),
                              is = mean_sums(values_of(*model_, rounded_, tensor), rows, now.size(), weight.means);
    for (size_t o = 0; o < now.size(); ++o) {
      now[o] = static_cast<float>(static_cast<double>(bias[o]) - (is[o] - was[o]));
    }
  }
  put_values(*model_, rounded_, bias_tensor, now);
}

Result<Bytes> RoundedModel::file(const std::vector<TensorGrid>& grids) const {
  COT_ASSIGN(const Model changed, Model::load(model_->file_with(rounded_)));
  std::vector<StoredWeights> stored;
  for (const Weight& weight : weights_) {
    COT_ASSERT(weight.form.bits != kFloatBits);
    stored.push_back(weight.stored);
  }
  return store_weights(changed, stored, grids);
}

Status learn_means(RoundedModel& model, ExampleSource& examples, uint64_t target_elements) {
  COT_ASSIGN(const Model exact, Model::load(model.model().file_with(model.exact())));
  for (size_t i = 0; i < model.size(); ++i) {
    const OpInfo* const op = biased_reader(model.model().graph(), model.tensor(i));
    if (op == nullptr) continue;
    auto means = mean_activation(exact, op->inputs[0], examples, target_elements);
    // What leads to the layer may be no model by itself; then its bias stays.
    if (!means && means.error().code() == ErrorCode::malformed) continue;
    if (!means) return means.error();
    model.learn_means(i, std::move(*means));
  }
  return {};
}

}  // namespace coterie
