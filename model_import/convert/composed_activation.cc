// Activations that are several ops of a model.
#include <map>

#include "model_import/convert/composer.h"
#include "model_import/convert/convert.h"

namespace coterie::model_import {
namespace {

// Emits the ops over the operand as it lies.
using Compose = TensorIndex (*)(Composer&, const Node&, TensorIndex x);

// x tanh(softplus(x))
TensorIndex mish(Composer& make, const Node&, TensorIndex x) {
  return make.binary(OpKind::mul, x, make.unary(OpKind::tanh, make.unary(OpKind::softplus, x)));
}

// x / (1 + |x|)
TensorIndex softsign(Composer& make, const Node&, TensorIndex x) {
  return make.binary(OpKind::div, x, make.binary(OpKind::add, make.unary(OpKind::abs, x), make.number(1)));
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1)) = alpha elu(x / alpha)
TensorIndex celu(Composer& make, const Node& node, TensorIndex x) {
  const TensorIndex alpha = make.number(node.real("alpha", 1));
  const TensorIndex scaled = make.binary(OpKind::div, x, alpha);
  return make.binary(OpKind::mul, make.unary(OpKind::elu, scaled, UnaryAttributes{1, 0}), alpha);
}

// x where it is above alpha, else 0
TensorIndex thresholded(Composer& make, const Node& node, TensorIndex x) {
  const Shape shape = make.shape(x);
  const TensorIndex is_above =
      make.op(OpKind::greater, {x, make.number(node.real("alpha", 1))}, {}, shape, DataType::int32);
  return make.op(OpKind::where, {is_above, x, make.number(0)}, {}, shape);
}

Compose compose_of(const std::string& op) {
  static const std::map<std::string, Compose> table = {
      {"Mish", mish}, {"Softsign", softsign}, {"Celu", celu}, {"ThresholdedRelu", thresholded}};
  const auto found = table.find(op);
  return found == table.end() ? nullptr : found->second;
}

Status convert_composed(Context& context, const Node& node) {
  Value& x = context.in(node, 0);
  if (x.element != Element::real) return unsupported(node, "of integers");
  if (node.op == "Celu" && !(node.real("alpha", 1) > 0)) return unsupported(node, "an alpha that is not above 0");
  const Order order = context.lying_order(x);
  Composer make(context, node);
  context.define(node, 0, compose_of(node.op)(make, node, context.in_order(x, order)), order);
  return {};
}

}  // namespace

Converter composed_activation_converter(const std::string& op) {
  return compose_of(op) != nullptr ? convert_composed : nullptr;
}

}  // namespace coterie::model_import
