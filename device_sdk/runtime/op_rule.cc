#include "device_sdk/runtime/op_rule.h"

#include "base/assert.h"

namespace coterie {

Error does_not_fit(std::string what) { return Error(ErrorCode::malformed, std::move(what)); }

Status check_operands(std::span<const Operand> inputs, size_t min, size_t max, size_t activations) {
  if (inputs.size() < min || inputs.size() > max) {
    return does_not_fit("has " + std::to_string(inputs.size()) + " inputs, must have " + std::to_string(min) +
                        (min == max ? "" : " to " + std::to_string(max)));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_parameter == (i < activations)) {
      return does_not_fit("input " + std::to_string(i) + " must be " +
                          (i < activations ? "an activation" : "a parameter"));
    }
  }
  return {};
}

Status check_no_attributes(const OpInfo& op) {
  if (!std::holds_alternative<std::monostate>(op.attributes)) return does_not_fit("takes no attributes");
  return {};
}

std::string to_text(const Shape& shape) {
  std::string text;
  for (const int64_t dimension : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dimension);
  }
  return text;
}

uint64_t elements(const Shape& shape) {
  const auto count = element_count(shape);
  COT_ASSERT(count.has_value());
  return *count;
}

Result<int64_t> output_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after) {
  const std::string name(axis);
  if (kernel < 1) return does_not_fit(name + " of the kernel is 0");
  if (stride < 1) return does_not_fit("stride of the " + name + " is 0");
  if (pad_before >= kernel || pad_after >= kernel) {
    return does_not_fit("padding of the " + name + " is not smaller than the kernel's " + std::to_string(kernel));
  }
  const int64_t padded = size + pad_before + pad_after;  // each below 2^33
  if (kernel > padded) {
    return does_not_fit("kernel's " + name + " of " + std::to_string(kernel) + " is larger than the input's " +
                        std::to_string(size) + " with its padding");
  }
  return (padded - kernel) / stride + 1;
}

}  // namespace coterie
