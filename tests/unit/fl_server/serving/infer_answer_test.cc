#include "fl_server/serving/infer_answer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

namespace coterie {
namespace {

const TensorInterface kOutput{"scores", ProtocolType::float32, {2}, 2};

// Outlives its answers.
class Output {
 public:
  explicit Output(std::vector<float> words, bool is_binary = false)
      : values_{.shape = {2}, .words = std::move(words)}, is_binary_(is_binary) {}
  InferAnswer answer() const {
    return {.model = "digits",
            .version = "3",
            .digest = "ab",
            .id = "q\"7",
            .rows = values_.words.size() / 2,
            .outputs = {{&kOutput, &values_, is_binary_}}};
  }

 private:
  TensorValues values_;
  bool is_binary_;
};

TEST(InferAnswer, HasTheShortestNumbersThatReadBack) {
  const Output output({0.1f, -3.0f, 1e-38f, 16777216.0f});
  const auto written = write_answer(output.answer());
  ASSERT_TRUE(written);
  EXPECT_EQ(written->json_bytes, std::nullopt);
  EXPECT_EQ(as_text(written->body),
            R"({"model_name":"digits","model_version":"3","id":"q\"7","parameters":{"coterie_digest":"ab"},)"
            R"("outputs":[{"name":"scores","datatype":"FP32","shape":[2,2],"data":[0.1,-3,1e-38,16777216]}]})");
}

TEST(InferAnswer, SaysThatJsonCannotHoldNaN) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Output output({0.5f, bad});
    const auto refused = write_answer(output.answer());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("output \"scores\" has a value that is not finite"), std::string::npos);
    EXPECT_NE(refused.error().message().find("binary_data_output"), std::string::npos);
    EXPECT_TRUE(write_answer(Output({0.5f, bad}, true).answer()));
  }
}

TEST(InferAnswer, HasItsValuesBehindTheJsonAsBinaryData) {
  const std::vector<float> values{0.1f, -3.0f};
  const Output output(values, true);
  const auto binary = write_answer(output.answer());
  ASSERT_TRUE(binary && binary->json_bytes);
  EXPECT_TRUE(
      as_text(binary->body).substr(0, *binary->json_bytes).ends_with(R"("parameters":{"binary_data_size":8}}]})"));
  ASSERT_EQ(binary->body.size(), *binary->json_bytes + 8);
  EXPECT_EQ(std::memcmp(binary->body.data() + *binary->json_bytes, values.data(), 8), 0);
}

// Labels and their places beside each other, in both forms, and those that were asked for alone.
TEST(InferAnswer, HasOutputsOfSeveralTypes) {
  const std::vector<TensorInterface> outputs{{"label", ProtocolType::bytes, {}, 1},
                                             {"place", ProtocolType::int32, {}, 1}};
  std::vector<TensorValues> values(2);
  values[0].texts = {"cat", "\"dog\""};
  values[1].words = {std::bit_cast<float>(7), std::bit_cast<float>(-1)};
  InferAnswer answer{
      .model = "m", .version = "1", .digest = "ab", .id = {}, .rows = 2, .outputs = answered(outputs, values, {}, {})};
  const auto json = write_answer(answer);
  ASSERT_TRUE(json);
  EXPECT_EQ(as_text(json->body),
            R"({"model_name":"m","model_version":"1","parameters":{"coterie_digest":"ab"},"outputs":[)"
            R"({"name":"label","datatype":"BYTES","shape":[2],"data":["cat","\"dog\""]},)"
            R"({"name":"place","datatype":"INT32","shape":[2],"data":[7,-1]}]})");
  answer.outputs = answered(outputs, values, {}, {true, true});
  const auto binary = write_answer(answer);
  ASSERT_TRUE(binary && binary->json_bytes);
  EXPECT_EQ(as_text(binary->body).substr(*binary->json_bytes),
            std::string_view("\x03\0\0\0cat\x05\0\0\0\"dog\"\x07\0\0\0\xff\xff\xff\xff", 24));
  answer.outputs = answered(outputs, values, {}, {true, false});
  const auto both = write_answer(answer);
  ASSERT_TRUE(both && both->json_bytes);
  EXPECT_EQ(as_text(both->body).substr(*both->json_bytes), std::string_view("\x03\0\0\0cat\x05\0\0\0\"dog\"", 16));
  EXPECT_TRUE(as_text(both->body)
                  .substr(0, *both->json_bytes)
                  .ends_with(R"("shape":[2],"parameters":{"binary_data_size":16}},)"
                             R"({"name":"place","datatype":"INT32","shape":[2],"data":[7,-1]}]})"));
  answer.outputs = answered(outputs, values, {false, true}, {});
  ASSERT_EQ(answer.outputs.size(), 1u);
  EXPECT_EQ(answer.outputs[0].tensor->name, "place");
}

TEST(InferAnswer, SaysWhatIsWrongAsAnObject) {
  EXPECT_EQ(as_text(error_answer("no \"x\"\n")), R"({"error":"no \"x\"\u000a"})");
}

}  // namespace
}  // namespace coterie
