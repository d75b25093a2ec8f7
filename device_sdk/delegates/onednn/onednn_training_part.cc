#include "device_sdk/delegates/onednn/onednn_training_part.h"

#include <dnnl.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "device_sdk/delegates/onednn/onednn_memory.h"

namespace coterie {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kTraining = dnnl::prop_kind::forward_training;
// Its backward asks for what it made, not for what it was given: that is gone where it is part of a layer.
constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;

constexpr OpKind kTrained[] = {OpKind::conv2d,         OpKind::dense,   OpKind::relu,     OpKind::max_pool2d,
                               OpKind::average_pool2d, OpKind::flatten, OpKind::identity, OpKind::add};

class OnednnTrainingPart final : public TrainingPart {
 public:
  Status forward(const TrainingBuffers& buffers) override {
    point(buffers);
    run(forward_);
    return {};
  }
  Status backward(const TrainingBuffers& buffers) override {
    point(buffers);
    for (const auto& [gradient, bytes] : zeros_) std::memset(gradient.get_data_handle(), 0, bytes);
    run(backward_);
    return {};
  }

 private:
  friend class TrainingPartBuilder;
  using Memories = std::vector<memory>;

  static void point(Memories& memories, std::span<void* const> buffers) {
    for (size_t i = 0; i < buffers.size(); ++i) memories[i].set_data_handle(buffers[i]);
  }
  void point(const TrainingBuffers& buffers) {
    omp_set_num_threads(threads_);
    point(inputs_, buffers.inputs);
    point(parameters_, buffers.parameters);
    point(outputs_, buffers.outputs);
    point(output_gradients_, buffers.output_gradients);
    point(gradients_, buffers.gradients);
    for (auto& [view, source] : views_) view.set_data_handle(source.get_data_handle());
  }
  void run(const std::vector<OnednnStep>& steps) {
    for (const OnednnStep& step : steps) step.primitive.execute(stream_, step.args);
    stream_.wait();
  }

  int threads_ = 1;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  Memories inputs_, parameters_, outputs_, output_gradients_, gradients_;
  std::vector<std::pair<memory, memory>> views_;  // the first lies where the second does
  std::vector<std::pair<memory, size_t>> zeros_;  // gradients that nothing leads to, and their bytes
  std::vector<std::vector<float>> constants_;     // weights that are not trained
  std::vector<OnednnStep> forward_, backward_;
};

// Values and their gradients lie as with us, channels last, which oneDNN computes as it is; weights are laid anew in
// each step, which has changed them.
class TrainingPartBuilder {
 public:
  explicit TrainingPartBuilder(const DelegatePart& part)
      : part_(part), model_(part.model), made_(new OnednnTrainingPart) {}

  std::unique_ptr<TrainingPart> build() {
    made_->threads_ = static_cast<int>(part_.threads);
    omp_set_num_threads(made_->threads_);  // primitives are made for so many
    lend(part_.inputs, made_->inputs_, &values_);
    lend(part_.parameters, made_->parameters_, nullptr);
    lend(part_.outputs, made_->outputs_, &values_);
    lend(part_.output_gradients, made_->output_gradients_, &sums_);
    lend(part_.gradients, made_->gradients_, nullptr);
    for (const uint32_t tensor : part_.gradients) needs_[tensor] = true;
    for (const uint32_t op : part_.ops) {
      for (const uint32_t tensor : model_.graph.ops[op].inputs) {
        if (tensor == kNoTensor) continue;
        readers_[tensor].push_back(op);
        if (needs_[tensor]) needs_[model_.graph.ops[op].outputs[0]] = true;
      }
    }
    for (const uint32_t op : part_.ops) {
      if (!is_done_[op]) add(model_.graph.ops[op]);
    }
    for (size_t i = undo_.size(); i-- > 0;) undo_[i]();
    for (size_t i = 0; i < part_.gradients.size(); ++i) give(part_.gradients[i], made_->gradients_[i]);
    return std::move(made_);
  }

 private:
  const dnnl::engine& engine() { return made_->engine_; }
  const Shape& shape(uint32_t tensor) const { return model_.shape(tensor); }
  bool is_output(uint32_t tensor) const { return std::ranges::find(part_.outputs, tensor) != part_.outputs.end(); }
  bool needs(uint32_t tensor) { return tensor != kNoTensor && needs_[tensor]; }

