// The conformance suite of FleetStore, with the database's own clock: what must be over is over at once, what must last
// lasts long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fl_server/store/sql_fleet_store.h"
#include "fl_server/store/sql_lease_store.h"
#include "tests/support/memory_fleet_store.h"
#include "tests/unit/fl_server/store/store_backends.h"

namespace coterie {
namespace {

using namespace test;

constexpr Millis kLong{3'600'000};
constexpr const char* kLead = "scheduler";

FleetNodeRow row(const std::string& node, const std::string& incarnation, const std::string& report = "{}") {
  return {.node = node, .incarnation = incarnation, .started = wall_time_from_unix_ms(5'000), .report = report};
}

template <typename OnDatabase>
LeaseEpoch lead_on(SqlBackend<SqlFleetStore, OnDatabase>& backend, const std::string& holder, const std::string& lease,
                   Millis ttl) {
  auto opened = SqlLeaseStore::open(backend.open_database());
  EXPECT_OK(opened);
  return (*opened)->take_lease(lease, holder, ttl)->epoch;
}
LeaseEpoch lead_on(MemoryStoreBackend<MemoryFleetStore>& backend, const std::string& holder, const std::string& lease,
                   Millis ttl) {
  return backend.store().leases().take_lease(lease, holder, ttl)->epoch;
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
  LeaseEpoch lead(const std::string& holder, Millis ttl = Millis(0), const std::string& lease = kLead) {
    return lead_on(backend_, holder, lease, ttl);
  }
  Backend backend_;
};
using Backends = testing::Types<SqlBackend<SqlFleetStore, SqliteDatabase>, SqlBackend<SqlFleetStore, PostgresDatabase>,
                                MemoryStoreBackend<MemoryFleetStore>>;
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
  EXPECT_EQ(this->store().write_board(kLead, LeaseEpoch(1), "x").error().code(), ErrorCode::conflict)
      << "nobody ever led";
  const LeaseEpoch old = this->lead("a");
  const LeaseEpoch now = this->lead("b");
  EXPECT_EQ(this->store().write_board(kLead, old, "x").error().code(), ErrorCode::conflict);
  EXPECT_FALSE((*this->store().read_board(0)).has_value());
  EXPECT_OK(this->store().write_board(kLead, now, "x"));
}

TYPED_TEST(FleetStoreConformance, SaysWhoHasALeaseWhileItLasts) {
  EXPECT_EQ(*this->store().lease_holder(kLead), "") << "nobody ever led";
  this->lead("a/1", kLong);
  this->lead("c/1", kLong, "other");
  EXPECT_EQ(*this->store().lease_holder(kLead), "a/1");
  EXPECT_EQ(*this->backend_.another()->lease_holder("other"), "c/1");
  this->lead("a/1", Millis(0));
  EXPECT_EQ(*this->store().lease_holder(kLead), "") << "its time is over";
}

TYPED_TEST(FleetStoreConformance, TheBoardOutlivesAServer) {
  const LeaseEpoch epoch = this->lead("a");
  const auto revision = this->store().write_board(kLead, epoch, "stays");
  ASSERT_OK(revision);
  this->backend_.reopen();
  EXPECT_EQ(*this->store().read_board(0), (FleetBoard{*revision, "stays"}));
}

TYPED_TEST(FleetStoreConformance, ListsNodesByNameWhateverTheOrderTheyCameIn) {
  for (const char* name : {"m", "z", "a10", "a2", "B"}) ASSERT_OK(this->store().say(row(name, "1", ""), {}, kLong));
  EXPECT_THAT(this->names(), testing::ElementsAre("B 1 ", "a10 1 ", "a2 1 ", "m 1 ", "z 1 ")) << "byte by byte";
  this->backend_.reopen();
  EXPECT_EQ(this->names().size(), 5u);
}

TYPED_TEST(FleetStoreConformance, KeepsAReportAsItIs) {
  const std::string report = "{\"n\": \"\xc3\xa4 ' \\\\ ?1 \xf0\x9f\x94\x91\"}" + std::string(200'000, 'x');
  ASSERT_OK(this->store().say(row("a'; --", "1", report), {}, kLong));
  this->backend_.reopen();
  const auto nodes = this->store().nodes();
  ASSERT_OK(nodes);
  EXPECT_EQ(nodes->at(0).node, "a'; --");
  EXPECT_EQ(nodes->at(0).report, report);
}

TYPED_TEST(FleetStoreConformance, AFormerLifeOfAnotherNameIsNoExcuse) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  ASSERT_OK(this->store().say(row("b", "7"), {}, kLong));
  EXPECT_EQ(this->store().say(row("a", "2"), "7", kLong).error().code(), ErrorCode::conflict);
  ASSERT_OK(this->store().say(row("b", "8"), "7", kLong));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 1 {}", "b 8 {}"));
}

TYPED_TEST(FleetStoreConformance, WhoWasForgottenSaysItsRowAgain) {
  ASSERT_OK(this->store().say(row("a", "1"), {}, kLong));
  ASSERT_OK(this->store().forget_nodes(Millis(0)));
  ASSERT_OK(this->store().say(row("a", "1", "back"), {}, kLong));
  EXPECT_THAT(this->names(), testing::ElementsAre("a 1 back"));
  ASSERT_OK(this->store().leave("a", "1"));
  ASSERT_OK(this->store().leave("a", "1")) << "who is gone is gone";
  ASSERT_OK(this->store().say(row("a", "2"), {}, kLong)) << "a name that was given back is free at once";
}

TYPED_TEST(FleetStoreConformance, TheBoardsRevisionGrowsEvenIfItsTextIsTheSame) {
  const LeaseEpoch epoch = this->lead("a");
  const auto first = this->store().write_board(kLead, epoch, "same");
  const auto second = this->store().write_board(kLead, epoch, "same");
  ASSERT_OK(first);
  ASSERT_OK(second);
  EXPECT_GT(*second, *first);
  EXPECT_EQ(*this->store().read_board(*first), (FleetBoard{*second, "same"}));
  EXPECT_EQ(*this->store().read_board(*second + 100), (FleetBoard{*second, "same"})) << "any other revision is another";
}

TYPED_TEST(FleetStoreConformance, TheLeadOfAnotherLeaseIsNone) {
  const LeaseEpoch epoch = this->lead("a", Millis(0), "cohort 7");
  EXPECT_EQ(this->store().write_board(kLead, epoch, "x").error().code(), ErrorCode::conflict);
  this->lead("a");
  EXPECT_OK(this->store().write_board(kLead, LeaseEpoch(1), "x"));
  EXPECT_EQ(this->store().write_board(kLead, LeaseEpoch(2), "x").error().code(), ErrorCode::conflict)
      << "an epoch to come";
  EXPECT_EQ(this->store().write_board(kLead, LeaseEpoch(0), "x").error().code(), ErrorCode::conflict);
}

TYPED_TEST(FleetStoreConformance, KeepsABoardOfAnySizeWhole) {
  const LeaseEpoch epoch = this->lead("a");
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20}) {
    const auto revision = this->store().write_board(kLead, epoch, std::string(size, '{'));
    ASSERT_OK(revision);
    EXPECT_EQ((*this->store().read_board(0))->text.size(), size);
  }
}

}  // namespace
}  // namespace coterie
