// The rules of a device's policy, each by itself.
#include "device_sdk/client/privacy_policy.h"

#include <cfloat>
#include <cmath>
#include <limits>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

struct Case {
  Case() {
    plan.job = assignment.job = JobId("job");
    assignment.round = {RoundId(5), Attempt(1)};
    assignment.model_version = ModelVersion(4);
    plan.privacy = rules_of(SecurityLevel::active_dp);
    plan.privacy.epsilon_round = 0.5;
    plan.privacy.delta = 1e-6;
  }
  std::string_view reason() const {
    const Status checked = check_policy(policy, plan, assignment, state);
    if (checked) return "";
    EXPECT_EQ(checked.error().code(), ErrorCode::refused);
    return checked.error().reason();
  }
  PrivacyPolicy policy;
  Plan plan;
  Assignment assignment;
  ParticipantState state;
};

TEST(PrivacyPolicy, WithoutLimitsTakesEveryPlan) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    Case c;
    c.plan.privacy = level == SecurityLevel::none ? PrivacyRules{} : rules_of(level);
    c.state.spent = {1e300, 1, RoundKey{RoundId(4), Attempt(1)}};
    c.state.took_part[JobId("job")] = ModelVersion(4);
    EXPECT_EQ(c.reason(), "");
  }
}

TEST(PrivacyPolicy, CountsNothingUnlessTheAppAccepts) {
  Case c;
  c.plan.analytics = AnalyticsRules{.edges = {0, 1}};
  EXPECT_EQ(c.reason(), "analytics");
  EXPECT_ERROR(check_policy(c.policy, c.plan, c.assignment, c.state), ErrorCode::refused,
               "asks for a histogram of this device's examples, and its app has not said that it accepts analytics");
  c.policy.accepts_analytics = true;
  EXPECT_EQ(c.reason(), "");
  c.policy.cohort_min = kRosterSizeMax;
  EXPECT_EQ(c.reason(), "cohort_min") << "all other limits are as for a training";
}

TEST(PrivacyPolicy, ADeviceThatOthersWouldEndTheirSessionOverTakesNoPart) {
  Case c;
  c.policy.uncertified = "has none";
  EXPECT_EQ(c.reason(), "certificate");
  c.plan.privacy = rules_of(SecurityLevel::active);
  EXPECT_EQ(c.reason(), "certificate");
  EXPECT_ERROR(check_policy(c.policy, c.plan, c.assignment, c.state), ErrorCode::refused,
               "at security level active others end their session over a device without a certificate");
  c.plan.privacy = rules_of(SecurityLevel::masked);
  EXPECT_EQ(c.reason(), "") << "nobody looks at certificates there";
}

TEST(PrivacyPolicy, KeepsTheLevelOfAJobOrOfAll) {
  Case c;
  c.plan.privacy = rules_of(SecurityLevel::active);
  note_level(c.plan, c.state);
  c.state.newest_models[JobId("job")] = ModelVersion(4);
  c.state = *decode_participant_state(encode(c.state));  // through restarts
  EXPECT_EQ(c.reason(), "");
  c.plan.privacy = rules_of(SecurityLevel::masked);
  EXPECT_EQ(c.reason(), "security_level");
  note_level(c.plan, c.state);
  EXPECT_EQ(c.state.levels.at(JobId("job")), SecurityLevel::active);
  c.plan.job = JobId("another");
  EXPECT_EQ(c.reason(), "") << "the app says which levels will do";
  c.policy.keeps_level = true;
  EXPECT_EQ(c.reason(), "security_level") << "it says nothing";
}

TEST(PrivacyPolicy, LimitsWhatOneRoundMayCost) {
  Case c;
  c.policy.epsilon_round_max = 0.5;
  EXPECT_EQ(c.reason(), "");
  c.policy.epsilon_round_max = 0.499;
  EXPECT_EQ(c.reason(), "epsilon_round");
}

TEST(PrivacyPolicy, WithAnyLimitRefusesPlansThatPromiseNothing) {
  double PrivacyPolicy::*const limits[] = {&PrivacyPolicy::epsilon_round_max, &PrivacyPolicy::epsilon_total_max,
                                           &PrivacyPolicy::delta_max};
  for (const auto limit : limits) {
    for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
      Case c;
      c.plan.privacy = level == SecurityLevel::none ? PrivacyRules{} : rules_of(level);
      c.policy.*limit = 0.9;
      EXPECT_EQ(c.reason(), "epsilon_round");
    }
  }
}

