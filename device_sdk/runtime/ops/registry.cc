#include "device_sdk/runtime/ops/registry.h"

#include <array>

#include "device_sdk/runtime/ops/in_build.h"

// X(rule, its kind), sorted.
#define COT_OP_RULES(X)                              \
  X(kAdaptiveAveragePool2d, adaptive_average_pool2d) \
  X(kAdaptiveMaxPool2d, adaptive_max_pool2d)         \
  X(kAttention, attention)                           \
  X(kAveragePool2d, average_pool2d)                  \
  X(kBatchNorm, batch_norm)                          \
  X(kCast, cast)                                     \
  X(kConcat, concat)                                 \
  X(kConv2d, conv2d)                                 \
  X(kConvTranspose2d, conv_transpose2d)              \
  X(kDense, dense)                                   \
  X(kDropout, dropout)                               \
  X(kEmbedding, embedding)                           \
  X(kEqual, equal)                                   \
  X(kExpand, expand)                                 \
  X(kFlatten, flatten)                               \
  X(kGather, gather)                                 \
  X(kGlobalAveragePool2d, global_average_pool2d)     \
  X(kGreater, greater)                               \
  X(kGroupNorm, group_norm)                          \
  X(kGru, gru)                                       \
  X(kIdentity, identity)                             \
  X(kLayerNorm, layer_norm)                          \
  X(kLess, less)                                     \
  X(kLogSoftmax, log_softmax)                        \
  X(kLstm, lstm)                                     \
  X(kMatmul, matmul)                                 \
  X(kMaxPool2d, max_pool2d)                          \
  X(kPad, pad)                                       \
  X(kPrelu, prelu)                                   \
  X(kRelu, relu)                                     \
  X(kReshape, reshape)                               \
  X(kResize2d, resize2d)                             \
  X(kRmsNorm, rms_norm)                              \
  X(kRnn, rnn)                                       \
  X(kSelu, selu)                                     \
  X(kSlice, slice)                                   \
  X(kSoftmax, softmax)                               \
  X(kSplit, split)                                   \
  X(kTranspose, transpose)                           \
  X(kWhere, where)

namespace coterie {
namespace {

using enum OpKind;

constexpr bool kHasBinary = ops::is_any_in_build({add, sub, mul, div, pow, minimum, maximum});
constexpr bool kHasReduce = ops::is_any_in_build({reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_l2});
constexpr bool kHasUnary =
    ops::is_any_in_build({relu6, leaky_relu, elu, gelu, gelu_tanh, sigmoid, hard_sigmoid, hard_swish, swish, tanh,
                          softplus, clip, sqrt, exp, log, abs, neg, reciprocal, erf});

using Rules = std::array<const OpRule*, kOpKinds + 1>;

// What is discarded here is not linked.
Rules make_rules() {
  Rules rules{};
  const auto put = [&](const OpRule& rule) {
    if (ops::is_in_build(rule.kind)) rules[static_cast<size_t>(rule.kind)] = &rule;
  };
  const auto put_all = [&](std::span<const OpRule> family) {
    for (const OpRule& rule : family) put(rule);
  };
  if constexpr (kHasBinary) put_all(ops::kBinary);
  if constexpr (kHasReduce) put_all(ops::kReduce);
  if constexpr (kHasUnary) put_all(ops::kUnary);
#define COT_PUT(rule, kind) \
  if constexpr (ops::is_in_build(OpKind::kind)) put(ops::rule);
  COT_OP_RULES(COT_PUT)
#undef COT_PUT
  return rules;
}

}  // namespace

const OpRule* rule_of(OpKind kind) {
  static const Rules rules = make_rules();
  const size_t index = static_cast<size_t>(kind);
  return index < rules.size() ? rules[index] : nullptr;
}

}  // namespace coterie
