#include "fl_server/core/attempt_terms.h"

#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"

namespace coterie {

AttemptTerms terms_of(const RoundNotice& notice) {
  const Plan& plan = notice.plan;
  if (plan.privacy.level == SecurityLevel::none) return {.session = {}, .lane_count = plan.update.value_count};
  const Assignment& assignment = notice.assignment;
  const secagg::SessionParameters session =
      secagg::session_parameters(plan, notice.job, notice.key, assignment.model, assignment.plan);
  return {.session = session, .lane_count = secagg::masked_lane_count(session)};
}

}  // namespace coterie
