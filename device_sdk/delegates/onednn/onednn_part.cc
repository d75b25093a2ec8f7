#include "device_sdk/delegates/onednn/onednn_part.h"

#include <dnnl.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include "device_sdk/delegates/onednn/layer_weights.h"
#include "device_sdk/delegates/onednn/onednn_memory.h"

namespace coterie {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr auto kInference = dnnl::prop_kind::forward_inference;

class OnednnPart final : public CompiledPart {
 public:
  Status run(std::span<void* const> inputs, std::span<void* const> outputs) override {
    omp_set_num_threads(threads_);
    for (size_t i = 0; i < inputs.size(); ++i) inputs_[i].set_data_handle(inputs[i]);
    for (size_t i = 0; i < outputs.size(); ++i) outputs_[i].set_data_handle(outputs[i]);
    for (auto& [view, source] : views_) view.set_data_handle(source.get_data_handle());
    for (const OnednnStep& step : steps_) step.primitive.execute(stream_, step.args);
    stream_.wait();
    return {};
  }

 private:
  friend class PartBuilder;

  int threads_ = 1;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<memory> inputs_, outputs_;
  std::vector<std::pair<memory, memory>> views_;  // the first lies where the second does
  std::vector<OnednnStep> steps_;
};

class PartBuilder {
 public:
  explicit PartBuilder(const DelegatePart& part) : part_(part), model_(part.model), made_(new OnednnPart) {}

  std::unique_ptr<CompiledPart> build() {
    made_->threads_ = static_cast<int>(part_.threads);
    omp_set_num_threads(made_->threads_);  // primitives are made for so many
    for (const uint32_t tensor : part_.inputs) {
      made_->inputs_.push_back(values_[tensor] = memory(plain(model_.shape(tensor)), engine(), DNNL_MEMORY_NONE));
    }
    for (const uint32_t op : part_.ops) {
      for (const uint32_t tensor : model_.graph.ops[op].inputs) {
        if (tensor != kNoTensor) readers_[tensor].push_back(op);
      }
    }
    for (const uint32_t op : part_.ops) {
      if (!is_done_[op]) add(model_.graph.ops[op]);
    }
    for (const uint32_t tensor : part_.outputs) made_->outputs_.push_back(values_[tensor]);
    return std::move(made_);
  }

 private:
  dnnl::engine& engine() { return made_->engine_; }
  const Shape& shape(uint32_t tensor) const { return model_.shape(tensor); }
  bool is_output(uint32_t tensor) const { return std::ranges::find(part_.outputs, tensor) != part_.outputs.end(); }

  void add(const OpInfo& op) {
    switch (op.kind) {
      case OpKind::conv2d: return add_conv2d(op);
      case OpKind::dense: return add_dense(op);
      case OpKind::batch_norm: return add_norm(op);
      case OpKind::relu: return add_eltwise(op, dnnl::algorithm::eltwise_relu, 0, 0);
      case OpKind::relu6: return add_eltwise(op, dnnl::algorithm::eltwise_clip, 0, 6);
      case OpKind::max_pool2d:
      case OpKind::average_pool2d: return add_pool(op);
      case OpKind::global_average_pool2d: return add_global_pool(op);
      case OpKind::add: return add_sum(op);
      case OpKind::softmax: return add_softmax(op);
      default: return add_renamed(op);  // flatten, identity, dropout
    }
  }

  // --- what is fused: an op in this part that alone reads a tensor which does not leave it
  const OpInfo* sole_reader(uint32_t tensor, OpKind kind) {
    if (is_output(tensor) || readers_[tensor].size() != 1) return nullptr;
    const OpInfo& reader = model_.graph.ops[readers_[tensor][0]];
    return reader.kind == kind ? &reader : nullptr;
  }
  void take(uint32_t& tensor, const OpInfo& reader) {
    is_done_[readers_[tensor][0]] = true;
    tensor = reader.outputs[0];
  }
  dnnl::primitive_attr take_relu(uint32_t& tensor) {
    dnnl::primitive_attr attributes;
    if (const OpInfo* relu = sole_reader(tensor, OpKind::relu)) {
      dnnl::post_ops behind;
      behind.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(behind);
      take(tensor, *relu);
    }
    return attributes;
  }

