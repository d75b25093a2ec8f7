#include "tools/data/idx.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tests/unit/tools/idx_files.h"

namespace coterie {
namespace {

using test::idx_file;
using test::idx_images;
using test::idx_labels;
using testing::ElementsAre;

TEST(Idx, ReadsImagesRowByRowAndTheirLabels) {
  const Bytes images_file = idx_images(2), labels_file = idx_labels({7, 0});
  const auto images = parse_idx_images(images_file);
  ASSERT_OK(images);
  EXPECT_EQ(images->count, 2u);
  EXPECT_EQ(images->rows, 2u);
  EXPECT_EQ(images->columns, 3u);
  const auto labels = parse_idx_labels(labels_file);
  ASSERT_OK(labels);
  const auto joined = join_idx(*images, *labels, 10);
  ASSERT_OK(joined);
  EXPECT_THAT(joined->shape, ElementsAre(2, 3, 1));
  EXPECT_THAT(joined->labels, ElementsAre(7, 0));
  EXPECT_THAT(joined->pixels, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(Idx, RefusesAFileCutShortAtEveryByte) {
  const Bytes images = idx_images(2), labels = idx_labels({7, 0, 3});
  for (size_t size = 0; size < images.size(); ++size) {
    EXPECT_ERROR(parse_idx_images(ByteView(images).first(size)), ErrorCode::malformed, "bytes") << size;
  }
  for (size_t size = 0; size < labels.size(); ++size) {
    EXPECT_ERROR(parse_idx_labels(ByteView(labels).first(size)), ErrorCode::malformed, "bytes") << size;
  }
}

TEST(Idx, RefusesBytesBehindTheEnd) {
  Bytes images = idx_images(1), labels = idx_labels({1});
  images.push_back(0);
  labels.push_back(0);
  EXPECT_ERROR(parse_idx_images(images), ErrorCode::malformed, "has 23 bytes, but 1 images of 2 x 3 pixels need 22");
  EXPECT_ERROR(parse_idx_labels(labels), ErrorCode::malformed, "has 10 bytes, but 1 labels need 9");
}

TEST(Idx, SaysWhichMagicNumberItSawAndWhichItExpected) {
  EXPECT_ERROR(parse_idx_images(idx_file({0x0801, 1, 2, 3}, Bytes(6))), ErrorCode::malformed,
               "it begins with 00000801, expected 00000803");
  EXPECT_ERROR(parse_idx_labels(idx_file({0x0803, 1}, Bytes(1))), ErrorCode::malformed,
               "it begins with 00000803, expected 00000801");
}

TEST(Idx, RefusesSizesThatNoImageHas) {
  for (const uint32_t side : {0u, 4097u, 0xffffffffu}) {
    EXPECT_ERROR(parse_idx_images(idx_file({0x0803, 1, side, 3}, Bytes(6))), ErrorCode::malformed, "pixels") << side;
    EXPECT_ERROR(parse_idx_images(idx_file({0x0803, 1, 2, side}, Bytes(6))), ErrorCode::malformed, "pixels") << side;
  }
}

TEST(Idx, RefusesCountsWhoseProductIsHuge) {
  EXPECT_ERROR(parse_idx_images(idx_file({0x0803, 0xffffffff, 4096, 4096}, Bytes(6))), ErrorCode::malformed,
               "need 72057594021150736");
  EXPECT_ERROR(parse_idx_labels(idx_file({0x0801, 0xffffffff}, Bytes(6))), ErrorCode::malformed, "4294967295 labels");
}

TEST(Idx, RefusesLabelsThatDoNotFitTheImages) {
  const Bytes images_file = idx_images(2);
  const auto images = parse_idx_images(images_file);
  ASSERT_OK(images);
  EXPECT_ERROR(join_idx(*images, Bytes{1}, 10), ErrorCode::malformed, "has 1 labels for 2 images");
  EXPECT_ERROR(join_idx(*images, Bytes{1, 10}, 10), ErrorCode::malformed,
               "gives image 1 the label 10, expected 0 to 9");
  EXPECT_ERROR(join_idx({0, 2, 3, {}}, Bytes{}, 10), ErrorCode::malformed, "holds no labels");
}

}  // namespace
}  // namespace coterie
