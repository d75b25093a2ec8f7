// How streams of events that end are gone on with, against a server by script.
#include "tools/admin/follow_events.h"

#include <gmock/gmock.h>

#include <deque>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string event(const std::string& id, const std::string& kind) {
  return "id: " + id + "\nevent: " + kind + "\ndata: {}\n\n";
}

class FollowEvents : public testing::Test {
 protected:
  // One stream: what comes, and how it ends.
  struct Stream {
    std::vector<std::string> pieces;
    Status end = {};
  };

  Status follow() {
    const EventsFrom from{.read = [this](const std::string& id, const auto& sink) { return read(id, sink); },
                          .wait = [this](Millis time) -> Status {
                            waits_.push_back(time);
                            now_ += time;
                            return streams_.empty() ? Status(Error(ErrorCode::cancelled, "the script is over"))
                                                    : Status();
                          },
                          .now = [this] { return now_; }};
    return follow_events(from, [this](const std::vector<SentEvent>& events) { return tell(events); });
  }
  Status read(const std::string& last_id, const std::function<Status(ByteView)>& sink) {
    asked_.push_back(last_id);
    const Stream stream = streams_.front();
    streams_.pop_front();
    for (const std::string& piece : stream.pieces) COT_TRY(sink(as_bytes(piece)));
    return stream.end;
  }
  Result<bool> tell(const std::vector<SentEvent>& events) {
    if (events.empty()) told_.push_back("-");
    for (const SentEvent& event : events) told_.push_back(event.kind);
    if (!answers_.empty()) {
      const Status answer = answers_.front();
      answers_.pop_front();
      if (!answer) return answer.error();
    }
    return !events.empty() && events.back().kind == "over";
  }

  std::deque<Stream> streams_;
  std::deque<Status> answers_;  // to what is told, in order; then all is fine
  Instant now_{};
  std::vector<std::string> asked_, told_;
  std::vector<Millis> waits_;
};

TEST_F(FollowEvents, EndsWhenItIsToldThatItIsOver) {
  streams_ = {{{event("e-1", "round"), ": beat\n\n", event("e-2", "over"), event("e-3", "late")}}};
  EXPECT_OK(follow());
  EXPECT_THAT(told_, ElementsAre("round", "-", "over"));
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(FollowEvents, GoesOnBehindTheLastEventThatCameWhole) {
  const Error lost(ErrorCode::unavailable, "the connection is lost");
  streams_ = {{{event("e-1", "round"), "id: e-2\nevent: round_done\n"}, lost},
              {{}, Error(ErrorCode::timed_out, "silence")},
              {{event("e-2", "round_done")}},
              {{"id: e-5\n\n"}},
              {{event("f-9", "over")}}};
  EXPECT_OK(follow());
  EXPECT_THAT(asked_, ElementsAre("", "e-1", "e-1", "e-2", "e-5"));
  EXPECT_THAT(told_, ElementsAre("round", "-", "round_done", "-", "over"));
  EXPECT_THAT(waits_, testing::Each(kStreamAgainAfter));
}

TEST_F(FollowEvents, TellsAgainWhatCouldNotBeTaken) {
  streams_ = {{{event("e-1", "round"), event("e-2", "round_done")}},
              {{event("e-2", "round_done"), event("e-3", "over")}}};
  answers_ = {Status(), Error(ErrorCode::unavailable, "nobody leads")};
  EXPECT_OK(follow());
  EXPECT_THAT(asked_, ElementsAre("", "e-1"));
  EXPECT_THAT(told_, ElementsAre("round", "round_done", "round_done", "over"));
}

TEST_F(FollowEvents, EndsWithAnErrorThatWillNotPass) {
  streams_ = {{{}, Error(ErrorCode::not_found, "no such job")}};
  EXPECT_ERROR(follow(), ErrorCode::not_found, "no such job");
  streams_ = {{{event("e-1", "round")}}};
  answers_ = {Error(ErrorCode::timed_out, "nothing has changed for ten minutes")};
  EXPECT_ERROR(follow(), ErrorCode::timed_out, "ten minutes") << "of whoever is told, not of the stream";
  streams_ = {{{"id: \t\n"}}};
  EXPECT_ERROR(follow(), ErrorCode::malformed, "printable");
  EXPECT_THAT(waits_, IsEmpty());
}

TEST_F(FollowEvents, GivesUpWhenTheServerIsAwayForTooLong) {
  const Stream nobody{{}, Error(ErrorCode::unavailable, "cannot connect")};
  const auto tries = static_cast<size_t>(kUnreachableMax / kStreamAgainAfter);
  streams_ = {{{event("e-1", "round")}}};
  streams_.insert(streams_.end(), tries + 10, nobody);
  EXPECT_ERROR(follow(), ErrorCode::unavailable, "cannot connect");
  EXPECT_EQ(asked_.size(), 1 + tries + 1);
  // A sign of life begins the time anew.
  asked_.clear();
  streams_.assign(tries - 1, nobody);
  streams_.push_back({{": beat\n\n"}});
  streams_.insert(streams_.end(), tries - 1, nobody);
  streams_.push_back({{event("e-2", "over")}});
  EXPECT_OK(follow());
}

TEST_F(FollowEvents, HasWhoeverListensLookWhereTheServerHasNoStreamLeft) {
  const Stream full{{}, Error(ErrorCode::rate_limited, "there are 16 streams")};
  streams_ = {full, full, {{event("e-1", "over")}}};
  EXPECT_OK(follow());
  EXPECT_THAT(told_, ElementsAre(kEventsMissed, kEventsMissed, "over"));
  EXPECT_THAT(waits_, testing::Each(kStreamRefusedFor));
}

TEST_F(FollowEvents, EndsWhenTheWaitIsInterrupted) {
  streams_ = {{{event("e-1", "round")}}};
  EXPECT_ERROR(follow(), ErrorCode::cancelled, "the script is over");
}

}  // namespace
}  // namespace coterie