  // --- memory
  memory new_value(uint32_t tensor, const memory::desc& desc) {
    return values_[tensor] = is_output(tensor) ? memory(desc, engine(), DNNL_MEMORY_NONE) : memory(desc, engine());
  }
  memory::desc wanted(uint32_t tensor) { return is_output(tensor) ? plain(shape(tensor)) : any_layout(shape(tensor)); }
  void reorder(const memory& from, const memory& to) {
    made_->steps_.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
  }
  memory laid(const memory& value, const memory::desc& desc) {
    if (value.get_desc() == desc) return value;
    const memory moved(desc, engine());
    reorder(value, moved);
    return moved;
  }
  // As the output's buffer must lie, if `tensor` is one.
  memory laid_for(uint32_t tensor, const memory& value) {
    return is_output(tensor) ? laid(value, plain(shape(tensor))) : value;
  }
  memory constant(const memory::desc& own, std::vector<float> values, const memory::desc& desc) {
    const memory from(own, engine(), values.data()), to(desc, engine());
    dnnl::reorder(from, to).execute(made_->stream_, const_cast<memory&>(from), const_cast<memory&>(to));
    made_->stream_.wait();
    return to;
  }
  memory channels(std::span<const float> values) {
    const memory::desc desc({static_cast<memory::dim>(values.size())}, kFloat, Tag::a);
    return constant(desc, {values.begin(), values.end()}, desc);
  }

  // --- ops
  template <typename Primitive>
  void add_layer(const OpInfo& op, uint32_t tensor, const LayerWeights& weights, const memory::desc& own,
                 const typename Primitive::primitive_desc& made) {
    const memory weight = constant(own, weights.weight, made.weights_desc());
    const memory source = laid(values_.at(op.inputs[0]), made.src_desc());
    made_->steps_.push_back({Primitive(made),
                             {{DNNL_ARG_SRC, source},
                              {DNNL_ARG_WEIGHTS, weight},
                              {DNNL_ARG_BIAS, channels(weights.bias)},
                              {DNNL_ARG_DST, new_value(tensor, made.dst_desc())}}});
  }
  LayerWeights take_norm(const OpInfo& layer, uint32_t& tensor) {
    const OpInfo* const norm = sole_reader(tensor, OpKind::batch_norm);
    if (norm != nullptr) take(tensor, *norm);
    return layer_weights(model_, layer, norm);
  }
  static memory::desc bias_of(const LayerWeights& weights) {
    return {{static_cast<memory::dim>(weights.bias.size())}, kFloat, Tag::a};
  }

  void add_conv2d(const OpInfo& op) {
    uint32_t tensor = op.outputs[0];
    const LayerWeights weights = take_norm(op, tensor);
    const dnnl::primitive_attr attributes = take_relu(tensor);
    const auto& a = std::get<Conv2dAttributes>(op.attributes);
    const Shape& w = shape(op.inputs[1]);  // kh, kw, c / groups, filters
    const auto [dims, strides] = kernel_layout(w, a.groups);
    const dnnl::convolution_forward::desc desc(
        kInference, dnnl::algorithm::convolution_direct, any_layout(shape(op.inputs[0])), {dims, kFloat, Tag::any},
        bias_of(weights), wanted(tensor), {a.stride_h, a.stride_w}, {a.dilation_h - 1, a.dilation_w - 1},
        {a.pad_top, a.pad_left}, {a.pad_bottom, a.pad_right});
    add_layer<dnnl::convolution_forward>(op, tensor, weights, {dims, kFloat, strides}, {desc, attributes, engine()});
  }

  void add_dense(const OpInfo& op) {
    uint32_t tensor = op.outputs[0];
    const LayerWeights weights = take_norm(op, tensor);
    const dnnl::primitive_attr attributes = take_relu(tensor);
    const Shape& w = shape(op.inputs[1]);  // in, out
    const memory::dims dims = {w[1], w[0]};
    const dnnl::inner_product_forward::desc desc(kInference, any_layout(shape(op.inputs[0])), {dims, kFloat, Tag::any},
                                                 bias_of(weights), wanted(tensor));
    add_layer<dnnl::inner_product_forward>(op, tensor, weights, {dims, kFloat, memory::dims{1, w[1]}},
                                           {desc, attributes, engine()});
  }

  void add_norm(const OpInfo& op) {
    const uint32_t tensor = op.outputs[0];
    const memory source = laid_for(tensor, values_.at(op.inputs[0]));
    const auto flags = dnnl::normalization_flags::use_global_stats | dnnl::normalization_flags::use_scale |
                       dnnl::normalization_flags::use_shift;
    const dnnl::batch_normalization_forward::desc desc(kInference, source.get_desc(),
                                                       std::get<NormAttributes>(op.attributes).epsilon, flags);
    made_->steps_.push_back({dnnl::batch_normalization_forward({desc, engine()}),
                             {{DNNL_ARG_SRC, source},
                              {DNNL_ARG_SCALE, channels(model_.stored(op.inputs[1]))},
                              {DNNL_ARG_SHIFT, channels(model_.stored(op.inputs[2]))},
                              {DNNL_ARG_MEAN, channels(model_.stored(op.inputs[3]))},
                              {DNNL_ARG_VARIANCE, channels(model_.stored(op.inputs[4]))},
                              {DNNL_ARG_DST, new_value(tensor, source.get_desc())}}});
  }

