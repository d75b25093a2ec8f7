// The operators of ONNX's own domain, opset 22 and before: what "each operator that is imported" is looked for in.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"

namespace coterie::test {

inline std::vector<std::string> onnx_operators() {
  std::istringstream names(
      "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Bernoulli "
      "BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike Ceil Celu CenterCropPad Clip "
      "Col2Im Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
      "CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf "
      "Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool "
      "GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid "
      "HardSwish Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization "
      "LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool "
      "MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg "
      "NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement "
      "Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RNN RandomNormal RandomNormalLike RandomUniform "
      "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
      "ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign "
      "Round STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty "
      "SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax "
      "SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat "
      "StringNormalizer StringSplit Sub Sum Tan Tanh TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique "
      "Unsqueeze Upsample Where Xor");
  std::vector<std::string> operators;
  for (std::string name; names >> name;) operators.push_back(name);
  return operators;
}

// As check_operators of the importer has it.
inline bool is_imported(const std::string& op) {
  using namespace model_import;
  return converter_of(op) != nullptr || index_rule(op) != nullptr || arithmetic_rule(op) != nullptr || op == "Shape" ||
         op == "Size";
}

}  // namespace coterie::test
