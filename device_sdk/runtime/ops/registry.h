// The rules that exist, for registry.cc alone; one line each, sorted.
#pragma once

#include <span>

#include "device_sdk/runtime/op_rule.h"

namespace coterie::ops {

// Rules of several kinds each, told apart by OpInfo::kind.
extern const std::span<const OpRule> kBinary;
extern const std::span<const OpRule> kReduce;
extern const std::span<const OpRule> kUnary;

extern const OpRule kAdaptiveAveragePool2d;
extern const OpRule kAdaptiveMaxPool2d;
extern const OpRule kAttention;
extern const OpRule kAveragePool2d;
extern const OpRule kBatchNorm;
extern const OpRule kCast;
extern const OpRule kConcat;
extern const OpRule kConv2d;
extern const OpRule kConvTranspose2d;
extern const OpRule kDense;
extern const OpRule kDropout;
extern const OpRule kEmbedding;
extern const OpRule kEqual;
extern const OpRule kExpand;
extern const OpRule kFlatten;
extern const OpRule kGather;
extern const OpRule kGlobalAveragePool2d;
extern const OpRule kGreater;
extern const OpRule kGroupNorm;
extern const OpRule kGru;
extern const OpRule kIdentity;
extern const OpRule kLayerNorm;
extern const OpRule kLess;
extern const OpRule kLogSoftmax;
extern const OpRule kLstm;
extern const OpRule kMatmul;
extern const OpRule kMaxPool2d;
extern const OpRule kPad;
extern const OpRule kPrelu;
extern const OpRule kRelu;
extern const OpRule kReshape;
extern const OpRule kResize2d;
extern const OpRule kRmsNorm;
extern const OpRule kRnn;
extern const OpRule kSelu;
extern const OpRule kSlice;
extern const OpRule kSoftmax;
extern const OpRule kSplit;
extern const OpRule kTranspose;
extern const OpRule kWhere;

}  // namespace coterie::ops