  // --- memory
  void lend(const std::vector<uint32_t>& tensors, std::vector<memory>& to, std::map<uint32_t, memory>* known) {
    for (const uint32_t tensor : tensors) {
      to.push_back(memory(plain(shape(tensor)), engine(), DNNL_MEMORY_NONE));
      if (known != nullptr) (*known)[tensor] = to.back();
    }
  }
  memory view(const memory::desc& desc, const memory& source) {
    made_->views_.emplace_back(memory(desc, engine(), DNNL_MEMORY_NONE), source);
    return made_->views_.back().first;
  }
  // Where the op writes this value: the output's buffer, or memory of the part.
  memory value_of(uint32_t tensor) {
    if (!is_output(tensor)) values_[tensor] = memory(plain(shape(tensor)), engine());
    return values_.at(tensor);
  }
  memory own_gradient(uint32_t tensor) { return {plain(shape(tensor)), engine()}; }
  static void reorder(std::vector<OnednnStep>& steps, const memory& from, const memory& to) {
    steps.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
  memory laid(std::vector<OnednnStep>& steps, const memory& value, const memory::desc& desc) {
    if (value.get_desc() == desc) return value;
    const memory moved(desc, engine());
    reorder(steps, value, moved);
    return moved;
  }
  // A weight or bias, in our layout.
  memory parameter(uint32_t tensor, const memory::desc& desc) {
    const auto trained = std::ranges::find(part_.parameters, tensor);
    if (trained != part_.parameters.end()) {
      return view(desc, made_->parameters_[static_cast<size_t>(trained - part_.parameters.begin())]);
    }
    const std::span<const float> stored = model_.stored(tensor);
    std::vector<float>& kept = made_->constants_.emplace_back(stored.begin(), stored.end());
    return {desc, engine(), kept.data()};
  }

  // --- gradients
  // The sum of those that have come so far; an op's are all there when it is its turn.
  const memory* gradient_of(uint32_t tensor) {
    const auto found = sums_.find(tensor);
    return found == sums_.end() ? nullptr : &found->second;
  }
  void add_gradient(uint32_t tensor, const memory& gradient) {
    const auto [sum, is_first] = sums_.try_emplace(tensor, gradient);
    if (is_first) return;
    const memory total = own_gradient(tensor), before = sum->second;
    const memory::desc desc = total.get_desc();
    made_->backward_.push_back({dnnl::binary({{dnnl::algorithm::binary_add, desc, desc, desc}, engine()}),
                                {{DNNL_ARG_SRC_0, before}, {DNNL_ARG_SRC_1, gradient}, {DNNL_ARG_DST, total}}});
    sum->second = total;
  }
  void give(uint32_t tensor, const memory& to) {
    if (const memory* const sum = gradient_of(tensor)) reorder(made_->backward_, *sum, to);
    else made_->zeros_.emplace_back(to, to.get_desc().get_size());
  }

  // --- ops
  void add(const OpInfo& op) {
    switch (op.kind) {
      case OpKind::conv2d: return add_conv2d(op);
      case OpKind::dense: return add_dense(op);
      case OpKind::relu: return add_relu(op);
      case OpKind::max_pool2d:
      case OpKind::average_pool2d: return add_pool(op);
      case OpKind::add: return add_sum(op);
      default: return add_renamed(op);  // flatten, identity
    }
  }
  void add_forward(dnnl::primitive primitive, std::unordered_map<int, memory> args) {
    made_->forward_.push_back({std::move(primitive), std::move(args)});
  }
  void add_backward(dnnl::primitive primitive, std::unordered_map<int, memory> args) {
    made_->backward_.push_back({std::move(primitive), std::move(args)});
  }

  // The ReLU in this part that alone reads a tensor which does not leave it: the layer applies it.
  bool take_relu(uint32_t& tensor) {
    if (is_output(tensor) || readers_[tensor].size() != 1) return false;
    const OpInfo& reader = model_.graph.ops[readers_[tensor][0]];
    if (reader.kind != OpKind::relu) return false;
    is_done_[readers_[tensor][0]] = true;
    tensor = reader.outputs[0];
    return true;
  }
  // The gradient in front of a ReLU, from what it made and the gradient behind it.
  memory undone_relu(const memory& made, const memory& gradient) {
    const memory::desc desc = made.get_desc();
    const dnnl::eltwise_forward::primitive_desc hint({kTraining, kRelu, desc, 0, 0}, engine());
    const dnnl::eltwise_backward::primitive_desc backward({kRelu, desc, desc, 0, 0}, engine(), hint);
    const memory before(desc, engine());
    add_backward(dnnl::eltwise_backward(backward),
                 {{DNNL_ARG_DST, made}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, before}});
    return before;
  }

