#include "device_sdk/runtime/ops/registry.h"

#include <array>

namespace coterie {
namespace {

using Rules = std::array<const OpRule*, kOpKinds + 1>;

Rules make_rules() {
  Rules rules{};
  for (const OpRule* rule : {
           &ops::kAdd,
           &ops::kAveragePool2d,
           &ops::kConv2d,
           &ops::kDense,
           &ops::kFlatten,
           &ops::kGlobalAveragePool2d,
           &ops::kIdentity,
           &ops::kMaxPool2d,
           &ops::kRelu,
           &ops::kReshape,
       }) {
    rules[static_cast<size_t>(rule->kind)] = rule;
  }
  return rules;
}

}  // namespace

const OpRule* rule_of(OpKind kind) {
  static const Rules rules = make_rules();
  const size_t index = static_cast<size_t>(kind);
  return index < rules.size() ? rules[index] : nullptr;
}

}  // namespace coterie
