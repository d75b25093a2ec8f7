// How often a device's update of one model is opened: counted before the shares can leave, over all jobs and attempts.
#include "device_sdk/client/openings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

using Phase = ParticipantPhase;
using testing::ElementsAre;

ParticipantPolicy opening_at_most(uint32_t openings_max) {
  ParticipantPolicy policy;
  policy.privacy.openings_max = openings_max;
  return policy;
}

Dialogue dialogue(SecurityLevel level = SecurityLevel::active, uint32_t openings_max = 1) {
  Dialogue d(1, opening_at_most(openings_max));
  if (level != SecurityLevel::none) d.privacy = rules_of(level);
  return d;
}

void open_a_sum(Dialogue& d) {
  d.reach(Phase::aggregating);
  d.tell(AggregationAnswered{AggregationStep::opens});
  ASSERT_TRUE(d.state().has_opened);
  d.tell(AggregationAnswered{AggregationStep::done});
}

// What the device says of the plan that it is assigned now; empty: it trains.
std::string reason(Dialogue& d) {
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  if (d.state().phase == Phase::planned) return "";
  EXPECT_EQ(d.machine->last_error()->code(), ErrorCode::refused);
  EXPECT_TRUE(d.machine->take_refused_plan()) << "the app hears of it";
  return std::string(d.machine->last_error()->reason());
}

TEST(ParticipantOpenings, OfOneModelIsOneOverAllJobsRoundsAndAttempts) {
  const std::function<void(Dialogue&)> again[] = {
      [](Dialogue& d) { d.round.attempt = Attempt(2); },
      [](Dialogue& d) { d.round.round = RoundId(6); },
      [](Dialogue& d) { d.job = JobId("other"); },
      [](Dialogue&) {},  // the very same, in other words
      [](Dialogue& d) { d.privacy = rules_of(SecurityLevel::active_dp); },
      [](Dialogue& d) { d.privacy.dropout_share = 0.2; },
  };
  for (size_t i = 0; i < std::size(again); ++i) {
    SCOPED_TRACE(i);
    Dialogue d = dialogue();
    open_a_sum(d);
    d.restart();
    again[i](d);
    EXPECT_EQ(reason(d), "openings");
    EXPECT_EQ(d.state().refusal->reason, "openings") << "the server hears of it";
    d.model = "the next";
    d.version = ModelVersion(5);
    EXPECT_EQ(reason(d), "");
  }
}

TEST(ParticipantOpenings, ASessionThatEndsBeforeTheSharesCostsNone) {
  Dialogue d = dialogue();
  for (uint32_t attempt = 1; attempt <= 4; ++attempt) {
    d.round.attempt = Attempt(attempt);
    d.reach(Phase::aggregating);
    d.tell(AggregationAnswered{AggregationStep::went_on});
    d.restart();
    d.tell(d.failed_answer(Error(ErrorCode::round_closed, "the attempt has failed")));
    EXPECT_FALSE(d.state().assignment);
    EXPECT_TRUE(d.state().openings.empty());
  }
  EXPECT_EQ(reason(d), "");
}

TEST(ParticipantOpenings, AreCountedOnceThroughCrashes) {
  for (uint32_t kills = 0; kills < 1u << 4; ++kills) {
    Dialogue d = dialogue();
    d.reach(Phase::aggregating);
    const AggregationStep steps[] = {AggregationStep::opens, AggregationStep::opens, AggregationStep::went_on,
                                     AggregationStep::done};
    for (int step = 0; step < 4; ++step) {
      if (kills >> step & 1) d.restart();
      ASSERT_TRUE(d.is_next<DoAggregate>()) << "the opening under way is judged as one that is counted";
      d.tell(AggregationAnswered{steps[step]});
    }
    EXPECT_THAT(d.state().openings, ElementsAre(ModelOpenings{content_digest(as_bytes(d.model)), 1}));
    EXPECT_EQ(d.state().rounds_done, 1u);
  }
}

TEST(ParticipantOpenings, StayCountedWhenTheSessionIsLostAfterwards) {
  Dialogue d = dialogue();
  d.reach(Phase::aggregating);
  d.tell(AggregationAnswered{AggregationStep::opens});
  d.tell(d.failed_answer(Error(ErrorCode::ticket_expired, "over")));
  EXPECT_FALSE(d.state().has_opened);
  EXPECT_EQ(reason(d), "openings");
}

TEST(ParticipantOpenings, AreAsManyAsThePolicySays) {
  Dialogue d = dialogue(SecurityLevel::active, 3);
  for (int i = 0; i < 3; ++i) open_a_sum(d);
  EXPECT_EQ(reason(d), "openings");
  EXPECT_THAT(d.machine->last_error()->message(),
              testing::HasSubstr("of this model 3 times, in any job, and it allows 3"));
}

TEST(ParticipantOpenings, AreJudgedAgainWhenTheAppHasAnotherPolicy) {
  Dialogue d = dialogue(SecurityLevel::active, 3);
  open_a_sum(d);
  d.reach(Phase::aggregating);
  d.policy.privacy.openings_max = 1;
  d.restart();
  EXPECT_FALSE(d.state().assignment);
  EXPECT_EQ(d.machine->last_error()->reason(), "openings");
}

