// MatMul and Gemm: `dense` where the right operand is a weight, `matmul` otherwise.
#include <algorithm>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"

namespace coterie::model_import {
namespace {

struct Factor {
  TensorIndex tensor;
  bool is_transposed;
};

// The operand with its last two dimensions as ONNX has them or swapped, whichever moves fewer elements.
Factor factor(Context& context, Value& value) {
  Order order = identity_order(value.rank());
  Order swapped = order;
  std::swap(swapped[value.rank() - 2], swapped[value.rank() - 1]);
  const Order lying = context.lying_order(value);
  const bool use_swapped = lying != order && (lying == swapped || lying.back() == value.rank() - 2);
  return {context.in_order(value, use_swapped ? swapped : order), use_swapped};
}

// One number for all outputs is a bias, too, though arithmetic does not train single numbers.
Result<TensorIndex> bias_of(Context& context, const Node& node, size_t i) {
  Value& bias = context.in(node, i);
  const bool is_one = bias.host != nullptr && bias.host->stored() == 1 && bias.element == Element::real &&
                      !bias.initializer.empty() && !bias.host->is_uniform;
  if (is_one) return context.vector_parameter(node, i, "bias", 1);
  return context.plain(bias);
}

Result<TensorIndex> bias_added(Context& context, const Node& node, size_t i, TensorIndex product) {
  const Value& bias = context.in(node, i);
  const Shape shape = context.writer.shape(product);
  COT_ASSIGN(const Shape whole, broadcast(node, shape, bias.shape));
  if (whole != shape) return Error(ErrorCode::malformed, node.what() + ": its bias does not fit");
  COT_ASSIGN(const TensorIndex tensor, bias_of(context, node, i));
  return context.writer.op(OpKind::add, name_of(node) + ".add", {product, tensor}, {}, shape);
}

// x [.., in], weight [in, out], or [out, in] where is_transposed.
Status convert_dense(Context& context, const Node& node, bool is_transposed) {
  Value& x = context.in(node, 0);
  const Shape weight_shape = context.in(node, 1).shape;
  const int64_t in = weight_shape[is_transposed ? 1 : 0], out = weight_shape[is_transposed ? 0 : 1];
  if (x.rank() < 1 || x.shape.back() != in) {
    return Error(ErrorCode::malformed, node.what() + ": the last dimension of its input must be " + std::to_string(in));
  }
  const Order order = with_last(context.lying_order(x), static_cast<uint32_t>(x.rank() - 1));
  std::vector<uint32_t> inputs{context.in_order(x, order)};
  COT_ASSIGN(const TensorIndex weight, context.weight(node, 1, "weight", is_transposed ? Order{1, 0} : Order{0, 1}));
  inputs.push_back(weight);
  const bool has_bias = node.has_input(2);
  const HostTensor* bias_host = has_bias ? context.in(node, 2).host : nullptr;
  const bool is_vector = bias_host != nullptr && bias_host->reals.size() == static_cast<size_t>(out) &&
                         !bias_host->is_uniform &&
                         (bias_host->shape.empty() ? out == 1 : bias_host->shape.back() == out);
  if (is_vector) {
    COT_ASSIGN(const TensorIndex bias, context.vector_parameter(node, 2, "bias", out));
    inputs.push_back(bias);
  }
  Shape shape = context.writer.shape(inputs[0]);
  shape.back() = out;
  TensorIndex y = context.writer.op(OpKind::dense, name_of(node), std::move(inputs), {}, shape);
  if (has_bias && !is_vector) {
    if (order != identity_order(order.size())) return unsupported(node, "its bias must have one element an output");
    COT_ASSIGN(y, bias_added(context, node, 2, y));
  }
  context.define(node, 0, y, order);
  return {};
}

bool is_weight(const Value& value) {
  return value.host != nullptr && value.rank() == 2 && value.element == Element::real && !value.host->is_uniform;
}

Result<TensorIndex> product(Context& context, const Node& node, MatmulAttributes a) {
  Value &left = context.in(node, 0), &right = context.in(node, 1);
  if (left.rank() < 2 || right.rank() < 2) return unsupported(node, "vectors: give its operands two dimensions");
  const Factor l = factor(context, left), r = factor(context, right);
  const auto dimension = [](const Value& v, bool last) { return v.shape[v.rank() - (last ? 1 : 2)]; };
  const int64_t m = dimension(left, a.transpose_a), k = dimension(left, !a.transpose_a);
  const int64_t inner = dimension(right, a.transpose_b), n = dimension(right, !a.transpose_b);
  if (k < 0) return unsupported(node, "sums over the batch");
  if (k != inner)
    return Error(ErrorCode::malformed, node.what() + ": the dimensions that are summed differ: " + std::to_string(k) +
                                           " and " + std::to_string(inner));
  COT_ASSIGN(Shape shape, broadcast(node, Shape(left.shape.begin(), left.shape.end() - 2),
                                    Shape(right.shape.begin(), right.shape.end() - 2)));
  shape.push_back(m);
  shape.push_back(n);
  a.transpose_a = a.transpose_a != l.is_transposed;
  a.transpose_b = a.transpose_b != r.is_transposed;
  return context.writer.op(OpKind::matmul, name_of(node), {l.tensor, r.tensor}, a, shape);
}

Status convert_matmul(Context& context, const Node& node) {
  if (is_weight(context.in(node, 1))) return convert_dense(context, node, false);
  COT_ASSIGN(TensorIndex y, product(context, node, {}));
  if (node.has_input(2)) {
    COT_ASSIGN(y, bias_added(context, node, 2, y));
  }
  context.define(node, 0, y);
  return {};
}

Status convert_gemm(Context& context, const Node& node) {
  const float alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool transpose_a = node.integer("transA", 0) != 0, transpose_b = node.integer("transB", 0) != 0;
  if (context.in(node, 0).rank() != 2 || context.in(node, 1).rank() != 2)
    return Error(ErrorCode::malformed, node.what() + ": its operands must be matrices");
  const bool has_bias = node.has_input(2);
  if (is_weight(context.in(node, 1)) && alpha == 1 && !transpose_a && (!has_bias || beta == 1)) {
    return convert_dense(context, node, transpose_b);
  }
  COT_ASSIGN(TensorIndex y,
             product(context, node, {.transpose_a = transpose_a, .transpose_b = transpose_b, .scale = alpha}));
  if (has_bias && beta != 1) {
    const std::array<float, 1> factor_value{beta};
    const TensorIndex constant =
        context.writer.constant(name_of(node) + ".beta", {1}, std::span<const float>(factor_value));
    COT_ASSIGN(const TensorIndex bias, bias_of(context, node, 2));
    const TensorIndex scaled =
        context.writer.op(OpKind::mul, name_of(node) + ".bias", {bias, constant}, {}, context.writer.shape(bias));
    y = context.writer.op(OpKind::add, name_of(node) + ".add", {y, scaled}, {}, Shape(context.writer.shape(y)));
  } else if (has_bias) {
    COT_ASSIGN(y, bias_added(context, node, 2, y));
  }
  context.define(node, 0, y);
  return {};
}

}  // namespace

Converter matmul_converter(const std::string& op) {
  if (op == "MatMul") return convert_matmul;
  if (op == "Gemm") return convert_gemm;
  return nullptr;
}

}  // namespace coterie::model_import
