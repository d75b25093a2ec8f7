#include "model_import/mslite/mslite_model.h"

#include <array>
#include <cstring>
#include <string_view>

#include "model_import/graph/small_floats.h"

namespace coterie::model_import {
namespace {

// Numbered from 1, as in the format.
// clang-format off
constexpr std::array<std::string_view, 221> kMsliteNames = {
    "Abs", "Activation", "ActivationGrad", "Adam", "AddFusion", "AdderFusion", "AddGrad", "AddN", "All",
    "ApplyMomentum", "ArgMaxFusion", "ArgMinFusion", "Assert", "Assign", "AssignAdd", "AudioSpectrogram",
    "AvgPoolFusion", "AvgPoolGrad", "BatchNorm", "BatchNormGrad", "BatchToSpace", "BatchToSpaceND", "BiasAdd",
    "BinaryCrossEntropy", "BinaryCrossEntropyGrad", "BiasAddGrad", "BroadcastTo", "Cast", "Ceil", "Clip", "Concat",
    "Attention", "Conv2DBackpropFilterFusion", "Conv2DBackpropInputFusion", "Conv2DFusion", "Conv2dTransposeFusion",
    "Cos", "ConstantOfShape", "Crop", "CustomExtractFeatures", "CustomNormalize", "CustomPredict",
    "DeConv2DGradFilter", "Depend", "DepthToSpace", "DetectionPostProcess", "DivFusion", "DivGrad", "Dropout",
    "DropoutGrad", "Elu", "Eltwise", "Equal", "EmbeddingLookupFusion", "ExpFusion", "ExpandDims",
    "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", "FftReal", "FftImag", "Flatten", "FlattenGrad",
    "Floor", "FloorDiv", "FloorMod", "Fill", "FullConnection", "FusedBatchNorm", "Gather", "GatherNd", "Greater",
    "GreaterEqual", "HashtableLookup", "InstanceNorm", "LayerNormFusion", "LeakyRelu", "Less", "LessEqual", "Log",
    "LogGrad", "LogicalAnd", "LogicalNot", "LogicalOr", "LpNormalization", "LRN", "LshProjection", "LSTM",
    "L2NormalizeFusion", "MatMulFusion", "Maximum", "MaximumGrad", "MaxPoolFusion", "MaxPoolGrad", "SwitchLayer",
    "Mfcc", "Minimum", "MinimumGrad", "Mod", "MulFusion", "MulGrad", "Neg", "NegGrad", "NotEqual",
    "NonMaxSuppression", "OneHot", "OnesLike", "PadFusion", "PartialFusion", "PowerGrad", "PowFusion", "PriorBox",
    "PReLUFusion", "QuantDTypeCast", "Rank", "Range", "Reciprocal", "RealDiv", "ReduceFusion", "Reshape", "Resize",
    "ReverseSequence", "ReverseV2", "Rfft", "ROIPooling", "Round", "Rsqrt", "ScaleFusion", "ScatterNd", "SGD",
    "Shape", "SigmoidCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogitsGrad", "Sin", "SkipGram", "SliceFusion",
    "SmoothL1Loss", "SmoothL1LossGrad", "Softmax", "SoftmaxCrossEntropyWithLogits", "SpaceToBatch", "SpaceToBatchND",
    "SpaceToDepth", "SparseSoftmaxCrossEntropyWithLogits", "SparseToDense", "Split", "Sqrt", "Squeeze", "Square",
    "SquaredDifference", "Stack", "StridedSlice", "SubFusion", "SubGrad", "Switch", "TensorListFromTensor",
    "TensorListGetItem", "TensorListReserve", "TensorListSetItem", "TensorListStack", "TileFusion", "TopKFusion",
    "Transpose", "Unique", "UnsortedSegmentSum", "Unsqueeze", "Unstack", "LSTMGrad", "Where", "ZerosLike", "Select",
    "ScatterNdUpdate", "GRU", "NonZero", "InvertPermutation", "Size", "RandomStandardNormal", "CropAndResize", "Erf",
    "StridedSliceGrad", "IsFinite", "LinSpace", "UniformReal", "AbsGrad", "RsqrtGrad", "SqrtGrad", "LayerNormGrad",
    "ResizeGrad", "Splice", "LogSoftmax", "Call", "Custom", "CumSum", "SplitWithOverlap", "GenOP", "RaggedRange",
    "GLU", "TensorArray", "TensorArrayRead", "TensorArrayWrite", "Affine", "AllGather", "ReduceScatter",
    "DynamicQuant", "LSTMGradData", "LSTMGradWeight", "RandomNormal", "NLLLoss", "NLLLossGrad", "FormatTranspose",
    "GatherD", "GroupNormFusion", "Log1p", "TensorScatterAdd", "SparseFillEmptyRows", "SparseReshape",
    "SparseSegmentSum", "ScatterElements", "Triu", "Tril", "AdamWeightDecay", "FillV2",
};
// clang-format on

template <typename T>
T mslite_element(ByteView data, size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

size_t width_of(MsliteType type) {
  switch (type) {
    case MsliteType::int64: return 8;
    case MsliteType::int32:
    case MsliteType::float32: return 4;
    case MsliteType::float16: return 2;
    case MsliteType::boolean: return 1;
  }
  return 1;
}

bool is_real(MsliteType type) { return type == MsliteType::float32 || type == MsliteType::float16; }

std::string mslite_operator_name(uint8_t code) {
  if (code >= 1 && code <= kMsliteNames.size()) return std::string(kMsliteNames[code - 1u]);
  return "operator " + std::to_string(code);
}

bool is_read_mslite(uint8_t code) {
  switch (static_cast<MsliteOp>(code)) {
    case MsliteOp::abs:
    case MsliteOp::activation:
    case MsliteOp::add:
    case MsliteOp::add_n:
    case MsliteOp::average_pool:
    case MsliteOp::batch_norm:
    case MsliteOp::bias_add:
    case MsliteOp::clip:
    case MsliteOp::concat:
    case MsliteOp::convolution:
    case MsliteOp::transposed_convolution:
    case MsliteOp::div:
    case MsliteOp::dropout:
    case MsliteOp::elu:
    case MsliteOp::exponential:
    case MsliteOp::expand_dims:
    case MsliteOp::flatten:
    case MsliteOp::dense:
    case MsliteOp::fused_batch_norm:
    case MsliteOp::gather:
    case MsliteOp::layer_norm:
    case MsliteOp::leaky_relu:
    case MsliteOp::log:
    case MsliteOp::lstm:
    case MsliteOp::matmul:
    case MsliteOp::maximum:
    case MsliteOp::max_pool:
    case MsliteOp::minimum:
    case MsliteOp::mul:
    case MsliteOp::neg:
    case MsliteOp::pad:
    case MsliteOp::power:
    case MsliteOp::prelu:
    case MsliteOp::reciprocal:
    case MsliteOp::real_div:
    case MsliteOp::reduce:
    case MsliteOp::reshape:
    case MsliteOp::resize:
    case MsliteOp::rsqrt:
    case MsliteOp::scale:
    case MsliteOp::slice:
    case MsliteOp::softmax:
    case MsliteOp::split:
    case MsliteOp::sqrt:
    case MsliteOp::squeeze:
    case MsliteOp::square:
    case MsliteOp::squared_difference:
    case MsliteOp::stack:
    case MsliteOp::strided_slice:
    case MsliteOp::sub:
    case MsliteOp::transpose:
    case MsliteOp::unsqueeze:
    case MsliteOp::gru:
    case MsliteOp::erf:
    case MsliteOp::log_softmax: return true;
  }
  return false;
}

bool is_training_only(uint8_t code) {
  const std::string name = mslite_operator_name(code);
  return name.find("Grad") != std::string::npos || name.find("Backprop") != std::string::npos || name == "Adam" ||
         name == "AdamWeightDecay" || name == "SGD" || name == "ApplyMomentum";
}

std::string what_of(const MsliteOperator& op) {
  return "node " + std::to_string(op.place) + " (" + mslite_operator_name(static_cast<uint8_t>(op.op)) + ")";
}

std::vector<float> reals_of(const MsliteTensor& tensor) {
  std::vector<float> values(tensor.data.size() / width_of(tensor.type));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = tensor.type == MsliteType::float16 ? half_to_float(mslite_element<uint16_t>(tensor.data, i))
                                                   : mslite_element<float>(tensor.data, i);
  }
  return values;
}

std::vector<int64_t> integers_of(const MsliteTensor& tensor) {
  std::vector<int64_t> values(tensor.data.size() / width_of(tensor.type));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (tensor.type) {
      case MsliteType::int64: values[i] = mslite_element<int64_t>(tensor.data, i); break;
      case MsliteType::int32: values[i] = mslite_element<int32_t>(tensor.data, i); break;
      default: values[i] = tensor.data[i] != 0;
    }
  }
  return values;
}

}  // namespace coterie::model_import
