#include "tools/micro/layers.h"

#include <gtest/gtest.h>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

Result<std::vector<MicroLayer>> layers_of(ModelBuilder& build, TensorId output, bool trains = false) {
  COT_ASSIGN(Bytes file, build.finish(output));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  return micro_layers(model, trains);
}

TEST(MicroLayers, AreThoseOfTheModelWithReluInside) {
  const Result<std::vector<MicroLayer>> layers =
      micro_layers(*Model::load(*make_model(ModelKind::cnn, {8, 8, 1}, 10, 1)), true);
  ASSERT_OK(layers);
  std::vector<MicroKind> kinds;
  for (const MicroLayer& layer : *layers) kinds.push_back(layer.kind);
  EXPECT_EQ(kinds, (std::vector{MicroKind::conv2d, MicroKind::conv2d, MicroKind::max_pool2d, MicroKind::dense,
                                MicroKind::dense}));
  EXPECT_TRUE((*layers)[0].has_relu);
  EXPECT_FALSE((*layers)[4].has_relu);
  EXPECT_EQ((*layers)[2].in, 8u * 8 * 32);
  EXPECT_EQ((*layers)[2].out, 4u * 4 * 32);
}

TEST(MicroLayers, RefuseOtherOpsByName) {
  ModelBuilder build("net", {4}, 1);
  const TensorId x = build.op(OpKind::tanh, {build.dense(build.input(), 3)}, {}, "squash */");
  EXPECT_ERROR(layers_of(build, x), ErrorCode::invalid_argument,
               "op squash___ (tanh) cannot be written as C: dense, conv2d");
}

// Whoever has an LSTM need not hear of the transpose in front of it.
TEST(MicroLayers, NameWhatNoOtherShapeHelps) {
  ModelBuilder build("net", {4, 3}, 1);
  const TensorId turned = build.op(OpKind::transpose, {build.input()}, TransposeAttributes{{0, 2, 1}}, "turned");
  const TensorId x = build.op(OpKind::tanh, {build.dense(build.flatten(turned), 2)}, {}, "squash");
  EXPECT_ERROR(layers_of(build, x), ErrorCode::invalid_argument, "op squash (tanh) cannot be written as C");
  ModelBuilder clipped("net", {4}, 1);
  EXPECT_ERROR(layers_of(clipped, clipped.op(OpKind::relu6, {clipped.dense(clipped.input(), 3)})),
               ErrorCode::invalid_argument, "int8 C has it");
}

// Most of such a window is padding; a count of its pixels must fit a microcontroller's size_t.
TEST(MicroLayers, RefuseHugeWindows) {
  ModelBuilder build("net", {4, 4, 1}, 1);
  const TensorId x = build.max_pool2d(build.input(), {.kernel = 65536, .stride = 65536, .pad = 65535});
  EXPECT_ERROR(layers_of(build, build.dense(build.flatten(x), 2)), ErrorCode::invalid_argument,
               "its window has more than 2^31 - 1 pixels");
}

TEST(MicroLayers, RefuseBranches) {
  ModelBuilder build("net", {4}, 1);
  const TensorId x = build.dense(build.input(), 4);
  const TensorId aside = build.relu(build.input());
  EXPECT_ERROR(layers_of(build, build.add(x, aside)), ErrorCode::invalid_argument, "no branches");
}

TEST(MicroLayers, RefuseSharedWeightsSeveralRowsAndSeveralInputs) {
  ModelBuilder shared("net", {4}, 1);
  const TensorId w = shared.uniform("w", {4, 4}, 1), b = shared.uniform("b", {4}, 1);
  const TensorId x = shared.op(OpKind::dense, {shared.op(OpKind::dense, {shared.input(), w, b}), w, b});
  EXPECT_ERROR(layers_of(shared, x), ErrorCode::invalid_argument, "shares weights");
  ModelBuilder rows("net", {3, 4}, 1);
  EXPECT_ERROR(layers_of(rows, rows.dense(rows.input(), 2)), ErrorCode::invalid_argument, "several rows an example");
  ModelBuilder two("net", {4}, 1);
  const TensorId other = two.input("other", {4});
  EXPECT_ERROR(layers_of(two, two.dense(two.add(two.input(), other), 2)), ErrorCode::invalid_argument, "has 2 inputs");
}

TEST(MicroLayers, RefuseToTrainWhatTrainingHasItself) {
  ModelBuilder build("net", {4}, 1);
  const TensorId x = build.op(OpKind::softmax, {build.dense(build.input(), 3)}, AxisAttributes{1});
  EXPECT_OK(layers_of(build, x));
  EXPECT_ERROR(layers_of(build, x, true), ErrorCode::invalid_argument, "in the loss; convert the model without it");
  ModelBuilder dropped("net", {4}, 1);
  const TensorId y = dropped.dense(dropped.op(OpKind::dropout, {dropped.input()}), 3);
  EXPECT_OK(layers_of(dropped, y));
  EXPECT_ERROR(layers_of(dropped, y, true), ErrorCode::invalid_argument, "no random numbers");
  ModelBuilder one("net", {4}, 1);
  EXPECT_ERROR(layers_of(one, one.dense(one.input(), 1), true), ErrorCode::invalid_argument, "two classes or more");
}

}  // namespace
}  // namespace coterie::test
