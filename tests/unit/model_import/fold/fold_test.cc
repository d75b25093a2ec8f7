// Shape computations with a batch that is not known.
#include "model_import/fold/fold.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::model_import {
namespace {

HostTensor whole(std::vector<Integer> values) { return host_integers(std::move(values)); }
Node node_of(const std::string& op) {
  return {.op = op, .name = "n", .inputs = {}, .outputs = {"y"}, .attributes = {}};
}

Result<std::optional<HostTensor>> computed(const std::string& op, const HostTensor& a, const HostTensor& b) {
  return fold(node_of(op), {&a, &b}, 17);
}

constexpr Integer kBatch{1, true};

TEST(OnnxFold, ComputesWithMultiplesOfTheBatch) {
  EXPECT_EQ((*computed("Mul", whole({kBatch}), whole({{12, false}})))->integers[0], (Integer{12, true}));
  EXPECT_EQ((*computed("Div", whole({{12, true}}), whole({{4, false}})))->integers[0], (Integer{3, true}));
  EXPECT_EQ((*computed("Div", whole({{12, true}}), whole({{4, true}})))->integers[0], (Integer{3, false}));
  EXPECT_EQ((*computed("Sub", whole({{2, true}}), whole({{2, true}})))->integers[0], (Integer{0, false}));
}

TEST(OnnxFold, RefusesWhatIsNoMultipleOfTheBatch) {
  EXPECT_ERROR(computed("Add", whole({kBatch}), whole({{1, false}})), ErrorCode::invalid_argument, "no whole multiple");
  EXPECT_ERROR(computed("Div", whole({{3, true}}), whole({{2, false}})), ErrorCode::invalid_argument,
               "no whole multiple");
  EXPECT_ERROR(computed("Mul", whole({kBatch}), whole({kBatch})), ErrorCode::invalid_argument, "no whole multiple");
  EXPECT_ERROR(computed("Mul", whole({{INT64_MAX, false}}), whole({{2, false}})), ErrorCode::invalid_argument,
               "overflows");
}

// PyTorch's expand(): where(shape == -1, 1, shape).
TEST(OnnxFold, TheBatchEqualsNoNumberBelowOne) {
  EXPECT_EQ((*computed("Equal", whole({kBatch}), whole({{-1, false}})))->integers[0].value, 0);
  EXPECT_ERROR(computed("Equal", whole({kBatch}), whole({{3, false}})), ErrorCode::invalid_argument,
               "no whole multiple");
}

TEST(OnnxFold, DividesTowardsZeroAndTakesTheSignOfTheDivisor) {
  EXPECT_EQ((*computed("Div", whole({{-7, false}}), whole({{2, false}})))->integers[0].value, -3);
  EXPECT_EQ((*computed("Mod", whole({{-7, false}}), whole({{3, false}})))->integers[0].value, 2);
}

TEST(OnnxFold, AConstantOfTheBatchsShapeIsOneNumber) {
  const HostTensor shape = whole({{2, false}, kBatch, {4, false}});
  const auto zeros = fold(node_of("ConstantOfShape"), {&shape}, 17);
  ASSERT_OK(zeros);
  EXPECT_TRUE((*zeros)->is_uniform);
  EXPECT_EQ((*zeros)->shape, (Shape{2, -1, 4}));
}

TEST(OnnxFold, SlicesBackwards) {
  const HostTensor x = whole({{0, false}, {1, false}, {2, false}, {3, false}}), start = whole({{-1, false}}),
                   end = whole({{INT64_MIN, false}}), axis = whole({{0, false}}), step = whole({{-2, false}});
  const auto sliced = fold(node_of("Slice"), {&x, &start, &end, &axis, &step}, 17);
  ASSERT_OK(sliced);
  ASSERT_EQ((*sliced)->integers.size(), 2u);
  EXPECT_EQ((*sliced)->integers[0].value, 3);
  EXPECT_EQ((*sliced)->integers[1].value, 1);
}

}  // namespace
}  // namespace coterie::model_import