TEST(PrivacyPolicy, LimitsWhatAllRoundsCostTogether) {
  Case c;
  c.policy.epsilon_total_max = 1;
  c.policy.delta_max = 2e-6;
  EXPECT_EQ(c.reason(), "");
  c.state.spent = {0.5, 1e-6, RoundKey{RoundId(4), Attempt(1)}};
  EXPECT_EQ(c.reason(), "");
  c.state.spent.epsilon = 0.501;
  EXPECT_EQ(c.reason(), "epsilon_total");
  c.state.spent = {0.5, 1.01e-6, RoundKey{RoundId(4), Attempt(1)}};
  EXPECT_EQ(c.reason(), "delta");
}

// The same noise costs more at a smaller delta: 0.85 at 0.1 is 3.3 at 1e-6, and at a delta near one any noise will do.
TEST(PrivacyPolicy, AnEpsilonLimitHasADeltaLimit) {
  Case c;
  c.policy.epsilon_round_max = c.policy.epsilon_total_max = 1.1;
  c.plan.privacy.delta = 0.1;
  EXPECT_EQ(c.reason(), "delta");
  c.plan.privacy.delta = kDeltaMax;
  EXPECT_EQ(c.reason(), "");
  c.state.spent = {0.1, 1e-7, RoundKey{RoundId(4), Attempt(1)}};
  EXPECT_EQ(c.reason(), "delta");
  c.policy.delta_max = 0.2;
  EXPECT_EQ(c.reason(), "") << "the app says so aloud";
}

TEST(PrivacyPolicy, LimitsWhatNoiseMayCostByDefault) {
  Case c;
  EXPECT_EQ(c.reason(), "");
  c.plan.privacy.epsilon_round = kEpsilonRoundMax * 1.001;
  EXPECT_EQ(c.reason(), "epsilon_round");
  c.policy.epsilon_round_max = HUGE_VAL;
  EXPECT_EQ(c.reason(), "");
  c.state.spent = {kEpsilonTotalMax - 1, 0, RoundKey{RoundId(4), Attempt(1)}};
  EXPECT_EQ(c.reason(), "epsilon_total");
  c.policy.epsilon_total_max = HUGE_VAL;
  EXPECT_EQ(c.reason(), "");
  c.plan.privacy.delta = kDeltaMax * 1.001;
  EXPECT_EQ(c.reason(), "delta");
  c.plan.privacy = rules_of(SecurityLevel::active);
  EXPECT_EQ(c.reason(), "") << "what has no noise is a matter of levels, not of epsilon";
}

TEST(PrivacyPolicy, AllowsAsManyRoundsAsAPersonWouldCount) {
  Case c;
  c.policy.epsilon_total_max = 0.3;
  c.plan.privacy.epsilon_round = 0.1;
  int parts = 0;
  for (; parts < 10 && c.reason().empty(); ++parts) {
    count_part(c.plan, c.assignment, c.state);
    c.assignment.round.round = RoundId(c.assignment.round.round.value() + 1);
  }
  EXPECT_EQ(parts, 3) << "0.1 + 0.1 + 0.1 is more than 0.3 in floating point";
}

TEST(PrivacyPolicy, WhatThisAttemptCostIsNotAddedAgain) {
  Case c;
  c.policy.epsilon_total_max = 0.5;
  count_part(c.plan, c.assignment, c.state);
  EXPECT_EQ(c.reason(), "") << "the session goes on after a restart";
  c.policy.epsilon_total_max = 0.4;
  EXPECT_EQ(c.reason(), "epsilon_total") << "but a stricter policy ends it";
  c.policy.epsilon_total_max = 0.5;
  c.assignment.round.attempt = Attempt(2);
  EXPECT_EQ(c.reason(), "epsilon_total") << "another attempt is another update";
}

TEST(PrivacyPolicy, SeparatesStepsOfTheSameJobAsTreesDo) {
  Case c;
  c.policy.separation_min = 3;
  EXPECT_EQ(c.reason(), "") << "the first part";
  c.state.took_part[JobId("other")] = ModelVersion(4);
  EXPECT_EQ(c.reason(), "") << "jobs are apart";
  for (uint64_t last = 0; last <= 4; ++last) {
    c.state.took_part[JobId("job")] = ModelVersion(last);
    const uint64_t apart = 4 - last;
    EXPECT_EQ(c.reason(), apart == 0 || apart >= 3 ? "" : "separation") << apart;
  }
  c.state.took_part[JobId("job")] = ModelVersion(3);
  for (const uint64_t every_round : {0, 1}) {
    c.policy.separation_min = every_round;
    EXPECT_EQ(c.reason(), "");
  }
  c.policy.separation_min = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(c.reason(), "separation");
}

