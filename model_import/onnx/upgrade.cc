#include "model_import/onnx/upgrade.h"

#include <map>
#include <set>
#include <string_view>

namespace coterie::model_import {
namespace {

constexpr int64_t kOpsetTo = 11;

// The first opset in which an operator of opset 11 means what it means there.
int64_t same_since(const std::string& op) {
  static const std::map<int64_t, std::set<std::string_view>> table = {
      {1,
       {"ArgMax",
        "ArgMin",
        "Constant",
        "Conv",
        "ConvTranspose",
        "DepthToSpace",
        "Flatten",
        "Gather",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Hardmax",
        "Identity",
        "If",
        "LogSoftmax",
        "Loop",
        "LRN",
        "LpNormalization",
        "MatMul",
        "MaxPool",
        "Not",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Shape",
        "Size",
        "Softmax",
        "Softplus",
        "Softsign",
        "SpaceToDepth",
        "Squeeze",
        "Transpose",
        "Unsqueeze"}},
      {2, {"GlobalLpPool", "LpPool", "Pad", "Split"}},
      {4, {"Concat"}},
      {5, {"Reshape"}},
      {6, {"Abs",       "Cast", "Ceil", "Clip", "Elu", "Exp", "Floor",      "HardSigmoid", "InstanceNormalization",
           "LeakyRelu", "Log",  "Max",  "Mean", "Min", "Neg", "Reciprocal", "Relu",        "Selu",
           "Sigmoid",   "Sqrt", "Sum",  "Tanh", "Tile"}},
      {7, {"Acos", "Add",  "And",     "Asin",  "Atan",  "AveragePool", "BatchNormalization",
           "Cos",  "Div",  "Dropout", "Equal", "GRU",   "Gemm",        "Greater",
           "LSTM", "Less", "Mul",     "Or",    "PRelu", "Pow",         "RNN",
           "Sin",  "Sub",  "Tan",     "Xor"}},
      {8, {"Expand"}},
      {9,
       {"Acosh",
        "Asinh",
        "Atanh",
        "Compress",
        "ConstantOfShape",
        "Cosh",
        "Erf",
        "EyeLike",
        "IsNaN",
        "MaxUnpool",
        "MeanVarianceNormalization",
        "NonZero",
        "OneHot",
        "Scan",
        "Scatter",
        "Shrink",
        "Sign",
        "Sinh",
        "TfIdfVectorizer",
        "Upsample",
        "Where"}},
      {10,
       {"ConvInteger", "DequantizeLinear", "IsInf", "MatMulInteger", "Mod", "NonMaxSuppression", "QLinearConv",
        "QLinearMatMul", "QuantizeLinear", "ReverseSequence", "Slice", "StringNormalizer", "ThresholdedRelu", "TopK"}},
  };
  for (const auto& [opset, operators] : table) {
    if (operators.contains(op)) return opset;
  }
  return kOpsetTo;
}

// A constant of the graph, under a name that none has.
std::string added(Graph& graph, const Node& node, const char* what, HostTensor tensor) {
  std::string name = node.outputs[0] + "." + what;
  while (graph.constants.contains(name)) name += "_";
  graph.constants.emplace(name, Constant{std::move(tensor), true});
  return name;
}

HostTensor real(float value) {
  HostTensor tensor;
  tensor.reals = {value};
  return tensor;
}

HostTensor integers(const std::vector<int64_t>& values) {
  std::vector<Integer> numbers;
  for (const int64_t value : values) numbers.push_back({value, false});
  return host_integers(std::move(numbers));
}

void rewrite_clip(Graph& graph, Node& node) {
  const bool has_min = node.attributes.contains("min"), has_max = node.attributes.contains("max");
  if (has_min || has_max) node.inputs.push_back(has_min ? added(graph, node, "min", real(node.real("min", 0))) : "");
  if (has_max) node.inputs.push_back(added(graph, node, "max", real(node.real("max", 0))));
}

void rewrite_pad(Graph& graph, Node& node) {
  node.inputs.push_back(added(graph, node, "pads", integers(node.integers("pads"))));
  if (node.text("mode", "constant") == "constant")
    node.inputs.push_back(added(graph, node, "value", real(node.real("value", 0))));
}

void rewrite_slice(Graph& graph, Node& node) {
  for (const char* key : {"starts", "ends"})
    node.inputs.push_back(added(graph, node, key, integers(node.integers(key))));
  if (node.attributes.contains("axes"))
    node.inputs.push_back(added(graph, node, "axes", integers(node.integers("axes"))));
}

void rewrite_top_k(Graph& graph, Node& node) {
  node.inputs.push_back(added(graph, node, "k", integers({node.integer("k", 1)})));
}

// Upsample is Resize whose positions begin at 0.
void rewrite_upsample(Graph&, Node& node) {
  node.op = "Resize";
  node.inputs.insert(node.inputs.begin() + 1, "");
  node.attributes["coordinate_transformation_mode"] = std::string("asymmetric");
  node.attributes["nearest_mode"] = std::string("floor");
}

struct Rewriting {
  const char* op;
  int64_t until;  // the opset from which on it is not needed
  size_t operands;
  void (*rewrite)(Graph&, Node&);
};

constexpr Rewriting kRewritings[] = {{"Clip", 11, 1, rewrite_clip},
                                     {"Pad", 11, 1, rewrite_pad},
                                     {"Slice", 10, 1, rewrite_slice},
                                     {"TopK", 10, 1, rewrite_top_k},
                                     {"Upsample", 11, 2, rewrite_upsample}};

const Rewriting* rewriting_of(const std::string& op, int64_t opset) {
  for (const Rewriting& each : kRewritings) {
    if (op == each.op && opset < each.until) return &each;
  }
  return nullptr;
}

}  // namespace

Status upgrade(Graph& graph) {
  if (graph.opset >= kOpsetTo) return {};
  for (Node& node : graph.nodes) {
    const Rewriting* rewriting = rewriting_of(node.op, graph.opset);
    const bool is_known = same_since(node.op) <= graph.opset || (rewriting != nullptr && node.op != "Upsample");
    if (!is_known || (node.op == "BatchNormalization" && node.integer("spatial", 1) != 1)) {
      return Error(ErrorCode::invalid_argument, node.what() + " of opset " + std::to_string(graph.opset) +
                                                    " is not read: export the model with opset_version=17");
    }
    if (rewriting == nullptr) continue;
    if (node.inputs.size() != rewriting->operands || node.outputs.empty())
      return Error(ErrorCode::malformed, node.what() + " has not the operands that its opset gives it");
    rewriting->rewrite(graph, node);
  }
  graph.opset = kOpsetTo;
  return {};
}

}  // namespace coterie::model_import
