#include "device_sdk/runtime/ops/registry.h"

#include <array>

namespace coterie {
namespace {

using Rules = std::array<const OpRule*, kOpKinds + 1>;

Rules make_rules() {
  Rules rules{};
  const auto add = [&](const OpRule& rule) { rules[static_cast<size_t>(rule.kind)] = &rule; };
  for (const auto& family : {ops::kBinary, ops::kReduce, ops::kUnary}) {
    for (const OpRule& rule : family) add(rule);
  }
  for (const OpRule* rule : {
           &ops::kAdaptiveAveragePool2d,
           &ops::kAdaptiveMaxPool2d,
           &ops::kAttention,
           &ops::kAveragePool2d,
           &ops::kBatchNorm,
           &ops::kCast,
           &ops::kConcat,
           &ops::kConv2d,
           &ops::kConvTranspose2d,
           &ops::kDense,
           &ops::kDropout,
           &ops::kEmbedding,
           &ops::kEqual,
           &ops::kExpand,
           &ops::kFlatten,
           &ops::kGather,
           &ops::kGlobalAveragePool2d,
           &ops::kGreater,
           &ops::kGroupNorm,
           &ops::kGru,
           &ops::kIdentity,
           &ops::kLayerNorm,
           &ops::kLess,
           &ops::kLogSoftmax,
           &ops::kLstm,
           &ops::kMatmul,
           &ops::kMaxPool2d,
           &ops::kPad,
           &ops::kPrelu,
           &ops::kRelu,
           &ops::kReshape,
           &ops::kResize2d,
           &ops::kRmsNorm,
           &ops::kRnn,
           &ops::kSelu,
           &ops::kSlice,
           &ops::kSoftmax,
           &ops::kSplit,
           &ops::kTranspose,
           &ops::kWhere,
       }) {
    add(*rule);
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
