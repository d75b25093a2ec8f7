// OpRule: everything the runtime knows about one kind of op, in one place.
//
// Adding an op: a file in ops/ that defines its rule, a line in ops/registry.cc, its kernels in train_kernels, its
// tests. Shape inference, autodiff, memory planning and execution need no change.
//
// Rules see shapes as they are at one batch size, the batch included; a model is compiled for each batch size anew.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie {

class OpBuild;

struct TensorType {
  DataType type = DataType::float32;
  Shape shape;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// An op's input as its rule sees it.
struct Operand {
  bool is_present = false;
  TensorRole role = TensorRole::activation;
  DataType type = DataType::float32;
  Shape shape;
};

struct OpRule {
  OpKind kind;
  // Checks the inputs and the attributes; gives the outputs' types, as many as the op has outputs. Errors say what is
  // wrong; the caller names the op.
  Result<std::vector<TensorType>> (*infer)(const OpInfo& op, std::span<const Operand> inputs);
  // Operations of one forward pass, a multiply-add counted as two. Called with what infer accepted.
  double (*flops)(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs);
  // Emits the steps of one op into a program (op_build.h). backward is called only if an input needs a gradient and
  // the gradient of some output has arrived; null if the op has none.
  void (*forward)(OpBuild& build);
  void (*backward)(OpBuild& build);
};

// The rule of a kind; null if this build leaves it out.
const OpRule* rule_of(OpKind kind);

// --- what the rules share

// malformed.
Error does_not_fit(std::string_view what);

// What an op's inputs must be: how many, and of each its type. By default any float32.
struct InputRule {
  enum class Role : uint8_t { any, parameter, state } role = Role::any;
  DataType type = DataType::float32;
  bool is_optional = false;  // may be absent
};
Status check_inputs(std::span<const Operand> inputs, std::initializer_list<InputRule> rules);
// One input of any type.
Status check_one_input(std::span<const Operand> inputs);
// One float32 operand or several.
Status check_float_inputs(std::span<const Operand> inputs, size_t count_min, size_t count_max);
Status check_rank(const Operand& input, std::string_view what, size_t rank_min, size_t rank_max);
// Exactly so many outputs.
Status check_output_count(const OpInfo& op, size_t count);

std::vector<TensorType> one_output(Shape shape, DataType type = DataType::float32);
std::string to_text(const Shape& shape);  // "28x28x1"
// As element_count, of a shape that is known to be sound.
uint64_t elements(const Shape& shape);
// The product of the dimensions [from, to).
uint64_t elements(const Shape& shape, size_t from, size_t to);

// Where a window of `kernel` positions, `dilation` apart, can stand on an axis of `size` with padding: the number of
// output positions. kernel, stride and dilation at least 1, padding smaller than the window, the window not larger than
// the padded axis.
Result<int64_t> output_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after, int64_t dilation = 1);

// flops of an op that does one operation an output element, or none.
double flops_per_output(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs);
double no_flops(const OpInfo& op, std::span<const Operand> inputs, std::span<const TensorType> outputs);

}  // namespace coterie
