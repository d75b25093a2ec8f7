// flatten: x[b, ...] -> y[b, product]; reshape: x[...] -> y[shape] with as many elements. Neither moves a byte.
#include "base/text/concat.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<std::vector<TensorType>> infer_flatten(const OpInfo&, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const Shape& x = inputs[0].shape;
  COT_TRY(check_rank(inputs[0], "input", 1, 8));
  return one_output({x[0], static_cast<int64_t>(elements(x, 1, x.size()))}, inputs[0].type);
}

Result<std::vector<TensorType>> infer_reshape(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_one_input(inputs));
  const Shape& shape = std::get<ShapeAttributes>(op.attributes).shape;
  COT_ASSIGN(const uint64_t count, element_count(shape));
  if (count != elements(inputs[0].shape)) {
    return does_not_fit(concat(
        {"turns ", to_text(inputs[0].shape), " into ", to_text(shape), ", which has another number of elements"}));
  }
  return one_output(shape, inputs[0].type);
}

void forward(OpBuild& build) { build.output_is_input(); }
void backward(OpBuild& build) { build.pass_gradient(0); }

}  // namespace

const OpRule kFlatten{OpKind::flatten, infer_flatten, no_flops, forward, backward};
const OpRule kReshape{OpKind::reshape, infer_reshape, no_flops, forward, backward};

}  // namespace coterie::ops
