#include "tools/model/quantise.h"

#include <algorithm>

#include "base/text/name_pattern.h"
#include "device_sdk/runtime/int8_grid.h"
#include "tools/model/equalise.h"
#include "tools/model/first_examples.h"
#include "tools/model/mean_activation.h"

namespace coterie {
namespace {

constexpr uint32_t kBatch = 64;

Result<std::vector<Int8WeightAxis>> weights_of(const Model& model, const std::vector<std::string>& keep) {
  std::vector<Int8WeightAxis> weights = int8_weights(model.graph());
  for (const std::string& pattern : keep) {
    const auto is_kept = [&](const Int8WeightAxis& weight) {
      return name_matches(pattern, model.graph().tensors[weight.tensor].name);
    };
    if (std::ranges::none_of(int8_weights(model.graph()), is_kept)) {
      return Error(ErrorCode::invalid_argument, "--keep " + pattern + " is of no weight of the model");
    }
    std::erase_if(weights, is_kept);
  }
  if (weights.empty())
    return Error(ErrorCode::invalid_argument, "has no weight of at least 64 elements to store as int8");
  return weights;
}

// A model's flat parameters, some of them through int8 and back.
class Int8Attempt {
 public:
  Int8Attempt(const Model& model, std::vector<float> exact, const std::vector<Int8WeightAxis>& weights, uint32_t bits)
      : model_(&model), bits_(bits), exact_(std::move(exact)), rounded_(exact_) {
    for (const Int8WeightAxis& weight : weights) {
      weights_.push_back(to_int8(values(exact_, weight.tensor), shape(weight.tensor), weight.tensor, weight.axis,
                                 RangeRule::min_max, bits_));
      rules_.push_back(RangeRule::min_max);
      put(weights_.back());
    }
  }

  const std::vector<float>& exact() const { return exact_; }
  const std::vector<float>& rounded() const { return rounded_; }
  size_t size() const { return weights_.size(); }
  const std::vector<Int8Weights>& weights() const { return weights_; }
  RangeRule rule(size_t i) const { return rules_[i]; }

  // Layer i by another rule; what it was by is returned, for `restore`.
  Int8Weights change(size_t i, RangeRule rule) {
    const QuantisedTensor& form = weights_[i].form;
    Int8Weights changed = to_int8(values(exact_, form.tensor), shape(form.tensor), form.tensor, form.axis, rule, bits_);
    std::swap(weights_[i], changed);
    rules_[i] = rule;
    put(weights_[i]);
    return changed;
  }
  void restore(size_t i, Int8Weights weights, RangeRule rule) {
    weights_[i] = std::move(weights);
    rules_[i] = rule;
    put(weights_[i]);
  }

  // The bias of layer i without what rounding shifts its outputs by, its inputs being `means` on average; empty: it has
  // no bias of its own. `op` reads weight i.
  std::vector<float> corrected_bias(size_t i, const OpInfo& op, const std::vector<double>& means) const {
    const uint32_t tensor = weights_[i].form.tensor;
    const auto exact = values(exact_, tensor), rounded = values(rounded_, tensor);
    const auto bias = values(exact_, op.inputs[2]);
    const size_t outputs = bias.size(), rows = static_cast<size_t>(*(shape(tensor).end() - 2));
    // A group of outputs reads a group of inputs, `rows` of them.
    const size_t groups = means.size() / rows, group_outputs = outputs / groups;
    std::vector<double> shift(outputs);
    for (size_t e = 0; e < exact.size(); ++e) {
      const size_t output = e % outputs, input = output / group_outputs * rows + e / outputs % rows;
      shift[output] += (static_cast<double>(rounded[e]) - static_cast<double>(exact[e])) * means[input];
    }
    std::vector<float> corrected;
    for (size_t o = 0; o < outputs; ++o) {
      corrected.push_back(static_cast<float>(static_cast<double>(bias[o]) - shift[o]));
    }
    return corrected;
  }
  // Other values for a tensor that stays float32; those that it had.
  std::vector<float> replace(uint32_t tensor, const std::vector<float>& by) {
    const auto old = values(exact_, tensor);
    std::vector<float> before(old.begin(), old.end());
    const uint64_t first = model_->graph().tensors[tensor].payload_offset / sizeof(float);
    std::ranges::copy(by, exact_.begin() + static_cast<std::ptrdiff_t>(first));
    std::ranges::copy(by, rounded_.begin() + static_cast<std::ptrdiff_t>(first));
    return before;
  }

  QuantisedLayer layer(size_t i) const {
    const uint32_t tensor = weights_[i].form.tensor;
    return {.name = model_->graph().tensors[tensor].name,
            .shape = shape(tensor),
            .rule = rules_[i],
            .loss = loss_of(values(exact_, tensor), values(rounded_, tensor))};
  }

 private:
  const Shape& shape(uint32_t tensor) const { return model_->graph().tensors[tensor].shape; }
  std::span<const float> values(const std::vector<float>& all, uint32_t tensor) const {
    return std::span(all).subspan(model_->graph().tensors[tensor].payload_offset / sizeof(float),
                                  elements(shape(tensor)));
  }
  void put(const Int8Weights& weights) {
    const std::vector<float> back = from_int8(weights, shape(weights.form.tensor));
    const uint64_t first = model_->graph().tensors[weights.form.tensor].payload_offset / sizeof(float);
    std::ranges::copy(back, rounded_.begin() + static_cast<std::ptrdiff_t>(first));
  }

