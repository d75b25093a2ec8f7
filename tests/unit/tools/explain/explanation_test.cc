// Explanations of examples: which output, and what is no explanation.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/tools/explain/planted_models.h"
#include "tools/explain/explanation.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

class ExplainedExample : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<AskedModel> made = AskedModel::create(planted_sum({8}, 2, 5));
    ASSERT_OK(made);
    model_.emplace(std::move(*made));
  }
  Result<Explanation> explained(uint64_t example, const AttributionMethod& method) {
    return explain(*model_, examples_, 1, example, std::nullopt, method, {});
  }
  Examples examples_{3, 8, 2};
  std::optional<AskedModel> model_;
};

TEST_F(ExplainedExample, IsOfTheHighestOutput) {
  examples_.set_feature(1, 2, -4);
  for (const uint64_t example : {0, 1}) {
    const Result<Explanation> made = explained(example, *find_attribution_method("gradient"));
    ASSERT_OK(made);
    EXPECT_EQ(made->example, example);
    EXPECT_EQ(made->picked, example);
    EXPECT_EQ(made->score > 0, example == 0);
    const Result<Explanation> asked =
        explain(*model_, examples_, 1, example, 1, *find_attribution_method("gradient"), {});
    ASSERT_OK(asked);
    EXPECT_EQ(asked->picked, 1u);
    EXPECT_EQ(asked->predicted, example);
  }
}

TEST_F(ExplainedExample, OutputsThatAreNotFiniteAreRefused) {
  examples_.set_feature(1, 0, std::nanf(""));
  examples_.set_feature(2, 2, std::numeric_limits<float>::max());
  const AttributionMethod& method = *find_attribution_method("gradient");
  const Result<Explanation> no_number = explained(1, method), infinite = explained(2, method);
  ASSERT_FALSE(no_number);
  EXPECT_EQ(no_number.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(no_number.error().message(), HasSubstr("example 1, method gradient: the model's output is no number"));
  ASSERT_FALSE(infinite);
  EXPECT_THAT(infinite.error().message(), HasSubstr("example 2, method gradient: the model's output is infinite"));
}

TEST_F(ExplainedExample, AttributionsThatAreNotFiniteAreRefused) {
  const AttributionMethod broken{
      "broken", "", [](AskedModel& of, std::span<const float> input, uint32_t, const AttributionSettings&) {
        std::vector<float> values(input.begin(), input.end());
        values.back() = std::nanf("");
        return Result<Attribution>(Attribution{of.input_shape(), values});
      }};
  const Result<Explanation> made = explained(1, broken);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(made.error().message(), HasSubstr("example 1, method broken: an attribution is not finite"));
}

}  // namespace
}  // namespace coterie::test
