#include "tools/micro/arena.h"

#include <gtest/gtest.h>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

MicroArena plan(const Model& model, bool trains, uint64_t bytes_max = kMicroArenaBytesMax) {
  return *plan_micro_arena(model.graph(), *micro_layers(model, trains), trains, bytes_max);
}

Model built_in(ModelKind kind) { return *Model::load(*make_model(kind, {28, 28, 1}, 10, 1)); }

class MicroArenaOf : public testing::TestWithParam<ModelKind> {};

TEST_P(MicroArenaOf, NoTwoBuffersThatLiveAtOnceOverlap) {
  for (const bool trains : {false, true}) {
    const MicroArena arena = plan(built_in(GetParam()), trains);
    for (size_t a = 0; a < arena.lifetimes.size(); ++a) {
      const Lifetime& one = arena.lifetimes[a];
      EXPECT_LE(arena.offsets[a] + one.bytes, arena.elements);
      EXPECT_GE(arena.offsets[a], 2 * arena.trained);
      for (size_t b = 0; b < a; ++b) {
        const Lifetime& other = arena.lifetimes[b];
        if (one.first > other.last || other.first > one.last) continue;
        EXPECT_TRUE(arena.offsets[a] + one.bytes <= arena.offsets[b] ||
                    arena.offsets[b] + other.bytes <= arena.offsets[a])
            << a << " and " << b;
      }
    }
  }
}

TEST_P(MicroArenaOf, IsAsSmallAsAnyPlanCanBe) {
  for (const bool trains : {false, true}) {
    const MicroArena arena = plan(built_in(GetParam()), trains);
    EXPECT_EQ(arena.elements, 2 * arena.trained + arena.lower_bound + (trains ? 1 : 0));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, MicroArenaOf,
                         testing::Values(ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5, ModelKind::logistic),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

TEST(MicroArena, PredictionHoldsWhatIsBetweenTwoLayers) {
  EXPECT_EQ(plan(built_in(ModelKind::logistic), false).elements, 0u);  // from the caller's input to the caller's output
  EXPECT_EQ(plan(built_in(ModelKind::mlp), false).elements, 128u);
  EXPECT_EQ(plan(built_in(ModelKind::lenet5), false).elements, 28u * 28 * 6 + 14 * 14 * 6);  // conv1 and its pool
}

TEST(MicroArena, TrainingHoldsParametersTwiceAndWhatBackwardReads) {
  const MicroArena arena = plan(built_in(ModelKind::mlp), true);
  EXPECT_EQ(arena.trained, 784u * 128 + 128 + 128 * 10 + 10);
  EXPECT_EQ(arena.elements, 2 * arena.trained + 2 * 128 + 10 + 1);  // hidden values, both gradients; logits go first
}

TEST(MicroArena, FrozenLayersCostNeitherGradientsNorBackward) {
  ModelBuilder build("net", {8}, 1);
  const TensorId hidden = build.relu(build.dense(build.input(), 16));
  const Bytes file = *build.finish(build.dense(hidden, 4));
  const Model model = *Model::load(file);
  ModelGraph graph = model.graph();
  for (TensorInfo& tensor : graph.tensors) tensor.is_frozen = tensor.name.starts_with("dense1");
  const std::vector<MicroLayer> layers = *micro_layers(model, true);
  const Result<MicroArena> arena = plan_micro_arena(graph, layers, true, kMicroArenaBytesMax);
  ASSERT_OK(arena);
  EXPECT_EQ(arena->first_trained, 1u);
  EXPECT_EQ(arena->trained, 16u * 4 + 4);
  EXPECT_FALSE(arena->gradients[0]);
}

TEST(MicroArena, RefusesWhatIsLargerAndNamesBothFigures) {
  const Model model = built_in(ModelKind::mlp);
  const std::vector<MicroLayer> layers = *micro_layers(model, false);
  EXPECT_OK(plan_micro_arena(model.graph(), layers, false, 512));
  EXPECT_ERROR(plan_micro_arena(model.graph(), layers, false, 511), ErrorCode::too_large,
               "would have 512 bytes, and 511 bytes are allowed; take a smaller model, or one that computes in int8");
}

}  // namespace
}  // namespace coterie::test
