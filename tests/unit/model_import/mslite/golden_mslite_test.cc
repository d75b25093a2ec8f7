// Files that another program, Debian's flatc, has written from MindSpore Lite's own schema (tests/fuzz/corpus/mslite):
// our description of the format says the same as theirs, attribute by attribute, and the numbers come out as by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "base/os/file.h"
#include "device_sdk/runtime/trainer.h"
#include "model_import/mslite/import_mslite.h"
#include "tests/support/paths.h"
#include "tests/unit/model_import/mslite/by_hand.h"
#include "tests/unit/model_import/onnx/onnx_fixtures.h"

namespace coterie {
namespace {

using namespace test;
using namespace model_import;

MsliteModel golden(const std::string& name) {
  const Bytes file = read_or_die(source_dir() + "/tests/fuzz/corpus/mslite/" + name);
  EXPECT_TRUE(is_mslite(file));
  Result<MsliteModel> model = read_mslite(file);
  EXPECT_OK(model);
  return model ? std::move(*model) : MsliteModel();
}

TEST(GoldenMslite, ANetworkAnswersAsByHand) {
  const MsliteModel file = golden("hand-net");
  EXPECT_EQ(file.name, "net");
  EXPECT_EQ(file.version, "MindSpore Lite 2.7.0");
  const Result<ImportedModel> imported = import_mslite(file);
  ASSERT_OK(imported);
  const Result<Model> model = Model::load(imported->model);
  ASSERT_OK(model);
  Numbers x;
  for (int i = 0; i < 32; ++i) x.push_back(i * 5 % 13 / 4.0 - 1.5);
  const Numbers conv = relu(with_bias(convolved(x, {4, 4, 2}, {4, 4, 2}, {2, 2, 1, 1, 1, 0}), 2));
  const Numbers pools = pooled(conv, {4, 4, 2}, {2, 2, 2}, {2, 2, 2}, true);
  Numbers scores = with_bias(multiplied(pools, 8, 3), 3);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score);
  const std::vector<float> is = predicted(*model, {{{1, 4, 4, 2}, {x.begin(), x.end()}}}, 1);
  ASSERT_EQ(is.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(static_cast<double>(is[i]), scores[i] / sum, 1e-6) << i;
}

TEST(GoldenMslite, ANetworkIsTrainedUnderTheFilesNames) {
  const Result<ImportedModel> imported = import_mslite(golden("hand-net"));
  ASSERT_OK(imported);
  const Result<Model> model = Model::load(imported->model);
  ASSERT_OK(model);
  std::vector<std::string> trained;
  for (const TensorInfo& tensor : model->graph().tensors) {
    if (tensor.role == TensorRole::parameter) trained.push_back(tensor.name);
  }
  std::ranges::sort(trained);
  EXPECT_EQ(trained, (std::vector<std::string>{"conv.bias", "conv.weight", "fc.bias", "fc.weight"}));
  for (const OpInfo& op : model->graph().ops) EXPECT_NE(op.kind, OpKind::transpose) << op.name;
  OneBatch batch({{{2, 4, 4, 2}, std::vector<float>(64, 0.5f)}}, std::vector<float>(2));
  Result<Trainer> trainer = Trainer::create(
      *model,
      {.loss = Loss::softmax_cross_entropy, .batch_size = 2, .local_epochs = 1, .optimizer = {.learning_rate = 1}},
      batch, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  std::vector<float> delta(model->value_count());
  trainer->delta(delta);
  EXPECT_TRUE(std::ranges::any_of(delta, [](float value) { return value != 0; }));
}

// The only operator of its kind in the file; `i`: the one behind so many of the kind.
MsliteAttributes attributes_of(const MsliteModel& model, MsliteOp op, size_t i = 0) {
  for (const MsliteOperator& each : model.operators) {
    if (each.op == op && i-- == 0) return each.attributes;
  }
  ADD_FAILURE() << "no " << mslite_operator_name(static_cast<uint8_t>(op));
  return {};
}

TEST(GoldenMslite, EachAttributeIsWhereTheFormatHasIt) {
  const MsliteModel file = golden("hand-attributes");
  const MsliteAttributes deconv = attributes_of(file, MsliteOp::transposed_convolution);
  EXPECT_EQ(Longs(deconv.pads, deconv.pads + 4), (Longs{1, 0, 0, 1}));
  EXPECT_EQ((Longs{deconv.kernel_h, deconv.stride_h, deconv.group, deconv.output_pad_h, deconv.output_pad_w}),
            (Longs{3, 2, 1, 1, 1}));
  EXPECT_EQ(deconv.activation, MsliteActivation::relu6);
  const MsliteAttributes pool = attributes_of(file, MsliteOp::average_pool);
  EXPECT_EQ((Longs{pool.kernel_h, pool.kernel_w, pool.stride_h, pool.rounds_up, pool.is_same}), (Longs{3, 2, 2, 1, 0}));
  EXPECT_EQ(pool.activation, MsliteActivation::relu);
  EXPECT_EQ(attributes_of(file, MsliteOp::fused_batch_norm).epsilon, 0.25f);
  EXPECT_EQ(attributes_of(file, MsliteOp::batch_norm).epsilon, 0.125f);
  EXPECT_EQ(attributes_of(file, MsliteOp::scale).axis, -1);
  EXPECT_EQ(attributes_of(file, MsliteOp::scale).activation, MsliteActivation::relu);
  const MsliteAttributes tanh = attributes_of(file, MsliteOp::activation);
  EXPECT_EQ(tanh.activation, MsliteActivation::hard_tanh);
  EXPECT_EQ((std::vector<float>{tanh.alpha, tanh.least, tanh.most}), (std::vector<float>{0.75f, -0.5f, 1.5f}));
  EXPECT_TRUE(tanh.is_approximate);
  const MsliteAttributes norm = attributes_of(file, MsliteOp::layer_norm);
  EXPECT_EQ((Longs{norm.axis, norm.parameters_axis}), (Longs{3, -1}));
  EXPECT_EQ(norm.epsilon, 0.0625f);
  EXPECT_EQ(attributes_of(file, MsliteOp::add).activation, MsliteActivation::relu6);
  EXPECT_EQ(attributes_of(file, MsliteOp::sub).activation, MsliteActivation::relu);
  EXPECT_EQ(attributes_of(file, MsliteOp::mul).activation, MsliteActivation::relu6);
  EXPECT_EQ(attributes_of(file, MsliteOp::div).activation, MsliteActivation::relu);
  EXPECT_EQ(attributes_of(file, MsliteOp::clip).least, -1.5f);
  EXPECT_EQ(attributes_of(file, MsliteOp::clip).most, 2.5f);
  EXPECT_EQ(attributes_of(file, MsliteOp::elu).alpha, 0.375f);
  EXPECT_EQ(attributes_of(file, MsliteOp::leaky_relu).alpha, 0.875f);
  const MsliteAttributes exponential = attributes_of(file, MsliteOp::exponential);
  EXPECT_EQ((std::vector<float>{exponential.base, exponential.scale, exponential.shift}),
            (std::vector<float>{-1, 0.5f, -0.25f}));
  EXPECT_EQ(attributes_of(file, MsliteOp::power).scale, 0.5f);
  EXPECT_EQ(attributes_of(file, MsliteOp::power).shift, 1.25f);
  EXPECT_EQ(attributes_of(file, MsliteOp::pad).pad_value, 0.5f);
  EXPECT_EQ(attributes_of(file, MsliteOp::pad, 1).padding, MslitePadding::symmetric);
  const MsliteAttributes resize = attributes_of(file, MsliteOp::resize);
  EXPECT_EQ((Longs{resize.height, resize.width, resize.is_nearest}), (Longs{12, 3, 1}));
  EXPECT_EQ(resize.coordinates, MsliteCoordinates::align_corners);
  const MsliteAttributes strided = attributes_of(file, MsliteOp::strided_slice);
  EXPECT_EQ((Longs{strided.begin_mask, strided.end_mask, strided.shrink_mask}), (Longs{9, 8, 4}));
  EXPECT_EQ(attributes_of(file, MsliteOp::slice).axes, (Longs{0, 2}));
  const MsliteAttributes split = attributes_of(file, MsliteOp::split);
  EXPECT_EQ(split.sizes, (Longs{2, -1}));
  EXPECT_EQ((Longs{split.parts, split.axis}), (Longs{2, 1}));
  EXPECT_EQ(attributes_of(file, MsliteOp::concat).axis, 1);
  EXPECT_EQ(attributes_of(file, MsliteOp::stack).axis, 2);
  const MsliteAttributes sum = attributes_of(file, MsliteOp::reduce);
  EXPECT_EQ(sum.reduction, MsliteReduction::sum);
  EXPECT_TRUE(sum.keeps_dimensions && sum.goes_to_end);
  EXPECT_EQ(sum.factor, 0.5f);
  EXPECT_EQ(attributes_of(file, MsliteOp::unsqueeze).axes, (Longs{2}));
  EXPECT_EQ(attributes_of(file, MsliteOp::squeeze).axes, (Longs{2}));
  const MsliteAttributes matmul = attributes_of(file, MsliteOp::matmul);
  EXPECT_TRUE(!matmul.transposes_a && matmul.transposes_b);
  EXPECT_EQ(matmul.activation, MsliteActivation::relu);
  EXPECT_EQ(attributes_of(file, MsliteOp::flatten).axis, 1);
  EXPECT_EQ(attributes_of(file, MsliteOp::log_softmax).axis, -1);
  EXPECT_FALSE(attributes_of(file, MsliteOp::dense).uses_axis);
  EXPECT_EQ(attributes_of(file, MsliteOp::dense).activation, MsliteActivation::relu6);
  EXPECT_OK(import_mslite(file));
}

}  // namespace
}  // namespace coterie
