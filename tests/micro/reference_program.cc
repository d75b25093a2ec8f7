#include "tests/micro/reference_program.h"

#include <bit>
#include <cstdint>
#include <variant>

#include "train_kernels/reference/activation.h"
#include "train_kernels/reference/conv2d.h"
#include "train_kernels/reference/dense.h"
#include "train_kernels/reference/pool.h"

namespace coterie::test {
namespace {

namespace reference = kernels::reference;
using Values = std::vector<float>;

// One op of the graph for a batch of so many examples, forward and backward, without any fusion.
struct ReferenceOp {
  OpKind kind;
  std::variant<std::monostate, kernels::DenseShape, kernels::Conv2dShape, kernels::Pool2dShape> shape;
  uint32_t weight = 0, bias = kNoTensor;
  size_t out = 0;  // elements of one example
};

size_t at(const Shape& shape, size_t i) { return static_cast<size_t>(shape[i]); }

ReferenceOp reference_op(const Model& model, const OpInfo& op, size_t batch) {
  const Shape& x = model.shape(op.inputs[0]);
  ReferenceOp made{.kind = op.kind, .shape = {}};
  made.out = 1;
  for (size_t i = 1; i < model.shape(op.outputs[0]).size(); ++i) made.out *= at(model.shape(op.outputs[0]), i);
  if (op.inputs.size() > 1) made.weight = op.inputs[1];
  if (op.inputs.size() > 2) made.bias = op.inputs[2];
  if (op.kind == OpKind::dense) made.shape = kernels::DenseShape{batch, at(x, 1), made.out};
  if (op.kind == OpKind::conv2d) {
    const Shape& w = model.shape(op.inputs[1]);
    const auto& a = std::get<Conv2dAttributes>(op.attributes);
    made.shape = kernels::Conv2dShape{batch,       at(x, 1),   at(x, 2),     at(x, 3),    at(w, 0),   at(w, 1),
                                      at(w, 3),    a.stride_h, a.stride_w,   a.pad_top,   a.pad_left, a.pad_bottom,
                                      a.pad_right, a.groups,   a.dilation_h, a.dilation_w};
  }
  if (op.kind == OpKind::max_pool2d || op.kind == OpKind::average_pool2d) {
    const auto& a = std::get<Pool2dAttributes>(op.attributes);
    made.shape = kernels::Pool2dShape{batch,        at(x, 1),    at(x, 2),   at(x, 3),  a.kernel_h,
                                      a.kernel_w,   a.stride_h,  a.stride_w, a.pad_top, a.pad_left,
                                      a.pad_bottom, a.pad_right, false,      a.ceil_h,  a.ceil_w};
  }
  if (op.kind == OpKind::global_average_pool2d) {
    made.shape = kernels::Pool2dShape{batch, at(x, 1), at(x, 2), at(x, 3), at(x, 1), at(x, 2)};
  }
  return made;
}

class ReferenceProgram {
 public:
  explicit ReferenceProgram(const Model& model) : model_(model) {
    weights_.assign(model.parameters().begin(), model.parameters().end());
  }

  Values forward(const Values& input, size_t batch) {
    ops_.clear();
    values_ = {input};
    for (const OpInfo& op : model_.graph().ops) {
      ops_.push_back(reference_op(model_, op, batch));
      values_.push_back(run(ops_.back(), values_.back(), batch));
    }
    return values_.back();
  }

  // The losses of one mini-batch, and one step of SGD.
  Values train(const Values& input, const std::vector<int32_t>& labels, float learning_rate) {
    const size_t batch = labels.size();
    const Values z = forward(input, batch);
    const size_t classes = z.size() / batch;
    Values dy(z.size()), losses, gradients(weights_.size());
    for (size_t b = 0; b < batch; ++b) {
      losses.push_back(
          cross_entropy({z.begin() + std::ptrdiff_t(b * classes), z.begin() + std::ptrdiff_t((b + 1) * classes)},
                        static_cast<size_t>(labels[b]), dy.data() + b * classes));
    }
    for (size_t k = ops_.size(); k-- > 0;) dy = backward(ops_[k], values_[k], values_[k + 1], dy, gradients);
    const float step = learning_rate / static_cast<float>(batch);
    for_each_trained([&](size_t i) { weights_[i] -= step * gradients[i]; });
    return losses;
  }

