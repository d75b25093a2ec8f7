#include "fl_server/tracing/round_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace coterie {
namespace {

using testing::ElementsAre;

WallTime at(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }
Micros micros_at(int64_t ms) { return since_1970(at(ms)); }

event::RoundName name(uint64_t id, uint32_t attempt = 1) {
  return {.key = {RoundId(id), Attempt(attempt)}, .number = id + 100};
}

class RoundSpansTest : public testing::Test {
 protected:
  std::vector<Span> tell(int64_t ms, event::What what) {
    return spans_.take(
        {.seq = ++seq_, .time = at(ms), .job = JobId("digits"), .what = std::move(what), .tenant = "bank"});
  }
  uint64_t seq_ = 0;
  RoundSpans spans_{"life"};
};

TEST_F(RoundSpansTest, AnAttemptIsARootWithItsPhases) {
  EXPECT_TRUE(tell(0, event::RoundOpened{name(1)}).empty());
  EXPECT_TRUE(tell(10, event::RoundCollecting{name(1)}).empty());
  EXPECT_TRUE(tell(15, event::UpdatesAccepted{name(1), 3}).empty());
  EXPECT_TRUE(tell(20, event::RoundExtended{name(1)}).empty());
  EXPECT_TRUE(tell(30, event::RoundFrozen{name(1)}).empty());
  EXPECT_TRUE(tell(31, event::RoundFinalizing{name(1)}).empty());
  const std::vector<Span> spans =
      tell(40, event::RoundDone{.round = name(1), .updates = 3, .version = ModelVersion(7), .evaluation_loss = 0.5});
  ASSERT_EQ(spans.size(), 4u);
  const auto expect = [&](size_t place, const char* said, int64_t begin, int64_t end) {
    EXPECT_EQ(spans[place].name, said);
    EXPECT_EQ(spans[place].begin, micros_at(begin)) << said;
    EXPECT_EQ(spans[place].end, micros_at(end)) << said;
    EXPECT_EQ(spans[place].trace, spans[0].trace);
    EXPECT_EQ(spans[place].parent, place == 0 ? std::nullopt : std::optional(spans[0].id));
  };
  expect(0, "round", 0, 40);
  expect(1, "selecting", 0, 10);
  expect(2, "collecting", 10, 30);
  expect(3, "finalizing", 30, 40);
  EXPECT_THAT(spans[0].attributes,
              ElementsAre(Attribute("coterie.job", "digits"), Attribute("coterie.round", int64_t{101}),
                          Attribute("coterie.attempt", int64_t{1}), Attribute("coterie.tenant", "bank"),
                          Attribute("coterie.updates", int64_t{3}), Attribute("coterie.model_version", int64_t{7}),
                          Attribute("coterie.evaluation_loss", 0.5)));
  ASSERT_EQ(spans[2].moments.size(), 2u);
  EXPECT_EQ(spans[2].moments[0].name, "updates accepted");
  EXPECT_THAT(spans[2].moments[0].attributes, ElementsAre(Attribute("coterie.updates", int64_t{3})));
  EXPECT_EQ(spans[2].moments[1].time, micros_at(20));
  EXPECT_FALSE(spans[0].error);
  EXPECT_EQ(spans_.under_way(), 0u);
}

TEST_F(RoundSpansTest, AFailureHasItsReasonAndEndsThePhaseThatItCameIn) {
  tell(0, event::RoundOpened{name(1)});
  tell(5, event::RoundCollecting{name(1)});
  tell(6, event::RoundOpened{name(2)});
  const std::vector<Span> spans = tell(9, event::RoundFailed{name(1), "too few updates"});
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].error, "too few updates");
  EXPECT_EQ(spans[2].name, "collecting");
  EXPECT_EQ(spans[2].end, micros_at(9));
  EXPECT_EQ(spans_.under_way(), 1u);
  EXPECT_TRUE(tell(10, event::RoundFailed{name(1), "again"}).empty()) << "it is told once";
}

TEST_F(RoundSpansTest, NothingIsToldOfAnAttemptThatBeganBefore) {
  tell(0, event::RoundCollecting{name(1)});
  tell(1, event::UpdatesAccepted{name(1), 1});
  EXPECT_TRUE(tell(2, event::RoundDone{.round = name(1)}).empty());
  EXPECT_TRUE(tell(3, event::JobCompleted{9}).empty());
}

TEST_F(RoundSpansTest, IdsDifferByAttemptAndByLife) {
  std::set<TraceId> traces;
  std::set<SpanId> ids;
  size_t count = 0;
  for (const char* const life : {"one", "other"}) {
    spans_ = RoundSpans(life);
    for (const uint32_t attempt : {1u, 2u}) {
      tell(0, event::RoundOpened{name(1, attempt)});
      for (const Span& span : tell(1, event::RoundDone{.round = name(1, attempt)})) {
        traces.insert(span.trace);
        ids.insert(span.id);
        ++count;
      }
    }
  }
  EXPECT_EQ(traces.size(), 4u);
  EXPECT_EQ(ids.size(), count);
}

