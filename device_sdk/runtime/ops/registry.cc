#include "device_sdk/runtime/ops/registry.h"

#include "base/assert.h"

namespace coterie {

const OpRule& rule_of(OpKind kind) {
  switch (kind) {
    case OpKind::dense: return ops::kDense;
    case OpKind::conv2d: return ops::kConv2d;
    case OpKind::max_pool2d: return ops::kMaxPool2d;
    case OpKind::average_pool2d: return ops::kAveragePool2d;
    case OpKind::global_average_pool2d: return ops::kGlobalAveragePool2d;
    case OpKind::relu: return ops::kRelu;
    case OpKind::add: return ops::kAdd;
    case OpKind::flatten: return ops::kFlatten;
    case OpKind::reshape: return ops::kReshape;
  }
  assertion_failed("decode_model lets no other kind through", __FILE__, __LINE__);
}

}  // namespace coterie
