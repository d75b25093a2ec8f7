// Which ops work element by element.
#pragma once

#include <optional>

#include "tools/optimise/pass_graph.h"

namespace coterie {

// add, sub, mul, div, pow, minimum, maximum: operands that broadcast.
bool is_binary_arithmetic(OpKind kind);

// The operand of which each element alone decides an element of the output, of the same shape and type, wherever it
// lies: that of a function of one variable, or that beside a known number.
std::optional<size_t> elementwise_operand(const PassGraph& graph, const OpInfo& op);

}  // namespace coterie