// There is no sum to take apart: the server has the update, and has it again when it loses the first.
TEST(ParticipantOpenings, AtLevelNoneAnUpdateIsGivenAsOftenAsItIsAskedFor) {
  Dialogue d = dialogue(SecurityLevel::none);
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    d.round.attempt = Attempt(attempt);
    d.reach(Phase::trained);
    EXPECT_THAT(d.state().openings, ElementsAre(ModelOpenings{content_digest(as_bytes(d.model)), 0, true}))
        << "before it can leave";
    d.tell(d.good_answer());
  }
  // But who knows it could take it out of a sum.
  d.job = JobId("active");
  d.privacy = rules_of(SecurityLevel::active);
  EXPECT_EQ(reason(d), "openings");
}

// At masked a server that lies reads the update, whether or not a sum is opened.
TEST(ParticipantOpenings, AtLevelMaskedAttemptsGoOnAndActiveIsOver) {
  Dialogue d = dialogue(SecurityLevel::masked);
  d.reach(Phase::aggregating);
  d.tell(d.failed_answer(Error(ErrorCode::round_closed, "the attempt has failed")));
  EXPECT_EQ(reason(d), "");
  open_a_sum(d);
  EXPECT_THAT(d.state().openings, ElementsAre(ModelOpenings{content_digest(as_bytes(d.model)), 1, true}));
  EXPECT_EQ(reason(d), "openings");
  Dialogue failed = dialogue(SecurityLevel::masked);
  failed.reach(Phase::aggregating);
  failed.tell(failed.failed_answer(Error(ErrorCode::round_closed, "the attempt has failed")));
  failed.job = JobId("active");
  failed.privacy = rules_of(SecurityLevel::active);
  EXPECT_EQ(reason(failed), "openings");
}

TEST(ParticipantOpenings, WhatIsInASumIsNotGivenInTheClear) {
  Dialogue d = dialogue();
  open_a_sum(d);
  d.job = JobId("open");
  d.privacy = {};
  EXPECT_EQ(reason(d), "openings");
}

