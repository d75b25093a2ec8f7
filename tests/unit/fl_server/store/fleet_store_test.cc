// The conformance suite of FleetStore, with the database's own clock: what must be over is over at once, what must last lasts long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/store/sql_fleet_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

constexpr Millis kLong{3'600'000};
constexpr const char* kLead = "scheduler";

FleetNodeRow row(const std::string& node, const std::string& incarnation, const std::string& report = "{}") {
  return {.node = node, .incarnation = incarnation, .started = wall_time_from_unix_ms(5'000), .report = report};
}

template <typename Backend>
class FleetStoreConformance : public testing::Test {
 protected:
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
  FleetStore& store() { return backend_.store(); }
  std::vector<std::string> names() {
    const auto nodes = store().nodes();
    EXPECT_OK(nodes);
    std::vector<std::string> names;
    for (const FleetNodeRow& node : *nodes) names.push_back(node.node + " " + node.incarnation + " " + node.report);
    return names;
  }
  LeaseEpoch lead(const std::string& holder) {
    auto opened = SqlLeaseStore::open(backend_.open_database());
    EXPECT_OK(opened);
    const auto answer = (*opened)->take_lease(kLead, holder, Millis(0));
    EXPECT_OK(answer);
    return answer->epoch;
  }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlFleetStore, SqliteDatabase>, SqlBackend<SqlFleetStore, PostgresDatabase>>;
TYPED_TEST_SUITE(FleetStoreConformance, Backends, BackendNames);

TYPED_TEST(FleetStoreConformance, KeepsOneRowForEachNodeItsNewest) {
  ASSERT_OK(this->store().say(row("b", "1", "first"), {}, kLong));
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  ASSERT_OK(this->store().say(row("b", "1", "second"), {}, kLong));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 1 {}", "b 1 second"));
  const auto nodes = this->store().nodes();
  EXPECT_EQ((*nodes)[0].started, wall_time_from_unix_ms(5'000));
  EXPECT_LT((*nodes)[0].age, Millis(60'000));
}

TYPED_TEST(FleetStoreConformance, TwoServersMustNotHaveOneName) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  EXPECT_EQ(this->store().say(row("a", "2"), {}, kLong).error().code(), ErrorCode::conflict);
  EXPECT_THAT(this->names(), testing::ElementsAre("a 1 {}"));
}

TYPED_TEST(FleetStoreConformance, ANameGoesToTheNextOnceItsServerIsSilent) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  ASSERT_OK(this->store().say(row("a", "2", "again"), {}, Millis(0)));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 2 again"));
}

TYPED_TEST(FleetStoreConformance, AServerThatIsStartedAgainTakesTheNameOfItsFormerLife) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  EXPECT_EQ(this->store().say(row("a", "3"), "2", kLong).error().code(), ErrorCode::conflict) << "that was another";
  ASSERT_OK(this->store().say(row("a", "3"), "1", kLong));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 3 {}"));
}

TYPED_TEST(FleetStoreConformance, WhoLeavesTakesHisOwnRowAlone) {
  ASSERT_OK(this->store().say(row("a", "2"), {}, kLong));
  ASSERT_OK(this->store().leave("a", "1"));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 2 {}"));
  ASSERT_OK(this->store().leave("a", "2"));
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(FleetStoreConformance, ForgetsNodesThatAreSilentForLong) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  ASSERT_OK(this->store().forget_nodes(kLong));
  EXPECT_EQ(this->names().size(), 1u);
  ASSERT_OK(this->store().forget_nodes(Millis(0)));
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(FleetStoreConformance, ABoardIsReadWhenItHasChanged) {
  const LeaseEpoch epoch = this->lead("a");
  EXPECT_FALSE((*this->store().read_board(0)).has_value()) << "nothing was ever written";
  const auto first = this->store().write_board(kLead, epoch, "one");
  ASSERT_OK(first);
  const auto other = this->backend_.another();
  EXPECT_EQ(*other->read_board(0), (FleetBoard{*first, "one"}));
  EXPECT_FALSE((*other->read_board(*first)).has_value());
  const auto second = this->store().write_board(kLead, epoch, "two");
  ASSERT_OK(second);
  EXPECT_GT(*second, *first);
  EXPECT_EQ(*other->read_board(*first), (FleetBoard{*second, "two"}));
}

TYPED_TEST(FleetStoreConformance, OnlyTheOneWhoLeadsWritesOnTheBoard) {
  EXPECT_EQ(this->store().write_board(kLead, LeaseEpoch(1), "x").error().code(), ErrorCode::conflict) << "nobody ever led";
  const LeaseEpoch old = this->lead("a");
  const LeaseEpoch now = this->lead("b");
  EXPECT_EQ(this->store().write_board(kLead, old, "x").error().code(), ErrorCode::conflict);
  EXPECT_FALSE((*this->store().read_board(0)).has_value());
  EXPECT_OK(this->store().write_board(kLead, now, "x"));
}

TYPED_TEST(FleetStoreConformance, TheBoardOutlivesAServer) {
  const LeaseEpoch epoch = this->lead("a");
  const auto revision = this->store().write_board(kLead, epoch, "stays");
  ASSERT_OK(revision);
  this->backend_.reopen();
  EXPECT_EQ(*this->store().read_board(0), (FleetBoard{*revision, "stays"}));
}

}  // namespace
}  // namespace coterie
