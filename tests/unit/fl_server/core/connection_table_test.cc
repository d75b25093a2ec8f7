#include "fl_server/core/connection_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace coterie {
namespace {

constexpr ConnectionTableSettings kSettings{.connections_max = 4, .per_address_max = 3, .grace = Millis(1'000)};
constexpr bool kTrusted = true, kUntrusted = false;
Instant at(int64_t ms) { return Instant(Millis(1'000'000 + ms)); }
CallerKey address(uint64_t number) { return {0, number}; }

TEST(ConnectionTable, LetsAnAddressHaveSoMany) {
  ConnectionTable table(kSettings, 1);
  ConnectionId last;
  for (int i = 0; i < 3; ++i) last = table.enter(address(1), kUntrusted, at(i)).id;
  EXPECT_EQ(table.enter(address(1), kUntrusted, at(5'000)).entry, Entry::address_full);
  EXPECT_EQ(table.enter(address(2), kUntrusted, at(5'000)).entry, Entry::let_in) << "others come in";
  table.closed(last);
  EXPECT_EQ(table.enter(address(1), kUntrusted, at(5'000)).entry, Entry::let_in) << "one that is gone makes room";
  table.check();
}

TEST(ConnectionTable, DoesNotCountForWhoIsTrusted) {
  ConnectionTable table(kSettings, 1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(table.enter(address(1), kTrusted, at(0)).entry, Entry::let_in);
  EXPECT_EQ(table.enter(address(1), kTrusted, at(0)).entry, Entry::full) << "but for the whole";
}

TEST(ConnectionTable, EvictsTheOldestStrangerOnceItHadItsGrace) {
  ConnectionTable table(kSettings, 1);
  const ConnectionId first = table.enter(address(1), kUntrusted, at(0)).id;
  const ConnectionId second = table.enter(address(2), kUntrusted, at(1)).id;
  table.enter(address(3), kUntrusted, at(2));
  table.enter(address(4), kUntrusted, at(3));
  table.known(first);
  table.known(first);
  EXPECT_EQ(table.enter(address(5), kUntrusted, at(1'000)).entry, Entry::full) << "the oldest stranger came at 1";
  const EntryDecision decision = table.enter(address(5), kUntrusted, at(1'001));
  EXPECT_EQ(decision.entry, Entry::let_in);
  EXPECT_EQ(decision.evicted, second);
  EXPECT_EQ(table.size(), 5u) << "until it is gone";
  EXPECT_EQ(table.enter(address(6), kUntrusted, at(2'000)).entry, Entry::full) << "one of 4 is on its way out";
  table.known(second);  // its signature was on the way
  table.closed(second);
  EXPECT_EQ(table.size(), 4u);
  table.check();
}

TEST(ConnectionTable, KeepsWhoIsKnownWhateverStrangersDo) {
  ConnectionTable table(kSettings, 1);
  for (uint64_t device = 0; device < 4; ++device) table.known(table.enter(address(device), kUntrusted, at(0)).id);
  EXPECT_EQ(table.enter(address(9), kUntrusted, at(1'000'000)).entry, Entry::full);
}

// A thousand silent connections of one address kept every device out, for as long as they liked.
TEST(ConnectionTable, LetsADeviceInWhileStrangersHoldEveryPlace) {
  ConnectionTable table({.connections_max = 1'000, .per_address_max = 1'000, .grace = Millis(2'000)}, 1);
  for (int i = 0; i < 1'000; ++i) table.enter(address(1), kUntrusted, at(0));
  for (int second = 3; second < 60; ++second) {
    const EntryDecision device = table.enter(address(2), kUntrusted, at(second * 1'000));
    ASSERT_EQ(device.entry, Entry::let_in) << second;
    table.closed(*device.evicted);
    table.known(device.id);
    table.closed(device.id);
    table.enter(address(1), kUntrusted, at(second * 1'000));  // and the stranger is there again
  }
}

TEST(ConnectionTable, KeepsItsCountsWhateverComes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    ConnectionTable table({.connections_max = 40, .per_address_max = 9, .grace = Millis(50)}, seed);
    std::vector<ConnectionId> open;
    for (int step = 0; step < 3'000; ++step) {
      const uint64_t choice = prng.below(10);
      if (choice < 5) {
        const EntryDecision decision = table.enter(address(prng.below(8)), prng.below(4) == 0, at(step));
        if (decision.entry == Entry::let_in) open.push_back(decision.id);
      } else if (!open.empty()) {
        const size_t index = prng.below(open.size());
        if (choice < 8) {
          table.closed(open[index]);
          open.erase(open.begin() + static_cast<ptrdiff_t>(index));
        } else {
          table.known(open[index]);
        }
      }
      table.check();
      ASSERT_EQ(table.size(), open.size()) << seed;
    }
    for (const ConnectionId id : open) table.closed(id);
    table.check();
    EXPECT_EQ(table.size(), 0u);
  }
}

}  // namespace
}  // namespace coterie
