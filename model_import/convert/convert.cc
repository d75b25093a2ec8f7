#include "model_import/convert/convert.h"

#include <map>
#include <set>

namespace coterie::model_import {

Converter converter_of(const std::string& op) {
  for (const auto family : {convolution_converter, pool_converter, norm_converter, unary_converter, binary_converter,
                            matmul_converter, reduce_converter, shape_converter, data_converter, recurrent_converter,
                            pad_converter, composed_activation_converter, image_block_converter, index_converter}) {
    if (const Converter converter = family(op)) return converter;
  }
  return nullptr;
}

std::string nearest_form(const std::string& op) {
  static const std::map<std::string, std::string> forms = {
      {"Einsum", "write it as Transpose, Reshape and MatMul"},
      {"Loop", "export with fixed lengths, so that the exporter unrolls it"},
      {"If", "export one branch"},
      {"Scan", "use LSTM, GRU or RNN"},
      {"LpPool", "AveragePool or MaxPool"},
      {"Upsample", "Resize (opset 11)"},
      {"GatherND", "Gather along one axis"},
      {"GatherElements", "Gather along one axis"},
      {"ScatterND", "Concat or Where"},
      {"ScatterElements", "Concat or Where"},
      {"TopK", "leave it to the application: it has no gradient"},
      {"NonMaxSuppression", "leave it to the application: it has no gradient"},
      {"MeanVarianceNormalization", "InstanceNormalization"},
      {"ReduceLogSumExp", "Exp, ReduceSum, Log"},
      {"ReduceLogSum", "ReduceSum, Log"},
      {"QLinearConv", "quantise as QDQ (QuantFormat.QDQ), or export the model before it is quantised"},
      {"QLinearMatMul", "quantise as QDQ (QuantFormat.QDQ), or export the model before it is quantised"},
      {"DynamicQuantizeLinear", "quantise statically as QDQ, or export the model before it is quantised"},
  };
  const auto found = forms.find(op);
  return found == forms.end() ? std::string() : found->second;
}

bool is_image_op(const std::string& op) {
  static const std::set<std::string> ops = {"Conv",
                                            "ConvTranspose",
                                            "MaxPool",
                                            "AveragePool",
                                            "GlobalAveragePool",
                                            "GlobalMaxPool",
                                            "Resize",
                                            "BatchNormalization",
                                            "InstanceNormalization",
                                            "LRN",
                                            "GroupNormalization",
                                            "DepthToSpace",
                                            "SpaceToDepth",
                                            kGroupNorm};
  return ops.contains(op);
}

bool keeps_order(const std::string& op) {
  static const std::set<std::string> ops = {"Concat", "Split", "Slice", "Pad", "Softmax", "LogSoftmax"};
  return unary_converter(op) != nullptr || composed_activation_converter(op) != nullptr ||
         binary_converter(op) != nullptr || ops.contains(op);
}

}  // namespace coterie::model_import
