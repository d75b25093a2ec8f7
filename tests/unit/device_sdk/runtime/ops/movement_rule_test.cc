// transpose, expand, slice, pad, concat, split, gather, embedding: what moves elements.
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/device_sdk/runtime/gradient_of.h"

namespace coterie::test {
namespace {

// The op on an input of 0, 1, 2, ... gives these values.
void expect_moves(const Shape& input, OpKind kind, const OpAttributes& attributes, const Shape& shape,
                  const std::vector<float>& expected) {
  SCOPED_TRACE(to_string(kind));
  ModelBuilder build("movement", input, 1);
  const Model model = computing(build, build.op(kind, {build.input()}, attributes));
  EXPECT_EQ(model.output_shape(), shape);
  Batch batch(model, 1);
  std::iota(batch.floats().begin(), batch.floats().end(), 0.0f);
  EXPECT_EQ(outputs_of(model, batch), expected);
}

TEST(MovementRule, PutsElementsWhereTheyBelong) {
  expect_moves({2, 3}, OpKind::transpose, TransposeAttributes{{0, 2, 1}}, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_moves({2, 1}, OpKind::expand, ShapeAttributes{{-1, 2, 3}}, {2, 3}, {0, 0, 0, 1, 1, 1});
  expect_moves({6}, OpKind::slice, SliceAttributes{{1}, {1}, {2}, {3}}, {2}, {1, 4});
  expect_moves({2, 3}, OpKind::slice, SliceAttributes{{1, 2}, {1, 2}, {2, 3}, {-1, -1}}, {2, 3}, {5, 4, 3, 2, 1, 0});
  expect_moves({2, 2}, OpKind::pad, PadAttributes{{0, 0, 1}, {0, 1, 0}, 9}, {3, 3}, {9, 0, 1, 9, 2, 3, 9, 9, 9});
  expect_moves({2, 3}, OpKind::pad, PadAttributes{{0, -1, -1}, {0, 0, 1}, 9}, {1, 3}, {4, 5, 9});
}

TEST(MovementRule, DifferentiatesEachMove) {
  const std::pair<OpKind, OpAttributes> cases[] = {
      {OpKind::transpose, TransposeAttributes{{0, 3, 1, 2}}},
      {OpKind::expand, ShapeAttributes{{2, -1, 2, 3, 2}}},
      {OpKind::slice, SliceAttributes{{1, 2}, {1, 2}, {1, 2}, {1, -2}}},
      {OpKind::pad, PadAttributes{{0, 1, -1, 0}, {0, 0, 1, 2}, 0.5f}},
  };
  for (const auto& [kind, attributes] : cases) {
    SCOPED_TRACE(to_string(kind));
    ModelBuilder build("movement", {2, 3, 2}, 1);
    TensorId y = build.op(kind, {shifted(build, build.input())}, attributes);
    if (kind == OpKind::expand) y = build.op(OpKind::reduce_mean, {y}, ReduceAttributes{{0}, false});
    const Model model = scored(build, y);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(MovementRule, RefusesMovesOutside) {
  const auto refused = [](OpKind kind, const OpAttributes& attributes, std::string_view words) {
    ModelBuilder build("movement", {2, 3}, 1);
    EXPECT_ERROR(build.finish(build.op(kind, {build.input()}, attributes)), ErrorCode::malformed, words);
  };
  constexpr int64_t kHuge = INT64_MAX, kLow = INT64_MIN;
  refused(OpKind::transpose, TransposeAttributes{{0, 1}}, "no permutation");
  refused(OpKind::transpose, TransposeAttributes{{0, 1, 1}}, "no permutation");
  refused(OpKind::transpose, TransposeAttributes{{0, 1, 3}}, "no permutation");
  refused(OpKind::transpose, TransposeAttributes{{0, 1, -1}}, "no permutation");
  refused(OpKind::transpose, TransposeAttributes{{0, 1, 2, 2}}, "no permutation");
  refused(OpKind::expand, ShapeAttributes{{-1, 4, 3}}, "does not broadcast");
  refused(OpKind::expand, ShapeAttributes{{0}}, "a dimension is 0");
  refused(OpKind::slice, SliceAttributes{{1}, {0}, {1}, {}}, "one start, count and step an axis");
  refused(OpKind::slice, SliceAttributes{{3}, {0}, {1}, {1}}, "axis 3 is not one");
  refused(OpKind::slice, SliceAttributes{{1, 1}, {0, 0}, {1, 1}, {1, 1}}, "out of order");
  refused(OpKind::slice, SliceAttributes{{2}, {0}, {1}, {0}}, "step is 0");
  refused(OpKind::slice, SliceAttributes{{2}, {0}, {0}, {1}}, "takes 0 positions");
  refused(OpKind::slice, SliceAttributes{{2}, {0}, {2}, {kHuge}}, "outside along axis 2 of 3");
  refused(OpKind::slice, SliceAttributes{{2}, {0}, {2}, {kLow}}, "outside along axis 2 of 3");
  refused(OpKind::slice, SliceAttributes{{2}, {kHuge}, {2}, {1}}, "outside along axis 2 of 3");
  refused(OpKind::slice, SliceAttributes{{2}, {1}, {3}, {-1}}, "outside along axis 2 of 3");
  refused(OpKind::pad, PadAttributes{{0, 0}, {0, 0, 0}}, "one padding before and after");
  refused(OpKind::pad, PadAttributes{{0, -1, 0}, {0, -1, 0}}, "does not fit dimension 1");
  refused(OpKind::pad, PadAttributes{{0, kLow, 0}, {0, 0, kHuge}}, "does not fit dimension 1");
}

TEST(ConcatRule, JoinsAndSplitsAlongAnAxis) {
  for (const uint32_t axis : {1u, 2u}) {
    ModelBuilder build("concat", {2, 3}, 1);
    const TensorId a = shifted(build, build.input()), b = build.op(OpKind::tanh, {a});
    const TensorId joined = build.op(OpKind::concat, {a, b, a}, AxisAttributes{axis});
    EXPECT_EQ(build.shape(joined), (axis == 1 ? Shape{6, 3} : Shape{2, 9}));
    const int64_t size = build.shape(joined)[axis - 1];
    const auto parts = build.outputs(OpKind::split, {joined}, SplitAttributes{axis, {1, size - 2, 1}});
    // The last part has no reader, so no gradient.
    const TensorId y = build.add(build.op(OpKind::reduce_sum, {parts[0]}, ReduceAttributes{{1, 2}, true}), parts[1]);
    const Model model = scored(build, y);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(ConcatRule, PutsPartsInOrder) {
  ModelBuilder build("concat", {2, 2}, 1);
  const auto parts = build.outputs(OpKind::split, {build.input()}, SplitAttributes{2, {1, 1}});
  const Model model = computing(build, build.op(OpKind::concat, {parts[1], parts[0]}, AxisAttributes{1}));
  Batch batch(model, 1);
  batch.floats() = {0, 1, 2, 3};
  EXPECT_EQ(outputs_of(model, batch), (std::vector<float>{1, 3, 0, 2}));
}

TEST(ConcatRule, RefusesPartsThatDoNotMeet) {
  ModelBuilder concat("concat", {2, 3}, 1);
  const TensorId other = concat.reshape(concat.input(), {3, 2});
  EXPECT_ERROR(concat.finish(concat.op(OpKind::concat, {concat.input(), other}, AxisAttributes{1})),
               ErrorCode::malformed, "joins 2x2x3 and 2x3x2 along axis 1");
  ModelBuilder flat("concat", {2, 3}, 1);
  EXPECT_ERROR(flat.finish(flat.op(OpKind::concat, {flat.input(), flat.flatten(flat.input())}, AxisAttributes{2})),
               ErrorCode::malformed, "joins 2x2x3 and 2x6");
  const std::vector<int64_t> wrong[] = {{}, {1, 1}, {2, 2}, {0, 3}, {-1, 4}, {INT64_MAX, 1}};
  for (const auto& sizes : wrong) {
    ModelBuilder split("split", {2, 3}, 1);
    EXPECT_ERROR(split.finish(split.outputs(OpKind::split, {split.input()}, SplitAttributes{2, sizes})[0]),
                 ErrorCode::malformed, "do not add up to the 3");
  }
}

TEST(GatherRule, SumsTheGradientsOfARowThatIsMetAgain) {
  for (const uint32_t axis : {1u, 2u}) {
    ModelBuilder build("gather", {3, 3}, 1);
    const std::vector<int32_t> indices = {2, 0, 2, 1};
    const TensorId at = build.constant("indices", {2, 2}, std::span<const int32_t>(indices));
    const TensorId y = build.op(OpKind::gather, {shifted(build, build.input()), at}, AxisAttributes{axis});
    EXPECT_EQ(build.shape(y), (axis == 1 ? Shape{2, 2, 3} : Shape{3, 2, 2}));
    const Model model = scored(build, y);
    Batch batch(model, 2);
    expect_gradient_is_numerical(model, batch);
  }
}

TEST(EmbeddingRule, LooksUpAndLearns) {
  ModelBuilder build("embedding", {5}, 1, DataType::int32);
  const Model model = scored(build, build.embedding(build.input(), 4, 3));
  Batch batch(model, 3);
  expect_gradient_is_numerical(model, batch);
}

TEST(EmbeddingRule, RefusesAnIndexOutsideTheTable) {
  for (const int32_t index : {-1, 4, INT32_MAX, INT32_MIN}) {
    ModelBuilder build("embedding", {5}, 1, DataType::int32);
    const Model model = scored(build, build.embedding(build.input(), 4, 3));
    Batch batch(model, 3);
    batch.ints()[7] = index;
    std::string fault;
    outputs_of(model, batch, &fault);
    EXPECT_EQ(fault, "an index is outside the 4 rows of embedding1");
    const TrainingSettings settings{.loss = Loss::softmax_cross_entropy, .batch_size = 3, .local_epochs = 1};
    Result<Trainer> trainer = Trainer::create(model, settings, batch, 1);
    ASSERT_OK(trainer);
    EXPECT_ERROR(trainer->step(), ErrorCode::invalid_argument, "an index is outside the 4 rows of embedding1");
    EXPECT_TRUE(std::equal(trainer->parameters().begin(), trainer->parameters().end(), model.parameters().begin()));
  }
}

TEST(EmbeddingRule, RefusesIndicesThatAreNoIntegers) {
  ModelBuilder build("embedding", {5}, 1);
  EXPECT_ERROR(build.finish(build.embedding(build.input(), 4, 3)), ErrorCode::malformed, "input 1 must be int32");
}

}  // namespace
}  // namespace coterie::test