TEST(PrivacyPolicy, AsksThatASessionWithstandsATenthAtLeast) {
  for (const SecurityLevel level : {SecurityLevel::active, SecurityLevel::active_dp}) {
    Case c;
    c.plan.privacy = rules_of(level);
    EXPECT_EQ(c.reason(), "");
    c.policy.corrupt_share_min = 0.2;
    EXPECT_EQ(c.reason(), "corrupt_share");
    c.plan.privacy.corrupt_share = 0.2;
    EXPECT_EQ(c.reason(), "");
    c.policy = {};
    for (const double share : {0.0, 0.05, std::nextafter(0.1, 0.0)}) {
      c.plan.privacy.corrupt_share = share;
      EXPECT_EQ(c.reason(), "corrupt_share") << share;
    }
  }
  Case masked;
  masked.plan.privacy = rules_of(SecurityLevel::masked);
  masked.plan.privacy.corrupt_share = 0;
  EXPECT_EQ(masked.reason(), "") << "the server's word there";
}

// The noise is the same, what it is counted against is not: 0.90 was promised of a sum that costs 10.98 if all others
// are corrupt.
TEST(PrivacyPolicy, NoPlanCountsOnTheNoiseOfAll) {
  PrivacyRules rules{
      .level = SecurityLevel::active_dp, .cohort_min = 90, .roster_max = 112, .corrupt_share = 0, .cipher_suite = 1};
  ASSERT_OK(add_device_noise(rules, {.value_count = 16, .clip_norm = 1, .noise_multiplier = 5, .delta = 1e-6}));
  Case c;
  c.plan.privacy = rules;
  ASSERT_OK(check_promise(rules, 16));
  EXPECT_EQ(c.reason(), "corrupt_share");
  c.plan.privacy.corrupt_share = kCorruptShareMin;
  EXPECT_EQ(c.reason(), "");
  EXPECT_ERROR(check_promise(c.plan.privacy, 16), ErrorCode::refused, "a round costs epsilon");
}

TEST(PrivacyPolicy, GivesARoundWithDrawnHoldersAFewAttempts) {
  Case c;
  c.plan.privacy = rules_of(SecurityLevel::active);
  c.plan.privacy.roster_max = kCompleteRosterMax + 1;
  c.state.newest_models[JobId("job")] = ModelVersion(4);
  const auto part = [&c](uint32_t attempt) {
    c.assignment.round.attempt = Attempt(attempt);
    const Status may = check_new_part(c.policy, c.plan, c.assignment, c.state);
    if (!may) return std::string(may.error().reason());
    count_part(c.plan, c.assignment, c.state);
    c.state = *decode_participant_state(encode(c.state));  // the app was killed
    return std::string();
  };
  for (uint32_t attempt = 1; attempt <= kAttemptsMax; ++attempt) EXPECT_EQ(part(attempt), "");
  EXPECT_EQ(part(kAttemptsMax + 1), "attempts");
  EXPECT_EQ(part(1), "attempts") << "whatever it is called";
  EXPECT_EQ(c.reason(), "") << "the part under way goes on after a restart";
  c.policy.attempts_max = kAttemptsMax + 1;
  EXPECT_EQ(part(9), "");
  EXPECT_EQ(part(10), "attempts");
  c.plan.privacy.roster_max = kCompleteRosterMax;
  EXPECT_EQ(part(11), "") << "nobody draws there";
  c.plan.privacy.roster_max = kCompleteRosterMax + 1;
  c.assignment.model_version = c.state.newest_models[JobId("job")] = ModelVersion(5);
  EXPECT_EQ(part(1), "") << "the next round";
}

TEST(PrivacyPolicy, CountsAPartOnceAnAttempt) {
  Case c;
  count_part(c.plan, c.assignment, c.state);
  count_part(c.plan, c.assignment, c.state);
  EXPECT_EQ(c.state.spent, (DeviceSpent{0.5, 1e-6, c.assignment.round}));
  EXPECT_EQ(c.state.took_part.at(JobId("job")), ModelVersion(4));
  c.assignment.round.attempt = Attempt(2);
  count_part(c.plan, c.assignment, c.state);
  EXPECT_EQ(c.state.spent, (DeviceSpent{1, 2e-6, c.assignment.round}));
}

