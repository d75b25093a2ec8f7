#include "fl_server/runtime/scheduler_status.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

TEST(StatusBoard, SaysWhereAJobStands) {
  StatusBoard board;
  const Population phones("phones");
  EXPECT_EQ(board.now_of(JobId("j"), phones), std::nullopt) << "nothing was put up";
  RoundRecord round;
  round.number = 4;
  board.put({.jobs = {{.job = JobId("j"), .round = round, .accepted = 3, .selected = 5}},
             .waiting = {{phones, 9}},
             .nodes = 2});
  const auto now = board.now_of(JobId("j"), phones);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->round->number, 4u);
  EXPECT_EQ(now->accepted, 3u);
  EXPECT_EQ(now->selected, 5u);
  EXPECT_EQ(now->waiting, 9u);
  EXPECT_EQ(board.now_of(JobId("j"), Population("tablets"))->waiting, 0u);
  EXPECT_EQ(board.now_of(JobId("k"), phones), std::nullopt);
  EXPECT_EQ(board.status().nodes, 2u);
}

}  // namespace
}  // namespace coterie
