#include "vertical/resume/run_position.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/matchers.h"

namespace coterie::vertical {
namespace {

Digest digest(uint8_t first) {
  Digest made;
  made.bytes[0] = first;
  return made;
}

RunPosition position() {
  return {.journal = digest(1), .matched = digest(2), .units = {{16, digest(3)}, {32, digest(4)}}};
}

RunPosition matching() { return {.journal = digest(1), .buckets = {{4, digest(5)}, {5, digest(6)}}}; }

TEST(RunPosition, TellsThePeerWhatItIs) {
  RunPosition later = position();
  later.is_trained = later.is_predicted = true;
  for (const RunPosition& said : {RunPosition{}, matching(), position(), later}) {
    PositionExchange one(said, 1), other(RunPosition{}, 0);
    const Message message = *one.next();
    EXPECT_FALSE(one.next());
    ASSERT_OK(other.receive(message));
    EXPECT_FALSE(other.done());
    ASSERT_OK(one.receive(*other.next()));
    EXPECT_TRUE(one.done() && other.done());
    EXPECT_EQ(other.peers(), said);
    EXPECT_ERROR(other.receive(message), ErrorCode::malformed, "resume");
  }
}

TEST(RunPosition, SeveralPartiesHaveWhatAllOfThemHave) {
  RunPosition behind = position();
  behind.units.pop_back();
  RunPosition done = position();
  done.is_trained = true;
  const std::vector<RunPosition> positions = {position(), behind, done};
  const Result<RunPosition> common = common_position(positions, digest(7));
  ASSERT_OK(common);
  behind.journal = digest(7);
  EXPECT_EQ(*common, behind);
  EXPECT_EQ(common_start(position(), *common, digest(7))->unit, 16u);
  const std::vector<RunPosition> fresh = {position(), RunPosition{.journal = digest(9)}};
  EXPECT_EQ(*common_position(fresh, digest(7)), RunPosition{.journal = digest(7)});
  RunPosition other = position();
  other.units[1].state = digest(5);
  const std::vector<RunPosition> trained_apart = {position(), other};
  EXPECT_ERROR(common_position(trained_apart, {}), ErrorCode::data_loss, "step 32");
  other = position();
  other.matched = digest(5);
  const std::vector<RunPosition> matched_apart = {position(), other};
  EXPECT_ERROR(common_position(matched_apart, {}), ErrorCode::data_loss, "matchings");
}

TEST(RunPosition, RefusesWhatDoesNotDecode) {
  const Message good = *PositionExchange(position(), 1).next();
  const auto refuse = [](const Message& message) {
    PositionExchange other(RunPosition{}, 0);
    EXPECT_ERROR(other.receive(message), ErrorCode::malformed, "resume");
  };
  for (size_t size = 0; size < good.payload.size(); ++size) {
    Message message = good;
    message.payload.resize(size);
    refuse(message);
  }
  for (const auto& [at, value] : {std::pair<size_t, uint8_t>(64, 2),
                                  {64, 0},
                                  {65, 2},
                                  {66, 9},
                                  {67, 1},
                                  {67, 3},
                                  {104, 16},
                                  {140, 1},
                                  {140, 3}}) {
    Message message = good;
    message.payload[at] = value;
    refuse(message);
  }
  Message other_kind = good;
  other_kind.kind = 1;
  refuse(other_kind);
}

TEST(RunPosition, GoesOnFromWhatBothHave) {
  const auto start = [](const RunPosition& own, const RunPosition& peers) { return common_start(own, peers, {}); };
  EXPECT_EQ(start(position(), position())->unit, 32u);
  RunPosition behind = position();
  behind.units.pop_back();
  EXPECT_EQ(start(position(), behind)->unit, 16u);
  EXPECT_EQ(start(behind, position())->unit, 16u);
  RunPosition ahead = position();
  ahead.units = {{32, digest(4)}, {48, digest(5)}};
  EXPECT_EQ(start(ahead, position())->unit, 32u);
  // Before the first point both begin the training.
  RunPosition first = behind, none = behind;
  none.units.clear();
  for (const auto& [own, peers] : {std::pair(first, none), {none, first}}) {
    EXPECT_EQ(start(own, peers)->unit, 0u);
    EXPECT_TRUE(start(own, peers)->is_matched);
  }

  RunPosition trained = position();
  trained.is_trained = trained.is_predicted = true;
  EXPECT_FALSE(start(trained, position())->is_trained) << "the other one still needs it";
  EXPECT_EQ(start(trained, position())->unit, 32u);
  EXPECT_TRUE(start(trained, trained)->is_predicted);
  // Within a matching, which one of them may have finished.
  RunPosition early = matching(), all_matched = matching();
  early.buckets.pop_back();
  all_matched.matched = digest(2);
  for (const auto& [own, peers, buckets] :
       {std::tuple(matching(), matching(), 5u), {matching(), early, 4u}, {early, all_matched, 4u}}) {
    EXPECT_EQ(start(own, peers)->buckets, buckets);
    EXPECT_FALSE(start(own, peers)->is_matched);
  }
  EXPECT_TRUE(start(all_matched, all_matched)->is_matched);
  // One that had not even matched durably begins; so does the other one.
  const RunPosition fresh{.journal = digest(1)}, matched{.journal = digest(1), .matched = digest(2)};
  const Result<RunStart> anew = start(matched, fresh);
  ASSERT_OK(anew);
  EXPECT_FALSE(anew->is_matched || anew->is_trained || anew->is_predicted);
  EXPECT_EQ(anew->unit, 0u);
}

TEST(RunPosition, GoesBackNoFartherThanAPartyWithItsJournalCanBe) {
  RunPosition none = position(), long_ago = position(), unmatched{.journal = digest(1)};
  none.units.clear();
  long_ago.units = {{4, digest(8)}, {8, digest(9)}};
  RunPosition bucket_long_ago = matching();
  bucket_long_ago.buckets = {{2, digest(8)}, {3, digest(9)}};
  EXPECT_EQ(common_start(matching(), bucket_long_ago, {}).error().reason(), "journal_differs");
  EXPECT_EQ(common_start(RunPosition{.journal = digest(1)}, matching(), {}).error().reason(), "journal_differs");
  for (const RunPosition& less : {none, long_ago, unmatched}) {
    EXPECT_EQ(common_start(position(), less, {}).error().reason(), "journal_differs");
    EXPECT_EQ(common_start(less, position(), {}).error().reason(), "journal_differs") << "both end by one name";
  }
}

TEST(RunPosition, RefusesAPeerThatIsAnotherOneThanBefore) {
  EXPECT_OK(common_start(position(), position(), digest(1)));
  const Result<RunStart> other = common_start(position(), position(), digest(9));
  EXPECT_ERROR(other, ErrorCode::refused, "begins anew");
  EXPECT_EQ(other.error().reason(), "journal_differs");
  RunPosition matched = position(), trained = position();
  matched.matched = digest(7);
  EXPECT_ERROR(common_start(position(), matched, {}), ErrorCode::data_loss, "matchings");
  trained.units[1].state = digest(7);
  EXPECT_ERROR(common_start(position(), trained, {}), ErrorCode::data_loss, "step 32");
  RunPosition bucket = matching();
  bucket.buckets[0].state = digest(7);
  EXPECT_ERROR(common_start(matching(), bucket, {}), ErrorCode::data_loss, "bucket 4");
}

TEST(Farewell, IsSaidAndHeardOnce) {
  Farewell one(1), other(0);
  ASSERT_OK(other.receive(*one.next()));
  EXPECT_FALSE(one.next() || one.done() || other.done());
  ASSERT_OK(one.receive(*other.next()));
  EXPECT_TRUE(one.done() && other.done());
  EXPECT_ERROR(one.receive({.peer = 1, .kind = 1, .payload = {}}), ErrorCode::malformed, "farewell");
  EXPECT_ERROR(Farewell(1).receive({.peer = 1, .kind = 1, .payload = {0}}), ErrorCode::malformed, "farewell");
}

}  // namespace
}  // namespace coterie::vertical
