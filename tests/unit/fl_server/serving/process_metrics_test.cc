// What processes say of themselves: on the board that they share, and as one text.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "fl_server/serving/merged_exposition.h"
#include "fl_server/serving/metrics_board.h"
#include "tests/support/matchers.h"

namespace coterie {
namespace {

// As another process has it: mapped a second time.
Result<MetricsBoard> opened(const MetricsBoard& board) {
  return MetricsBoard::open(os::File(::fcntl(board.file().fd(), F_DUPFD_CLOEXEC, 0), "board"));
}

TEST(MetricsBoardTest, EachSlotIsReadByAll) {
  auto board = MetricsBoard::make(3);
  ASSERT_OK(board);
  const auto other = opened(*board);
  ASSERT_OK(other);
  ASSERT_EQ(other->slots(), 3u);
  EXPECT_EQ(other->read(1), "");
  board->write(1, "a 1\n");
  board->write(2, "twelve bytes");
  EXPECT_EQ(other->read(1), "a 1\n");
  EXPECT_EQ(other->read(2), "twelve bytes");
  EXPECT_EQ(other->read(0), "");
  board->write(1, "");
  EXPECT_EQ(other->read(1), "");
  board->write(2, std::string(MetricsBoard::kTextBytesMax + 1, 'x'));
  EXPECT_EQ(other->read(2), "") << "too long";
}

TEST(MetricsBoardTest, NobodyReadsHalfAText) {
  auto board = MetricsBoard::make(1);
  ASSERT_OK(board);
  const auto other = opened(*board);
  ASSERT_OK(other);
  board->write(0, std::string(100, 'a'));
  std::jthread writer([&board](const std::stop_token& stop) {
    for (size_t i = 0; !stop.stop_requested(); ++i)
      board->write(0, std::string(100 + i % 200, static_cast<char>('a' + i % 26)));
  });
  std::set<char> letters;  // of the texts that were read whole
  for (int i = 0; i < 2'000 || letters.size() < 3; ++i) {
    const std::string text = other->read(0);
    if (text.empty()) continue;  // the writer was faster each time
    letters.insert(text[0]);
    ASSERT_EQ(text.find_first_not_of(text[0]), std::string::npos) << text;
  }
}

TEST(MetricsBoardTest, AWriterThatWasKilledIsFollowedByTheNext) {
  auto board = MetricsBoard::make(1);
  ASSERT_OK(board);
  board->write(0, "before");
  const uint64_t half_written = 3;
  ASSERT_EQ(::pwrite(board->file().fd(), &half_written, sizeof half_written, 0), ssize_t{sizeof half_written});
  EXPECT_EQ(board->read(0), "");
  board->write(0, "after");
  EXPECT_EQ(board->read(0), "after");
}

TEST(MetricsBoardTest, AFileOfAnotherSizeIsNone) {
  EXPECT_ERROR(MetricsBoard::open(*os::File::open_read("/dev/null")), ErrorCode::malformed, "0 bytes");
}

TEST(MergedExpositionTest, EachFamilyStandsOnceWithTheSamplesOfAll) {
  const std::vector<ProcessExposition> all = {
      {"", "# HELP of_master Words\n# TYPE of_master gauge\nof_master 2\n"},
      {"1",
       "# HELP a_total Words {of a}\n# TYPE a_total counter\na_total{code=\"x y\"} 3\n# HELP b Words\n# TYPE b "
       "histogram\nb_sum 0.5\nb_bucket{le=\"+Inf\"} 1\n"},
      {"2",
       "# HELP b Words\n# TYPE b histogram\nb_sum 4\n# HELP a_total Words {of a}\n# TYPE a_total "
       "counter\na_total{code=\"z\"} 4\n"}};
  EXPECT_EQ(merged_exposition(all),
            "# HELP of_master Words\n# TYPE of_master gauge\nof_master 2\n"
            "# HELP a_total Words {of a}\n# TYPE a_total counter\n"
            "a_total{process=\"1\",code=\"x y\"} 3\na_total{process=\"2\",code=\"z\"} 4\n"
            "# HELP b Words\n# TYPE b histogram\nb_sum{process=\"1\"} 0.5\nb_bucket{process=\"1\",le=\"+Inf\"} 1\n"
            "b_sum{process=\"2\"} 4\n");
}

}  // namespace
}  // namespace coterie
