// What a job's stream says, piece by piece, without a server.
#include "fl_server/events/job_event_stream.h"

#include <gmock/gmock.h>

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::Not;

const JobId kJob("j1");
const std::string kEpoch = "00000000000000aa";

event::RoundName round_name(uint64_t number) { return {.key = {RoundId(number), Attempt(1)}, .number = number}; }

class JobStream : public ::testing::Test {
 protected:
  JobEventStream open(std::optional<EventId> read, bool is_known = false) {
    return JobEventStream(hub_, {.of = OfJob{.job = kJob, .is_known = is_known}, .read = std::move(read)},
                          [this] { return now_; });
  }
  static JobNow collecting(uint64_t accepted) {
    RoundRecord round;
    round.key = {RoundId(9), Attempt(1)};
    round.number = 9;
    round.state = RoundState::collecting;
    return {.round = round, .accepted = accepted, .selected = 4, .waiting = 2};
  }
  std::string id(uint64_t seq) const { return "id: " + kEpoch + "-" + std::to_string(seq) + "\n"; }

  EventHub hub_{kEpoch, {.events_max = 1'000}};
  std::optional<JobNow> now_ = collecting(0);
};

TEST_F(JobStream, BeginsWithWhereTheRoundStands) {
  hub_.add(kJob, event::RoundOpened{round_name(9)});
  JobEventStream stream = open({});
  EXPECT_EQ(*stream.next(), id(1) +
                                "event: round\ndata: {\"accepted\":0,\"attempt\":1,\"job\":\"j1\",\"round\":9,"
                                "\"selected\":4,\"state\":\"collecting\",\"waiting\":2}\n\n");
  EXPECT_EQ(*stream.next(), "") << "nothing has changed";
}

TEST_F(JobStream, TellsEachEventOnceAndThenWhatHasChanged) {
  JobEventStream stream = open({});
  (void)stream.next();
  hub_.add(kJob, event::UpdatesAccepted{round_name(9), 3});
  hub_.add(kJob, event::RoundFrozen{round_name(9)});
  now_ = collecting(3);
  const std::string events = *stream.next();
  EXPECT_THAT(events, HasSubstr(id(1) + "event: updates_accepted\n"));
  EXPECT_THAT(events, HasSubstr(id(2) + "event: round_frozen\n"));
  const size_t now = events.find(id(2) + "event: round\ndata: {\"accepted\":3");
  ASSERT_NE(now, std::string::npos) << events;
  EXPECT_GT(now, events.find("event: round_frozen\n")) << "behind the events that led there";
  EXPECT_EQ(*stream.next(), "");
}

TEST_F(JobStream, GoesOnBehindTheLastEventId) {
  for (uint64_t i = 1; i <= 5; ++i) hub_.add(kJob, event::RoundDone{.round = round_name(i)});
  JobEventStream stream = open(EventId{kEpoch, 3});
  const std::string events = *stream.next();
  EXPECT_THAT(events, Not(HasSubstr(id(3))));
  EXPECT_THAT(events, HasSubstr(id(4)));
  EXPECT_THAT(events, HasSubstr(id(5)));
  EXPECT_THAT(events, Not(HasSubstr("events_missed")));
}

TEST_F(JobStream, TellsAReaderOfAnotherLifeThatItMissedEventsAndWhereTheRoundStands) {
  hub_.add(kJob, event::RoundOpened{round_name(9)});
  JobEventStream stream = open(EventId{"00000000000000bb", 1});
  EXPECT_THAT(*stream.next(), testing::StartsWith(id(1) + "event: events_missed\ndata: {\"job\":\"j1\"}\n\n" + id(1) +
                                                  "event: round\n"));
  EXPECT_EQ(*stream.next(), "");
}

// The log is the buffer: whoever reads slowly gets pieces of a size that is known, or hears that it was too slow.
TEST_F(JobStream, TellsASlowReaderThatItMissedEventsAndNeverHasMuchInMemory) {
  JobEventStream stream = open({});
  (void)stream.next();
  for (uint64_t i = 1; i <= 900; ++i) hub_.add(kJob, event::UpdatesAccepted{round_name(9), i});
  size_t largest = 0;
  size_t events = 0;
  for (std::string piece = *stream.next(); piece.find("event: updates") != std::string::npos; piece = *stream.next()) {
    largest = std::max(largest, piece.size());
    for (size_t at = piece.find("event: "); at != std::string::npos; at = piece.find("event: ", at + 1)) ++events;
  }
  EXPECT_EQ(events, 900u);
  EXPECT_LT(largest, 32u * 1024);
  for (uint64_t i = 1; i <= 5'000; ++i) hub_.add(kJob, event::UpdatesAccepted{round_name(9), i});
  const std::string piece = *stream.next();
  EXPECT_THAT(piece, HasSubstr(id(5'900) + "event: events_missed\n"));
  EXPECT_THAT(piece, HasSubstr("event: round\n")) << "also if nothing has changed in it since it was told last";
  EXPECT_EQ(*stream.next(), "");
}

TEST_F(JobStream, EndsWhenTheSchedulerHasTheJobNoMoreAndAllIsTold) {
  JobEventStream stream = open({});
  int woken = 0;
  stream.when_ready([&] { ++woken; });
  (void)stream.next();
  now_.reset();
  hub_.add(kJob, event::JobCompleted{9});
  EXPECT_EQ(woken, 1);
  const std::string end = *stream.next();
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(stream.has_more()) << "the end is left to tell";
  EXPECT_THAT(end, HasSubstr("event: job_completed\n"));
  EXPECT_THAT(end, testing::EndsWith(id(1) + "event: over\ndata: {\"job\":\"j1\"}\n\n"));
  EXPECT_EQ(stream.next(), std::nullopt);
}

TEST_F(JobStream, WaitsForTheSchedulerToHearOfAJobThatIsNew) {
  now_.reset();
  JobEventStream stream = open({});
  EXPECT_EQ(*stream.next(), "");
  now_ = collecting(0);
  EXPECT_THAT(*stream.next(), HasSubstr("event: round\n"));
}

TEST_F(JobStream, OfAJobThatIsOverTellsWhatTheReaderLacksAndEnds) {
  now_.reset();
  hub_.add(kJob, event::JobCompleted{9});
  JobEventStream stream = open(EventId{kEpoch, 0}, true);
  EXPECT_THAT(*stream.next(), testing::AllOf(HasSubstr("event: job_completed\n"), HasSubstr("event: over\n")));
  JobEventStream fresh = open({}, true);
  EXPECT_THAT(*fresh.next(), HasSubstr("event: over\n"));
}

TEST_F(JobStream, IsWokenByWhatHappens) {
  JobEventStream stream = open({});
  int woken = 0;
  stream.when_ready([&] { ++woken; });
  hub_.add(kJob, event::RoundFrozen{round_name(9)});
  hub_.changed();
  EXPECT_EQ(woken, 2);
}

TEST_F(JobStream, HasMoreUntilAllIsTold) {
  for (size_t i = 0; i < EventPieces::kEventsPerPiece + 1; ++i) hub_.add(kJob, event::RoundFrozen{round_name(9)});
  JobEventStream stream = open(EventId{kEpoch, 0});
  EXPECT_FALSE(stream.has_more());
  EXPECT_THAT(*stream.next(), Not(HasSubstr("event: round\n"))) << "not before all that led there";
  EXPECT_TRUE(stream.has_more());
  EXPECT_THAT(*stream.next(), HasSubstr("event: round\n"));
  EXPECT_FALSE(stream.has_more());
}

}  // namespace
}  // namespace coterie
