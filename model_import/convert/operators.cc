#include "model_import/convert/operators.h"

#include <algorithm>

namespace coterie::model_import {
namespace {

// clang-format off
constexpr std::string_view kOperators[] = {
    "Abs", "Add", "And", "ArgMax", "ArgMin", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip",
    "Concat", "ConstantOfShape", "Conv", "ConvTranspose", "Cos", "CumSum", "DepthToSpace", "Div", "Dropout", "Elu",
    "Equal", "Erf", "Exp", "Expand", "Flatten", "Floor", "GRU", "Gather", "Gelu", "Gemm", "GlobalAveragePool",
    "GlobalMaxPool", "Greater", "GreaterOrEqual", "GroupNormalization", "HardSigmoid", "HardSwish", "Identity",
    "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log",
    "LogSoftmax", "MatMul", "Max", "MaxPool", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "OneHot", "Or",
    "PRelu", "Pad", "Pow", "RNN", "Range", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape", "Resize", "Round", "Selu", "Shape",
    "Sigmoid", "Sin", "Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split", "Sqrt", "Squeeze",
    "Sub", "Sum", "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
};
// clang-format on
static_assert(std::ranges::is_sorted(kOperators));

}  // namespace

std::span<const std::string_view> imported_operators() { return kOperators; }

bool is_imported(std::string_view op) { return std::ranges::binary_search(kOperators, op); }

}  // namespace coterie::model_import
