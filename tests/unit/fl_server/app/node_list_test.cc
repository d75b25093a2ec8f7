#include "fl_server/app/node_list.h"

#include <gtest/gtest.h>

#include "fl_server/runtime/round_scheduler.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_fleet_store.h"

namespace coterie {
namespace {

TEST(NodeList, OfAServerThatIsAloneIsItself) {
  SchedulerStatus status;
  status.waiting = {{Population("phones"), 3}, {Population("tablets"), 4}};
  const RoundKey key{RoundId(7), Attempt(2)};
  status.jobs.push_back({.job = JobId("with-round"), .round = RoundRecord{}, .accepted = 5, .selected = 9});
  status.jobs.back().round->key = key;
  status.jobs.push_back({.job = JobId("between-rounds"), .round = {}});
  uint64_t asked = 0;
  const NodeRow row = lone_node("node-0", WallTime(Millis(42)), true, status, [&asked](uint64_t waiting) {
    asked = waiting;
    return NodeLoad{.bytes = 0.25};
  });
  EXPECT_EQ(row.report.node, "node-0");
  EXPECT_EQ(row.started, WallTime(Millis(42)));
  EXPECT_TRUE(row.report.serves);
  EXPECT_TRUE(row.report.draining);
  EXPECT_EQ(asked, 7u) << "of all populations";
  EXPECT_EQ(row.report.load.bytes, 0.25);
  EXPECT_EQ(row.report.waiting, status.waiting);
  EXPECT_EQ(row.report.issued, (std::map<RoundKey, uint32_t>{{key, 9}})) << "a job between rounds has none";
  EXPECT_EQ(row.report.accepted.at(key), 5u);
}

TEST(NodeList, NamesTheNodeWhoseLeaseItIs) {
  test::MemoryFleetStore store;
  EXPECT_EQ(*fleet_leader(store), "") << "nobody leads yet";
  ASSERT_OK(store.leases().take_lease(kLeadLease, lead_holder("rack-1/a", "5f"), Millis(10)));
  EXPECT_EQ(*fleet_leader(store), "rack-1/a");
  store.leases().pass(Millis(10));
  EXPECT_EQ(*fleet_leader(store), "") << "its time is over";
}

}  // namespace
}  // namespace coterie
