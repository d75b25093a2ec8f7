#include "fl_server/core/attempt_terms.h"

#include <gtest/gtest.h>

#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"

namespace coterie {
namespace {

RoundNotice notice(SecurityLevel level) {
  HorizontalSettings settings;
  settings.privacy.level = level;
  RoundNotice round;
  round.job = round.assignment.job = JobId("j");
  round.key = round.assignment.round = {RoundId(7), Attempt(2)};
  round.assignment.model.bytes.fill(1);
  round.assignment.plan.bytes.fill(2);
  round.plan = plan_of(settings, round.job, 100);
  return round;
}

TEST(AttemptTerms, WithoutMasksASumHasALaneForEachValue) {
  const AttemptTerms terms = terms_of(notice(SecurityLevel::none));
  EXPECT_FALSE(terms.session.has_value());
  EXPECT_EQ(terms.lane_count, 100u);
}

TEST(AttemptTerms, MasksAreOfTheSessionThatDevicesMakeOfTheirAssignment) {
  const RoundNotice round = notice(SecurityLevel::active);
  const AttemptTerms terms = terms_of(round);
  ASSERT_TRUE(terms.session.has_value());
  const secagg::SessionParameters of_device = secagg::session_parameters(
      round.plan, round.assignment.job, round.assignment.round, round.assignment.model, round.assignment.plan);
  EXPECT_EQ(terms.session->context, of_device.context);
  EXPECT_EQ(terms.session->level, SecurityLevel::active);
  EXPECT_EQ(terms.session->roster_max, round.plan.privacy.roster_max);
  EXPECT_EQ(terms.session->lane_count, 101u) << "the weight is one more";
  EXPECT_EQ(terms.lane_count, secagg::masked_lane_count(of_device)) << "and check lanes behind them";
  EXPECT_GT(terms.lane_count, 101u);
}

TEST(AttemptTerms, EachAttemptModelAndPlanHasASessionOfItsOwn) {
  const RoundNotice round = notice(SecurityLevel::masked);
  const Digest context = terms_of(round).session->context;
  RoundNotice other = round;
  other.key.attempt = Attempt(3);
  EXPECT_NE(terms_of(other).session->context, context);
  other = round;
  other.assignment.model.bytes.fill(3);
  EXPECT_NE(terms_of(other).session->context, context);
  other = round;
  other.assignment.plan.bytes.fill(3);
  EXPECT_NE(terms_of(other).session->context, context);
}

}  // namespace
}  // namespace coterie
