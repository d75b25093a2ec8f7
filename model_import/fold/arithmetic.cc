// The ops that compute: with numbers, and with multiples of the batch where the result is one again.
#include <algorithm>
#include <cmath>
#include <map>

#include "model_import/fold/fold.h"
#include "model_import/graph/node_error.h"

namespace coterie::model_import {
namespace {

using Whole = std::optional<Integer>;  // empty: no whole multiple of the batch

Whole checked(bool overflow, int64_t value, bool per_batch) {
  if (overflow) return std::nullopt;
  return Integer{value, per_batch && value != 0};
}

Whole add(Integer a, Integer b) {
  int64_t sum;
  if (a.per_batch != b.per_batch && a.value != 0 && b.value != 0) return std::nullopt;
  const bool overflow = __builtin_add_overflow(a.value, b.value, &sum);
  return checked(overflow, sum, a.per_batch || b.per_batch);
}
Whole subtract(Integer a, Integer b) {
  if (b.value == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return add(a, {-b.value, b.per_batch});
}
Whole multiply(Integer a, Integer b) {
  int64_t product;
  if (a.per_batch && b.per_batch) return std::nullopt;
  const bool overflow = __builtin_mul_overflow(a.value, b.value, &product);
  return checked(overflow, product, a.per_batch || b.per_batch);
}
Whole divide(Integer a, Integer b) {
  if (b.value == 0 || (b.value == -1 && a.value == std::numeric_limits<int64_t>::min())) return std::nullopt;
  if (!a.per_batch && !b.per_batch) return Integer{a.value / b.value, false};  // ONNX: towards zero
  if (a.value % b.value != 0 || (b.per_batch && !a.per_batch)) return std::nullopt;
  return Integer{a.value / b.value, a.per_batch && !b.per_batch};
}
Whole modulo(Integer a, Integer b) {
  if (b.value == 0 || b.value == -1) return b.value == -1 ? Whole(Integer{}) : std::nullopt;
  if (b.per_batch) return std::nullopt;
  if (a.per_batch) return a.value % b.value == 0 ? Whole(Integer{}) : std::nullopt;
  const int64_t rest = a.value % b.value;
  return Integer{rest != 0 && (rest < 0) != (b.value < 0) ? rest + b.value : rest, false};
}
// With fmod = 1: the sign is the dividend's.
Whole remainder(Integer a, Integer b) {
  if (a.per_batch || b.value == 0 || b.value == -1) return modulo(a, b);
  if (b.per_batch) return std::nullopt;
  return Integer{a.value % b.value, false};
}
// The batch is at least 1, so that a multiple of it equals no number below 1.
Whole equals(Integer a, Integer b) {
  if (a.per_batch == b.per_batch) return Integer{a.value == b.value, false};
  const Integer& fixed = a.per_batch ? b : a;
  if (fixed.value < 1) return Integer{0, false};
  return std::nullopt;
}
Whole is_less(Integer a, Integer b) {
  if (a.per_batch == b.per_batch) return Integer{a.value < b.value, false};
  if (a.per_batch && b.value < 1) return Integer{0, false};
  if (b.per_batch && a.value < 1) return Integer{1, false};
  return std::nullopt;
}
Whole smaller(Integer a, Integer b) {
  const Whole less = is_less(a, b);
  return less ? Whole(less->value != 0 ? a : b) : std::nullopt;
}
Whole larger(Integer a, Integer b) {
  const Whole less = is_less(a, b);
  return less ? Whole(less->value != 0 ? b : a) : std::nullopt;
}
Whole power(Integer a, Integer b) {
  if (a.per_batch || b.per_batch || b.value < 0 || b.value > 62)
    return b == Integer{1, false} ? Whole(a) : std::nullopt;
  Whole result = Integer{1, false};
  for (int64_t i = 0; i < b.value && result; ++i) result = multiply(*result, a);
  return result;
}

struct Binary {
  Whole (*whole)(Integer, Integer);
  float (*real)(float, float);
  bool is_comparison = false;
};

constexpr const char* kFmod = "Mod, as C has it";

const Binary* binary_of(const std::string& op) {
  static const std::map<std::string, Binary> table = {
      {"Add", {add, [](float a, float b) { return a + b; }}},
      {"Sub", {subtract, [](float a, float b) { return a - b; }}},
      {"Mul", {multiply, [](float a, float b) { return a * b; }}},
      {"Div", {divide, [](float a, float b) { return a / b; }}},
      {"Mod", {modulo, nullptr}},
      {kFmod, {remainder, [](float a, float b) { return std::fmod(a, b); }}},
      {"Pow", {power, [](float a, float b) { return std::pow(a, b); }}},
      {"Min", {smaller, [](float a, float b) { return std::min(a, b); }}},
      {"Max", {larger, [](float a, float b) { return std::max(a, b); }}},
      {"Equal", {equals, [](float a, float b) { return static_cast<float>(a == b); }, true}},
      {"Less", {is_less, [](float a, float b) { return static_cast<float>(a < b); }, true}},
      {"Greater",
       {[](Integer a, Integer b) { return is_less(b, a); }, [](float a, float b) { return static_cast<float>(a > b); },
        true}},
      {"And",
       {[](Integer a, Integer b) {
          return Whole({a.value != 0 && b.value != 0, false});
        },
        nullptr, true}},
      {"Or",
       {[](Integer a, Integer b) {
          return Whole({a.value != 0 || b.value != 0, false});
        },
        nullptr, true}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

Error depends_on_batch(const Node& node) {
  return unsupported(node, "computes a number that is no whole multiple of the batch, or overflows");
}

Result<HostTensor> fold_binary(const Node& node, const Operands& operands, int64_t) {
  const bool is_fmod = node.op == "Mod" && node.integer("fmod", 0) != 0;
  const Binary& binary = *binary_of(is_fmod ? kFmod : node.op);
  if (operands.size() != 2 || operands[1] == nullptr) return unsupported(node, "takes two operands");
  const HostTensor &a = *operands[0], &b = *operands[1];
  if (a.element != b.element || (a.element == Element::real && binary.real == nullptr)) {
    return Error(ErrorCode::malformed, node.what() + ": operands of different types");
  }
  COT_ASSIGN(Shape shape, broadcast(node, a.shape, b.shape));
  HostTensor result;
  result.element = binary.is_comparison ? Element::boolean : a.element;
  result.shape = std::move(shape);
  if (a.is_uniform || b.is_uniform) {
    if (a.stored() != 1 || b.stored() != 1) return depends_on_batch(node);
    result.is_uniform = true;
  } else {
    COT_TRY(count_elements(node, result.shape));
  }
  const std::vector<uint64_t> from_a =
      result.is_uniform ? std::vector<uint64_t>{0} : broadcast_indices(a.shape, result.shape);
  const std::vector<uint64_t> from_b =
      result.is_uniform ? std::vector<uint64_t>{0} : broadcast_indices(b.shape, result.shape);
  for (size_t i = 0; i < from_a.size(); ++i) {
    if (a.element == Element::real) {
      const float value = binary.real(a.reals[from_a[i]], b.reals[from_b[i]]);
      if (binary.is_comparison) result.integers.push_back({value != 0, false});
      else result.reals.push_back(value);
      continue;
    }
    const Whole value = binary.whole(a.integers[from_a[i]], b.integers[from_b[i]]);
    if (!value) return depends_on_batch(node);
    result.integers.push_back(*value);
  }
  return result;
}

struct Unary {
  Whole (*whole)(Integer);  // null: of floats only
  float (*real)(float);     // null: of integers only
};

const Unary* unary_of(const std::string& op) {
  static const std::map<std::string, Unary> table = {
      {"Neg", {[](Integer a) { return subtract({}, a); }, [](float a) { return -a; }}},
      {"Abs",
       {[](Integer a) { return a.value < 0 ? subtract({}, a) : Whole(a); }, [](float a) { return std::fabs(a); }}},
      {"Floor", {nullptr, [](float a) { return std::floor(a); }}},
      {"Ceil", {nullptr, [](float a) { return std::ceil(a); }}},
      {"Round", {nullptr, [](float a) { return std::nearbyint(a); }}},
      {"Sqrt", {nullptr, [](float a) { return std::sqrt(a); }}},
      {"Exp", {nullptr, [](float a) { return std::exp(a); }}},
      {"Log", {nullptr, [](float a) { return std::log(a); }}},
      {"Reciprocal", {nullptr, [](float a) { return 1 / a; }}},
      {"Sin", {nullptr, [](float a) { return std::sin(a); }}},
      {"Cos", {nullptr, [](float a) { return std::cos(a); }}},
      {"Not",
       {[](Integer a) {
          return Whole({a.value == 0, false});
        },
        nullptr}},
  };
  const auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

Result<HostTensor> fold_unary(const Node& node, const Operands& operands, int64_t) {
  const Unary& unary = *unary_of(node.op);
  HostTensor result = *operands[0];
  if ((result.element == Element::real ? unary.real == nullptr : unary.whole == nullptr)) {
    return Error(ErrorCode::malformed, node.what() + ": an operand of the wrong type");
  }
  for (float& value : result.reals) value = unary.real(value);
  for (Integer& integer : result.integers) {
    const Whole value = unary.whole(integer);
    if (!value) return depends_on_batch(node);
    integer = *value;
  }
  return result;
}

Result<HostTensor> fold_cast(const Node& node, const Operands& operands, int64_t) {
  constexpr int64_t kFloat = 1, kBool = 9, kFloat16 = 10, kDouble = 11,
                    kBfloat16 = 16;  // TensorProto.DataType
  const int64_t to = node.integer("to", kFloat);
  HostTensor result = *operands[0];
  const bool to_real = to == kFloat || to == kFloat16 || to == kDouble || to == kBfloat16;
  if (result.element == Element::real) {
    if (to_real) return result;
    for (const float value : result.reals) {
      if (!(std::fabs(value) < 0x1p63f)) return unsupported(node, "casts a float that no integer holds");
      result.integers.push_back({to == kBool ? value != 0 : static_cast<int64_t>(value), false});
    }
    result.reals.clear();
  } else if (to_real) {
    for (const Integer& integer : result.integers) {
      if (integer.per_batch) return depends_on_batch(node);
      result.reals.push_back(static_cast<float>(integer.value));
    }
    result.integers.clear();
  } else if (to == kBool) {
    for (Integer& integer : result.integers) integer = {integer.value != 0, false};
  }
  result.element = to_real ? Element::real : to == kBool ? Element::boolean : Element::integer;
  return result;
}

Result<HostTensor> fold_range(const Node& node, const Operands& operands, int64_t) {
  if (operands.size() != 3 || operands[1] == nullptr || operands[2] == nullptr)
    return unsupported(node, "takes three operands");
  HostTensor result;
  result.element = operands[0]->element;
  for (const HostTensor* part : operands) {
    if (part->stored() != 1 || part->element != result.element)
      return unsupported(node, "takes three numbers of one type");
  }
  const auto has_room = [](double count) { return count <= static_cast<double>(kFoldElementsMax); };
  if (result.element == Element::real) {
    const float start = operands[0]->reals[0], end = operands[1]->reals[0], step = operands[2]->reals[0];
    const double count = std::ceil((static_cast<double>(end) - static_cast<double>(start)) / static_cast<double>(step));
    if (!has_room(count)) return unsupported(node, "makes more than 2^26 numbers");
    for (double i = 0; i < count; ++i) result.reals.push_back(start + static_cast<float>(i) * step);
    result.shape = {static_cast<int64_t>(result.reals.size())};
    return result;
  }
  for (const HostTensor* part : operands) {
    if (part->integers[0].per_batch) return unsupported(node, "counts up to the batch size");
  }
  const int64_t start = operands[0]->integers[0].value, end = operands[1]->integers[0].value,
                step = operands[2]->integers[0].value;
  if (step == 0) return unsupported(node, "counts in steps of 0");
  const double count = std::ceil((static_cast<double>(end) - static_cast<double>(start)) / static_cast<double>(step));
  if (!has_room(count)) return unsupported(node, "makes more than 2^26 numbers");
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) result.integers.push_back({start + i * step, false});
  result.shape = {static_cast<int64_t>(result.integers.size())};
  return result;
}

Result<HostTensor> fold_where(const Node& node, const Operands& operands, int64_t) {
  if (operands.size() != 3 || operands[1] == nullptr || operands[2] == nullptr)
    return unsupported(node, "takes three operands");
  const HostTensor &condition = *operands[0], &a = *operands[1], &b = *operands[2];
  if (condition.element == Element::real || a.element != b.element) {
    return Error(ErrorCode::malformed, node.what() + ": operands of the wrong types");
  }
  COT_ASSIGN(Shape shape, broadcast(node, a.shape, b.shape));
  COT_ASSIGN(shape, broadcast(node, shape, condition.shape));
  if (condition.is_uniform || a.is_uniform || b.is_uniform) {
    if (condition.stored() != 1) return depends_on_batch(node);
    HostTensor result = condition.integers[0].value != 0 ? a : b;
    if (result.stored() != 1) return depends_on_batch(node);
    result.shape = shape;
    result.is_uniform = true;
    return result;
  }
  COT_TRY(count_elements(node, shape));
  const std::vector<uint64_t> from_condition = broadcast_indices(condition.shape, shape);
  const std::vector<uint64_t> from_a = broadcast_indices(a.shape, shape), from_b = broadcast_indices(b.shape, shape);
  HostTensor result;
  result.element = a.element;
  result.shape = shape;
  for (size_t i = 0; i < from_a.size(); ++i) {
    const bool first = condition.integers[from_condition[i]].value != 0;
    if (a.element == Element::real) result.reals.push_back(first ? a.reals[from_a[i]] : b.reals[from_b[i]]);
    else result.integers.push_back(first ? a.integers[from_a[i]] : b.integers[from_b[i]]);
  }
  return result;
}

// Over all elements: what shape computations need of it (numel).
Result<HostTensor> fold_reduce_product(const Node& node, const Operands& operands, int64_t) {
  if (operands[0]->element == Element::real || operands[0]->is_uniform || operands[0]->shape.size() != 1) {
    return unsupported(node, "only of a list of integers");
  }
  COT_ASSIGN(const std::vector<int64_t> axes, axes_of(node, operands, 1));
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) != 0) return *operands[0];
  Integer product{1, false};
  for (const Integer& integer : operands[0]->integers) {
    const Whole next = multiply(product, integer);
    if (!next) return depends_on_batch(node);
    product = *next;
  }
  HostTensor result = host_integers({product});
  if (node.integer("keepdims", 1) == 0) result.shape.clear();
  return result;
}

}  // namespace

FoldRule arithmetic_rule(const std::string& op) {
  if (binary_of(op) != nullptr) return fold_binary;
  if (unary_of(op) != nullptr) return fold_unary;
  if (op == "Cast") return fold_cast;
  if (op == "Range") return fold_range;
  if (op == "Where") return fold_where;
  if (op == "ReduceProd") return fold_reduce_product;
  return nullptr;
}

}  // namespace coterie::model_import
