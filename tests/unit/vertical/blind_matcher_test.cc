// What the matcher of a ring takes and in which steps it compares; ring_matching_test.cc has it with its parties.
#include "vertical/psi/blind_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/matchers.h"

namespace coterie::vertical {
namespace {

using Tags = std::vector<uint32_t>;  // of which each stands for a tag
using Places = std::vector<uint32_t>;

constexpr uint32_t kTagBytes = 12;

// Big-endian, so that tags are in the order of their numbers.
Status tell_tags(BlindMatcher& matcher, PartyIndex party, uint32_t bucket, const Tags& tags) {
  SliceWriter writer(PsiKind::tags, bucket, static_cast<uint32_t>(tags.size()), kTagBytes);
  do {
    COT_TRY(matcher.receive(writer.next(party, [&](uint32_t entry, std::span<uint8_t> bytes) {
      for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(tags[entry] >> (24 - 8 * i));
    })));
  } while (!writer.done());
  return {};
}

void tell_desks(BlindMatcher& matcher, uint32_t buckets, uint64_t items_max) {
  for (PartyIndex party = 0; party < 3; ++party) {
    ASSERT_OK(matcher.receive(
        psi_message(party, PsiDesk{.parties = 3, .buckets = buckets, .tag_bytes = kTagBytes, .items_max = items_max})));
  }
}

// All that it says now.
std::vector<Places> answers(BlindMatcher& matcher) {
  std::vector<Places> places(3);
  while (const std::optional<Message> message = matcher.next()) {
    for (size_t at = 12; at < message->payload.size(); at += 4) {
      places[message->peer].push_back(read_u32(ByteView(message->payload).subspan(at)));
    }
  }
  return places;
}

TEST(BlindMatcher, RefusesWhatDoesNotFit) {
  const PsiDesk desk{.parties = 3, .buckets = 1, .tag_bytes = 12, .items_max = 10};
  const auto told = [](BlindMatcher& matcher, PartyIndex party, const PsiDesk& what) {
    return matcher.receive(psi_message(party, what));
  };
  BlindMatcher small(3, 29);
  const Status large = told(small, 0, desk);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().reason(), "bucket_too_large");
  BlindMatcher matcher(3, 30);
  EXPECT_TRUE(told(matcher, 0, desk));
  PsiDesk other = desk;
  other.items_max = 9;
  const Status differs = told(matcher, 1, other);
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().reason(), "desk_differs");
  BlindMatcher again(3, 30);
  other = desk;
  other.tag_bytes = 4;
  EXPECT_FALSE(told(again, 0, other));
  EXPECT_TRUE(told(again, 0, desk));
  // A desk that comes twice, and a stranger's.
  EXPECT_FALSE(told(again, 0, desk));
  EXPECT_FALSE(told(again, 3, desk));
}

// Each party has a connection of its own: what one said first may come last.
TEST(BlindMatcher, TakesTagsThatOvertakeAnotherPartysDesk) {
  const PsiDesk desk{.parties = 3, .buckets = 1, .tag_bytes = kTagBytes, .items_max = 10};
  BlindMatcher matcher(3, 1000);
  for (PartyIndex party = 0; party < 3; ++party) {
    EXPECT_FALSE(matcher.is_comparing());
    ASSERT_OK(matcher.receive(psi_message(party, desk)));
    ASSERT_OK(tell_tags(matcher, party, 0, {4, party + 10}));
  }
  ASSERT_OK(matcher.compare());
  EXPECT_EQ(answers(matcher), std::vector<Places>(3, Places{0}));
  // Desks that differ are found all the same.
  BlindMatcher other(3, 1000);
  ASSERT_OK(other.receive(psi_message(0, desk)));
  ASSERT_OK(tell_tags(other, 0, 0, {4}));
  PsiDesk larger = desk;
  larger.items_max = 11;
  EXPECT_ERROR(other.receive(psi_message(1, larger)), ErrorCode::refused, "different sizes");
}