  // One mini-batch behind the other, the examples again and again; all losses.
  Values train(const RigCase& facts) {
    Values losses;
    size_t next = 0;
    for (size_t step = 0; step < facts.steps; ++step) {
      Values inputs;
      std::vector<int32_t> labels;
      for (size_t b = 0; b < facts.batch; ++b, next = (next + 1) % facts.inputs.size()) {
        inputs.insert(inputs.end(), facts.inputs[next].begin(), facts.inputs[next].end());
        labels.push_back(facts.labels[next]);
      }
      const Values of_step = train(inputs, labels, facts.learning_rate);
      losses.insert(losses.end(), of_step.begin(), of_step.end());
    }
    return losses;
  }

  const Values& parameters() const { return weights_; }

  uint32_t hash() const {
    uint32_t hash = 2166136261u;
    for_each_trained([&](size_t i) {
      const auto word = std::bit_cast<uint32_t>(weights_[i]);
      for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 255u)) * 16777619u;
    });
    return hash;
  }

 private:
  // Calls visit(index) for each parameter that is trained, tensor by tensor.
  template <typename Visit>
  void for_each_trained(const Visit& visit) const {
    for (const TensorInfo& tensor : model_.graph().tensors) {
      if (tensor.role != TensorRole::parameter || tensor.is_frozen) continue;
      for (size_t i = 0; i < *element_count(tensor.shape); ++i) visit(tensor.payload_offset / 4 + i);
    }
  }

  float* weight(uint32_t tensor, Values& of) const {
    return tensor == kNoTensor ? nullptr : of.data() + model_.graph().tensors[tensor].payload_offset / 4;
  }

  Values run(const ReferenceOp& op, const Values& x, size_t batch) {
    Values y(op.out * batch);
    const auto none = kernels::Activation::none;
    const float* const w = weight(op.weight, weights_);
    const float* const bias = weight(op.bias, weights_);
    switch (op.kind) {
      case OpKind::dense:
        reference::dense_forward<float>(std::get<kernels::DenseShape>(op.shape), {0, op.out}, x.data(), w, nullptr,
                                        bias, none, y.data(), nullptr);
        break;
      case OpKind::conv2d:
        reference::conv2d_forward<float>(std::get<kernels::Conv2dShape>(op.shape), x.data(), w, nullptr, bias, none,
                                         y.data(), nullptr);
        break;
      case OpKind::max_pool2d:
        reference::max_pool2d_forward(std::get<kernels::Pool2dShape>(op.shape), x.data(), y.data());
        break;
      case OpKind::average_pool2d:
      case OpKind::global_average_pool2d:
        reference::average_pool2d_forward(std::get<kernels::Pool2dShape>(op.shape), x.data(), y.data());
        break;
      case OpKind::relu:
        reference::unary_forward<float>({.kind = kernels::Unary::relu}, x.size(), x.data(), y.data());
        break;
      default: y = x; break;
    }
    return y;
  }

