#include "tools/data/cifar10.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;

constexpr size_t kPlane = 32 * 32;
constexpr size_t kRecord = 1 + 3 * kPlane;

// One image: red 1, green 2, blue 3, but for the last pixel: 7, 8, 9.
Bytes record(uint8_t label) {
  Bytes bytes = {label};
  for (const uint8_t channel : {1, 2, 3}) {
    bytes.insert(bytes.end(), kPlane, channel);
    bytes.back() = static_cast<uint8_t>(channel + 6);
  }
  return bytes;
}

Bytes records(std::initializer_list<uint8_t> labels) {
  Bytes bytes;
  for (const uint8_t label : labels) {
    const Bytes one = record(label);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

TEST(Cifar10, TurnsPlanesOfColourIntoPixels) {
  const auto images = parse_cifar10(records({9, 0}));
  ASSERT_OK(images);
  EXPECT_THAT(images->shape, ElementsAre(32, 32, 3));
  EXPECT_THAT(images->labels, ElementsAre(9, 0));
  ASSERT_EQ(images->pixels.size(), 2 * 3 * kPlane);
  EXPECT_THAT(Bytes(images->pixels.begin(), images->pixels.begin() + 6), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(Bytes(images->pixels.end() - 3, images->pixels.end()), ElementsAre(7, 8, 9));
}

TEST(Cifar10, RefusesAFileCutShortAtEveryByte) {
  const Bytes file = record(3);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_ERROR(parse_cifar10(ByteView(file).first(size)), ErrorCode::malformed, "not a multiple of 3073") << size;
  }
}

TEST(Cifar10, RefusesABatchWithAByteTooMany) {
  Bytes file = records({1, 2});
  file.push_back(0);
  EXPECT_ERROR(parse_cifar10(file), ErrorCode::malformed, "its 6147 bytes are not a multiple of 3073");
}

TEST(Cifar10, RefusesALabelThatIsNoClass) {
  Bytes file = records({1, 2, 3});
  file[2 * kRecord] = 10;
  EXPECT_ERROR(parse_cifar10(file), ErrorCode::malformed, "gives image 2 the label 10, expected 0 to 9");
}

}  // namespace
}  // namespace coterie
