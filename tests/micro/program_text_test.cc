#include "tools/micro/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device_sdk/runtime/model_builder.h"
#include "proto/codec/codec.h"
#include "tests/support/matchers.h"
#include "tools/micro/model_frame.h"
#include "tools/micro/number_text.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;
using testing::Not;

MicroProgram program_of(ModelBuilder& build, TensorId output, bool trains) {
  return *write_micro_program(*Model::load(*build.finish(output)), {.trains = trains});
}

TEST(MicroProgram, HasEachLayersCallInTheOrderOfTheModel) {
  const MicroProgram program =
      *write_micro_program(*Model::load(*make_model(ModelKind::lenet5, {28, 28, 1}, 10, 1)), {});
  EXPECT_EQ(program.prefix, "lenet5");
  EXPECT_EQ(program.arena_bytes, 4u * (28 * 28 * 6 + 14 * 14 * 6));
  EXPECT_THAT(program.source.substr(program.source.find("void lenet5")),
              HasSubstr("void lenet5_predict(const float *input, float *output) {\n"
                        "  conv2d(&s_conv1, input, w_conv1_weight, w_conv1_bias, 1, y_conv1);\n"
                        "  max_pool2d(&s_max_pool2d1, y_conv1, y_max_pool2d1);\n"));
  EXPECT_THAT(program.header,
              HasSubstr("#define LENET5_INPUTS 784 /* floats of one example: 28 x 28 x 1, channels last */\n"
                        "#define LENET5_OUTPUTS 10 /* floats */\n#define LENET5_ARENA_BYTES 23520 "));
}

TEST(MicroProgram, HasOnlyTheFunctionsThatItCalls) {
  ModelBuilder build("net", {4}, 1);
  const TensorId x = build.op(OpKind::softmax, {build.dense(build.input(), 3)}, AxisAttributes{1});
  const std::string source = program_of(build, x, false).source;
  EXPECT_THAT(source, HasSubstr("softmax(3, output, output);\n"));  // in place, in the caller's output
  for (const char* const other : {"conv2d", "pool2d", "log_of", "_accumulate", "arena"})
    EXPECT_THAT(source, Not(HasSubstr(other)));
}

TEST(MicroProgram, TrainsByATableOfItsLayers) {
  ModelBuilder build("net", {4}, 1);
  const TensorId x = build.dense(build.relu(build.dense(build.input(), 3)), 2);
  const std::string source = program_of(build, x, true).source;
  EXPECT_THAT(source,
              HasSubstr("  /* dense1 */\n  {dense_pass, &s_dense1, w_dense1_weight, w_dense1_bias, g_dense1_weight, "
                        "g_dense1_bias, 3, 3, 1, y_dense1, d_dense1},\n"
                        "  /* dense2 */\n  {dense_pass, &s_dense2, w_dense2_weight, w_dense2_bias, g_dense2_weight, "
                        "g_dense2_bias, 2, 2, 0, y_dense2, d_dense2},\n"));
  EXPECT_THAT(source, HasSubstr("static const float start[23] = {\n/* dense1.weight: 4 x 3 */\n"));
  for (const char* const other : {"window", "average"}) EXPECT_THAT(source, Not(HasSubstr(other)));
}

// Backward ends behind what is frozen: it stays in flash, has no gradient, and passes none on.
TEST(MicroProgram, TrainsFromTheFirstLayerThatIsNotFrozen) {
  const Bytes given = *make_model(ModelKind::cnn, {8, 8, 1}, 10, 7);
  Decoded<ModelGraph> model = *decode_model(given);
  for (TensorInfo& tensor : model.header.tensors) tensor.is_frozen = tensor.name.starts_with("conv1.");
  Bytes file = encode_head(model.header, model.payload.size());
  file.insert(file.end(), model.payload.begin(), model.payload.end());
  const std::string source = write_micro_program(*Model::load(file), {.trains = true})->source;
  EXPECT_THAT(source, HasSubstr("  FIRST = 1, /* that is trained */\n"));
  EXPECT_THAT(source, HasSubstr("  {window_pass, &s_conv1, w_conv1_weight, w_conv1_bias, NULL, NULL, 1024, 16, 1, "
                                "y_conv1, NULL},\n"));
  EXPECT_THAT(source, HasSubstr("static const float w_conv1_weight[144] = {\n"));
}

