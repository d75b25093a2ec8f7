#include "device_sdk/runtime/op_rule.h"

#include "base/assert.h"
#include "base/text/concat.h"

namespace coterie {

Error does_not_fit(std::string_view what) { return Error(ErrorCode::malformed, what); }

namespace {

Status check_count(size_t count, size_t min, size_t max) {
  if (count >= min && count <= max) return {};
  return does_not_fit(
      concat({"has ", count, " inputs, must have ", min, (min == max ? "" : " to " + std::to_string(max))}));
}

}  // namespace

Status check_inputs(std::span<const Operand> inputs, std::initializer_list<InputRule> rules) {
  size_t required = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules.begin()[i].is_optional) required = i + 1;
  }
  COT_TRY(check_count(inputs.size(), required, rules.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputRule& rule = rules.begin()[i];
    const std::string name = "input " + std::to_string(i);
    if (!inputs[i].is_present) {
      if (!rule.is_optional) return does_not_fit(concat({name, " must not be absent"}));
      continue;
    }
    if (inputs[i].type != rule.type) {
      return does_not_fit(concat({name, " must be ", to_string(rule.type), ", is ", to_string(inputs[i].type)}));
    }
    if (rule.role == InputRule::Role::parameter && inputs[i].role != TensorRole::parameter) {
      return does_not_fit(concat({name, " must be a parameter"}));
    }
    if (rule.role == InputRule::Role::state && inputs[i].role != TensorRole::state) {
      return does_not_fit(concat({name, " must be state"}));
    }
  }
  return {};
}

Status check_one_input(std::span<const Operand> inputs) {
  if (inputs.size() == 1 && inputs[0].is_present) return {};
  return does_not_fit("must have one input");
}

Status check_float_inputs(std::span<const Operand> inputs, size_t count_min, size_t count_max) {
  COT_TRY(check_count(inputs.size(), count_min, count_max));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_present) return does_not_fit(concat({"input ", i, " must not be absent"}));
    if (inputs[i].type != DataType::float32) return does_not_fit(concat({"input ", i, " must be float32"}));
  }
  return {};
}

Status check_rank(const Operand& input, std::string_view what, size_t rank_min, size_t rank_max) {
  if (input.shape.size() >= rank_min && input.shape.size() <= rank_max) return {};
  return does_not_fit(
      concat({what, " must have ", rank_min, (rank_min == rank_max ? "" : " to " + std::to_string(rank_max)),
              " dimensions, is ", (input.shape.empty() ? "a scalar" : to_text(input.shape))}));
}

Status check_output_count(const OpInfo& op, size_t count) {
  if (op.outputs.size() == count) return {};
  return does_not_fit(concat({"has ", op.outputs.size(), " outputs, must have ", count}));
}

std::vector<TensorType> one_output(Shape shape, DataType type) { return {TensorType{type, std::move(shape)}}; }

std::string to_text(const Shape& shape) {
  std::string text;
  for (const int64_t dimension : shape) {
    if (!text.empty()) text += 'x';
    if (dimension >= 0) text += std::to_string(dimension);
    else text += dimension == -1 ? "B" : std::to_string(-dimension) + "B";  // of a symbolic shape
  }
  return text;
}

uint64_t elements(const Shape& shape) {
  const auto count = element_count(shape);
  COT_ASSERT(count.has_value());
  return *count;
}

uint64_t elements(const Shape& shape, size_t from, size_t to) {
  COT_ASSERT(from <= to && to <= shape.size());
  uint64_t count = 1;
  for (size_t i = from; i < to; ++i) count *= static_cast<uint64_t>(shape[i]);
  return count;
}

Result<int64_t> output_positions(std::string_view axis, int64_t size, int64_t kernel, int64_t stride,
                                 int64_t pad_before, int64_t pad_after, int64_t dilation) {
  const std::string name(axis);
  if (kernel < 1) return does_not_fit(concat({name, " of the kernel is 0"}));
  if (stride < 1) return does_not_fit(concat({"stride of the ", name, " is 0"}));
  if (dilation < 1) return does_not_fit(concat({"dilation of the ", name, " is 0"}));
  // Each below 2^32, so that nothing here overflows.
  const int64_t window = (kernel - 1) * std::min<int64_t>(dilation, int64_t{1} << 31) + 1;
  if (pad_before >= window || pad_after >= window) {
    return does_not_fit(concat({"padding of the ", name, " is not smaller than the kernel's ", window}));
  }
  const int64_t padded = size + pad_before + pad_after;
  if (window > padded) {
    return does_not_fit(
        concat({"kernel's ", name, " of ", window, " is larger than the input's ", size, " with its padding"}));
  }
  return (padded - window) / stride + 1;
}

double flops_per_output(const OpInfo&, std::span<const Operand>, std::span<const TensorType> outputs) {
  return static_cast<double>(elements(outputs[0].shape));
}

double no_flops(const OpInfo&, std::span<const Operand>, std::span<const TensorType>) { return 0; }

}  // namespace coterie