TEST_F(RoundSpansTest, CallsOfStoresAreBelowThePhaseInWhichTheyBegan) {
  const auto call = [&](const char* what, int64_t began_us) {
    return spans_.take_call(name(1).key, {what, micros_at(0) + Micros(began_us), Micros(250)});
  };
  EXPECT_TRUE(call("open round", -300).empty()) << "nobody has heard of its attempt";
  tell(0, event::RoundOpened{name(1)});
  EXPECT_TRUE(call("open round", -300).empty());
  tell(10, event::RoundCollecting{name(1)});
  EXPECT_TRUE(call("write partial sum", 10'100).empty());
  const std::vector<Span> spans = tell(40, event::RoundDone{.round = name(1)});
  ASSERT_EQ(spans.size(), 5u);
  EXPECT_EQ(spans[0].attributes.back(), Attribute("coterie.calls", int64_t{2}));
  EXPECT_EQ(spans[3].name, "open round");
  EXPECT_EQ(spans[3].parent, spans[0].id) << "it began before the first phase";
  EXPECT_EQ(spans[4].parent, spans[2].id);
  EXPECT_EQ(spans[4].begin, micros_at(0) + Micros(10'100));
  EXPECT_EQ(spans[4].end, micros_at(0) + Micros(10'350));
  EXPECT_EQ(spans[4].trace, spans[0].trace);
  EXPECT_NE(spans[4].id, spans[3].id);
  const std::vector<Span> late = call("commit round", 39'000);
  ASSERT_EQ(late.size(), 1u) << "it returns after the event that says so";
  EXPECT_EQ(late[0].trace, spans[0].trace);
  EXPECT_EQ(late[0].parent, spans[2].id);
}

TEST_F(RoundSpansTest, ACallIsBelowNoPhaseThatBeganWhenItHadReturned) {
  tell(0, event::RoundOpened{name(1)});
  tell(10, event::RoundCollecting{name(1)});
  spans_.take_call(name(1).key, {"accept batch", micros_at(20) + Micros(400), Micros(100)});
  tell(20, event::RoundFrozen{name(1)});  // at 20.6 ms
  spans_.take_call(name(1).key, {"write blob", micros_at(20) + Micros(700), Micros(50)});
  const std::vector<Span> spans = tell(40, event::RoundDone{.round = name(1)});
  ASSERT_EQ(spans.size(), 6u);
  EXPECT_EQ(spans[4].parent, spans[2].id);
  EXPECT_EQ(spans[5].parent, spans[3].id);
}

TEST_F(RoundSpansTest, KeepsTheLongestCallsAndCountsAll) {
  tell(0, event::RoundOpened{name(1)});
  for (int64_t took = 1; took <= 1'000; ++took)
    spans_.take_call(name(1).key, {"accept batch", micros_at(1), Micros(took)});
  const std::vector<Span> spans = tell(9, event::RoundDone{.round = name(1)});
  ASSERT_EQ(spans.size(), 2 + RoundSpans::kCallsMax);
  for (size_t i = 2; i < spans.size(); ++i)
    EXPECT_GT(spans[i].end - spans[i].begin, Micros(1'000 - RoundSpans::kCallsMax));
  EXPECT_EQ(spans[0].attributes.back(), Attribute("coterie.calls", int64_t{1'000}));
  size_t late = 0;
  for (int i = 0; i < 1'000; ++i)
    late += spans_.take_call(name(1).key, {"accept batch", micros_at(8), Micros(1)}).size();
  EXPECT_EQ(late, RoundSpans::kLateCallsMax);
}

TEST_F(RoundSpansTest, ForgetsTheAttemptsThatEndedLongAgo) {
  for (uint64_t id = 1; id <= RoundSpans::kEndedMax + 1; ++id) {
    tell(0, event::RoundOpened{name(id)});
    tell(1, event::RoundDone{.round = name(id)});
  }
  EXPECT_TRUE(spans_.take_call(name(1).key, {"commit round", micros_at(0), Micros(1)}).empty());
  EXPECT_EQ(spans_.take_call(name(2).key, {"commit round", micros_at(0), Micros(1)}).size(), 1u);
}

TEST_F(RoundSpansTest, NoSpanEndsBeforeItBeginsThoughTheClockIsSetBack) {
  tell(100, event::RoundOpened{name(1)});
  tell(50, event::RoundCollecting{name(1)});
  for (const Span& span : tell(20, event::RoundDone{.round = name(1)})) EXPECT_GE(span.end, span.begin) << span.name;
}

TEST_F(RoundSpansTest, ForgetsTheOldestWhereTooManyAreUnderWayAndKeepsSoManyMoments) {
  for (uint64_t id = 1; id <= RoundSpans::kAttemptsMax + 5; ++id) tell(0, event::RoundOpened{name(id)});
  EXPECT_EQ(spans_.under_way(), RoundSpans::kAttemptsMax);
  EXPECT_TRUE(tell(1, event::RoundDone{.round = name(5)}).empty());
  tell(1, event::RoundCollecting{name(6)});
  for (uint64_t i = 1; i <= 1'000; ++i) tell(2, event::UpdatesAccepted{name(6), i});
  EXPECT_EQ(tell(3, event::RoundDone{.round = name(6)}).back().moments.size(), RoundSpans::kMomentsMax);
}

}  // namespace
}  // namespace coterie
