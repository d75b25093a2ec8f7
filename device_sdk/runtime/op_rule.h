// OpRule: everything the runtime knows about one kind of op, in one place.
//
// Adding an op: a file in ops/ that defines its rule, a line in ops/registry.cc, its kernels in train_kernels, its
// tests. Shape inference, autodiff, memory planning and execution need no change.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

class OpBuild;

// An op's input as its rule sees it.
struct Operand {
  bool is_parameter;
  const Shape& shape;  // activations: without the batch dimension
};

struct OpRule {
  OpKind kind;
  // The backward pass reads the op's output again: nothing may overwrite it in place.
  bool saves_output;
  // Checks the number, roles and shapes of the inputs and the attributes; gives the output's shape. Errors say what is
  // wrong; the caller names the op.
  Result<Shape> (*infer)(const OpInfo& op, std::span<const Operand> inputs);
  // Of one example's forward pass. Called with what infer accepted.
  double (*flops)(const OpInfo& op, std::span<const Operand> inputs, const Shape& output);
  // Emits the steps of one op into a program (op_build.h). backward is called only if an input needs a gradient.
  void (*forward)(OpBuild& build);
  void (*backward)(OpBuild& build);
};

// Every OpKind has one.
const OpRule& rule_of(OpKind kind);

// --- what the rules share

// malformed.
Error does_not_fit(std::string what);
// The number of inputs in [min, max], the first `activations` of them activations, the rest parameters.
Status check_operands(std::span<const Operand> inputs, size_t min, size_t max, size_t activations);
// An op that takes no attributes has none.
Status check_no_attributes(const OpInfo& op);
std::string to_text(const Shape& shape);  // "28x28x1"
// As element_count, of a shape that is known to be sound.
uint64_t elements(const Shape& shape);

// Where a window of `kernel` positions can stand on an axis of `size` with padding: the number of output positions.
// kernel and stride at least 1, padding smaller than the kernel, the kernel not larger than the padded axis.
Result<int64_t> output_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after);

}  // namespace coterie
