// Ops that are alike but for the function they apply: a table of their kinds, and a rule for each.
#pragma once

#include <array>
#include <cstddef>

#include "device_sdk/runtime/op_rule.h"

namespace coterie::ops {

template <typename Kernel>
struct Function {
  OpKind kind;
  Kernel kernel;  // the function, as train_kernels names it
};

// The rule of every kind in the table; of `rule` all but the kind counts.
template <typename Kernel, size_t kCount>
constexpr std::array<OpRule, kCount> rules_for(const Function<Kernel> (&functions)[kCount], OpRule rule) {
  std::array<OpRule, kCount> rules{};
  for (size_t i = 0; i < kCount; ++i) {
    rule.kind = functions[i].kind;
    rules[i] = rule;
  }
  return rules;
}

}  // namespace coterie::ops
