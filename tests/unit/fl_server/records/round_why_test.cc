// What nodes have told of an attempt, added up: it sums to who asked, and counts whom the store counts.
#include "fl_server/records/round_why.h"

#include <gmock/gmock.h>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

GateRow row(const std::string& life, std::map<std::string, uint64_t> devices) {
  uint64_t asked = 0;
  for (const auto& [name, count] : devices) asked += count;
  return {life, asked, std::move(devices)};
}

TEST(RoundWhy, AddsUpNodesInTheOrderOfTheWay) {
  const std::vector<GateRow> rows = {row("a/1", {{"counted", 3}, {"plan_refused/charging", 1}, {"not_drawn", 2}}),
                                     row("b/1", {{"counted", 2}, {"plan_refused/analytics", 1}, {"asleep", 1}})};
  const RoundWhy why = why_of(rows, {5, true}, true);
  EXPECT_EQ(why.asked, 10u);
  EXPECT_THAT(why.lines,
              ElementsAre(WhyLine{"not_drawn", "", 2}, WhyLine{"plan_refused", "analytics", 1},
                          WhyLine{"plan_refused", "charging", 1}, WhyLine{"counted", "", 5}, WhyLine{"asleep", "", 1}));
}

TEST(RoundWhy, CountsWhomTheStoreCounts) {
  // A node was killed before it could say that its devices are counted.
  const std::vector<GateRow> rows = {row("a/1", {{"ticket", 2}, {"downloaded", 1}, {"uploading", 1}, {"waiting", 1}})};
  const RoundWhy over = why_of(rows, {3, true}, true);
  EXPECT_EQ(over.asked, 5u);
  EXPECT_THAT(over.lines, ElementsAre(WhyLine{"gone", "", 1}, WhyLine{"ticket", "", 1}, WhyLine{"counted", "", 3}));
  EXPECT_THAT(why_of(rows, {}, false).lines, ElementsAre(WhyLine{"waiting", "", 1}, WhyLine{"ticket", "", 2},
                                                         WhyLine{"downloaded", "", 1}, WhyLine{"uploading", "", 1}));
  // Nobody has said anything, and two are counted: they have asked.
  const RoundWhy unheard = why_of({}, {2, true}, true);
  EXPECT_EQ(unheard.asked, 2u);
  EXPECT_THAT(unheard.lines, ElementsAre(WhyLine{"counted", "", 2}));
  EXPECT_THAT(why_of({}, {}, true).lines, IsEmpty());
}

TEST(RoundWhy, TellsOnceOfADeviceThatTwoNodesCount) {
  // It had a ticket of each, and sent its update to both, as the first receipt was lost.
  const std::vector<GateRow> rows = {row("a/1", {{"counted", 2}}), row("b/1", {{"counted", 1}, {"late", 1}})};
  const RoundWhy done = why_of(rows, {2, true}, true);
  EXPECT_EQ(done.asked, 3u);
  EXPECT_THAT(done.lines, ElementsAre(WhyLine{"late", "", 1}, WhyLine{"counted", "", 2}));
  EXPECT_EQ(why_of(rows, {1, false}, false).asked, 4u) << "whoever leads may not have heard of all yet";
  EXPECT_EQ(why_of(rows, {}, true).asked, 4u) << "a failed attempt is told of as its nodes did";
}

TEST(RoundWhy, IsReadAsItWasWritten) {
  const GateRow written = row("a/1", {{"counted", 3}, {"update_refused/too_large", 1}});
  EXPECT_EQ(gates_text(written), "counted=3 update_refused/too_large=1");
  const Result<GateRow> read = gate_row_from("a/1", 4, gates_text(written));
  ASSERT_OK(read);
  EXPECT_EQ(*read, written);
  ASSERT_OK(gate_row_from("a/1", 0, ""));
  for (const char* const damaged : {"counted", "counted=", "=3", "counted=x", "counted=2 counted=1", "counted=3x",
                                    "counted=3  ticket=0", "counted=-1"}) {
    EXPECT_ERROR(gate_row_from("a/1", 3, damaged), ErrorCode::data_loss, "gates of a round");
  }
  EXPECT_ERROR(gate_row_from("a/1", 5, "counted=3"), ErrorCode::data_loss, "do not sum");
}

}  // namespace
}  // namespace coterie