TEST(ParticipantOpenings, AreRememberedOfTheNewestModels) {
  ParticipantState state;
  Plan plan;
  plan.privacy = rules_of(SecurityLevel::active);
  const PrivacyPolicy policy = opening_at_most(1).privacy;
  const auto of_model = [](size_t number) {
    Assignment assignment;
    assignment.model = content_digest(as_bytes(std::to_string(number)));
    return assignment;
  };
  const auto may = [&](size_t number) { return check_openings(policy, plan, of_model(number), state).has_value(); };
  for (size_t number = 0; number < kOpeningsRememberedMax; ++number) {
    EXPECT_TRUE(may(number));
    count_opening(plan, of_model(number), state);
  }
  EXPECT_FALSE(may(0));
  count_opening(plan, of_model(0), state);  // under a policy that allows two
  EXPECT_EQ(state.openings.back().sums, 2u);
  for (size_t number = 0; number < 3; ++number) {
    count_opening(plan, of_model(1'000 + number), state);
    EXPECT_EQ(state.openings.size(), kOpeningsRememberedMax);
    EXPECT_FALSE(may(0)) << "the newest opening of a model counts";
    EXPECT_FALSE(may(1'000));
    EXPECT_TRUE(may(1 + number)) << "the oldest is forgotten";
    EXPECT_FALSE(may(2 + number)) << "and no other";
  }
}

// Number 3 is looked at.
AnalyticsRules ages() { return {.input_values = 8, .feature = 3, .edges = {1, 2, 3}}; }

Dialogue counting(uint32_t openings_max = 1) {
  ParticipantPolicy policy = opening_at_most(openings_max);
  policy.privacy.accepts_analytics = true;
  Dialogue d(1, policy);
  d.privacy = rules_of(SecurityLevel::active);
  d.analytics = ages();
  return d;
}

// With other edges in a second job the difference of two tables is the answer of whoever is in one of them alone.
TEST(ParticipantOpenings, AreOfAColumnHoweverItIsAskedFor) {
  const std::function<void(Dialogue&)> again[] = {
      [](Dialogue&) {},
      [](Dialogue& d) { d.analytics->edges.push_back(4); },
      [](Dialogue& d) {
        d.analytics = {.kind = AnalyticsKind::distinct, .input_values = 8, .feature = 3, .buckets = 16};
      },
      [](Dialogue& d) { d.analytics->values_max = d.analytics->lane_max = 5; },
      [](Dialogue& d) { d.analytics = {.input_values = 8, .feature = 1, .categories = 3}; },
      [](Dialogue& d) { d.analytics->feature = 0, d.analytics->missing_feature = 3; },
      [](Dialogue& d) { d.analytics->input_values = 9; },
      [](Dialogue& d) { d.version = ModelVersion(5); },
  };
  for (size_t i = 0; i < std::size(again); ++i) {
    SCOPED_TRACE(i);
    Dialogue d = counting();
    open_a_sum(d);
    d.restart();
    d.job = JobId("other");
    d.model = "whatever the server calls a table";
    d.round.round = RoundId(6);
    again[i](d);
    EXPECT_EQ(reason(d), "openings");
    EXPECT_THAT(d.machine->last_error()->message(), testing::HasSubstr("answered for this column or target 1 times"));
  }
}

TEST(ParticipantOpenings, OfAnotherColumnAreOthers) {
  const std::function<void(Dialogue&)> others[] = {
      [](Dialogue& d) { d.analytics->feature = 2; },
      [](Dialogue& d) { d.analytics = {.input_values = 8, .feature = 4, .categories = 3}; },
      [](Dialogue& d) { d.analytics = {.source = AnalyticsSource::label, .input_values = 8, .categories = 3}; },
      [](Dialogue& d) { d.analytics.reset(); },
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    SCOPED_TRACE(i);
    Dialogue d = counting();
    open_a_sum(d);
    others[i](d);
    d.version = ModelVersion(5);
    d.reach(Phase::assigned);
    d.tell(d.good_answer());
    EXPECT_EQ(d.machine->last_error(), std::nullopt);
    EXPECT_TRUE(d.state().phase == (d.analytics ? Phase::training : Phase::planned));
  }
}

// One target, whether it is read as a class or as a number.
TEST(ParticipantOpenings, OfTheTargetAreOneWhateverItIsReadAs) {
  Dialogue d = counting(2);
  d.analytics = {.source = AnalyticsSource::label, .input_values = 8, .categories = 3};
  open_a_sum(d);
  d.analytics = {.source = AnalyticsSource::target, .input_values = 8, .edges = {1, 2}};
  open_a_sum(d);
  EXPECT_EQ(reason(d), "openings");
}

AnalyticsRules evaluating() {
  return {.kind = AnalyticsKind::evaluation,
          .input_values = 8,
          .values_max = 5,
          .lane_max = 63,
          .evaluation = EvaluationRules{.models = {{content_digest(as_bytes("one")), 3}}}};
}

// A model of the server's choice may say anything of an example: any column, and its class.
TEST(ParticipantOpenings, OfAnEvaluationAreOfTheWholeExample) {
  const std::function<void(Dialogue&)> again[] = {
      [](Dialogue& d) { d.analytics = ages(); },
      [](Dialogue& d) { d.analytics = {.source = AnalyticsSource::label, .input_values = 8, .categories = 3}; },
      [](Dialogue& d) { d.analytics->evaluation->models[0].digest = content_digest(as_bytes("another")); },
  };
  for (size_t i = 0; i < std::size(again); ++i) {
    SCOPED_TRACE(i);
    Dialogue d = counting();
    d.analytics = evaluating();
    open_a_sum(d);
    d.job = JobId("other");
    d.round.round = RoundId(6);
    again[i](d);
    EXPECT_EQ(reason(d), "openings");
  }
  Dialogue d = counting();
  open_a_sum(d);
  d.analytics = evaluating();
  EXPECT_EQ(reason(d), "openings");
}

TEST(ParticipantOpenings, WhoEvaluatesFetchesTheModelsThatThePlanNames) {
  Dialogue d = counting();
  d.analytics = evaluating();
  d.analytics->evaluation->models.push_back({content_digest(as_bytes("two")), 4});
  d.reach(Phase::planned);
  const ParticipantAction action = d.next();
  const auto* fetch = std::get_if<DoFetchModel>(&action);
  ASSERT_NE(fetch, nullptr);
  EXPECT_EQ(fetch->model, content_digest(as_bytes("one")));
  EXPECT_EQ(fetch->bytes, 3u);
  EXPECT_EQ(fetch->further, (std::vector<EvaluatedModel>{{content_digest(as_bytes("two")), 4}}));
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().phase, Phase::training);
}

TEST(ParticipantOpenings, WhoEvaluatesTakesNoOtherModel) {
  const std::function<void(ModelFetched&)> wrong[] = {
      [](ModelFetched& f) { f.outcome = content_digest(as_bytes("model")); },
      [](ModelFetched& f) { f.further = {content_digest(as_bytes("one"))}; },
      [](ModelFetched& f) { f.further.clear(); },
  };
  for (size_t i = 0; i < std::size(wrong); ++i) {
    SCOPED_TRACE(i);
    Dialogue d = counting();
    d.analytics = evaluating();
    d.analytics->evaluation->models.push_back({content_digest(as_bytes("two")), 4});
    d.reach(Phase::planned);
    auto fetched = std::get<ModelFetched>(d.good_answer());
    wrong[i](fetched);
    d.tell(fetched);
    EXPECT_EQ(d.state().phase, Phase::idle);
    EXPECT_THAT(d.machine->last_error()->message(), testing::HasSubstr("does not have the digest"));
  }
}

TEST(ParticipantOpenings, WhoCountsFetchesNoTable) {
  Dialogue d = counting();
  d.reach(Phase::assigned);
  d.tell(d.good_answer());
  EXPECT_TRUE(d.is_next<DoTrain>());
}

}  // namespace
}  // namespace coterie::test
