// flatten: x[...] -> y[product]; reshape: x[...] -> y[shape] with as many elements. Neither moves a byte.
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/ops/registry.h"

namespace coterie::ops {
namespace {

Result<Shape> infer_flatten(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_no_attributes(op));
  COT_TRY(check_operands(inputs, 1, 1, 1));
  return Shape{static_cast<int64_t>(elements(inputs[0].shape))};
}

Result<Shape> infer_reshape(const OpInfo& op, std::span<const Operand> inputs) {
  COT_TRY(check_operands(inputs, 1, 1, 1));
  const auto* a = std::get_if<ReshapeAttributes>(&op.attributes);
  if (a == nullptr) return does_not_fit("has no shape attribute");
  if (a->shape.empty()) return does_not_fit("has an empty shape");
  COT_ASSIGN(const uint64_t count, element_count(a->shape));
  if (count != elements(inputs[0].shape)) {
    return does_not_fit("turns " + to_text(inputs[0].shape) + " into " + to_text(a->shape) +
                        ", which has another number of elements");
  }
  return a->shape;
}

double flops(const OpInfo&, std::span<const Operand>, const Shape&) { return 0; }

void forward(OpBuild& build) { build.output_is_input(); }
void backward(OpBuild& build) { build.pass_gradient(0); }

}  // namespace

const OpRule kFlatten{OpKind::flatten, false, infer_flatten, flops, forward, backward};
const OpRule kReshape{OpKind::reshape, false, infer_reshape, flops, forward, backward};

}  // namespace coterie::ops