  Values backward(const ReferenceOp& op, const Values& x, const Values& y, const Values& dy, Values& gradients) {
    Values dx(x.size());
    float* const dw = weight(op.weight, gradients);
    float* const dbias = weight(op.bias, gradients);
    const float* const w = weight(op.weight, weights_);
    switch (op.kind) {
      case OpKind::dense: {
        const auto& s = std::get<kernels::DenseShape>(op.shape);
        reference::dense_backward_weights<float>(s, x.data(), dy.data(), dw, dbias, nullptr);
        reference::dense_backward_input<float>(s, {0, s.in}, dy.data(), w, nullptr, dx.data(), nullptr);
        break;
      }
      case OpKind::conv2d: {
        const auto& s = std::get<kernels::Conv2dShape>(op.shape);
        reference::conv2d_backward_weights<float>(s, x.data(), dy.data(), dw, dbias, nullptr);
        reference::conv2d_backward_input<float>(s, dy.data(), w, nullptr, dx.data(), nullptr);
        break;
      }
      case OpKind::max_pool2d:
        reference::max_pool2d_backward(std::get<kernels::Pool2dShape>(op.shape), x.data(), y.data(), dy.data(), false,
                                       dx.data());
        break;
      case OpKind::average_pool2d:
      case OpKind::global_average_pool2d:
        reference::average_pool2d_backward(std::get<kernels::Pool2dShape>(op.shape), dy.data(), dx.data());
        break;
      case OpKind::relu:
        reference::unary_backward<float>({.kind = kernels::Unary::relu}, x.size(), y.data(), dy.data(), dx.data());
        break;
      default: dx = dy; break;
    }
    return dx;
  }

  static float cross_entropy(const Values& z, size_t label, float* dz) {
    float top = z[0], sum = 0;
    for (const float value : z) top = value > top ? value : top;
    for (size_t i = 0; i < z.size(); ++i) {
      dz[i] = micro_exp(z[i] - top);
      sum += dz[i];
    }
    for (size_t i = 0; i < z.size(); ++i) dz[i] = dz[i] / sum - (i == label ? 1.0f : 0.0f);
    return micro_log(sum) + top - z[label];
  }

  const Model& model_;
  Values weights_;
  std::vector<ReferenceOp> ops_;
  std::vector<Values> values_;
};

}  // namespace

// Both as the C has them (tools/micro/kernel_text.cc), because a libm would have other bits.
float micro_exp(float x) {
  if (!(x >= -87.0f)) return x < 0.0f ? 0.0f : x;
  const auto k = static_cast<int32_t>(x * 1.44269504f - 0.5f);
  float r = x - static_cast<float>(k) * 0.693359375f;
  r = r + static_cast<float>(k) * 2.12194440e-4f;
  float sum = 1.98412698e-4f;
  for (const float term : {1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f, 0.166666667f, 0.5f, 1.0f, 1.0f})
    sum = sum * r + term;
  return sum * std::bit_cast<float>(static_cast<uint32_t>(k + 127) << 23);
}

float micro_log(float x) {
  if (!(x < 3.0e38f)) return x;
  const auto bits = std::bit_cast<uint32_t>(x);
  int32_t k = static_cast<int32_t>(bits >> 23) - 127;
  float m = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421356f) {
    m = m * 0.5f;
    ++k;
  }
  const float t = (m - 1.0f) / (m + 1.0f), square = t * t;
  float sum = 0.111111111f;
  for (const float term : {0.142857143f, 0.2f, 0.333333333f}) sum = sum * square + term;
  sum = 2.0f * t + 2.0f * t * square * sum;
  return static_cast<float>(k) * 0.693359375f + (sum - static_cast<float>(k) * 2.12194440e-4f);
}

DriverWords reference_words(const Model& model, const RigCase& facts) {
  ReferenceProgram program(model);
  DriverWords words;
  const auto add = [](const Values& from, std::vector<uint32_t>& to) {
    for (const float value : from) to.push_back(std::bit_cast<uint32_t>(value));
  };
  for (const Values& input : facts.inputs) add(program.forward(input, 1), words.output);
  add(program.train(facts), words.loss);
  if (facts.steps != 0) {
    words.parameters = program.hash();
    add(program.forward(facts.inputs[0], 1), words.trained);
  }
  return words;
}

std::vector<float> reference_parameters(const Model& model, const RigCase& facts) {
  ReferenceProgram program(model);
  program.train(facts);
  return program.parameters();
}

}  // namespace coterie::test
