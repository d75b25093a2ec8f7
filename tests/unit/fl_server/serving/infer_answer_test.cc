#include "fl_server/serving/infer_answer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace coterie {
namespace {

const TensorInterface kOutput{"scores", DataType::float32, {2}, 2};

InferAnswer answer_of(std::span<const float> values) {
  return {.model = "digits",
          .version = "3",
          .digest = "ab",
          .id = "q\"7",
          .output = kOutput,
          .rows = values.size() / 2,
          .values = values};
}

TEST(InferAnswer, HasTheShortestNumbersThatReadBack) {
  const std::vector<float> values{0.1f, -3.0f, 1e-38f, 16777216.0f};
  const auto body = json_answer(answer_of(values));
  ASSERT_TRUE(body);
  EXPECT_EQ(as_text(*body),
            R"({"model_name":"digits","model_version":"3","id":"q\"7","parameters":{"coterie_digest":"ab"},)"
            R"("outputs":[{"name":"scores","datatype":"FP32","shape":[2,2],"data":[0.1,-3,1e-38,16777216]}]})");
}

TEST(InferAnswer, SaysThatJsonCannotHoldNaN) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> values{0.5f, bad};
    const auto body = json_answer(answer_of(values));
    ASSERT_FALSE(body);
    EXPECT_NE(body.error().message().find("binary_data_output"), std::string::npos);
    EXPECT_EQ(binary_answer(answer_of(values)).body.size() % 8, binary_answer(answer_of(values)).json_bytes % 8);
  }
}

TEST(InferAnswer, HasItsValuesBehindTheJsonAsBinaryData) {
  const std::vector<float> values{0.1f, -3.0f};
  const BinaryAnswer binary = binary_answer(answer_of(values));
  EXPECT_TRUE(as_text(binary.body).substr(0, binary.json_bytes).ends_with(R"("parameters":{"binary_data_size":8}}]})"));
  ASSERT_EQ(binary.body.size(), binary.json_bytes + 8);
  EXPECT_EQ(std::memcmp(binary.body.data() + binary.json_bytes, values.data(), 8), 0);
}

TEST(InferAnswer, SaysWhatIsWrongAsAnObject) {
  EXPECT_EQ(as_text(error_answer("no \"x\"\n")), R"({"error":"no \"x\"\u000a"})");
}

}  // namespace
}  // namespace coterie
