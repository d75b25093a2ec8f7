// Generated int8 programs on this machine, compiled with all warnings: each bit is the engine's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "tests/micro/host_run.h"
#include "tests/micro/int8_case.h"
#include "tests/support/matchers.h"
#include "tools/micro/int8_program_text.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

class Int8BuiltIn : public testing::TestWithParam<ModelKind> {};

TEST_P(Int8BuiltIn, PredictsTheEnginesBits) {
  const bool is_large = GetParam() == ModelKind::lenet5;
  const int64_t side = is_large ? 28 : 8;
  const Model model = *Model::load(*make_model(GetParam(), {side, side, 1}, 10, 7));
  const RigCase facts = digit_case(20, is_large);
  const Int8Program network = int8_program_of(model, facts);
  const Result<MicroProgram> program = write_int8_program(network, kMicroArenaBytesMax);
  ASSERT_OK(program);
  const DriverWords engine = int8_words(network, facts);
  ASSERT_FALSE(host_compilers().empty()) << "a C compiler is needed: apt-get install gcc";
  for (const std::string& compiler : host_compilers()) EXPECT_EQ(run_here(*program, facts, compiler), engine);
  EXPECT_EQ(run_here(*program, facts, host_compilers()[0], "-O3 -march=native"), engine);
  EXPECT_EQ(
      run_here(*program, facts, host_compilers()[0], "-O1 -fsanitize=undefined,address -fno-sanitize-recover=all"),
      engine);
}

INSTANTIATE_TEST_SUITE_P(Micro, Int8BuiltIn,
                         testing::Values(ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5, ModelKind::logistic),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

// Each step that no built-in model has: a branch with a sum, depthwise and dilated convolutions, bounds on both sides,
// a ReLU that stands alone, windows that are cut, softmax.
Model other_steps() {
  ModelBuilder build("other steps", {8, 8, 1}, 3);
  TensorId x = build.conv2d(build.input(), {.filters = 4, .kernel = 3, .stride = 1, .pad = 1, .bias = false});
  TensorId y = build.op(OpKind::relu6, {build.conv2d(x, {.filters = 4, .kernel = 3, .pad = 1, .groups = 4})});
  x = build.relu(build.max_pool2d(build.add(x, y), {.kernel = 3, .stride = 2, .pad = 1}));
  x = build.op(OpKind::conv2d, {x, build.uniform("dilated", {2, 2, 4, 5}, .5)},
               Conv2dAttributes{.pad_top = 1, .pad_left = 1, .dilation_h = 2, .dilation_w = 1});
  x = build.average_pool2d(x, {.kernel = 2, .stride = 1, .pad = 1});
  x = build.op(OpKind::clip, {x}, UnaryAttributes{.alpha = -.2f, .beta = .3f});
  x = build.dense(build.op(OpKind::global_average_pool2d, {x}), 10);
  x = build.op(OpKind::softmax, {x}, AxisAttributes{.axis = 1});
  return *Model::load(*build.finish(x));
}

TEST(Int8OtherSteps, PredictTheEnginesBits) {
  const RigCase facts = digit_case(9);
  const Int8Program network = int8_program_of(other_steps(), facts);
  EXPECT_EQ(network.steps.size(), 9u);
  const Result<MicroProgram> program = write_int8_program(network, kMicroArenaBytesMax);
  ASSERT_OK(program);
  const DriverWords engine = int8_words(network, facts);
  for (const std::string& compiler : host_compilers()) EXPECT_EQ(run_here(*program, facts, compiler), engine);
}

// Inputs that no camera gives: saturated, denormal, infinite, not a number.
TEST(Int8OtherSteps, StrangeInputsHaveTheEnginesBits) {
  const RigCase facts = digit_case(3);
  const Int8Program network = int8_program_of(other_steps(), facts);
  const Result<MicroProgram> program = write_int8_program(network, kMicroArenaBytesMax);
  ASSERT_OK(program);
  RigCase strange = facts;
  strange.inputs[0].assign(64, 3e38f);
  strange.inputs[1].assign(64, -1e-42f);
  for (size_t i = 0; i < 64; ++i)
    strange.inputs[2][i] = (i % 2 == 0 ? -1 : 1) * std::ldexp(1.0f, static_cast<int>(i) - 20);
  EXPECT_EQ(run_here(*program, strange, host_compilers()[0]), int8_words(network, strange));
}

TEST(Int8Text, TheArenaHasABoundAndNamesAreRewritten) {
  const RigCase facts = digit_case(3);
  Int8Program network = int8_program_of(other_steps(), facts);
  EXPECT_ERROR(write_int8_program(network, 100), ErrorCode::too_large, "and 100 bytes are allowed");
  network.name = "a */ b";
  network.steps[0].name = "1 \"x\" \n*/";
  const Result<MicroProgram> program = write_int8_program(network, kMicroArenaBytesMax);
  ASSERT_OK(program);
  EXPECT_EQ(program->prefix, "a_b");
  EXPECT_EQ(program->source.find("\"x\""), std::string::npos);
  EXPECT_THAT(program->header, testing::HasSubstr("#define A_B_ARENA_BYTES " + std::to_string(program->arena_bytes)));
  EXPECT_THAT(program->header, testing::HasSubstr("--int8"));
  // Two values of 8 x 8 x 4 are alive at once, and the third that their sum makes.
  EXPECT_EQ(program->arena_bytes, 3u * 256);
  EXPECT_EQ(write_int8_program(network, kMicroArenaBytesMax)->source, program->source);
}

}  // namespace
}  // namespace coterie::test