TEST(PrivacyPolicy, CountsPlansWithoutAPromiseAsPartsAlone) {
  Case c;
  c.plan.privacy = {};
  count_part(c.plan, c.assignment, c.state);
  EXPECT_EQ(c.state.spent, DeviceSpent{});
  EXPECT_EQ(c.state.took_part.at(JobId("job")), ModelVersion(4));
}

TEST(PrivacyPolicy, NeverCountsBeyondWhatCanBeSaved) {
  Case c;
  c.plan.privacy.epsilon_round = DBL_MAX;
  for (uint32_t attempt = 1; attempt < 4; ++attempt) {
    c.assignment.round.attempt = Attempt(attempt);
    count_part(c.plan, c.assignment, c.state);
  }
  c.state.newest_models[JobId("job")] = ModelVersion(4);
  const auto saved = decode_participant_state(encode(c.state));
  ASSERT_OK(saved);
  EXPECT_EQ(saved->spent, c.state.spent);
  c.policy.epsilon_round_max = c.policy.epsilon_total_max = DBL_MAX;
  c.assignment.round.attempt = Attempt(9);
  EXPECT_EQ(c.reason(), "epsilon_total");
}

TEST(PrivacyPolicy, DoesNotTrainTwiceForOneAttemptThatIsCounted) {
  Case c;
  EXPECT_OK(check_new_part(c.policy, c.plan, c.assignment, c.state));
  count_part(c.plan, c.assignment, c.state);
  const Status again = check_new_part(c.policy, c.plan, c.assignment, c.state);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason(), "separation");
  Case plain;
  plain.plan.privacy = {};
  count_part(plain.plan, plain.assignment, plain.state);
  EXPECT_OK(check_new_part(plain.policy, plain.plan, plain.assignment, plain.state))
      << "the same update comes again: it is sent again";
}

TEST(PrivacyPolicy, NamesTheLimitThatIsOutOfRange) {
  const auto expect_bad = [](const char* words, auto change) {
    PrivacyPolicy policy;
    change(policy);
    EXPECT_ERROR(validate(policy), ErrorCode::invalid_argument, words);
  };
  EXPECT_OK(validate(PrivacyPolicy{}));
  EXPECT_OK(validate(PrivacyPolicy{SecurityLevel::active_dp,
                                   10'000,
                                   DBL_MAX,
                                   DBL_MAX,
                                   0.999,
                                   UINT64_MAX,
                                   kCorruptShareMax,
                                   UINT32_MAX,
                                   UINT32_MAX,
                                   true,
                                   true,
                                   {}}));
  expect_bad("security_level_min", [](PrivacyPolicy& p) { p.security_level_min = static_cast<SecurityLevel>(4); });
  expect_bad("cohort_min", [](PrivacyPolicy& p) { p.cohort_min = 1; });
  expect_bad("cohort_min", [](PrivacyPolicy& p) { p.cohort_min = 10'001; });
  EXPECT_OK(validate(PrivacyPolicy{.epsilon_round_max = HUGE_VAL, .epsilon_total_max = HUGE_VAL}));
  expect_bad("delta_max", [](PrivacyPolicy& p) { p.delta_max = HUGE_VAL; });
  for (const double wrong : {-0.1, std::nan(""), -HUGE_VAL}) {
    expect_bad("epsilon_round_max", [wrong](PrivacyPolicy& p) { p.epsilon_round_max = wrong; });
    expect_bad("epsilon_total_max", [wrong](PrivacyPolicy& p) { p.epsilon_total_max = wrong; });
    expect_bad("delta_max", [wrong](PrivacyPolicy& p) { p.delta_max = wrong; });
  }
  expect_bad("delta_max", [](PrivacyPolicy& p) { p.delta_max = 1; });
  for (const double wrong : {0.0, 0.0999, 0.334, std::nan("")}) {
    expect_bad("corrupt_share_min", [wrong](PrivacyPolicy& p) { p.corrupt_share_min = wrong; });
  }
  expect_bad("attempts_max", [](PrivacyPolicy& p) { p.attempts_max = 0; });
  expect_bad("openings_max", [](PrivacyPolicy& p) { p.openings_max = 0; });
}

}  // namespace
}  // namespace coterie::test
