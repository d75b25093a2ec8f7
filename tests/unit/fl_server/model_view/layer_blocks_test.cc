// Ops in blocks: by their names, by what repeats, by number; always runs of ops that stand side by side.
#include "fl_server/model_view/layer_blocks.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<OpInfo> named(std::initializer_list<const char*> names) {
  std::vector<OpInfo> ops;
  for (const char* name : names) ops.push_back({.kind = OpKind::relu, .name = name, .inputs = {}});
  return ops;
}
std::vector<OpInfo> of_kinds(const std::vector<OpKind>& kinds) {
  std::vector<OpInfo> ops;
  for (const OpKind kind : kinds)
    ops.push_back({.kind = kind, .name = "op" + std::to_string(ops.size()), .inputs = {}});
  return ops;
}

TEST(LayerBlocks, FollowTheNamesOfModulesAndSkipWhatDividesNothing) {
  EXPECT_THAT(layer_blocks(named({"net.stem.conv", "net.stem.relu", "net.layer1.0.conv1", "net.layer1.0.relu",
                                  "net.layer1.1.conv1", "net.layer1.1.relu", "net.fc"})),
              ElementsAre(LayerBlock{"stem", 0, 2, kNoBlock}, LayerBlock{"layer1", 2, 4, kNoBlock},
                          LayerBlock{"0", 2, 2, 1}, LayerBlock{"1", 4, 2, 1}));
  EXPECT_THAT(layer_blocks(named({"/a/conv/Conv", "/a/relu/Relu", "/b/Gemm"})),
              ElementsAre(LayerBlock{"a", 0, 2, kNoBlock}));
}

TEST(LayerBlocks, AreOnlyOfOpsSideBySideSoThatNoCircleComesOfThem) {
  EXPECT_THAT(layer_blocks(named({"a.x", "b.x", "a.y"})), IsEmpty());
  EXPECT_THAT(layer_blocks(named({"a.x", "a.y", "b.x", "a.z", "a.w"})),
              ElementsAre(LayerBlock{"a", 0, 2, kNoBlock}, LayerBlock{"a", 3, 2, kNoBlock}));
}

TEST(LayerBlocks, LeaveFewOpsAsTheyAre) {
  EXPECT_THAT(layer_blocks({}), IsEmpty());
  EXPECT_THAT(layer_blocks(named({"conv1", "relu1", "conv2", "relu2"})), IsEmpty());
  EXPECT_THAT(layer_blocks(named({"same.name", "same.name", "same.name"})), IsEmpty());
  EXPECT_THAT(layer_blocks(named({"./", "//..", "."})), IsEmpty());
}

TEST(LayerBlocks, FindWhatRepeatsWhereNamesSayNothing) {
  std::vector<OpKind> kinds = {OpKind::embedding};
  for (int layer = 0; layer < 6; ++layer) {
    kinds.insert(kinds.end(), {OpKind::layer_norm, OpKind::attention, OpKind::add});
  }
  kinds.push_back(OpKind::dense);
  const std::vector<LayerBlock> blocks = layer_blocks(of_kinds(kinds));
  ASSERT_EQ(blocks.size(), 6u);
  EXPECT_EQ(blocks[0], (LayerBlock{"layer_norm to add, 1 of 6", 1, 3, kNoBlock}));
  EXPECT_EQ(blocks[5], (LayerBlock{"layer_norm to add, 6 of 6", 16, 3, kNoBlock}));
}

TEST(LayerBlocks, DivideWhatRepeatsByNumberWhereItIsLong) {
  std::vector<OpKind> kinds;
  for (int copy = 0; copy < 2; ++copy) {
    kinds.insert(kinds.end(), 59, OpKind::relu);
    kinds.push_back(OpKind::add);
  }
  EXPECT_THAT(layer_blocks(of_kinds(kinds)),
              ElementsAre(LayerBlock{"relu to add, 1 of 2", 0, 60, kNoBlock}, LayerBlock{"part 1 of 2", 0, 30, 0},
                          LayerBlock{"part 2 of 2", 30, 30, 0}, LayerBlock{"relu to add, 2 of 2", 60, 60, kNoBlock},
                          LayerBlock{"part 1 of 2", 60, 30, 3}, LayerBlock{"part 2 of 2", 90, 30, 3}));
}

TEST(LayerBlocks, HaveFewThingsInEachWhateverTheModel) {
  std::vector<OpKind> kinds;  // no sequence of these comes again right behind itself (Leech's square-free words)
  std::vector<int> word = {0};
  const std::vector<std::vector<int>> next = {{0, 1, 2, 1, 0, 2, 1, 2, 0, 1, 2, 1, 0},
                                              {1, 2, 0, 2, 1, 0, 2, 0, 1, 2, 0, 2, 1},
                                              {2, 0, 1, 0, 2, 1, 0, 1, 2, 0, 1, 0, 2}};
  while (word.size() < 2'000) {
    std::vector<int> longer;
    for (const int letter : word) longer.insert(longer.end(), next[letter].begin(), next[letter].end());
    word = longer;
  }
  for (const int letter : word) {
    kinds.push_back(letter == 0 ? OpKind::relu : letter == 1 ? OpKind::add : OpKind::sigmoid);
  }
  const std::vector<LayerBlock> blocks = layer_blocks(of_kinds(kinds));
  std::vector<size_t> ops_alone(blocks.size() + 1, 0), things(blocks.size() + 1, 0);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const LayerBlock& block = blocks[i];
    const size_t parent = block.parent == kNoBlock ? blocks.size() : block.parent;
    ++things[parent];
    ops_alone[i] += block.count;
    ops_alone[parent] -= block.count;
    if (block.parent == kNoBlock) continue;
    const LayerBlock& around = blocks[block.parent];
    EXPECT_LT(block.parent, i);
    EXPECT_GE(block.first, around.first);
    EXPECT_LE(block.first + block.count, around.first + around.count);
  }
  ops_alone.back() += kinds.size();
  for (size_t i = 0; i <= blocks.size(); ++i) EXPECT_LE(things[i] + ops_alone[i], kBlockItemsMax) << i;
}

}  // namespace
}  // namespace coterie