  const Model* model_;
  uint32_t bits_;
  std::vector<float> exact_, rounded_;
  std::vector<Int8Weights> weights_;
  std::vector<RangeRule> rules_;
};

// The op that reads weight `tensor` and adds a bias that no other op reads; null: there is none.
const OpInfo* biased_reader(const ModelGraph& graph, uint32_t tensor) {
  const OpInfo* found = nullptr;
  for (const OpInfo& op : graph.ops) {
    const bool is_layer = (op.kind == OpKind::dense || op.kind == OpKind::conv2d) && op.inputs[1] == tensor;
    if (is_layer && op.inputs.size() > 2 && op.inputs[2] != kNoTensor && found == nullptr) found = &op;
  }
  if (found == nullptr || graph.tensors[found->inputs[2]].role != TensorRole::parameter) return nullptr;
  size_t uses = 0;
  for (const OpInfo& op : graph.ops) {
    uses +=
        static_cast<size_t>(std::ranges::count(op.inputs, found->inputs[2]) + std::ranges::count(op.inputs, tensor));
  }
  return uses == 2 ? found : nullptr;
}

// Tries the corrected bias of each layer; those that `loss` likes are kept.
template <typename Loss>
Status correct_biases(const Model& model, ExampleSource& examples, const QuantiseSettings& settings, const Loss& loss,
                      Int8Attempt& best, QuantiseReport& report) {
  COT_ASSIGN(const Model exact, Model::load(model.file_with(best.exact())));
  for (size_t i = 0; i < best.size(); ++i) {
    if (settings.progress) settings.progress(best.size() + i, 2 * best.size());
    const OpInfo* const op = biased_reader(model.graph(), best.weights()[i].form.tensor);
    if (op == nullptr) continue;
    const auto means = mean_activation(exact, op->inputs[0], examples, settings.target_elements);
    // What leads to the layer may be no model by itself; then its bias stays.
    if (!means && means.error().code() == ErrorCode::malformed) continue;
    if (!means) return means.error();
    std::vector<float> before = best.replace(op->inputs[2], best.corrected_bias(i, *op, *means));
    COT_ASSIGN(const double found, loss(best.rounded()));
    if (found < report.calibration_loss) {
      report.calibration_loss = found;
      report.layers[i].is_bias_corrected = true;
    } else {
      best.replace(op->inputs[2], before);
    }
  }
  return {};
}

}  // namespace

Result<QuantiseReport> quantise(const Model& model, ExampleSource& calibration, ExampleSource& judges,
                                const QuantiseSettings& settings) {
  COT_ASSIGN(const std::vector<Int8WeightAxis> weights, weights_of(model, settings.keep));
  COT_ASSIGN(Evaluator evaluator,
             Evaluator::create(model, settings.loss, kBatch, limits::kArenaBytesMax, settings.threads));
  FirstExamples examples(calibration, settings.calibration_examples);
  const auto loss = [&](const std::vector<float>& parameters) -> Result<double> {
    COT_ASSIGN(const Evaluation evaluation, evaluator.run(parameters, examples));
    return evaluation.loss_mean;
  };
  QuantiseReport report;
  const std::vector<float> original(model.parameters().begin(), model.parameters().end());
  COT_ASSIGN(report.before, evaluator.run(original, judges));
  COT_ASSIGN(report.calibration_exact, loss(original));
  Int8Attempt best(model, original, weights, settings.weight_bits);
  COT_ASSIGN(report.calibration_plain, loss(best.rounded()));
  report.calibration_loss = report.calibration_plain;
  // A loss that is no number is never smaller than another.
  const auto is_better = [&](double other) { return other < report.calibration_loss; };
  if (std::vector<float> flat = equalised(model); flat != original) {
    Int8Attempt attempt(model, std::move(flat), weights, settings.weight_bits);
    COT_ASSIGN(const double found, loss(attempt.rounded()));
    if (is_better(found)) {
      best = std::move(attempt);
      report.calibration_loss = found;
      report.is_equalised = true;
    }
  }
  for (size_t i = 0; i < best.size(); ++i) {
    if (settings.progress) settings.progress(i, 2 * best.size());
    Int8Weights before = best.change(i, RangeRule::least_mse);
    COT_ASSIGN(const double found, loss(best.rounded()));
    if (is_better(found)) report.calibration_loss = found;
    else best.restore(i, std::move(before), RangeRule::min_max);
  }
  for (size_t i = 0; i < best.size(); ++i) report.layers.push_back(best.layer(i));
  COT_TRY(correct_biases(model, examples, settings, loss, best, report));
  COT_ASSIGN(report.after, evaluator.run(best.rounded(), judges));
  // Also what stays float32 is of the attempt: equalised biases.
  COT_ASSIGN(const Model exact, Model::load(model.file_with(best.exact())));
  report.file = store_as_int8(exact, best.weights());
  return report;
}

}  // namespace coterie
