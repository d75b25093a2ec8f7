#include "vertical/psi/ring_matching.h"

#include <set>
#include <span>

#include "tests/unit/vertical/ring_net.h"

namespace coterie {
namespace {

using namespace test;
using vertical::PsiKind;

using Sets = std::vector<std::vector<std::string>>;

// Ids of which party i misses each one that i + 2 divides, in an order of its own.
Sets some_sets(size_t parties, uint32_t count) {
  Sets sets(parties);
  const std::vector<std::string> all = numbered_ids(count);
  for (size_t i = 0; i < parties; ++i) {
    for (uint32_t id = 0; id < count; ++id) {
      if (id % (i + 2) != 0) sets[i].push_back(all[id]);
    }
    sets[i].push_back("only of " + std::to_string(i));
    std::mt19937 random(static_cast<uint32_t>(i));
    std::ranges::shuffle(sets[i], random);
  }
  return sets;
}

std::set<std::string> shared_by_all(const Sets& sets) {
  std::set<std::string> shared(sets[0].begin(), sets[0].end());
  for (const auto& set : sets) {
    const std::set<std::string> theirs(set.begin(), set.end());
    std::erase_if(shared, [&](const std::string& id) { return !theirs.contains(id); });
  }
  return shared;
}

void expect_matched(const RingNet& net, const Sets& sets) {
  const std::set<std::string> shared = shared_by_all(sets);
  std::vector<std::string> first;
  for (const uint32_t row : net.parties[0]->matched_rows()) first.push_back(sets[0][row]);
  EXPECT_EQ(std::set<std::string>(first.begin(), first.end()), shared);
  EXPECT_EQ(first.size(), shared.size());
  for (size_t party = 1; party < sets.size(); ++party) {
    std::vector<std::string> theirs;
    for (const uint32_t row : net.parties[party]->matched_rows()) theirs.push_back(sets[party][row]);
    EXPECT_EQ(theirs, first) << "party " << party;
    EXPECT_EQ(net.parties[party]->outcome(), net.parties[0]->outcome());
    for (size_t other = 0; other < sets.size(); ++other) {
      EXPECT_EQ(net.parties[party]->items()[other], sets[other].size());
    }
  }
}

TEST(RingMatching, FindsWhomAllHaveInOneOrder) {
  for (const size_t parties : {3, 4, 5, 8}) {
    for (const uint64_t bucket_items : {uint64_t{1} << 16, uint64_t{40}}) {
      const Sets sets = some_sets(parties, 120);
      RingNet net(sets, psi_settings(bucket_items));
      const Status status = net.run(static_cast<uint32_t>(parties));
      ASSERT_TRUE(status) << status.error().message();
      expect_matched(net, sets);
    }
  }
}

TEST(RingMatching, TakesEmptySetsAndOneSharedId) {
  const Sets empty = {{"a", "b"}, {}, {"b"}};
  RingNet none(empty, psi_settings());
  ASSERT_TRUE(none.run());
  expect_matched(none, empty);
  const Sets one = {{"a", "b"}, {"b", "c"}, {"c", "b", "a"}};
  RingNet net(one, psi_settings());
  ASSERT_TRUE(net.run());
  expect_matched(net, one);
}

TEST(RingMatching, RepeatsItsBytesWhateverTheOrderOfDelivery) {
  const Sets sets = some_sets(3, 60);
  RingNet one(sets, psi_settings(20)), other(sets, psi_settings(20));
  ASSERT_TRUE(one.run(1));
  ASSERT_TRUE(other.run(2));
  const auto said = [](const RingNet& net) {
    std::map<std::pair<PartyIndex, PartyIndex>, std::vector<std::vector<uint8_t>>> by_wire;
    for (const auto& [from, message] : net.transcript) by_wire[{from, message.peer}].push_back(message.payload);
    return by_wire;
  };
  EXPECT_EQ(said(one), said(other));
}

// Nobody but the matcher may hold two lists under the same keys, and nobody any list twice.
TEST(RingMatching, ShowsNoPartyTwoListsThatCompare) {
  const size_t parties = 4;
  std::vector<std::vector<std::string>> sets(parties, numbered_ids(30));
  RingNet net(sets, psi_settings());
  ASSERT_TRUE(net.run());
  std::map<PartyIndex, std::vector<std::vector<uint8_t>>> seen;  // elements
  for (const auto& [from, message] : net.transcript) {
    const auto kind = static_cast<PsiKind>(message.kind);
    const bool to_matcher = message.peer == kMatcher;
    EXPECT_EQ(to_matcher, kind == PsiKind::desk || kind == PsiKind::tags);
    if (kind == PsiKind::masked) EXPECT_EQ(message.peer, (from + 1) % parties);
    if (kind == PsiKind::matches && from != kMatcher) EXPECT_EQ(message.peer, (from + parties - 1) % parties);
    if (kind != PsiKind::masked) continue;
    for (size_t at = 12; at < message.payload.size(); at += 32) {
      seen[message.peer].emplace_back(message.payload.begin() + static_cast<std::ptrdiff_t>(at),
                                      message.payload.begin() + static_cast<std::ptrdiff_t>(at + 32));
    }
  }
  for (const auto& [party, elements] : seen) {
    EXPECT_EQ(elements.size(), 30 * (parties - 1));
    // All parties have the same ids: under the same keys they would be the same elements.
    EXPECT_EQ(std::set<std::vector<uint8_t>>(elements.begin(), elements.end()).size(), elements.size());
  }
}

Error error_of(const Sets& sets, const std::function<void(PartyIndex, Message&)>& meddle,
               const vertical::PsiSettings& settings = psi_settings()) {
  RingNet net(sets, settings);
  net.meddle = meddle;
  const Status status = net.run();
  EXPECT_FALSE(status);
  return status ? Error(ErrorCode::internal, "nobody noticed") : status.error();
}

TEST(RingMatching, NoticesMatchesThatTheMatcherInvents) {
  // Everybody has ten of its own: a matcher that says they are the same must name different tags as one.
  Sets sets(3);
  for (size_t i = 0; i < 3; ++i) {
    for (int id = 0; id < 10; ++id) sets[i].push_back(std::to_string(i) + "/" + std::to_string(id));
  }
  RingNet net(sets, psi_settings());
  // The matcher knows the tags, so that it names a place in each list that is the first in the order of tags.
  net.meddle = [](PartyIndex from, Message& message) {
    if (from != kMatcher) return;
    vertical::SliceWriter writer(PsiKind::matches, 0, 1, 4);
    message = writer.next(message.peer, [](uint32_t, std::span<uint8_t> bytes) { vertical::write_u32(bytes, 3); });
  };
  const Status status = net.run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().reason(), "matches_differ");
}

TEST(RingMatching, NoticesPlacesOutOfOrderAndOutOfTheList) {
  const Sets sets(3, numbered_ids(20));
  const auto with_places = [](uint32_t first, uint32_t second) {
    return [=](PartyIndex from, Message& message) {
      if (from != kMatcher) return;
      vertical::write_u32(std::span(message.payload).subspan(12), first);
      vertical::write_u32(std::span(message.payload).subspan(16), second);
    };
  };
  EXPECT_EQ(error_of(sets, with_places(0, 0)).code(), ErrorCode::malformed);
  EXPECT_EQ(error_of(sets, with_places(20, 1)).code(), ErrorCode::malformed);
  const Error turned = error_of(sets, [](PartyIndex from, Message& message) {
    if (from != kMatcher) return;
    const auto bytes = std::span(message.payload).subspan(12);
    std::ranges::swap_ranges(bytes.first(4), bytes.subspan(4, 4));
  });
  EXPECT_NE(turned.message().find("order of their tags"), std::string::npos);
}

// What the document says is not noticed: the matcher leaves the same matches out for everybody.
TEST(RingMatching, DoesNotNoticeMatchesThatAreLeftOut) {
  const Sets sets(3, numbered_ids(20));
  RingNet net(sets, psi_settings());
  net.meddle = [](PartyIndex from, Message& message) {
    if (from != kMatcher) return;
    message.payload.resize(12 + 4 * 15);
    vertical::write_u32(std::span(message.payload).subspan(4), 15);
  };
  ASSERT_TRUE(net.run());
  EXPECT_EQ(net.parties[0]->matched_rows().size(), 15u);
}

TEST(RingMatching, RefusesWhatIsNoElementOfTheGroup) {
  const Sets sets(3, numbered_ids(20));
  const Error error = error_of(sets, [](PartyIndex from, Message& message) {
    if (from == 1 && message.kind == static_cast<uint16_t>(PsiKind::masked)) {
      std::ranges::fill(std::span(message.payload).subspan(12 + 32 * 7, 32), 0xff);
    }
  });
  EXPECT_NE(error.message().find("bucket 0, entry 7"), std::string::npos) << error.message();
}

TEST(RingMatching, RefusesWrongCounts) {
  const Sets sets(3, numbered_ids(20));
  // Fewer than the party said that it has, to the matcher, too.
  const Error fewer = error_of(sets, [](PartyIndex from, Message& message) {
    if (from == 2 && message.kind == static_cast<uint16_t>(PsiKind::hello)) message.payload[4] = 21;
    if (from == 2 && message.kind == static_cast<uint16_t>(PsiKind::desk)) message.payload[16] = 21;
  });
  EXPECT_NE(fewer.message().find("21 ids, 20 came"), std::string::npos) << fewer.message();
  // More: the whole list is refused before any of it is multiplied.
  const Error more = error_of(sets, [](PartyIndex from, Message& message) {
    if (from == 2 && message.kind == static_cast<uint16_t>(PsiKind::hello)) message.payload[4] = 19;
  });
  EXPECT_EQ(more.code(), ErrorCode::too_large);
  // A party that hides places on the way back.
  const Error hidden = error_of(sets, [](PartyIndex from, Message& message) {
    if (from != 1 || message.kind != static_cast<uint16_t>(PsiKind::matches)) return;
    message.payload.resize(12 + 4 * 19);
    vertical::write_u32(std::span(message.payload).subspan(4), 19);
  });
  EXPECT_NE(hidden.message().find("gives 19 places back"), std::string::npos) << hidden.message();
}

TEST(RingMatching, RefusesOtherSettingsSmallIntersectionsAndOddRings) {
  const Sets sets = {{"a", "b"}, {"b", "c"}, {"b"}};
  vertical::PsiSettings settings = psi_settings();
  settings.intersection_min = 2;
  uint32_t given_back = 0;
  const Error small = error_of(
      sets,
      [&](PartyIndex from, Message& message) {
        given_back += from != kMatcher && message.kind == static_cast<uint16_t>(PsiKind::matches) ? 1 : 0;
      },
      settings);
  EXPECT_EQ(small.code(), ErrorCode::refused);
  EXPECT_EQ(given_back, 0u) << "nobody learns which of its people the few are";
  const Error other = error_of(sets, [](PartyIndex from, Message& message) {
    if (from == 1 && message.kind == static_cast<uint16_t>(PsiKind::hello)) message.payload[20] ^= 1;
  });
  EXPECT_EQ(other.code(), ErrorCode::conflict);
  const auto start = [](PartyIndex self, uint32_t parties) {
    return vertical::start_ring_matching(*vertical::IdSet::make({"a"}, vertical::Duplicates::refuse), psi_settings(),
                                         self, parties, psi_seed(1));
  };
  EXPECT_FALSE(start(0, 2));
  EXPECT_FALSE(start(0, 9));
  EXPECT_FALSE(start(3, 3));
  EXPECT_TRUE(start(2, 3));
}

}  // namespace
}  // namespace coterie
