#include "model_import/fold/reshape.h"

#include <gtest/gtest.h>

#include "tests/support/matchers.h"

namespace coterie::model_import {
namespace {

const Node kNode{.op = "Reshape", .name = "n", .inputs = {}, .outputs = {"y"}, .attributes = {}};

Shape resolved(const Shape& from, const std::vector<Integer>& target, int64_t exported_batch) {
  const Result<Shape> to = reshaped(kNode, from, target, exported_batch);
  EXPECT_OK(to);
  return to ? *to : Shape{};
}

TEST(OnnxReshape, TheOpenDimensionTakesTheBatchUnlessAnotherHasIt) {
  EXPECT_EQ(resolved({-1, 3, 4}, {{-1, false}, {12, false}}, 0), (Shape{-1, 12}));
  EXPECT_EQ(resolved({-1, 3, 4}, {{1, true}, {-1, false}}, 0), (Shape{-1, 12}));
  EXPECT_EQ(resolved({-1, 6, 4}, {{2, true}, {3, false}, {-1, false}}, 0), (Shape{-2, 3, 4}));
  EXPECT_EQ(resolved({-1, 3, 4}, {{0, false}, {-1, false}}, 0), (Shape{-1, 12}));
}

// Heads times batch, and back; a batch behind the steps of a sequence.
TEST(OnnxReshape, FindsTheBatchAmongFixedNumbers) {
  EXPECT_EQ(resolved({-1, 8, 5, 4}, {{8, false}, {5, false}, {4, false}}, 1), (Shape{-8, 5, 4}));
  EXPECT_EQ(resolved({-8, 5, 4}, {{1, false}, {8, false}, {5, false}, {4, false}}, 1), (Shape{-1, 8, 5, 4}));
  EXPECT_EQ(resolved({7, -1, 6}, {{7, false}, {2, false}, {2, false}, {3, false}}, 2), (Shape{7, -1, 2, 3}));
  EXPECT_EQ(resolved({-1, 6}, {{-1, false}, {3, false}}, 2), (Shape{-2, 3}));
}

TEST(OnnxReshape, RefusesAnotherNumberOfElements) {
  EXPECT_ERROR(reshaped(kNode, {-1, 3, 4}, {{1, true}, {13, false}}, 0), ErrorCode::malformed, "number of elements");
  EXPECT_ERROR(reshaped(kNode, {-1, 3, 4}, {{5, false}, {-1, false}}, 0), ErrorCode::malformed, "do not divide");
  EXPECT_ERROR(reshaped(kNode, {-1, 3}, {{-1, false}, {-1, false}}, 0), ErrorCode::malformed, "two dimensions");
}

// Channels split in two: only their group is touched, so that an image may stay channels-last.
TEST(OnnxReshape, GroupsAreTheSmallestThatFit) {
  const auto groups = reshape_groups(kNode, {-1, 6, 5, 5}, {-1, 2, 3, 5, 5});
  ASSERT_OK(groups);
  ASSERT_EQ(groups->size(), 4u);
  EXPECT_EQ((*groups)[1].to_end - (*groups)[1].to_begin, 2u);
  const ReshapeOrders orders = keep_lying(*groups, {0, 2, 3, 1}, {-1, 6, 5, 5});
  EXPECT_EQ(orders.from, (std::vector<uint32_t>{0, 2, 3, 1}));
  EXPECT_EQ(orders.to, (std::vector<uint32_t>{0, 3, 4, 1, 2}));
}

}  // namespace
}  // namespace coterie::model_import
