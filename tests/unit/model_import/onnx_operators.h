// The operators of ONNX's own domain, opset 22 and before, with their editions.
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace coterie::test {

// The opsets of 11 to 22 in which ONNX defines each operator anew, ascending: 11 stands for the edition of before, and
// where it is not among them, the operator came with the first. Source: onnx/defs/operator_sets.h of ONNX 1.17.
inline std::map<std::string, std::vector<int64_t>> onnx_editions() {
  std::istringstream entries(
      "Abs:11:13 Acos:11:22 Acosh:11:22 Add:11:13:14 AffineGrid:20 And:11 ArgMax:11:12:13 ArgMin:11:12:13 "
      "Asin:11:22 Asinh:11:22 Atan:11:22 Atanh:11:22 AveragePool:11:19:22 BatchNormalization:11:14:15 "
      "Bernoulli:15:22 BitShift:11 BitwiseAnd:18 BitwiseNot:18 BitwiseOr:18 BitwiseXor:18 BlackmanWindow:17 "
      "Cast:11:13:19:21 CastLike:15:19:21 Ceil:11:13 Celu:12 CenterCropPad:18 Clip:11:12:13 Col2Im:18 Compress:11 "
      "Concat:11:13 ConcatFromSequence:11 Constant:11:12:13:19:21 ConstantOfShape:11:20:21 Conv:11:22 "
      "ConvInteger:11 ConvTranspose:11:22 Cos:11:22 Cosh:11:22 CumSum:11:14 DFT:17:20 DeformConv:19:22 "
      "DepthToSpace:11:13 DequantizeLinear:11:13:19:21 Det:11:22 Div:11:13:14 Dropout:11:12:13:22 "
      "DynamicQuantizeLinear:11 Einsum:12 Elu:11:22 Equal:11:13:19 Erf:11:13 Exp:11:13 Expand:11:13 EyeLike:11:22 "
      "Flatten:11:13:21 Floor:11:13 GRU:11:14:22 Gather:11:13 GatherElements:11:13 GatherND:11:12:13 Gelu:20 "
      "Gemm:11:13 GlobalAveragePool:11:22 GlobalLpPool:11:22 GlobalMaxPool:11:22 Greater:11:13 GreaterOrEqual:12:16 "
      "GridSample:16:20:22 GroupNormalization:18:21 HammingWindow:17 HannWindow:17 HardSigmoid:11:22 "
      "HardSwish:14:22 Hardmax:11:13 Identity:11:13:14:16:19:21 If:11:13:16:19:21 ImageDecoder:20 "
      "InstanceNormalization:11:22 IsInf:11:20 IsNaN:11:13:20 LRN:11:13 LSTM:11:14:22 LayerNormalization:17 "
      "LeakyRelu:11:16 Less:11:13 LessOrEqual:12:16 Log:11:13 LogSoftmax:11:13 Loop:11:13:16:19:21 "
      "LpNormalization:11:22 LpPool:11:18:22 MatMul:11:13 MatMulInteger:11 Max:11:12:13 MaxPool:11:12:22 "
      "MaxRoiPool:11:22 MaxUnpool:11:22 Mean:11:13 MeanVarianceNormalization:11:13 MelWeightMatrix:17 Min:11:12:13 "
      "Mish:18:22 Mod:11:13 Mul:11:13:14 Multinomial:11:22 Neg:11:13 NegativeLogLikelihoodLoss:12:13:22 "
      "NonMaxSuppression:11 NonZero:11:13 Not:11 OneHot:11 Optional:15 OptionalGetElement:15:18 "
      "OptionalHasElement:15:18 Or:11 PRelu:11:16 Pad:11:13:18:19:21 Pow:11:12:13:15 QLinearConv:11 "
      "QLinearMatMul:11:21 QuantizeLinear:11:13:19:21 RNN:11:14:22 RandomNormal:11:22 RandomNormalLike:11:22 "
      "RandomUniform:11:22 RandomUniformLike:11:22 Range:11 Reciprocal:11:13 ReduceL1:11:13:18 ReduceL2:11:13:18 "
      "ReduceLogSum:11:13:18 ReduceLogSumExp:11:13:18 ReduceMax:11:12:13:18:20 ReduceMean:11:13:18 "
      "ReduceMin:11:12:13:18:20 ReduceProd:11:13:18 ReduceSum:11:13 ReduceSumSquare:11:13:18 RegexFullMatch:20 "
      "Relu:11:13:14 Reshape:11:13:14:19:21 Resize:11:13:18:19 ReverseSequence:11 RoiAlign:11:16:22 Round:11:22 "
      "STFT:17 Scan:11:16:19:21 Scatter:11 ScatterElements:11:13:16:18 ScatterND:11:13:16:18 Selu:11:22 "
      "SequenceAt:11 SequenceConstruct:11 SequenceEmpty:11 SequenceErase:11 SequenceInsert:11 SequenceLength:11 "
      "SequenceMap:17 Shape:11:13:15:19:21 Shrink:11 Sigmoid:11:13 Sign:11:13 Sin:11:22 Sinh:11:22 Size:11:13:19:21 "
      "Slice:11:13 Softmax:11:13 SoftmaxCrossEntropyLoss:12:13 Softplus:11:22 Softsign:11:22 SpaceToDepth:11:13 "
      "Split:11:13:18 SplitToSequence:11 Sqrt:11:13 Squeeze:11:13:21 StringConcat:20 StringNormalizer:11 "
      "StringSplit:20 Sub:11:13:14 Sum:11:13 Tan:11:22 Tanh:11:13 TfIdfVectorizer:11 ThresholdedRelu:11:22 "
      "Tile:11:13 TopK:11 Transpose:11:13:21 Trilu:14 Unique:11 Unsqueeze:11:13:21 Upsample:11 Where:11:16 Xor:11");
  std::map<std::string, std::vector<int64_t>> editions;
  for (std::string entry; entries >> entry;) {
    std::istringstream parts(entry);
    std::string name, opset;
    std::getline(parts, name, ':');
    while (std::getline(parts, opset, ':')) editions[name].push_back(std::stoll(opset));
  }
  return editions;
}

// The attributes that the imported ones have in opsets 11 to 22. Source: docs/Changelog.md of ONNX 1.17.
inline std::map<std::string, std::vector<std::string>> onnx_attributes() {
  std::istringstream entries(
      "ArgMax:axis:keepdims:select_last_index ArgMin:axis:keepdims:select_last_index "
      "AveragePool:auto_pad:ceil_mode:count_include_pad:dilations:kernel_shape:pads:strides "
      "BatchNormalization:epsilon:momentum:training_mode Cast:saturate:to Celu:alpha Concat:axis "
      "ConstantOfShape:value Conv:auto_pad:dilations:group:kernel_shape:pads:strides "
      "ConvTranspose:auto_pad:dilations:group:kernel_shape:output_padding:output_shape:pads:strides "
      "CumSum:exclusive:reverse DepthToSpace:blocksize:mode Dropout:ratio:seed Elu:alpha Flatten:axis "
      "GRU:activation_alpha:activation_beta:activations:clip:direction:hidden_size:layout:linear_before_reset "
      "Gather:axis Gelu:approximate Gemm:alpha:beta:transA:transB GroupNormalization:epsilon:num_groups:stash_type "
      "HardSigmoid:alpha:beta InstanceNormalization:epsilon LRN:alpha:beta:bias:size "
      "LSTM:activation_alpha:activation_beta:activations:clip:direction:hidden_size:input_forget:layout "
      "LayerNormalization:axis:epsilon:stash_type LeakyRelu:alpha LogSoftmax:axis "
      "MaxPool:auto_pad:ceil_mode:dilations:kernel_shape:pads:storage_order:strides Mod:fmod OneHot:axis Pad:mode "
      "RNN:activation_alpha:activation_beta:activations:clip:direction:hidden_size:layout "
      "ReduceL1:axes:keepdims:noop_with_empty_axes "
      "ReduceL2:axes:keepdims:noop_with_empty_axes ReduceMax:axes:keepdims:noop_with_empty_axes "
      "ReduceMean:axes:keepdims:noop_with_empty_axes ReduceMin:axes:keepdims:noop_with_empty_axes "
      "ReduceProd:axes:keepdims:noop_with_empty_axes ReduceSum:axes:keepdims:noop_with_empty_axes "
      "ReduceSumSquare:axes:keepdims:noop_with_empty_axes Reshape:allowzero "
      "Resize:antialias:axes:coordinate_transformation_mode:cubic_coeff_a:exclude_outside:extrapolation_value:keep_"
      "aspect_ratio_policy:mode:nearest_mode "
      "Selu:alpha:gamma Shape:end:start Softmax:axis SpaceToDepth:blocksize Split:axis:num_outputs:split "
      "Squeeze:axes ThresholdedRelu:alpha Transpose:perm Trilu:upper Unsqueeze:axes");
  std::map<std::string, std::vector<std::string>> attributes;
  for (std::string entry; entries >> entry;) {
    std::istringstream parts(entry);
    std::string name, attribute;
    std::getline(parts, name, ':');
    while (std::getline(parts, attribute, ':')) attributes[name].push_back(attribute);
  }
  return attributes;
}

}  // namespace coterie::test
