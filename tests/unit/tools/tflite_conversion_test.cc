// That a model is held against the TFLite file that it was made of: right ones agree, a wrong number is seen.
#include "tools/model/tflite_conversion.h"

#include <gtest/gtest.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tools/model/foreign_model.h"

namespace coterie {
namespace {

// Files of our own, one in floats and one in int8.
Bytes seed(const std::string& name) {
  Result<Bytes> bytes = os::read_file(test::source_dir() + "/tests/fuzz/corpus/tflite/" + name, 1 << 20);
  EXPECT_OK(bytes);
  return bytes ? std::move(*bytes) : Bytes();
}

TEST(TfliteConversion, FloatsAgreeWithTheFile) {
  const Result<ForeignModel> foreign = import_foreign(seed("hand-floats"));
  ASSERT_OK(foreign);
  EXPECT_STREQ(foreign->format, "TFLite");
  EXPECT_FALSE(foreign->is_int8);
  const Result<Model> model = Model::load(foreign->imported.model);
  ASSERT_OK(model);
  const Result<TfliteConversion> result = check_tflite_conversion(*foreign->tflite, "", &*model);
  ASSERT_OK(result);
  EXPECT_EQ(result->examples, kTfliteTrials);
  EXPECT_EQ(result->numbers, 2 * kTfliteTrials);
  EXPECT_EQ(result->apart, 0u);
  EXPECT_LT(result->largest, 1e-6);
}

TEST(TfliteConversion, AWrongNumberIsSeen) {
  const Result<ForeignModel> foreign = import_foreign(seed("hand-floats"));
  ASSERT_OK(foreign);
  const Result<Model> right = Model::load(foreign->imported.model);
  ASSERT_OK(right);
  std::vector<float> parameters(right->parameters().begin(), right->parameters().end());
  for (const TensorInfo& tensor : right->graph().tensors) {
    if (tensor.role == TensorRole::parameter) parameters[tensor.payload_offset / sizeof(float)] += 0.5f;
  }
  const Result<Model> wrong = Model::load(right->file_with(parameters));
  ASSERT_OK(wrong);
  const Result<TfliteConversion> result = check_tflite_conversion(*foreign->tflite, "", &*wrong);
  ASSERT_OK(result);
  EXPECT_GT(result->apart, 0u);
  EXPECT_ERROR(check_tflite_conversion(*foreign->tflite, "ghost", &*right), ErrorCode::invalid_argument,
               "the file has no output ghost");
}

TEST(TfliteConversion, Int8IsWithinAStepOfTheFile) {
  const Result<ForeignModel> foreign = import_foreign(seed("hand-int8"));
  ASSERT_OK(foreign);
  ASSERT_TRUE(foreign->is_int8);
  const Result<Int8Model> model = open_int8_model(foreign->imported.model);
  ASSERT_OK(model);
  const Result<TfliteConversion> result = check_tflite_conversion(*foreign->tflite, "", &*model);
  ASSERT_OK(result);
  EXPECT_EQ(result->step, 1 / 256.0);
  EXPECT_LE(result->largest, 4 / 256.0);  // a softmax of numbers that may be a step of 0.3 off
}

}  // namespace
}  // namespace coterie
