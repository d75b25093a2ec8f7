// The rules that exist, for registry.cc alone; one line each, sorted.
#pragma once

#include "device_sdk/runtime/op_rule.h"

namespace coterie::ops {

extern const OpRule kAdd;
extern const OpRule kAveragePool2d;
extern const OpRule kConv2d;
extern const OpRule kDense;
extern const OpRule kFlatten;
extern const OpRule kGlobalAveragePool2d;
extern const OpRule kIdentity;
extern const OpRule kMaxPool2d;
extern const OpRule kRelu;
extern const OpRule kReshape;

}  // namespace coterie::ops