TEST(MicroProgram, SaysWhereParametersLieInTheFilesOfAJob) {
  const Bytes given = *make_model(ModelKind::logistic, {2, 2, 1}, 3, 7);
  Decoded<ModelGraph> model = *decode_model(given);
  for (TensorInfo& tensor : model.header.tensors) tensor.is_frozen = tensor.name.ends_with("weight");
  Bytes file = encode_head(model.header, model.payload.size());
  file.insert(file.end(), model.payload.begin(), model.payload.end());
  const Result<MicroModelFrame> frame = micro_model_frame(file);
  ASSERT_OK(frame);
  EXPECT_EQ(frame->payload_values, 19u);
  const MicroProgram program = *write_micro_program(*Model::load(file), {.trains = true, .frame = &*frame});
  EXPECT_THAT(program.source, HasSubstr("  {0, 12, 0, w_dense1_weight},\n  {16, 3, 0, NULL},\n"));
  EXPECT_THAT(program.header, HasSubstr("extern const coterie_tiny_model logistic_model;"));

  // The next version has another seal, another model another header.
  ASSERT_NE(frame->seal_at, kNoSeal);
  file[kPreludeBytes + frame->seal_at + 5] ^= 1;
  EXPECT_EQ(micro_model_frame(file)->header_hash, frame->header_hash);
  const auto name = std::ranges::search(file, as_bytes("logistic"));
  ASSERT_FALSE(name.empty());
  name.front() = 'L';
  EXPECT_NE(micro_model_frame(file)->header_hash, frame->header_hash);
  EXPECT_FALSE(micro_model_frame(ByteView(file).first(kPreludeBytes)));
}

// Its values would come to a device between those that it knows.
TEST(MicroProgram, AParameterThatNoLayerReadsIsInNoRound) {
  ModelBuilder build("net", {4}, 1);
  build.parameter("idle", {2}, {1, 2});
  const Model model = *Model::load(*build.finish(build.dense(build.input(), 3)));
  const Result<MicroModelFrame> frame = micro_model_frame(model.file());
  ASSERT_OK(frame);
  EXPECT_OK(write_micro_program(model, {.trains = true}));
  EXPECT_ERROR(write_micro_program(model, {.trains = true, .frame = &*frame}), ErrorCode::invalid_argument,
               "no layer reads its parameter idle");
}

TEST(MicroProgram, HostileNamesAreNoCode) {
  ModelBuilder build("*/\nint main(void){system(\"x\");} /*", {2}, 1);
  const TensorId w = build.parameter("w*/[1]; int evil(", {2, 2}, {1, 2, 3, 4});
  const TensorId x =
      build.op(OpKind::dense, {build.input(), w, build.uniform("b", {2}, 1)}, {}, "); evil(\\\n#define float");
  const MicroProgram program = program_of(build, x, true);
  EXPECT_EQ(program.prefix, "int_main_void_system_x");
  for (const std::string& text : {program.header, program.source}) {
    EXPECT_THAT(text, Not(HasSubstr("system(")));
    EXPECT_THAT(text, Not(HasSubstr("evil(")));
    EXPECT_THAT(text, Not(HasSubstr("#define float")));
    EXPECT_THAT(text, Not(HasSubstr("\\")));
    size_t opened = 0, closed = 0;
    for (size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*", at + 2)) ++opened;
    for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/", at + 2)) ++closed;
    EXPECT_EQ(opened, closed);
  }
}

TEST(MicroProgram, UsesNothingButFloat) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5, ModelKind::logistic}) {
    const MicroProgram program =
        *write_micro_program(*Model::load(*make_model(kind, {28, 28, 1}, 10, 1)), {.trains = true});
    for (const char* const word : {"double", "malloc", "math.h", "stdio", "string.h"}) {
      EXPECT_THAT(program.source, Not(HasSubstr(word)));
    }
  }
}

TEST(MicroProgram, NumbersAreExact) {
  EXPECT_EQ(float_text(1.0f), "0x1p+0f");
  EXPECT_EQ(float_text(-0.1f), "-0x1.99999ap-4f");
  EXPECT_EQ(float_text(0.0f), "0.0f");
  EXPECT_EQ(float_text(-0.0f), "-0.0f");
  EXPECT_EQ(sizes_text({}), "1");
  const std::vector<float> seven(7, 0.0f);
  EXPECT_EQ(list_text(seven), "  0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,\n  0.0f\n");
}

}  // namespace
}  // namespace coterie::test
