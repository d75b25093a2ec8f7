#include "fl_server/tracing/round_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace coterie {
namespace {

using testing::ElementsAre;

WallTime at(int64_t ms) { return wall_time_from_unix_ms(1'750'000'000'000 + ms); }

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
    EXPECT_EQ(spans[place].begin, at(begin)) << said;
    EXPECT_EQ(spans[place].end, at(end)) << said;
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
  EXPECT_EQ(spans[2].moments[1].time, at(20));
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
  EXPECT_EQ(spans[2].end, at(9));
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
