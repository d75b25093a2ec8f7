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
  explicit Output(std::vector<float> words) : values_{.shape = {2}, .words = std::move(words)} {}
  InferAnswer answer() const {
    return {.model = "digits",
            .version = "3",
            .digest = "ab",
            .id = "q\"7",
            .rows = values_.words.size() / 2,
            .outputs = {{&kOutput, &values_}}};
  }

 private:
  TensorValues values_;
};

TEST(InferAnswer, HasTheShortestNumbersThatReadBack) {
  const Output output({0.1f, -3.0f, 1e-38f, 16777216.0f});
  const auto body = json_answer(output.answer());
  ASSERT_TRUE(body);
  EXPECT_EQ(as_text(*body),
            R"({"model_name":"digits","model_version":"3","id":"q\"7","parameters":{"coterie_digest":"ab"},)"
            R"("outputs":[{"name":"scores","datatype":"FP32","shape":[2,2],"data":[0.1,-3,1e-38,16777216]}]})");
}

TEST(InferAnswer, SaysThatJsonCannotHoldNaN) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Output output({0.5f, bad});
    const auto body = json_answer(output.answer());
    ASSERT_FALSE(body);
    EXPECT_NE(body.error().message().find("binary_data_output"), std::string::npos);
    EXPECT_EQ(binary_answer(output.answer()).body.size() % 8, binary_answer(output.answer()).json_bytes % 8);
  }
}

TEST(InferAnswer, HasItsValuesBehindTheJsonAsBinaryData) {
  const std::vector<float> values{0.1f, -3.0f};
  const BinaryAnswer binary = binary_answer(Output(values).answer());
  EXPECT_TRUE(as_text(binary.body).substr(0, binary.json_bytes).ends_with(R"("parameters":{"binary_data_size":8}}]})"));
  ASSERT_EQ(binary.body.size(), binary.json_bytes + 8);
  EXPECT_EQ(std::memcmp(binary.body.data() + binary.json_bytes, values.data(), 8), 0);
}

// Labels and their places beside each other, in both forms, and those that were asked for alone.
TEST(InferAnswer, HasOutputsOfSeveralTypes) {
  const std::vector<TensorInterface> outputs{{"label", ProtocolType::bytes, {}, 1},
                                             {"place", ProtocolType::int32, {}, 1}};
  std::vector<TensorValues> values(2);
  values[0].texts = {"cat", "\"dog\""};
  values[1].words = {std::bit_cast<float>(7), std::bit_cast<float>(-1)};
  InferAnswer answer{
      .model = "m", .version = "1", .digest = "ab", .id = {}, .rows = 2, .outputs = answered(outputs, values, {})};
  const auto body = json_answer(answer);
  ASSERT_TRUE(body);
  EXPECT_EQ(as_text(*body), R"({"model_name":"m","model_version":"1","parameters":{"coterie_digest":"ab"},"outputs":[)"
                            R"({"name":"label","datatype":"BYTES","shape":[2],"data":["cat","\"dog\""]},)"
                            R"({"name":"place","datatype":"INT32","shape":[2],"data":[7,-1]}]})");
  const BinaryAnswer binary = binary_answer(answer);
  const std::string data(as_text(binary.body).substr(binary.json_bytes));
  EXPECT_EQ(data, std::string("\x03\0\0\0cat\x05\0\0\0\"dog\"\x07\0\0\0\xff\xff\xff\xff", 24));
  answer.outputs = answered(outputs, values, {false, true});
  ASSERT_EQ(answer.outputs.size(), 1u);
  EXPECT_EQ(answer.outputs[0].tensor->name, "place");
}

TEST(InferAnswer, SaysWhatIsWrongAsAnObject) {
  EXPECT_EQ(as_text(error_answer("no \"x\"\n")), R"({"error":"no \"x\"\u000a"})");
}

}  // namespace
}  // namespace coterie