  void add_eltwise(const OpInfo& op, dnnl::algorithm algorithm, float alpha, float beta) {
    const uint32_t tensor = op.outputs[0];
    const memory source = laid_for(tensor, values_.at(op.inputs[0]));
    const dnnl::eltwise_forward::desc desc(kInference, algorithm, source.get_desc(), alpha, beta);
    made_->steps_.push_back({dnnl::eltwise_forward({desc, engine()}),
                             {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, new_value(tensor, source.get_desc())}}});
  }

  void add_pool_step(const memory& source, const memory::desc& target, dnnl::algorithm algorithm,
                     const memory::dims& strides, const memory::dims& kernel, const memory::dims& before,
                     const memory::dims& behind, uint32_t tensor, const memory* to) {
    const dnnl::pooling_forward::desc desc(kInference, algorithm, source.get_desc(), target, strides, kernel, before,
                                           behind);
    const dnnl::pooling_forward::primitive_desc made(desc, engine());
    const memory destination = to != nullptr ? *to : new_value(tensor, made.dst_desc());
    made_->steps_.push_back({dnnl::pooling_forward(made), {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}});
  }

  void add_pool(const OpInfo& op) {
    const auto& a = std::get<Pool2dAttributes>(op.attributes);
    const auto algorithm = op.kind == OpKind::max_pool2d ? dnnl::algorithm::pooling_max
                           : a.count_padding             ? dnnl::algorithm::pooling_avg_include_padding
                                                         : dnnl::algorithm::pooling_avg_exclude_padding;
    const uint32_t tensor = op.outputs[0];
    add_pool_step(values_.at(op.inputs[0]), wanted(tensor), algorithm, {a.stride_h, a.stride_w},
                  {a.kernel_h, a.kernel_w}, {a.pad_top, a.pad_left}, {a.pad_bottom + a.ceil_h, a.pad_right + a.ceil_w},
                  tensor, nullptr);
  }

  // One window over the image. Its result [b, 1, 1, c] lies as [b, c] does.
  void add_global_pool(const OpInfo& op) {
    const uint32_t tensor = op.outputs[0];
    const Shape& x = shape(op.inputs[0]);
    const memory value = new_value(tensor, plain(shape(tensor)));
    const memory image(plain({x[0], 1, 1, x[3]}), engine(), DNNL_MEMORY_NONE);
    made_->views_.emplace_back(image, value);
    add_pool_step(values_.at(op.inputs[0]), image.get_desc(), dnnl::algorithm::pooling_avg_exclude_padding, {1, 1},
                  {x[1], x[2]}, {0, 0}, {0, 0}, tensor, &image);
  }

  void add_sum(const OpInfo& op) {
    uint32_t tensor = op.outputs[0];
    const dnnl::primitive_attr attributes = take_relu(tensor);
    const memory a = laid_for(tensor, values_.at(op.inputs[0]));
    const memory b = laid(values_.at(op.inputs[1]), a.get_desc());
    const dnnl::binary::desc desc(dnnl::algorithm::binary_add, a.get_desc(), b.get_desc(), a.get_desc());
    made_->steps_.push_back(
        {dnnl::binary({desc, attributes, engine()}),
         {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, new_value(tensor, a.get_desc())}}});
  }

  void add_softmax(const OpInfo& op) {
    const uint32_t tensor = op.outputs[0];
    const memory source = laid(values_.at(op.inputs[0]), plain(shape(tensor)));
    const dnnl::softmax_forward::desc desc(kInference, source.get_desc(), 1);
    made_->steps_.push_back({dnnl::softmax_forward({desc, engine()}),
                             {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, new_value(tensor, source.get_desc())}}});
  }

  // The same elements in their plain order under another shape.
  void add_renamed(const OpInfo& op) {
    const uint32_t tensor = op.outputs[0];
    const memory::desc before = plain(shape(op.inputs[0])), behind = plain(shape(tensor));
    const memory source = values_.at(op.inputs[0]);
    if (!is_output(tensor) && source.get_desc() == before) {
      made_->views_.emplace_back(values_[tensor] = memory(behind, engine(), DNNL_MEMORY_NONE), source);
      return;
    }
    const memory seen_before(before, engine(), DNNL_MEMORY_NONE);
    made_->views_.emplace_back(seen_before, new_value(tensor, behind));
    reorder(source, seen_before);
  }

  const DelegatePart& part_;
  const DelegateGraph& model_;
  std::unique_ptr<OnednnPart> made_;
  std::map<uint32_t, memory> values_;                  // per tensor
  std::map<uint32_t, std::vector<uint32_t>> readers_;  // per tensor: ops of this part
  std::map<uint32_t, bool> is_done_;                   // per op: another one computes it, too
};

}  // namespace

Result<std::unique_ptr<CompiledPart>> compile_onednn_part(const DelegatePart& part) {
  return PartBuilder(part).build();
}

}  // namespace coterie