TEST(BlindMatcher, RefusesATagThatComesTwice) {
  BlindMatcher matcher(3, 1000);
  tell_desks(matcher, 1, 10);
  for (PartyIndex party = 0; party < 3; ++party) {
    ASSERT_OK(tell_tags(matcher, party, 0, party == 2 ? Tags{9, 9} : Tags{0, 1}));
  }
  EXPECT_ERROR(matcher.compare(), ErrorCode::malformed, "party 2 sent one tag twice");
}

TEST(BlindMatcher, ComparesInStepsAndAnswersBehindTheLastOne) {
  constexpr size_t kStep = 10;
  BlindMatcher matcher(3, 1000, kStep);
  tell_desks(matcher, 2, 200);
  std::mt19937 random(1);
  for (uint32_t bucket = 0; bucket < 2; ++bucket) {
    // Each has 40 of its own, and all have 20 more.
    std::vector<Tags> lists(3);
    for (PartyIndex party = 0; party < 3; ++party) {
      for (uint32_t i = 0; i < 20; ++i) lists[party].push_back(i * 1'000);
      for (uint32_t i = 0; i < 40; ++i) lists[party].push_back(1 + party + i * 777);
      std::ranges::shuffle(lists[party], random);
      ASSERT_OK(tell_tags(matcher, party, bucket, lists[party]));
    }
    size_t steps = 0;
    while (matcher.is_comparing()) {
      EXPECT_FALSE(matcher.next()) << "nothing is said before all is compared";
      ASSERT_OK(matcher.compare());
      ++steps;
    }
    EXPECT_GE(steps, 180 / (kStep + 2)) << "a step looks at few of the 180 tags";
    const std::vector<Places> places = answers(matcher);
    for (PartyIndex party = 0; party < 3; ++party) {
      Tags matched;
      for (const uint32_t place : places[party]) matched.push_back(lists[party][place]);
      Tags expected;
      for (uint32_t i = 0; i < 20; ++i) expected.push_back(i * 1'000);
      EXPECT_EQ(matched, expected);
    }
  }
  EXPECT_TRUE(matcher.done());
}

// What comes of a party that does not wait for its answer is not compared before all have been told the last one.
TEST(BlindMatcher, ComparesNoBucketBeforeTheOneBeforeIsTold) {
  BlindMatcher matcher(3, 1000);
  tell_desks(matcher, 2, 10);
  for (PartyIndex party = 0; party < 3; ++party) ASSERT_OK(tell_tags(matcher, party, 0, {1, 2, 3}));
  ASSERT_OK(matcher.compare());
  for (PartyIndex party = 0; party < 3; ++party) ASSERT_OK(tell_tags(matcher, party, 1, {4}));
  EXPECT_FALSE(matcher.is_comparing());
  EXPECT_EQ(answers(matcher), std::vector<Places>(3, Places{0, 1, 2}));
  EXPECT_TRUE(matcher.is_comparing());
  ASSERT_OK(matcher.compare());
  EXPECT_EQ(answers(matcher), std::vector<Places>(3, Places{0}));
  EXPECT_TRUE(matcher.done());
}

TEST(SortedTags, AreReadAscendingWithTheirPlacesWhateverTheirRuns) {
  for (const size_t run : {size_t{1}, size_t{7}, size_t{100}, size_t{1'000}}) {
    std::vector<uint32_t> numbers(100);
    for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = (i * 37) % 101;
    SortedTags tags(run);
    for (const uint32_t number : numbers) tags.add(PsiTag{static_cast<uint8_t>(number)});
    tags.begin_reading();
    std::vector<uint32_t> read;
    for (; !tags.ended(); tags.advance()) {
      EXPECT_EQ(tags.head().tag[0], numbers[tags.head().place]);
      read.push_back(tags.head().tag[0]);
    }
    std::ranges::sort(numbers);
    EXPECT_EQ(read, numbers) << "runs of " << run;
  }
  SortedTags none;
  none.begin_reading();
  EXPECT_TRUE(none.ended());
}

}  // namespace
}  // namespace coterie::vertical
