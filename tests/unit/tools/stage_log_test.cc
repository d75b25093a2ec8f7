#include "tools/data/stage_log.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/idx_files.h"
#include "tests/unit/tools/image_files.h"
#include "tests/unit/tools/npy_files.h"
#include "tests/unit/tools/stored_gzip.h"
#include "tools/data/load.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StageLogTest : public testing::Test {
 protected:
  double now_ = 100;
  StageLog log_{[this] { return now_; }};
};

TEST_F(StageLogTest, ACallsTimeIsWithoutTheCallsInsideOfIt) {
  {
    StageCall outer(&log_, DataStage::batch);
    now_ += 1;
    for (int i = 0; i < 2; ++i) {
      StageCall middle(&log_, DataStage::transform);
      now_ += 10;
      timed(&log_, DataStage::copy, 7, [&] { return now_ += 100; });
    }
    now_ += 2;
  }
  EXPECT_EQ(log_.total(DataStage::batch).seconds, 3);
  EXPECT_EQ(log_.total(DataStage::transform).seconds, 20);
  EXPECT_EQ(log_.total(DataStage::copy).seconds, 200);
  EXPECT_EQ(log_.total(DataStage::copy).calls, 2u);
  EXPECT_EQ(log_.total(DataStage::copy).bytes, 14u);
  EXPECT_EQ(log_.seconds(), now_ - 100) << "they add up";
  ASSERT_EQ(log_.slices().size(), 5u);
  EXPECT_EQ(log_.slices().back().begin, 100);
  EXPECT_EQ(log_.slices().back().end, now_) << "a slice has those inside of it";
}

TEST_F(StageLogTest, ForgetsWhatItIsToldTo) {
  timed(&log_, DataStage::step, 1, [&] { return now_ += 1; });
  log_.clear();
  EXPECT_EQ(log_.total(DataStage::step).calls, 0u);
  EXPECT_EQ(log_.seconds(), 0);
  EXPECT_THAT(log_.slices(), IsEmpty());
}

TEST_F(StageLogTest, KeepsSoManySlicesAndCountsTheOthers) {
  for (size_t i = 0; i < StageLog::kSlicesMax + 3; ++i) timed(&log_, DataStage::copy, 0, [] { return 0; });
  EXPECT_EQ(log_.slices().size(), StageLog::kSlicesMax);
  EXPECT_EQ(log_.slices_left_out(), 3u);
  EXPECT_EQ(log_.total(DataStage::copy).calls, StageLog::kSlicesMax + 3);
}

TEST(StageCall, WithoutALogNothingIsAsked) {
  EXPECT_EQ(timed(nullptr, DataStage::copy, 1, [] { return 5; }), 5);
}

// What each kind of source tells of its loading.
class LoadStages : public testing::Test {
 protected:
  void put(const std::string& name, const Bytes& bytes) {
    ASSERT_OK(os::write_file_atomically(directory_ / name, bytes));
  }
  static Bytes bytes_of(std::string_view text) { return Bytes(text.begin(), text.end()); }

  std::vector<DataStage> stages_of(const std::string& name) {
    StageLog log([this] { return now_ += 1; });
    EXPECT_OK(load_data(name, {.fit = nullptr, .group = {}, .stages = &log}));
    std::vector<DataStage> called;
    for (size_t i = 0; i < kDataStages; ++i) {
      if (log.total(static_cast<DataStage>(i)).calls > 0) called.push_back(static_cast<DataStage>(i));
    }
    return called;
  }

  static constexpr DataStage kRead = DataStage::read, kUnpack = DataStage::unpack, kParse = DataStage::parse,
                             kEncode = DataStage::encode;
  test::TemporaryDirectory directory_;
  double now_ = 0;
};

TEST_F(LoadStages, EachKindOfSourceTellsThem) {
  const Bytes table = bytes_of("x,y\n1,a\n3,b\n");
  put("t.csv", table);
  put("t.csv.gz", test::stored_gzip(table));
  put("t.txt", bytes_of("ababa"));
  put("x.npy", test::npy_file<float>("<f4", "(2, 2)", {1, 2, 3, 4}));
  put("y.npy", test::npy_file<int64_t>("<i8", "(2,)", {0, 1}));
  put("t10k-images-idx3-ubyte", test::idx_images(2));
  put("t10k-labels-idx1-ubyte", test::idx_labels({1, 2}));
  put("data_batch_1.bin", Bytes(3073, 1));
  ASSERT_OK(os::make_directories(directory_ / "images/cats"));
  put("images/cats/1.png", test::png_file({.left = {1, 2, 3}, .right = {4, 5, 6}}));
  EXPECT_THAT(stages_of("csv:" + directory_ / "t.csv?target=y"), ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("csv:" + directory_ / "t.csv.gz?target=y"), ElementsAre(kRead, kUnpack, kParse, kEncode));
  EXPECT_THAT(stages_of("text:" + directory_ / "t.txt?length=2"), ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("npy:" + directory_ / "x.npy" + "," + directory_ / "y.npy"),
              ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("mnist:" + directory_.path()), ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("cifar10:" + directory_.path()), ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("images:" + directory_ / "images"), ElementsAre(kRead, kParse, kEncode));
  EXPECT_THAT(stages_of("digits"), ElementsAre(kEncode)) << "they are in the program";
}

TEST_F(LoadStages, BytesAreThoseThatCameIn) {
  const Bytes table = bytes_of("x,y\n1,a\n3,b\n"), packed = test::stored_gzip(table);
  put("t.csv", packed);
  StageLog log([this] { return now_ += 1; });
  ASSERT_OK(load_data("csv:" + directory_ / "t.csv?target=y", {.fit = nullptr, .group = {}, .stages = &log}));
  EXPECT_EQ(log.total(DataStage::read).bytes, packed.size());
  EXPECT_EQ(log.total(DataStage::unpack).bytes, packed.size());
  EXPECT_EQ(log.total(DataStage::parse).bytes, table.size());
}

}  // namespace
}  // namespace coterie
