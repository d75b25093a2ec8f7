#include "tools/debug/npy_file.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"
#include "tools/data/npy.h"

namespace coterie::test {
namespace {

using ::testing::ElementsAre;

NamedTensor tensor_of(ElementType type, const void* data, Shape shape) {
  NamedTensor tensor;
  tensor.values = {type, data, static_cast<uint64_t>(shape[0] * shape[1])};
  tensor.shape = std::move(shape);
  return tensor;
}

NpyArray read_back(const NamedTensor& tensor, std::string_view text) {
  const Result<ElementSlice> slice = parse_slice(text, tensor.shape);
  EXPECT_OK(slice);
  Result<NpyArray> array = parse_npy(npy_file(tensor, *slice));
  EXPECT_OK(array);
  return std::move(*array);
}

TEST(NpyFile, IsReadBackByTheReaderOfDataSets) {
  const float floats[] = {1, 2, 3, 4, 5, -0.5f};
  const NpyArray all = read_back(tensor_of(ElementType::float32, floats, {2, 3}), "");
  EXPECT_EQ(all.shape, (Shape{2, 3}));
  EXPECT_THAT(all.values, ElementsAre(1, 2, 3, 4, 5, -0.5));
  const NpyArray part = read_back(tensor_of(ElementType::float32, floats, {2, 3}), "1,::-2");
  EXPECT_EQ(part.shape, (Shape{2}));
  EXPECT_THAT(part.values, ElementsAre(-0.5, 4));
}

TEST(NpyFile, HasTheTypesThatNumPyHas) {
  const int32_t labels[] = {7, -1};
  const NpyArray whole = read_back(tensor_of(ElementType::int32, labels, {1, 2}), "");
  EXPECT_EQ(whole.type, NpyType::integer);
  EXPECT_THAT(whole.values, ElementsAre(7, -1));
  const uint16_t halves[] = {0x3f80, 0xc000};  // 1 and -2
  EXPECT_THAT(read_back(tensor_of(ElementType::bfloat16, halves, {1, 2}), "").values, ElementsAre(1, -2));
  const double doubles[] = {1e300, -0.25};
  EXPECT_THAT(read_back(tensor_of(ElementType::float64, doubles, {1, 2}), "").values, ElementsAre(1e300, -0.25));
}

}  // namespace
}  // namespace coterie::test
