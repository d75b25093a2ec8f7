#include "tools/crop/crop_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/messages/model.h"
#include "proto/messages/plan.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A convolution of `kernel` x `kernel`, and what follows it.
ModelGraph convolution(OpKind kind, int64_t kernel, uint32_t groups) {
  ModelGraph graph;
  graph.tensors = {{.name = "x"}, {.name = "w", .shape = {kernel, kernel, 8 / groups, 8}}};
  graph.ops = {{.kind = kind, .name = "c", .inputs = {0, 1}, .attributes = Conv2dAttributes{.groups = groups}},
               {.kind = OpKind::relu, .name = "r", .inputs = {0}}};
  return graph;
}

std::vector<std::string> ways(OpKind kind, int64_t kernel, uint32_t groups) {
  CropNeeds needs;
  needs.add(convolution(kind, kernel, groups));
  std::vector<std::string> names;
  for (const auto& [way, count] : needs.ways) names.emplace_back(to_string(way));
  return names;
}

TEST(CropNeeds, AConvolutionsWaysAreThoseThatItsShapeAllows) {
  EXPECT_THAT(ways(OpKind::conv2d, 1, 1), IsEmpty());
  EXPECT_THAT(ways(OpKind::conv2d, 5, 1), IsEmpty());
  EXPECT_THAT(ways(OpKind::conv2d, 3, 1), ElementsAre("winograd", "winograd_4x4"));
  EXPECT_THAT(ways(OpKind::conv2d, 3, 8), ElementsAre("depthwise"));
  EXPECT_THAT(ways(OpKind::conv2d, 7, 1), ElementsAre("fft"));
  EXPECT_THAT(ways(OpKind::conv2d, 31, 8), ElementsAre("depthwise", "fft"));
  EXPECT_THAT(ways(OpKind::conv_transpose2d, 2, 1), ElementsAre("depthwise", "fft", "winograd", "winograd_4x4"));
}

TEST(CropNeeds, AreCountedOverModels) {
  CropNeeds needs;
  needs.add(convolution(OpKind::conv2d, 3, 1));
  needs.add(convolution(OpKind::conv2d, 5, 1));
  EXPECT_EQ(needs.ops.at(OpKind::conv2d), 2u);
  EXPECT_EQ(needs.ops.at(OpKind::relu), 2u);
  EXPECT_EQ(needs.ways.at(ConvolutionWay::winograd), 1u);
}

TEST(CropNeeds, AListIsReadAsItWasWritten) {
  CropNeeds needs;
  needs.add(convolution(OpKind::conv2d, 3, 1));
  needs.losses = {Loss::l1};
  needs.optimizers = {OptimizerKind::adamw};
  needs.without = {BuildFeature::avx2, BuildFeature::avx512};
  const std::string text = crop_list_text(needs, "net.cotf");
  EXPECT_EQ(text, "# net.cotf\nconv2d relu\nl1 adamw\n-depthwise -fft -avx2 -avx512\n");
  const Result<CropNeeds> read = read_crop_list(text);
  ASSERT_OK(read);
  EXPECT_EQ(read->losses, needs.losses);
  EXPECT_EQ(read->optimizers, needs.optimizers);
  EXPECT_EQ(crop_list_text(*read, "net.cotf"), text);
  EXPECT_THAT(missing_in_list(needs, *read), IsEmpty());
}

TEST(CropNeeds, AListThatLacksSomethingIsToldBy) {
  CropNeeds needed;
  needed.add(convolution(OpKind::conv2d, 3, 1));
  needed.losses = {Loss::softmax_cross_entropy, Loss::huber};
  needed.optimizers = {OptimizerKind::sgd, OptimizerKind::lion};
  const Result<CropNeeds> list = read_crop_list("conv2d dense -winograd");
  ASSERT_OK(list);
  EXPECT_THAT(missing_in_list(needed, *list), ElementsAre("relu", "huber", "lion"));
}

TEST(CropNeeds, AListOfOtherWordsIsRefused) {
  EXPECT_ERROR(read_crop_list("conv2d cnv2d -slow # dense"), ErrorCode::invalid_argument, "cnv2d, -slow");
  EXPECT_ERROR(read_crop_list("# dense\nadam"), ErrorCode::invalid_argument, "no op is named");
  EXPECT_ERROR(read_crop_list(std::string(kCropListBytesMax + 1, ' ')), ErrorCode::invalid_argument, "at most 65536");
  const Result<CropNeeds> without = read_crop_list("conv2d -winograd");
  ASSERT_OK(without);
  EXPECT_THAT(left_out_by(*read_crop_list("dense -avx2")),
              ElementsAre("avx2", "avx512", "depthwise", "fft", "winograd", "winograd_4x4"));
  EXPECT_FALSE(without->ways.contains(ConvolutionWay::winograd_4x4)) << "the larger tiles are winograd's, too";
}

}  // namespace
}  // namespace coterie
