#include "device_sdk/runtime/dataset_source.h"

#include <gmock/gmock.h>

#include <array>
#include <utility>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using testing::ElementsAre;

template <typename T>
ByteView view(const T& numbers) {
  return {reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size() * sizeof numbers[0]};
}

// Two examples with an odd number of bytes first, so that nothing behind is aligned.
Bytes mixed_file() {
  const DatasetHeader header{.name = "mixed",
                             .examples = 2,
                             .inputs = {{"pixels", ColumnType::uint8, {3}, 0.5f, -1.0f},
                                        {"words", ColumnType::int32, {2}},
                                        {"more", ColumnType::uint8, {1}, 2.0f, 0.0f},
                                        {"age", ColumnType::float32, {}}},
                             .target = {"prices", ColumnType::float32, {2}}};
  const std::array<uint8_t, 6> pixels{0, 2, 255, 4, 6, 8};
  const std::array<int32_t, 4> words{-7, 1 << 30, 5, 6};
  const std::array<uint8_t, 2> more{1, 200};
  const std::array<float, 2> ages{40.5f, 60.25f};
  const std::array<float, 4> prices{1, 2, 3, 4};
  const ByteView columns[] = {view(pixels), view(words), view(more), view(ages), view(prices)};
  return encode_dataset(header, columns);
}

struct Places {
  std::vector<float> pixels = std::vector<float>(3), more = std::vector<float>(1), age = std::vector<float>(1);
  std::vector<float> words = std::vector<float>(2), prices = std::vector<float>(2);
  std::vector<Example::Place> inputs{pixels, words, more, age};
  Example example() { return Example(inputs, prices); }
};

void expect_second_example(DatasetSource& source) {
  Places places;
  ASSERT_OK(source.read(1, places.example()));
  EXPECT_THAT(places.pixels, ElementsAre(1, 2, 3));
  EXPECT_THAT(places.example().tokens(1), ElementsAre(5, 6));
  EXPECT_THAT(places.more, ElementsAre(400));
  EXPECT_THAT(places.age, ElementsAre(60.25f));
  EXPECT_THAT(places.prices, ElementsAre(3, 4));
}

TEST(DatasetSource, ReadsEveryKindOfColumn) {
  auto source = DatasetSource::load(mixed_file());
  ASSERT_OK(source);
  EXPECT_EQ(source->size(), 2u);
  expect_second_example(*source);
  Places places;
  ASSERT_OK(source->read(0, places.example()));
  EXPECT_THAT(places.pixels, ElementsAre(-1, 0, 126.5f));
  EXPECT_THAT(places.example().tokens(1), ElementsAre(-7, 1 << 30));
}

TEST(DatasetSource, MapsAFileAndMayBeMoved) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "data.cotf";
  ASSERT_OK(os::write_file_atomically(path, mixed_file()));
  auto opened = DatasetSource::open(path);
  ASSERT_OK(opened);
  DatasetSource source = std::move(*opened);
  ASSERT_OK(os::remove_file(path));
  expect_second_example(source);
  auto loaded = DatasetSource::load(mixed_file());
  ASSERT_OK(loaded);
  source = std::move(*loaded);
  expect_second_example(source);
}

TEST(DatasetSource, NamesTheFileThatIsNone) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "data.cotf";
  EXPECT_ERROR(DatasetSource::open(path), ErrorCode::not_found, path);
  Bytes file = mixed_file();
  file.pop_back();
  ASSERT_OK(os::write_file_atomically(path, file));
  EXPECT_ERROR(DatasetSource::open(path), ErrorCode::malformed, path);
}

TEST(DatasetSource, RefusesAModelThatTakesOtherInputs) {
  auto source = DatasetSource::load(mixed_file());
  ASSERT_OK(source);
  Places places;
  EXPECT_ERROR(source->read(2, places.example()), ErrorCode::invalid_argument, "no such example");
  places.inputs.pop_back();
  EXPECT_ERROR(source->read(0, places.example()), ErrorCode::invalid_argument,
               "data set mixed has 4 inputs, the model takes 3");
  Places wide;
  std::vector<float> three(3);
  wide.inputs[1] = three;
  EXPECT_ERROR(source->read(0, wide.example()), ErrorCode::invalid_argument,
               "data set mixed has 2 values an example in words, the model takes 3");
  Places target;
  EXPECT_ERROR(source->read(0, Example(target.inputs, three)), ErrorCode::invalid_argument,
               "has 2 values an example in prices, the model takes 3");
  int32_t label = 0;
  EXPECT_ERROR(source->read(0, three, label), ErrorCode::invalid_argument, "data set mixed has no labels");
}

}  // namespace
}  // namespace coterie
