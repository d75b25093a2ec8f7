// ONNX's own tests of each operator (tests/golden/onnx_operators), and whether each that is imported is interpreted.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "base/os/file.h"
#include "model_import/convert/convert.h"
#include "model_import/fold/fold.h"
#include "model_import/interpret/interpret.h"
#include "model_import/onnx/read_onnx.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"

namespace coterie::model_import {
namespace {

// All operators of ONNX 1.12, opset 17.
constexpr const char* kOperators =
    "Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization Bernoulli "
    "BitShift BlackmanWindow Cast CastLike Ceil Celu Clip Compress Concat ConcatFromSequence Constant "
    "ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumSum DFT DepthToSpace DequantizeLinear "
    "Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU "
    "Gather GatherElements GatherND Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater "
    "GreaterOrEqual GridSample HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If "
    "InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log "
    "LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean "
    "MeanVarianceNormalization MelWeightMatrix Min Mod Mul Multinomial Neg NegativeLogLikelihoodLoss "
    "NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or PRelu Pad "
    "Pow QLinearConv QLinearMatMul QuantizeLinear RNN RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
    "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence "
    "RoiAlign Round STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct "
    "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin "
    "Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split "
    "SplitToSequence Sqrt Squeeze StringNormalizer Sub Sum Tan Tanh TfIdfVectorizer ThresholdedRelu Tile "
    "TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor ";

TEST(InterpretedOperators, AreAllThatAreImported) {
  std::istringstream names(kOperators);
  size_t imported = 0;
  for (std::string op; names >> op;) {
    // As check_operators of the importer has it.
    const bool is_imported = converter_of(op) != nullptr || index_rule(op) != nullptr ||
                             arithmetic_rule(op) != nullptr || op == "Shape" || op == "Size";
    if (!is_imported) continue;
    ++imported;
    EXPECT_TRUE(is_interpreted(op)) << op;
  }
  EXPECT_GT(imported, 75u);
  EXPECT_FALSE(is_interpreted("Einsum"));
}

// Reads the fields of a golden file, as make_operators.py describes them.
class Fields {
 public:
  explicit Fields(Bytes bytes) : bytes_(std::move(bytes)) {}
  bool is_done() const { return at_ == bytes_.size(); }
  ByteView next() {
    uint32_t size;
    std::memcpy(&size, &bytes_[at_], sizeof(size));
    at_ += sizeof(size);
    const ByteView field(&bytes_[at_], size);
    at_ += size;
    return field;
  }
  std::string text() {
    const ByteView field = next();
    return std::string(field.begin(), field.end());
  }

 private:
  Bytes bytes_;
  size_t at_ = 0;
};

void expect_equal(const Array& seen, const Array& expected, const std::string& name) {
  ASSERT_EQ(seen.shape, expected.shape) << name;
  EXPECT_EQ(seen.element, expected.element) << name;
  for (size_t i = 0; i < seen.values.size(); ++i) {
    const double should = expected.values[i], is = seen.values[i];
    if (std::isnan(should) && std::isnan(is)) continue;
    if (should == is) continue;
    ASSERT_NEAR(is, should, 1e-5 + 1e-5 * std::fabs(should)) << name << ", element " << i;
  }
}

TEST(InterpretedOperators, PassOnnxsOwnTests) {
  const auto file = os::read_file(test::source_dir() + "/tests/golden/onnx_operators/operators.golden", 1 << 20);
  ASSERT_OK(file);
  Fields fields(*file);
  size_t cases = 0;
  while (!fields.is_done()) {
    const std::string name = fields.text();
    const Result<Graph> graph = read_onnx(fields.next());
    const size_t inputs = std::stoul(fields.text()), outputs = std::stoul(fields.text());
    ASSERT_OK(graph) << name;
    const auto array = [&] {
      const Result<HostTensor> tensor = read_onnx_tensor(fields.next());
      EXPECT_OK(tensor) << name;
      return *array_of(*tensor);
    };
    Arrays given;
    for (size_t i = 0; i < inputs; ++i) given[graph->inputs[i].name] = array();
    for (size_t i = 0; i < outputs; ++i) {
      const Array expected = array();
      const std::string& output = graph->outputs[i].name;
      const Result<Arrays> computed = interpret(*graph, given, {output});
      ASSERT_OK(computed) << name;
      expect_equal(computed->at(output), expected, name);
    }
    ++cases;
  }
  EXPECT_GT(cases, 350u);
}

}  // namespace
}  // namespace coterie::model_import