  // A convolution or a dense layer: its input and output, and how its weight lies.
  struct Layer {
    const OpInfo* op;
    memory::desc source, target, bias;  // bias: empty if it has none
    WeightLayout weight;

    bool has_bias() const { return op->inputs.size() > 2 && op->inputs[2] != kNoTensor; }
  };
  Layer layer_of(const OpInfo& op, WeightLayout weight) const {
    Layer layer{&op, plain(shape(op.inputs[0])), plain(shape(op.outputs[0])), {}, std::move(weight)};
    if (layer.has_bias()) layer.bias = plain(shape(op.inputs[2]));
    return layer;
  }
  // Forward, BackwardData, BackwardWeights: primitives; `describe` gives each one's description.
  template <typename Forward, typename BackwardData, typename BackwardWeights, typename Describe>
  void add_layer(const Layer& layer, const Describe& describe) {
    const OpInfo& op = *layer.op;
    uint32_t tensor = op.outputs[0];
    const bool has_relu = take_relu(tensor);
    dnnl::primitive_attr attributes;
    if (has_relu) {
      dnnl::post_ops behind;
      behind.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(behind);
    }
    const typename Forward::primitive_desc forward(describe.forward(layer), attributes, engine());
    const memory source = values_.at(op.inputs[0]), target = value_of(tensor);
    const memory weight = parameter(op.inputs[1], layer.weight.own());
    std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, source},
                                            {DNNL_ARG_WEIGHTS, laid(made_->forward_, weight, forward.weights_desc())},
                                            {DNNL_ARG_DST, target}};
    if (layer.has_bias()) args[DNNL_ARG_BIAS] = parameter(op.inputs[2], layer.bias);
    add_forward(Forward(forward), std::move(args));
    undo_.push_back([this, layer, describe, tensor, has_relu, source, target, weight] {
      const memory* const arrived = gradient_of(tensor);
      if (arrived == nullptr || !needs(tensor)) return;
      const memory gradient = has_relu ? undone_relu(target, *arrived) : *arrived;
      // Backward's own hint: the forward without the ReLU.
      const typename Forward::primitive_desc hint(describe.forward(layer), engine());
      undo_for_parameters<BackwardWeights>(layer, describe, hint, source, gradient);
      if (needs(layer.op->inputs[0])) undo_for_input<BackwardData>(layer, describe, hint, weight, gradient);
    });
  }
  template <typename Backward, typename Describe, typename Hint>
  void undo_for_input(const Layer& layer, const Describe& describe, const Hint& hint, const memory& weight,
                      const memory& gradient) {
    const typename Backward::primitive_desc backward(describe.backward_data(layer), engine(), hint);
    const memory into = own_gradient(layer.op->inputs[0]);
    add_backward(Backward(backward), {{DNNL_ARG_DIFF_DST, gradient},
                                      {DNNL_ARG_WEIGHTS, laid(made_->backward_, weight, backward.weights_desc())},
                                      {DNNL_ARG_DIFF_SRC, into}});
    add_gradient(layer.op->inputs[0], into);
  }
  template <typename Backward, typename Describe, typename Hint>
  void undo_for_parameters(const Layer& layer, const Describe& describe, const Hint& hint, const memory& source,
                           const memory& gradient) {
    const std::vector<uint32_t>& inputs = layer.op->inputs;
    const bool needs_bias = layer.has_bias() && needs(inputs[2]);
    if (!needs(inputs[1]) && !needs_bias) return;
    const typename Backward::primitive_desc backward(describe.backward_weights(layer), engine(), hint);
    const memory laid_weight(backward.diff_weights_desc(), engine());
    std::unordered_map<int, memory> args = {
        {DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_WEIGHTS, laid_weight}};
    const memory bias = layer.has_bias() ? memory(layer.bias, engine()) : memory();
    if (layer.has_bias()) args[DNNL_ARG_DIFF_BIAS] = bias;
    add_backward(Backward(backward), std::move(args));
    if (needs_bias) add_gradient(inputs[2], bias);
    if (!needs(inputs[1])) return;
    const memory own = own_gradient(inputs[1]);
    reorder(made_->backward_, laid_weight, view(layer.weight.own(), own));
    add_gradient(inputs[1], own);
  }

  struct ConvolutionDescriptions {
    memory::dims strides, dilations, before, behind;

    dnnl::convolution_forward::desc forward(const Layer& l) const {
      const auto algorithm = dnnl::algorithm::convolution_direct;
      if (!l.has_bias()) {
        return {kTraining, algorithm, l.source, l.weight.any(), l.target, strides, dilations, before, behind};
      }
      return {kTraining, algorithm, l.source, l.weight.any(), l.bias, l.target, strides, dilations, before, behind};
    }
    dnnl::convolution_backward_data::desc backward_data(const Layer& l) const {
      return {
          dnnl::algorithm::convolution_direct, l.source, l.weight.any(), l.target, strides, dilations, before, behind};
    }
    dnnl::convolution_backward_weights::desc backward_weights(const Layer& l) const {
      const auto algorithm = dnnl::algorithm::convolution_direct;
      if (!l.has_bias()) return {algorithm, l.source, l.weight.any(), l.target, strides, dilations, before, behind};
      return {algorithm, l.source, l.weight.any(), l.bias, l.target, strides, dilations, before, behind};
    }
  };
  void add_conv2d(const OpInfo& op) {
    const auto& a = std::get<Conv2dAttributes>(op.attributes);
    add_layer<dnnl::convolution_forward, dnnl::convolution_backward_data, dnnl::convolution_backward_weights>(
        layer_of(op, kernel_layout(shape(op.inputs[1]), a.groups)),
        ConvolutionDescriptions{{a.stride_h, a.stride_w},
                                {a.dilation_h - 1, a.dilation_w - 1},
                                {a.pad_top, a.pad_left},
                                {a.pad_bottom, a.pad_right}});
  }

  struct DenseDescriptions {
    dnnl::inner_product_forward::desc forward(const Layer& l) const {
      if (!l.has_bias()) return {kTraining, l.source, l.weight.any(), l.target};
      return {kTraining, l.source, l.weight.any(), l.bias, l.target};
    }
    dnnl::inner_product_backward_data::desc backward_data(const Layer& l) const {
      return {l.source, l.weight.any(), l.target};
    }
    dnnl::inner_product_backward_weights::desc backward_weights(const Layer& l) const {
      if (!l.has_bias()) return {l.source, l.weight.any(), l.target};
      return {l.source, l.weight.any(), l.bias, l.target};
    }
  };
  void add_dense(const OpInfo& op) {
    add_layer<dnnl::inner_product_forward, dnnl::inner_product_backward_data, dnnl::inner_product_backward_weights>(
        layer_of(op, matrix_layout(shape(op.inputs[1]))), DenseDescriptions{});
  }

  void add_relu(const OpInfo& op) {
    const uint32_t input = op.inputs[0], tensor = op.outputs[0];
    const memory source = values_.at(input), target = value_of(tensor);
    const dnnl::eltwise_forward::primitive_desc made({kTraining, kRelu, source.get_desc(), 0, 0}, engine());
    add_forward(dnnl::eltwise_forward(made), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
    undo_.push_back([this, input, tensor, target] {
      const memory* const arrived = gradient_of(tensor);
      if (arrived != nullptr && needs(input)) add_gradient(input, undone_relu(target, *arrived));
    });
  }

  void add_pool(const OpInfo& op) {
    const auto& a = std::get<Pool2dAttributes>(op.attributes);
    const auto algorithm = op.kind == OpKind::max_pool2d ? dnnl::algorithm::pooling_max
                           : a.count_padding             ? dnnl::algorithm::pooling_avg_include_padding
                                                         : dnnl::algorithm::pooling_avg_exclude_padding;
    const uint32_t input = op.inputs[0], tensor = op.outputs[0];
    const memory source = values_.at(input), target = value_of(tensor);
    const memory::dims strides = {a.stride_h, a.stride_w}, kernel = {a.kernel_h, a.kernel_w};
    const memory::dims before = {a.pad_top, a.pad_left}, behind = {a.pad_bottom + a.ceil_h, a.pad_right + a.ceil_w};
    const dnnl::pooling_forward::primitive_desc forward(
        {kTraining, algorithm, source.get_desc(), target.get_desc(), strides, kernel, before, behind}, engine());
    std::unordered_map<int, memory> args = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}};
    // Which element of a window was the largest.
    std::optional<memory> chosen;
    if (op.kind == OpKind::max_pool2d) args[DNNL_ARG_WORKSPACE] = chosen.emplace(forward.workspace_desc(), engine());
    add_forward(dnnl::pooling_forward(forward), std::move(args));
    undo_.push_back([=, this] {
      const memory* const arrived = gradient_of(tensor);
      if (arrived == nullptr || !needs(input)) return;
      const dnnl::pooling_backward::primitive_desc backward(
          {algorithm, source.get_desc(), target.get_desc(), strides, kernel, before, behind}, engine(), forward);
      const memory into = own_gradient(input);
      std::unordered_map<int, memory> given = {{DNNL_ARG_DIFF_DST, *arrived}, {DNNL_ARG_DIFF_SRC, into}};
      if (chosen) given[DNNL_ARG_WORKSPACE] = *chosen;
      add_backward(dnnl::pooling_backward(backward), std::move(given));
      add_gradient(input, into);
    });
  }

  void add_sum(const OpInfo& op) {
    const uint32_t a = op.inputs[0], b = op.inputs[1], tensor = op.outputs[0];
    const memory target = value_of(tensor);
    const memory::desc desc = target.get_desc();
    add_forward(dnnl::binary({{dnnl::algorithm::binary_add, desc, desc, desc}, engine()}),
                {{DNNL_ARG_SRC_0, values_.at(a)}, {DNNL_ARG_SRC_1, values_.at(b)}, {DNNL_ARG_DST, target}});
    undo_.push_back([this, a, b, tensor] {
      const memory* const arrived = gradient_of(tensor);
      if (arrived == nullptr) return;
      const memory gradient = *arrived;
      for (const uint32_t input : {a, b}) {
        if (needs(input)) add_gradient(input, gradient);
      }
    });
  }

  // The same elements in their order under another shape.
  void add_renamed(const OpInfo& op) {
    const uint32_t input = op.inputs[0], tensor = op.outputs[0];
    const memory seen = view(plain(shape(tensor)), values_.at(input));
    if (is_output(tensor)) reorder(made_->forward_, seen, values_.at(tensor));
    else values_[tensor] = seen;
    undo_.push_back([this, input, tensor] {
      const memory* const arrived = gradient_of(tensor);
      if (arrived != nullptr && needs(input)) add_gradient(input, view(plain(shape(input)), *arrived));
    });
  }

  const DelegatePart& part_;
  const DelegateGraph& model_;
  std::unique_ptr<OnednnTrainingPart> made_;
  std::map<uint32_t, memory> values_;                  // per tensor
  std::map<uint32_t, memory> sums_;                    // per tensor: its gradient so far
  std::map<uint32_t, bool> needs_;                     // per tensor: a gradient
  std::map<uint32_t, std::vector<uint32_t>> readers_;  // per tensor: ops of this part
  std::map<uint32_t, bool> is_done_;                   // per op: another one computes it, too
  std::vector<std::function<void()>> undo_;            // adds an op's backward, per op in forward's order
};

}  // namespace

std::string onednn_training_refusal(OpKind kind) {
  if (std::ranges::find(kTrained, kind) != std::end(kTrained)) return {};
  return "onednn is asked for no backward of " + std::string(to_string(kind));
}

Result<std::unique_ptr<TrainingPart>> compile_onednn_training_part(const DelegatePart& part) {
  return TrainingPartBuilder(part).build();
}

}  // namespace coterie
