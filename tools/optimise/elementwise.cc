#include "tools/optimise/elementwise.h"

namespace coterie {
namespace {

bool is_function(OpKind kind) {
  switch (kind) {
    case OpKind::relu:
    case OpKind::relu6:
    case OpKind::leaky_relu:
    case OpKind::elu:
    case OpKind::selu:
    case OpKind::gelu:
    case OpKind::gelu_tanh:
    case OpKind::sigmoid:
    case OpKind::hard_sigmoid:
    case OpKind::hard_swish:
    case OpKind::swish:
    case OpKind::tanh:
    case OpKind::softplus:
    case OpKind::clip:
    case OpKind::sqrt:
    case OpKind::exp:
    case OpKind::log:
    case OpKind::abs:
    case OpKind::neg:
    case OpKind::reciprocal:
    case OpKind::erf: return true;
    default: return false;
  }
}

}  // namespace

bool is_binary_arithmetic(OpKind kind) {
  switch (kind) {
    case OpKind::add:
    case OpKind::sub:
    case OpKind::mul:
    case OpKind::div:
    case OpKind::pow:
    case OpKind::minimum:
    case OpKind::maximum: return true;
    default: return false;
  }
}

std::optional<size_t> elementwise_operand(const PassGraph& graph, const OpInfo& op) {
  if (is_function(op.kind)) return 0;
  if (!is_binary_arithmetic(op.kind)) return std::nullopt;
  for (const size_t at : {size_t{0}, size_t{1}}) {
    const uint32_t other = other_operand(op, at);
    if (graph.is_known(other) && elements(graph.shape(other)) == 1 &&
        graph.shape(other).size() <= graph.shape(op.inputs[at]).size()) {
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace coterie
